"""How the examples of one source are dealt to agents, beside the papers' rules.

:mod:`empirical.rules` and :mod:`empirical.dealing` have the papers' own. Those here deal every
example.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from empirical.partition import Partition
from empirical.rules import as_labels
from theory.validation import IntArray, as_integer, as_positive, fail

# Tries to give every agent enough; where they fail, α is far too small for so few examples.
_TRIES = 1000


@dataclass(frozen=True)
class Balanced:
    """Every agent gets its share of every class: numbers of a class differ by at most one.

    So do the numbers of examples in all. Within a class, who gets which is random.

    Raises
    ------
    ValueError
        If there is no agent.

    Examples
    --------
    >>> Balanced(2).deal([0, 1, 0, 1, 0, 1, 0], seed=0).sizes
    (4, 3)
    """

    agents: int

    def __post_init__(self) -> None:
        as_integer("agents", self.agents, minimum=1)

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """Each agent's examples.

        Raises
        ------
        ValueError
            If there are fewer examples than agents.
        """
        values = as_labels(labels)
        _check_enough(values.size, self.agents)
        shuffled = np.random.default_rng(as_integer("seed", seed, minimum=0)).permutation(
            values.size
        )
        ranked = shuffled[np.argsort(values[shuffled], kind="stable")]
        return Partition(tuple(ranked[agent :: self.agents] for agent in range(self.agents)))


@dataclass(frozen=True)
class Dirichlet:
    """Each class is dealt in proportions drawn from the symmetric Dirichlet distribution.

    For each class p ~ Dirichlet(α, …, α) over the agents, independently (Hsu, Qi and Brown, 2019,
    "Measuring the effects of non-identical data distribution for federated visual classification",
    with the roles of classes and agents exchanged, as in Yurochkin et al., 2019). A draw that
    leaves an agent with fewer than `minimum` examples is drawn again.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> sizes = Dirichlet(4, alpha=0.5).deal([0, 1] * 50, seed=0).sizes
    >>> sum(sizes), min(sizes) >= 2
    (100, True)
    """

    agents: int
    alpha: float
    minimum: int = 2

    def __post_init__(self) -> None:
        as_integer("agents", self.agents, minimum=1)
        as_positive("alpha", self.alpha)
        as_integer("minimum", self.minimum, minimum=1)

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """Each agent's examples.

        Raises
        ------
        ValueError
            If no draw leaves every agent with enough.
        """
        values = as_labels(labels)
        _check_enough(values.size, self.agents * self.minimum)
        rng = np.random.default_rng(as_integer("seed", seed, minimum=0))
        classes = [np.flatnonzero(values == label) for label in np.unique(values)]
        for _ in range(_TRIES):
            shares = rng.dirichlet([self.alpha] * self.agents, size=len(classes))
            dealt = [
                _cut(rng.permutation(own), share)
                for own, share in zip(classes, shares, strict=True)
            ]
            sizes = np.sum([[part.size for part in parts] for parts in dealt], axis=0)
            if sizes.min() >= self.minimum:
                return Partition(tuple(np.concatenate(own) for own in zip(*dealt, strict=True)))
        raise fail(
            "alpha",
            f"a Dirichlet that leaves each of {self.agents} agents {self.minimum} examples",
            f"{self.alpha:g}, with which {_TRIES} draws did not",
            "make alpha larger, or use fewer agents or a smaller minimum",
        )


@dataclass(frozen=True)
class Sizes:
    """Shuffled, and dealt in shares of given proportions.

    Raises
    ------
    ValueError
        If there is no share, or one is not positive.

    Examples
    --------
    >>> Sizes((8, 1, 1)).deal([0] * 20, seed=0).sizes
    (16, 2, 2)
    """

    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.shares:
            raise fail("sizes", "one number for each agent", "none", "say who gets how much")
        for k, share in enumerate(self.shares):
            as_positive(f"sizes[{k}]", share)

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return len(self.shares)

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """Each agent's examples.

        Raises
        ------
        ValueError
            If a share is too small for an example.
        """
        total = as_labels(labels).size
        order = np.random.default_rng(as_integer("seed", seed, minimum=0)).permutation(total)
        parts = _cut(order, np.array(self.shares) / sum(self.shares))
        for agent, part in enumerate(parts):
            if not part.size:
                raise fail(
                    f"sizes[{agent}]",
                    "an example for every agent",
                    f"{self.shares[agent]:g} of {sum(self.shares):g}, of {total} examples",
                    "make it larger",
                )
        return Partition(tuple(parts))


def _cut(rows: IntArray, shares: ArrayLike) -> list[IntArray]:
    """Rows in their order, cut in proportion; all of them."""
    ends = np.rint(np.cumsum(np.asarray(shares)) * rows.size).astype(np.int64)
    ends[-1] = rows.size
    return [rows[low:high] for low, high in itertools.pairwise([0, *ends.tolist()])]


def _check_enough(examples: int, needed: int) -> None:
    if examples < needed:
        remedy = "use fewer agents, or more examples"
        raise fail("agents", f"at least {needed} examples for them", examples, remedy)
