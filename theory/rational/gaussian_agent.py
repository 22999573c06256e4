"""A rational agent with real labels: the counterpart of `theory.GaussianAgent`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from theory.learning import GaussianAgent
from theory.learning.batches import (
    as_batch,
)
from theory.numbers import LogSum, as_fraction, exact_distribution
from theory.numbers.rational import Exact
from theory.rational.finite_agent import Table
from theory.rational.log_ratio import RationalLogRatio
from theory.validation import fail
from theory.values import Value


@dataclass(frozen=True, eq=False)
class RationalGaussianAgent(Value):
    """An agent with real labels, as `theory.GaussianAgent`, with rational means and deviations.

    Raises
    ------
    ValueError
        If shapes disagree, a standard deviation is not positive, or inputs are no distribution.
    """

    inputs: tuple[Fraction, ...]
    truth_means: tuple[Fraction, ...]
    truth_std: Fraction
    means: tuple[tuple[Fraction, ...], ...]
    std: Fraction
    batch: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch", as_batch(self.batch))
        size = len(self.inputs)
        if len(self.truth_means) != size or any(len(row) != size for row in self.means):
            raise fail(
                "means",
                f"one mean per input, {size}, for the truth and each hypothesis",
                f"{len(self.truth_means)} and {[len(row) for row in self.means]}",
                "give every hypothesis one mean per input",
            )
        if sum(self.inputs) != 1 or min(self.inputs) < 0 or min(self.std, self.truth_std) <= 0:
            raise fail(
                "inputs",
                "a distribution, and standard deviations above 0",
                f"a sum of {sum(self.inputs)}, std {self.std} and {self.truth_std}",
                "mend them",
            )

    @classmethod
    def from_tables(
        cls,
        *,
        truth_means: Sequence[Exact | float | str],
        truth_std: Exact | float | str,
        means: Table,
        std: Exact | float | str,
        inputs: Sequence[Exact | float | str] = (1,),
    ) -> RationalGaussianAgent:
        """From numbers of any kind; doubles are read exactly. Without `inputs` there is one."""
        return cls(
            exact_distribution(inputs, argument="inputs"),
            tuple(as_fraction(value) for value in truth_means),
            as_fraction(truth_std),
            tuple(tuple(as_fraction(value) for value in row) for row in means),
            as_fraction(std),
        )

    def batched(self, batch: int) -> RationalGaussianAgent:
        """The agent that draws `batch` independent observations a round.

        Raises
        ------
        ValueError
            If `batch` is not a whole number of at least 1.
        """
        return replace(self, batch=batch)

    @classmethod
    def from_agent(cls, agent: GaussianAgent) -> RationalGaussianAgent:
        """The doubles an agent stores, read as the binary fractions they are."""
        return cls.from_tables(
            inputs=agent.inputs.tolist(),
            truth_means=agent.truth_means.tolist(),
            truth_std=float(agent.truth_std),
            means=agent.means.tolist(),
            std=float(agent.std),
        ).batched(agent.batch)

    @property
    def hypotheses(self) -> int:
        """The number M of hypotheses."""
        return len(self.means)

    @cached_property
    def divergences(self) -> tuple[LogSum, ...]:
        """D(θ) of a round's observations for each θ, in nats, exactly."""
        ratio = self.truth_std / self.std
        spread = LogSum.constant((ratio * ratio - 1) / 2) - LogSum.log(ratio)
        offsets = [
            sum(
                (
                    p * (m - t) ** 2
                    for p, m, t in zip(self.inputs, row, self.truth_means, strict=True)
                ),
                Fraction(0),
            )
            for row in self.means
        ]
        return tuple(
            self.batch * (spread + LogSum.constant(offset / (2 * self.std * self.std)))
            for offset in offsets
        )

    def log_ratio(self, best: int, other: int) -> RationalLogRatio:
        """The law of z(best, other): one normal atom per input, or per type of a batch's inputs."""
        square = self.std * self.std
        gaps = [a - b for a, b in zip(self.means[best], self.means[other], strict=True)]
        middles = [(a + b) / 2 for a, b in zip(self.means[best], self.means[other], strict=True)]
        return RationalLogRatio(
            self.inputs,
            tuple(
                g * (t - m) / square
                for g, t, m in zip(gaps, self.truth_means, middles, strict=True)
            ),
            (Fraction(1),) * len(self.inputs),
            tuple((g * self.truth_std / square) ** 2 for g in gaps),
        ).repeated(self.batch)

    def indistinguishable(self, first: int, second: int) -> bool:
        """Whether the two hypotheses claim the same mean at every possible input: decided."""
        rows = zip(self.inputs, self.means[first], self.means[second], strict=True)
        return all(a == b for p, a, b in rows if p)

    @property
    def log_likelihood_bounds(self) -> None:
        """None: a normal density comes arbitrarily close to zero."""
        return None
