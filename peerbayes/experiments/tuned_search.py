"""The search that every method of `tuned` gets alike: a grid, then steps from the best so far.

A method is tried with eight settings, its grid. Then follow four trials, each beside the best
setting so far: past it, where nothing was tried beyond it on some axis (an optimum at the edge of
the grid so extends the grid, by the factor between the grid's last two values); else halfway, in
logarithms, into the widest gap beside it. The best is the setting with the least loss on
validation data. It is all deterministic: what comes next follows from the losses so far.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from theory.validation import as_integer, fail

if TYPE_CHECKING:
    from empirical.train.learners.averaging import Learner

Settings = Mapping[str, float | str]
Way = Literal["network", "alone", "central", "server"]
# Significant digits of settings beside the grid.
_DIGITS = 3


@dataclass(frozen=True)
class Method:
    """Who learns how, and the settings that are tried first.

    Attributes
    ----------
    name, title
        Such as ``sites``; what it is, in a few words.
    way
        The row's network; each agent ``alone``, their predictions mixed; all data in one place,
        ``central``; or a ``server``.
    learner
        One of :data:`empirical.train.learners.LEARNERS`; of no use to a server.
    grid
        Eight settings; small values before large ones.
    limits
        The largest value of settings that have one.
    """

    name: str
    title: str
    way: Way
    learner: str
    grid: tuple[Settings, ...]
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_beliefs(self) -> bool:
        """Whether predictions average posterior samples."""
        return self.learner in ("sites", "natural-gradient", "backprop")

    @property
    def axes(self) -> dict[str, list[float]]:
        """The numbers of the grid, ascending, by the names of the settings that have several."""
        found = {}
        for name in self.grid[0]:
            values = {one[name] for one in self.grid}
            numbers = sorted(value for value in values if not isinstance(value, str))
            if len(numbers) > 1:
                found[name] = numbers
        return found

    def as_json(self) -> dict[str, Any]:
        """All that numbers depend on, in plain values."""
        return {
            "way": self.way,
            "learner": self.learner,
            "grid": [dict(one) for one in self.grid],
            "limits": dict(self.limits),
        }


def grid(**choices: Sequence[float | str]) -> tuple[Settings, ...]:
    """Every combination.

    Examples
    --------
    >>> len(grid(rate=[0.1, 0.3], trust=[1.0, 3.0], standing=[0.25, 0.5]))
    8
    """
    names = list(choices)
    return tuple(
        MappingProxyType(dict(zip(names, values, strict=True)))
        for values in itertools.product(*choices.values())
    )


_RATES = [0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2, 0.4]
_ALL = (
    Method(
        "sites", "natural gradients with sites", "network", "sites",
        grid(rate=[0.1, 0.3], trust=[1.0, 3.0], standing=[0.25, 0.5]), {"standing": 1.0},
    ),
    Method(
        "natural-gradient", "natural gradients, beliefs pooled", "network", "natural-gradient",
        grid(rate=[0.03, 0.1, 0.3, 1.0], initial_curvature=[0.1, 1.0]),
    ),
    Method(
        "backprop", "Bayes by backprop, local reparameterisation, Adam’s ε .01, beliefs pooled",
        "network", "backprop",
        grid(mean_rate=[0.003, 0.01, 0.03, 0.1], initial_std=[0.01, 0.03]),
    ),
    Method(
        "backprop-sampled",
        "Bayes by backprop as P1 and P2 have it, weights drawn once a batch, Adam’s ε 1e-8, "
        "beliefs pooled",
        "network", "backprop",
        grid(
            mean_rate=[0.0003, 0.001, 0.003, 0.01], initial_std=[0.01, 0.03],
            mean_epsilon=[1e-8], estimator=["weights"],
        ),
    ),
    Method(
        "averaging", "weights averaged, SGD with momentum", "network", "averaging",
        grid(rate=_RATES),
    ),
    Method(
        "averaging-adam", "weights averaged, Adam", "network", "averaging-adam",
        grid(rate=[3e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 4e-3, 1e-2]),
    ),
    Method(
        "ensemble", "lone nets, predictions mixed", "alone", "averaging",
        grid(rate=[0.006, 0.02, 0.06, 0.2], mixture=["agents", "data"]),
    ),
    Method(
        "central", "all data in one place, SGD with momentum", "central", "averaging",
        grid(rate=_RATES),
    ),
    Method(
        "fedavg", "federated averaging, a server, SGD", "server", "",
        grid(rate=[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]),
    ),
)  # fmt: skip

METHODS: Mapping[str, Method] = MappingProxyType({one.name: one for one in _ALL})
"""The methods by name."""

# Priors for one datum, which learners had when the first records were made.
_PRIORS: Mapping[str, Settings] = {
    "natural-gradient": {"prior_precision": 1e-4}, "sites": {"prior_precision": 1e-5},
}  # fmt: skip


def recorded_learner(name: str, **settings: Any) -> Learner:
    """The learner of records: :func:`~empirical.train.learners.learner_of` with their priors."""
    from empirical.train.learners import learner_of

    return learner_of(name, **{**_PRIORS.get(name, {}), **settings})


@dataclass(frozen=True)
class Trial:
    """A setting that was tried.

    Attributes
    ----------
    settings
        What was tried.
    loss
        Mean −log p on validation data, nats; infinite if training or prediction broke down.
    """

    settings: Settings
    loss: float


@dataclass(frozen=True)
class Choice:
    """What a search comes to.

    Attributes
    ----------
    settings, loss
        The best trial's; the first of equals.
    edges
        Settings on whose axis nothing was tried beyond the best: the optimum may lie further out.
    """

    settings: Settings
    loss: float
    edges: tuple[str, ...]


@dataclass(frozen=True)
class Search:
    """How many trials a method gets.

    Attributes
    ----------
    first
        Settings of its grid.
    more
        Settings beside the best.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    first: int = 8
    more: int = 4

    def __post_init__(self) -> None:
        as_integer("first", self.first, minimum=1)
        as_integer("more", self.more, minimum=0)

    @property
    def trials(self) -> int:
        """How many in all, the same for every method."""
        return self.first + self.more

    def settings(self, method: Method, found: Sequence[Trial]) -> Settings:
        """What is tried after these trials.

        Examples
        --------
        >>> losses = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
        >>> averaging = METHODS["averaging"]
        >>> found = [Trial(s, loss) for s, loss in zip(averaging.grid, losses)]
        >>> dict(Search().settings(averaging, found))
        {'rate': 0.8}
        """
        if len(found) < self.first:
            return method.grid[len(found)]
        best = _best(found)
        sides = list(_sides(method, best, found))
        beyond = [one for one in sides if one.neighbour is None]
        if beyond:
            return beyond[0].settings
        return max(sides, key=lambda one: one.gap).settings  # the first of the widest

    def chosen(self, method: Method, found: Sequence[Trial]) -> Choice:
        """The best of all trials.

        Raises
        ------
        ValueError
            If trials are missing, or all of them broke down.
        """
        if len(found) != self.trials:
            raise fail(
                f"search of {method.name}", f"{self.trials} trials", len(found),
                f"run its parts first, with --part {method.name}-search",
            )  # fmt: skip
        best = _best(found)
        if not math.isfinite(best.loss):
            raise fail(
                f"search of {method.name}", "a trial that ended", "none",
                "training breaks down with every setting: look at the data",
            )  # fmt: skip
        edges = [one.axis for one in _sides(method, best, found) if one.neighbour is None]
        return Choice(best.settings, best.loss, tuple(dict.fromkeys(edges)))

    def as_json(self) -> dict[str, int]:
        """Both numbers."""
        return {"first": self.first, "more": self.more}


