"""A finite set of hypotheses and what every agent knows about them, in rationals.

The counterpart of `theory.FiniteModel`. Which hypotheses are best for an agent, for all agents at
once, or for the network as a whole is *decided*: divergences are `LogSum`, whose order is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import gcd, lcm

from theory.learning import FiniteModel
from theory.learning.batches import BatchedKinds, as_batches
from theory.numbers import LogSum, exact_distribution
from theory.numbers.rational import Exact
from theory.rational.agents import RationalAgent, rational_agent
from theory.rational.log_ratio import RationalLogRatio
from theory.rational.network import RationalNetwork
from theory.showing import Shown, Value
from theory.typed import typed
from theory.validation import fail

# A finite set of hypotheses and what every agent knows about them, in rationals ------------------


# A finite set of hypotheses and what every agent knows about them, in rationals ------------------


@dataclass(frozen=True, eq=False)
class RationalModel(Value):
    """Hypotheses, agents' laws and priors, all rational.

    Parameters
    ----------
    hypotheses
        M names.
    kinds
        The K distinct agents.
    assignment
        Length N: which kind each agent is.
    priors
        K rows of length M of positive fractions; each sums to one.

    Raises
    ------
    ValueError
        If there are fewer than two hypotheses, names repeat, or lengths disagree.
    """

    hypotheses: tuple[str, ...]
    kinds: tuple[RationalAgent, ...]
    assignment: tuple[int, ...]
    priors: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        names = self.hypotheses
        if len(names) < 2 or len(set(names)) != len(names):
            raise fail(
                "hypotheses", "at least two distinct names", list(names), "name each one once"
            )
        for k, kind in enumerate(self.kinds):
            if kind.hypotheses != len(names):
                raise fail(
                    f"agents[{k}]",
                    f"likelihoods for {len(names)} hypotheses",
                    kind.hypotheses,
                    "give one likelihood per hypothesis",
                )
        if not self.assignment or not set(self.assignment) <= set(range(len(self.kinds))):
            raise fail(
                "assignment",
                f"one kind from 0 to {len(self.kinds) - 1} per agent",
                f"{sorted(set(self.assignment))}",
                "name existing kinds",
            )
        if len(self.priors) != len(self.kinds) or any(
            len(row) != len(names) or min(row) <= 0 or sum(row) != 1 for row in self.priors
        ):
            raise fail(
                "priors",
                f"a distribution over {len(names)} hypotheses without zeros for each kind",
                "something else",
                "a hypothesis of prior zero is never learnt: give it some mass",
            )

    @classmethod
    def from_agents(
        cls,
        hypotheses: Sequence[str],
        agents: Sequence[RationalAgent],
        *,
        counts: Sequence[int] | None = None,
        priors: Sequence[Sequence[Exact | float | str] | None] | None = None,
    ) -> RationalModel:
        """Agents in a row, each repeated `counts` times (once if left out); uniform priors if None.

        Raises
        ------
        ValueError
            As for the class.
        """
        size = len(hypotheses)
        repeats = [1] * len(agents) if counts is None else list(counts)
        given = [None] * len(agents) if priors is None else list(priors)
        uniform = (Fraction(1, max(1, size)),) * size
        return cls(
            tuple(hypotheses),
            tuple(agents),
            tuple(k for k, count in enumerate(repeats) for _ in range(count)),
            tuple(
                uniform if row is None else exact_distribution(row, argument=f"priors[{k}]")
                for k, row in enumerate(given)
            ),
        )

    @classmethod
    def from_model(cls, model: FiniteModel) -> RationalModel:
        """The doubles of a model, read as the binary fractions they are.

        Log-likelihoods and log-priors are taken as they are stored; priors come out as the
        fractions next to their exponentials.
        """
        priors = []
        for row in model.log_priors:
            uniform = bool((row == row[0]).all())
            size = len(row)
            fractions = [Fraction(1, size)] * size if uniform else _normalised(row.tolist())
            priors.append(tuple(fractions))
        return cls(
            model.hypotheses,
            tuple(rational_agent(kind) for kind in model.kinds),
            tuple(int(k) for k in model.assignment),
            tuple(priors),
        )

    def batched(self, batch: int | Sequence[int]) -> RationalModel:
        """The model whose agents draw `batch` observations a round; as `FiniteModel.batched`.

        Raises
        ------
        ValueError
            If a number is not whole and at least 1, or there is not one for each agent.
        """
        sizes = as_batches(batch, self.agents)
        found = BatchedKinds.of(self.assignment, sizes, len(self.kinds))
        return RationalModel(
            self.hypotheses,
            tuple(self.kinds[k].batched(b) for k, b in found.pairs),
            found.assignment,
            tuple(self.priors[k] for k, _ in found.pairs),
        )

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return len(self.assignment)

    @cached_property
    def kind_divergences(self) -> tuple[tuple[LogSum, ...], ...]:
        """D(θ) of each kind, K rows of length M, in nats, exactly."""
        return tuple(kind.divergences for kind in self.kinds)

    @cached_property
    def locally_optimal(self) -> tuple[tuple[int, ...], ...]:
        """Θ̄ of each kind: decided."""
        return tuple(minimisers(row) for row in self.kind_divergences)

    @cached_property
    def optimal_hypotheses(self) -> tuple[int, ...]:
        """Θ* = ∩_j Θ̄_j, possibly empty (P1 section 2.1): decided."""
        common = set(range(len(self.hypotheses)))
        for kind in set(self.assignment):
            common &= set(self.locally_optimal[kind])
        return tuple(sorted(common))

    def kind_weights(self, weights: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Each kind's total weight, for one weight per agent.

        Raises
        ------
        ValueError
            If there is not one weight per agent.
        """
        if len(weights) != self.agents:
            raise fail(
                "weights",
                f"one weight for each of {self.agents} agents",
                len(weights),
                "use a network with as many agents as the model",
            )
        totals = [Fraction(0)] * len(self.kinds)
        for kind, weight in zip(self.assignment, weights, strict=True):
            totals[kind] += weight
        return tuple(totals)

    def weighted_divergences(self, weights: Sequence[Fraction]) -> tuple[LogSum, ...]:
        """Σ_j w_j D_j(θ) for each θ, for one weight per agent, exactly."""
        totals = self.kind_weights(weights)
        return tuple(
            LogSum.total(
                total * row[m] for total, row in zip(totals, self.kind_divergences, strict=True)
            )
            for m in range(len(self.hypotheses))
        )

    def compromise(self, weights: Sequence[Fraction]) -> tuple[int, ...]:
        """argmin_θ Σ_j w_j D_j(θ): decided (docs: mathematics/rate)."""
        return minimisers(self.weighted_divergences(weights))

    def information(self, best: int, other: int) -> tuple[LogSum, ...]:
        """I(best, other) = D(other) − D(best) of each kind, in nats, exactly."""
        return tuple(row[other] - row[best] for row in self.kind_divergences)

    def log_ratios(self, best: int, other: int) -> tuple[RationalLogRatio, ...]:
        """The law of z(best, other) of each kind."""
        return tuple(kind.log_ratio(best, other) for kind in self.kinds)

    def prior_log_odds(self, best: int, other: int) -> tuple[LogSum, ...]:
        """The log of prior(best) over prior(other) of each kind, exactly."""
        return tuple(LogSum.log(row[best] / row[other]) for row in self.priors)

    @cached_property
    def ambiguous_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of hypotheses that no observation of any agent tells apart: decided."""
        present = [self.kinds[k] for k in sorted(set(self.assignment))]
        return tuple(
            (a, b)
            for a, b in combinations(range(len(self.hypotheses)), 2)
            if all(kind.indistinguishable(a, b) for kind in present)
        )

    @cached_property
    def log_ratio_bound(self) -> LogSum | None:
        """C = log(L/α) over all agents (P1 Theorem 1), exactly; None if there is no bound."""
        bounds = [kind.log_likelihood_bounds for kind in self.kinds]
        finite = [bound for bound in bounds if bound is not None]
        if len(finite) < len(bounds):
            return None
        return max(b.upper for b in finite) - min(b.lower for b in finite)


def minimisers(values: Sequence[LogSum]) -> tuple[int, ...]:
    """The indices of the smallest of the numbers, ties included: decided."""
    lowest = min(values)
    return tuple(index for index, value in enumerate(values) if not lowest < value)


def _normalised(logs: Sequence[float]) -> tuple[Fraction, ...]:
    from math import exp, fsum

    sizes = [exp(value) for value in logs]
    total = fsum(sizes)
    return exact_distribution([size / total for size in sizes], argument="priors")


# How fast the network rejects wrong hypotheses, exactly and with every comparison decided --------


@dataclass(frozen=True, eq=False)
class RationalRate(Shown):
    """K(Θ) and what it is made of; all exact, in nats per round.

    Attributes
    ----------
    model
        The model that the rates belong to.
    rates
        Σ_j v_j I_j(θ*, θ) for each θ; zero for the reference hypotheses.
    reference
        Θ*, or the network's compromise argmin Σ_j v_j D_j if Θ* is empty.
    is_compromise
        Whether Θ* is empty.
    binding_hypotheses
        The wrong hypotheses of the smallest rate, ties included; empty if none is wrong.
    """

    model: RationalModel
    rates: tuple[LogSum, ...]
    reference: tuple[int, ...]
    is_compromise: bool
    binding_hypotheses: tuple[int, ...]

    @property
    def rate(self) -> LogSum | None:
        """K(Θ): the smallest rate of a wrong hypothesis; None, for infinite, if none is wrong."""
        return None if self.binding is None else self.rates[self.binding]

    @property
    def binding(self) -> int | None:
        """The first of the wrong hypotheses that are rejected last; None if there is none."""
        return self.binding_hypotheses[0] if self.binding_hypotheses else None

    def divergences(self, theta: int) -> tuple[LogSum, ...]:
        """I_j(θ*, θ) of each agent j, for θ* the first reference hypothesis."""
        kinds = self.model.information(self.reference[0], theta)
        return tuple(kinds[kind] for kind in self.model.assignment)

    @property
    def ambiguous_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of hypotheses that no observation of any agent tells apart: decided."""
        return self.model.ambiguous_pairs


