"""What one agent observes and each hypothesis claims, in rationals.

The counterparts of `theory.FiniteAgent` and `theory.GaussianAgent`. Divergences come out as
`LogSum`: a rational and rational multiples of logarithms of integers, so that whether two
hypotheses are equally good is decided and not judged by a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from theory.learning import FiniteAgent, GaussianAgent
from theory.learning.batches import (
    as_batch,
    exact_products,
    exact_sums,
    exact_type_weights,
    type_counts,
)
from theory.numbers import LogSum, as_fraction, exact_distribution
from theory.numbers.rational import Exact
from theory.rational.log_ratio import RationalLogRatio, point_masses
from theory.showing import Shown, Value
from theory.validation import fail

# A rational agent with finitely many outcomes ----------------------------------------------------


Table: TypeAlias = "Sequence[Sequence[Exact | float | str]]"


@dataclass(frozen=True, eq=False)
class LogLikelihoodBounds(Shown):
    """log α = `lower` and log L = `upper`: α ≤ ℓ(y | θ, x) ≤ L wherever (x, y) can be observed."""

    lower: LogSum
    upper: LogSum


@dataclass(frozen=True, eq=False)
class RationalFiniteAgent(Value):
    """An agent with finitely many outcomes, each of a rational probability.

    Build it with `from_tables` or `from_log_likelihoods`.

    Attributes
    ----------
    probabilities
        Length O: the probability of each outcome, none zero.
    likelihoods
        M rows of length O of positive fractions: ℓ(y | θ, x); all ones if logs are stored.
    log_likelihoods
        M rows of length O of fractions: what is to be added to the logs of `likelihoods`, in nats.
    negative_entropy
        E_x Σ_y f log f in nats; zero for a data set.
    batch
        How many independent observations the agent draws a round; the tables are of one.
    """

    probabilities: tuple[Fraction, ...]
    likelihoods: tuple[tuple[Fraction, ...], ...]
    log_likelihoods: tuple[tuple[Fraction, ...], ...]
    negative_entropy: LogSum
    batch: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch", as_batch(self.batch))

    def batched(self, batch: int) -> RationalFiniteAgent:
        """The agent that draws `batch` independent observations a round.

        Raises
        ------
        ValueError
            If `batch` is not a whole number of at least 1.
        """
        return replace(self, batch=batch)

    @cached_property
    def outcomes(self) -> RationalFiniteAgent:
        """The same evidence as one observation a round: its outcomes are the types of batches.

        Raises
        ------
        ValueError
            If there are more than 65 536 types.
        """
        if self.batch == 1:
            return self
        columns = list(zip(*self.likelihoods, *self.log_likelihoods, strict=True))
        shares: dict[tuple[Fraction, ...], Fraction] = {}
        for column, p in zip(columns, self.probabilities, strict=True):
            shares[column] = shares.get(column, Fraction(0)) + p
        counts = type_counts(len(shares), self.batch, rows=self.hypotheses)
        rows = list(zip(*shares, strict=True))
        return RationalFiniteAgent(
            exact_type_weights(tuple(shares.values()), counts),
            tuple(exact_products(row, counts) for row in rows[: self.hypotheses]),
            tuple(exact_sums(row, counts) for row in rows[self.hypotheses :]),
            self.negative_entropy * self.batch,
        )

    @classmethod
    def from_tables(
        cls,
        *,
        truth: Table,
        likelihood: Sequence[Table],
        inputs: Sequence[Exact | float | str] = (1,),
    ) -> RationalFiniteAgent:
        """From P(x), f(y|x) and ℓ(y|θ,x), as `FiniteAgent.from_tables`; doubles are read exactly.

        Raises
        ------
        ValueError
            If a row is no distribution, shapes disagree, or a likelihood is zero where the truth
            is positive.
        """
        law = exact_distribution(inputs, argument="inputs")
        true = [exact_distribution(row, argument=f"truth[{x}]") for x, row in enumerate(truth)]
        claims = [
            [
                exact_distribution(row, argument=f"likelihood[{k}][{x}]")
                for x, row in enumerate(table)
            ]
            for k, table in enumerate(likelihood)
        ]
        shape = [len(row) for row in true]
        if len(true) != len(law) or any([len(row) for row in t] != shape for t in claims):
            raise fail(
                "likelihood",
                "tables of inputs by labels, of the shape of the truth",
                f"{len(law)} inputs and a truth of rows {shape}",
                "make inputs and labels agree",
            )
        places = [
            (x, y) for x in range(len(law)) for y in range(shape[x]) if law[x] * true[x][y] > 0
        ]
        for k, table in enumerate(claims):
            for x, y in places:
                if table[x][y] == 0:
                    raise fail(
                        f"likelihood[{k}][{x}][{y}]",
                        "a positive likelihood wherever the truth is positive",
                        f"0 where the truth is {float(true[x][y]):g}",
                        "give that hypothesis a small positive probability there",
                    )
        probabilities = tuple(law[x] * true[x][y] for x, y in places)
        zero = (Fraction(0),) * len(places)
        return cls(
            probabilities,
            tuple(tuple(table[x][y] for x, y in places) for table in claims),
            (zero,) * len(claims),
            LogSum.of_logs((true[x][y], law[x] * true[x][y]) for x, y in places),
        )

    @classmethod
    def from_agent(cls, agent: FiniteAgent) -> RationalFiniteAgent:
        """The doubles an agent stores, read as the binary fractions they are.

        Its log-likelihoods and its entropy are taken as given: where they were computed from
        tables, the tables themselves make the better start.
        """
        if agent.single is not None:
            return cls.from_agent(agent.single).batched(agent.batch)
        probabilities = exact_distribution(agent.probabilities.tolist())
        logs = tuple(
            tuple(Fraction(value) for value in row) for row in agent.log_likelihoods.tolist()
        )
        one = (Fraction(1),) * len(probabilities)
        entropy = LogSum.constant(Fraction(-float(agent.entropy)))
        return cls(probabilities, (one,) * len(logs), logs, entropy)

    @property
    def hypotheses(self) -> int:
        """The number M of hypotheses."""
        return len(self.likelihoods)

    @cached_property
    def divergences(self) -> tuple[LogSum, ...]:
        """D(θ) of a round's observations for each θ, in nats, exactly."""
        found = []
        for row, logs in zip(self.likelihoods, self.log_likelihoods, strict=True):
            pairs = zip(row, self.probabilities, strict=True)
            rational = sum(
                (p * r for p, r in zip(self.probabilities, logs, strict=True)), Fraction(0)
            )
            found.append(self.negative_entropy - LogSum.of_logs(pairs) - LogSum.constant(rational))
        return tuple(self.batch * one for one in found)

    def log_ratio(self, best: int, other: int) -> RationalLogRatio:
        """The law of z(best, other)."""
        ratios = zip(self.likelihoods[best], self.likelihoods[other], strict=True)
        offsets = zip(self.log_likelihoods[best], self.log_likelihoods[other], strict=True)
        return point_masses(
            self.probabilities,
            offsets=[a - b for a, b in offsets],
            arguments=[a / b for a, b in ratios],
        ).repeated(self.batch)

    def indistinguishable(self, first: int, second: int) -> bool:
        """Whether z(first, second) = 0 for every observation: decided."""
        law = replace(self, batch=1).log_ratio(first, second)
        return law.atoms == 1 and law.values[0].is_zero

    @cached_property
    def log_likelihood_bounds(self) -> LogLikelihoodBounds:
        """The numbers log α and log L over hypotheses and possible outcomes, exactly."""
        extremes = [
            LogSum.log(extreme) + LogSum.constant(row[0])
            for claims, row in zip(self.likelihoods, self.log_likelihoods, strict=True)
            for extreme in (min(claims), max(claims))
            if not any(row)
        ] + [
            LogSum.constant(extreme)
            for row in self.log_likelihoods
            if any(row)
            for extreme in (min(row), max(row))
        ]
        return LogLikelihoodBounds(self.batch * min(extremes), self.batch * max(extremes))


# A rational agent with real labels ---------------------------------------------------------------


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


# What one agent observes and each hypothesis claims, in rationals --------------------------------


RationalAgent: TypeAlias = RationalFiniteAgent | RationalGaussianAgent


def rational_agent(agent: FiniteAgent | GaussianAgent) -> RationalAgent:
    """The agent's doubles, read as the binary fractions they are."""
    if isinstance(agent, FiniteAgent):
        return RationalFiniteAgent.from_agent(agent)
    return RationalGaussianAgent.from_agent(agent)