SEARCH = Search()
"""The search of `tuned`."""

QUICK_SEARCH = Search(first=2, more=1)
"""That of a quick run."""


@dataclass(frozen=True)
class _Side:
    """One side of the best setting on one axis, and what would be tried there.

    `neighbour` is the nearest value that was tried there with all else as it is, None if there is
    none; `gap` is its distance in logarithms.
    """

    axis: str
    neighbour: float | None
    gap: float
    settings: Settings


def _best(found: Sequence[Trial]) -> Trial:
    return min(found, key=lambda one: one.loss)


def _sides(method: Method, best: Trial, found: Sequence[Trial]) -> Iterator[_Side]:
    """All open sides of the best, axis by axis, the upper one first."""
    for axis, values in method.axes.items():
        here = best.settings[axis]
        assert not isinstance(here, str)
        rest = {**best.settings, axis: 0.0}
        line = [
            value
            for one in found
            if {**one.settings, axis: 0.0} == rest
            and not isinstance(value := one.settings[axis], str)
        ]
        limit = method.limits.get(axis, math.inf)
        above = min((value for value in line if value > here), default=None)
        below = max((value for value in line if value < here), default=None)
        if above is not None or here < limit:
            beyond = min(here * values[-1] / values[-2], limit)
            yield _side(axis, best, here, above, beyond)
        yield _side(axis, best, here, below, here * values[0] / values[1])


def _side(axis: str, best: Trial, here: float, neighbour: float | None, beyond: float) -> _Side:
    value = beyond if neighbour is None else math.sqrt(here * neighbour)
    settings = {**best.settings, axis: float(f"{value:.{_DIGITS}g}")}
    gap = 0.0 if neighbour is None else abs(math.log(neighbour / here))
    return _Side(axis, neighbour, gap, settings)