@typed
def rational_rate(network: RationalNetwork, model: RationalModel) -> RationalRate:
    """The rate of rejection of every wrong hypothesis, exactly.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.

    Examples
    --------
    >>> from theory.rational import RationalFiniteAgent
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=["1"], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    ... )
    >>> model = RationalModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> network = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> str(rational_rate(network, model).rate)
    'log(2) - 1/2*log(3)'
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"as many agents as the network, {network.agents}",
            f"{model.agents}",
            "change the agents' counts or the network's size",
        )
    totals = model.weighted_divergences(network.stationary_distribution)
    reference = model.optimal_hypotheses or minimisers(totals)
    rates = [total - totals[reference[0]] for total in totals]
    wrong = [m for m in range(len(totals)) if m not in reference]
    slowest = minimisers([rates[m] for m in wrong]) if wrong else ()
    return RationalRate(
        model=model,
        rates=tuple(rates),
        reference=reference,
        is_compromise=not model.optimal_hypotheses,
        binding_hypotheses=tuple(wrong[place] for place in slowest),
    )


# How near to a tie log-ratios can come without being one -----------------------------------------


# In nats. A smaller gap says nothing that rounding in doubles would not blur.
_SMALLEST = 1e-6


@typed
def tie_gap(network: RationalNetwork, model: RationalModel, *, reference: Sequence[int]) -> float:
    """A number with no Λ_i^(n)(θ*, θ) strictly between 0 and it; 0.0 where none was found.

    A lower bound on the largest such number, in nats, for θ* the first of `reference`, every θ
    outside `reference`, every agent and every round from 1 on.

    Examples
    --------
    >>> from theory.rational import RationalFiniteAgent
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=[1], truth=[["2/3", "1/3"]], likelihood=[[["2/3", "1/3"]], [["1/3", "2/3"]]]
    ... )
    >>> model = RationalModel.from_agents(["heads", "tails"], [coin])
    >>> round(tie_gap(RationalNetwork.from_rows([["1"]]), model, reference=[0]), 12)
    0.69314718056
    """
    first, *others = network.rows
    if any(row != first for row in others):
        return 0.0
    v = network.stationary_distribution
    gaps = []
    for theta in range(len(model.hypotheses)):
        if theta in reference:
            continue
        laws = model.log_ratios(reference[0], theta)
        if not all(laws[kind].is_bounded for kind in set(model.assignment)):
            return 0.0
        pairs = set(zip(model.assignment, v, strict=True))
        # What a batch adds is a sum of what single observations add.
        ones = [law.single or law for law in laws]
        values = [weight * value for kind, weight in pairs for value in ones[kind].values]
        odds = model.prior_log_odds(reference[0], theta)
        shares = zip(model.kind_weights(v), odds, strict=True)
        values.append(LogSum.total(weight * log for weight, log in shares))
        unit = common_unit(values)
        if unit is None:
            return 0.0
        gaps.append(unit.enclosure().lower)
    gap = min(gaps, default=0.0)
    return gap if gap >= _SMALLEST else 0.0


def common_unit(values: Iterable[LogSum]) -> LogSum | None:
    """The largest positive number of which all `values` are whole multiples: decided.

    None where there is none, where all values are zero, or where it was not found because the
    values are written over different integers.
    """
    present = [value for value in values if not value.is_zero]
    if not present:
        return None
    first = present[0]
    ratios = []
    for value in present:
        ratio = _ratio(value, first)
        if ratio is None:
            return None
        ratios.append(ratio)
    denominator = lcm(*(ratio.denominator for ratio in ratios))
    numerator = gcd(*(int(ratio * denominator) for ratio in ratios))
    unit = first * Fraction(numerator, denominator)
    return unit if unit.sign() > 0 else -unit


def _ratio(value: LogSum, unit: LogSum) -> Fraction | None:
    """The rational q with value = q unit, if there is one and it is found."""
    if unit.logs:
        base, coefficient = unit.logs[0]
        ratio = dict(value.logs).get(base, Fraction(0)) / coefficient
    else:
        ratio = value.rational / unit.rational
    return ratio if ratio and (value - unit * ratio).is_zero else None
