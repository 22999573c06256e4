"""An agent with finitely many outcomes, given by tables or by a data set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from theory.learning.batches import alike, as_batch, totals, type_counts, type_law, type_weights
from theory.learning.log_ratio import SMALL, Atoms, LogRatioLaw, second_order
from theory.learning.tables import (
    EPS,
    LARGEST,
    UNITS,
    Comparison,
    GaussianAgent,
    LikelihoodBounds,
    Tables,
    rearranged,
    size_text,
)
from theory.scientific import xlogy
from theory.showing import Value
from theory.validation import FloatArray, IntArray, as_distribution, as_integer, fail, read_only

# An agent with finitely many outcomes, given by tables or by a data set --------------------------


# Entries of a table handled at a time: 32 MiB.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class FiniteAgent(Value):
    """An agent with finitely many outcomes.

    Parameters
    ----------
    probabilities
        Shape (O,): the probability of each outcome. Outcomes of probability zero are dropped.
    log_likelihoods
        Shape (M, O): log ℓ(y | θ, x) of each outcome under each hypothesis, in nats.
    entropy
        E_x H(f(· | x)) in nats, the constant that turns cross-entropies into divergences; zero
        where the label is a function of the input, as for a data set.
    true_hypotheses
        Hypotheses known to claim the truth itself: each is strictly better than any that claims
        something else, however little.
    batch, single
        Of an agent made by `batched`: how many observations it draws a round, and the agent that
        draws one. Its outcomes are the types of batches (:mod:`theory.learning.batches`).

    Attributes
    ----------
    tables
        What `from_tables` was given, None else: differences of likelihoods keep their digits.

    Raises
    ------
    ValueError
        If the shapes disagree, a likelihood is zero (−inf in logs) where the truth is positive, a
        true hypothesis is none, or `batch` and `single` do not go together.
    """

    probabilities: FloatArray
    log_likelihoods: FloatArray
    entropy: float = 0.0
    true_hypotheses: tuple[int, ...] = ()
    batch: int = field(default=1, repr=False)
    single: FiniteAgent | None = field(default=None, repr=False)
    tables: Tables | None = field(default=None, init=False, repr=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            probabilities: ArrayLike,
            log_likelihoods: ArrayLike,
            entropy: float = 0.0,
            true_hypotheses: Sequence[int] = (),
            batch: int = 1,
            single: FiniteAgent | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        probabilities = as_distribution("probabilities", self.probabilities)
        table = np.array(self.log_likelihoods, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != probabilities.size:
            raise fail(
                "log_likelihoods",
                f"shape (hypotheses, {probabilities.size})",
                f"shape {table.shape}",
                "give one row per hypothesis and one column per outcome",
            )
        possible = probabilities > 0
        table = table[:, possible]
        if not np.isfinite(table).all():
            theta, outcome = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
            raise fail(
                "log_likelihoods",
                "a positive likelihood wherever the truth is positive",
                f"log-likelihood {table[theta, outcome]} of hypothesis {theta}, outcome {outcome}",
                "give that hypothesis a small positive probability there",
            )
        if np.abs(table).max(initial=0.0) > LARGEST:
            raise fail(
                "log_likelihoods",
                f"sizes below {size_text(LARGEST)}",
                f"{np.abs(table).max():g}",
                "give natural logarithms of likelihoods",
            )
        true = sorted(
            as_integer("true_hypotheses", m, minimum=0, maximum=len(table) - 1)
            for m in self.true_hypotheses
        )
        object.__setattr__(self, "probabilities", read_only(probabilities[possible]))
        object.__setattr__(self, "log_likelihoods", read_only(np.ascontiguousarray(table)))
        object.__setattr__(self, "true_hypotheses", tuple(true))
        object.__setattr__(self, "batch", as_batch(self.batch))
        _check_single(self.batch, self.single, len(table))

    @classmethod
    def from_tables(
        cls, *, truth: ArrayLike, likelihood: ArrayLike, inputs: ArrayLike = (1.0,)
    ) -> FiniteAgent:
        """From P(x) of shape (X,), f(y|x) of shape (X, Y), ℓ(y|θ,x) of shape (M, X, Y).

        Without `inputs` there is one input, as in a problem file.

        Raises
        ------
        ValueError
            If a row is no distribution, shapes disagree, or a likelihood is zero where the truth
            is positive.

        Examples
        --------
        >>> coin = FiniteAgent.from_tables(
        ...     truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
        ... )
        >>> coin.divergences.round(4)
        array([0.    , 0.1438])
        """
        p = as_distribution("inputs", inputs)
        f = as_distribution("truth", truth, ndim=2)
        table = as_distribution("likelihood", likelihood, ndim=3)
        if f.shape[0] != p.size or table.shape[1:] != f.shape:
            raise fail(
                "likelihood",
                f"shape (hypotheses, {p.size} inputs, labels) for a truth of the same inputs by "
                "labels",
                f"likelihood {table.shape} and truth {f.shape}",
                "make inputs and labels agree",
            )
        joint = p[:, None] * f
        impossible = (table == 0) & (joint > 0)
        if impossible.any():
            theta, x, y = (int(i) for i in np.argwhere(impossible)[0])
            raise fail(
                f"likelihood[{theta}][{x}][{y}]",
                "a positive likelihood wherever the truth is positive",
                f"0 where the truth is {f[x, y]:g}",
                "give that hypothesis a small positive probability there",
            )
        with np.errstate(divide="ignore"):
            logs = np.log(table).reshape(table.shape[0], -1)
        entropy = -float(p @ xlogy(f).sum(axis=1))
        true = ((table == f) | (joint == 0)).all(axis=(1, 2))
        known = tuple(np.flatnonzero(true).tolist())
        agent = cls(joint.ravel(), logs, entropy, known)
        object.__setattr__(agent, "tables", Tables(p, f, table))
        return agent

    @classmethod
    def from_log_likelihoods(
        cls, log_likelihoods: ArrayLike, *, probabilities: ArrayLike | None = None
    ) -> FiniteAgent:
        """An agent that draws rows of a data set with replacement: an empirical law.

        `log_likelihoods` has shape (M, O), one column per stored (input, label) pair; all pairs
        are equally likely unless `probabilities` of shape (O,) says otherwise. Each stored input
        has one label, so the entropy is zero and divergences are mean log-losses.

        Raises
        ------
        ValueError
            As for the class.
        """
        table = np.asarray(log_likelihoods, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] == 0:
            raise fail(
                "log_likelihoods",
                "shape (hypotheses, outcomes) with at least one outcome",
                f"shape {table.shape}",
                "give one column per data point",
            )
        if probabilities is None:
            probabilities = np.full(table.shape[1], 1.0 / table.shape[1])
        return cls(np.asarray(probabilities, dtype=np.float64), table)

    def batched(self, batch: int) -> FiniteAgent:
        """The agent that draws `batch` independent observations a round in place of one.

        Outcomes become types of batches: how often each outcome is in a batch, outcomes that all
        hypotheses explain alike counted together.

        Raises
        ------
        ValueError
            If `batch` is not a whole number of at least 1, there are more than 65 536 types or too
            many for the hypotheses, or one of them is rarer than 1e-290.

        Examples
        --------
        >>> coin = FiniteAgent.from_tables(
        ...     truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
        ... )
        >>> coin.batched(3).probabilities.tolist()
        [0.125, 0.375, 0.375, 0.125]
        """
        one, size = self.single or self, as_batch(batch)
        if size == 1:
            return one
        claims, group = one._groups
        counts = type_counts(claims.shape[1], size, rows=len(claims))
        law = type_law(totals(group, one.probabilities), counts)
        logs = np.zeros((len(claims), len(counts)))
        for outcome, often in enumerate(counts.T):  # hypotheses that claim the same stay equal
            logs += claims[:, [outcome]] * often
        return FiniteAgent(law, logs, size * one.entropy, one.true_hypotheses, size, one)

    def restricted(self, chosen: list[int]) -> FiniteAgent:
        """The agent with some of the hypotheses only."""
        one = self.single or self
        true = tuple(k for k, m in enumerate(chosen) if m in one.true_hypotheses)
        part = replace(one, log_likelihoods=one.log_likelihoods[chosen], true_hypotheses=true)
        if one.tables is not None:
            tables = replace(one.tables, likelihood=one.tables.likelihood[chosen])
            object.__setattr__(part, "tables", tables)
        return part.batched(self.batch)

    @cached_property
    def _groups(self) -> tuple[FloatArray, IntArray]:
        """The distinct columns of the log-likelihoods, and which of them each outcome has."""
        return alike(self.log_likelihoods)

    def _title(self) -> str:
        outcomes = (self.single or self).probabilities.size
        batches = "" if self.batch == 1 else f", batches of {self.batch}"
        return f"FiniteAgent, {self.hypotheses} hypotheses, {outcomes} outcomes{batches}"

    @property
    def hypotheses(self) -> int:
        """The number M of hypotheses."""
        return int(self.log_likelihoods.shape[0])

    @cached_property
    def divergences(self) -> FloatArray:
        """D(θ) of a round's observations, shape (M,), in nats: a floating-point value."""
        if self.single is not None:
            return read_only(self.batch * self.single.divergences)
        values = -(self.log_likelihoods @ self.probabilities) - self.entropy
        return read_only(self._with_digits(values, -1, self._sizes, self.true_hypotheses))

    @cached_property
    def _sizes(self) -> FloatArray:
        """Σ_o p_o |log ℓ_o| of each hypothesis, shape (M,)."""
        return _by_rows(self.log_likelihoods, lambda rows: np.abs(rows) @ self.probabilities)

    def compare(self, best: int) -> Comparison:
        """I(best, θ) = D(θ) − D(best) for every θ, shape (M,), with what rounding may have done."""
        if self.single is not None:
            return self.single.compare(best).times(self.batch)
        mine = self.log_likelihoods[best]
        values = _by_rows(self.log_likelihoods, lambda rows: (mine - rows) @ self.probabilities)
        # Of a sum of O rounded terms, and of inputs that are right to some last places:
        # probabilities and likelihoods relatively, logarithms besides.
        sizes = self._sizes[best] + self._sizes + 2.0
        doubt = (UNITS + self.probabilities.size) * EPS * sizes
        values = self._with_digits(values, best, sizes, (best,))
        values[best] = doubt[best] = 0.0
        for theta in np.flatnonzero(np.abs(values) <= doubt):
            if theta != best:
                values[theta], doubt[theta] = self._compared(best, int(theta))
        return Comparison(read_only(values), read_only(doubt))

    def _with_digits(
        self, values: FloatArray, first: int, sizes: FloatArray, same: tuple[int, ...]
    ) -> FloatArray:
        """E z(first, θ) for every θ: of tables, those far below `sizes` are formed again.

        Those of `same` are zero.
        """
        if self.tables is not None:
            close = np.abs(values) < SMALL * sizes
            close[list(same)], values[list(same)] = False, 0.0
            if close.any():
                values[close] = self.tables.information(first, np.flatnonzero(close))
        return values

    def _compared(self, best: int, other: int) -> tuple[float, float]:
        """The same for one pair: outcomes of equal likelihood have no say, and nothing adds up."""
        differ = self.log_likelihoods[best] != self.log_likelihoods[other]
        p = self.probabilities[differ]
        one, two = self.log_likelihoods[best, differ], self.log_likelihoods[other, differ]
        if rearranged(np.column_stack([one, p]), np.column_stack([two, p])):
            return 0.0, 0.0
        value = self._information(best, other)
        known = (best in self.true_hypotheses) - (other in self.true_hypotheses)
        if known and not self.indistinguishable(best, other):
            return known * max(known * value, float(np.finfo(float).tiny)), 0.0
        each = np.abs(one) + np.abs(two) + 2.0
        return value, UNITS * EPS * float(p @ each) * (1 + p.size * EPS)

    def _log_ratios(self, best: int, other: int) -> FloatArray:
        """z(best, other) of each outcome, in nats."""
        if self.single is not None:
            single = self.single._log_ratios(best, other)
            claims, group = self.single._groups
            first = np.unique(group, return_index=True)[1]
            counts = type_counts(claims.shape[1], self.batch, rows=len(claims))
            return np.asarray(counts @ single[first], dtype=np.float64)
        mine = self.log_likelihoods[best]
        z = np.asarray(mine - self.log_likelihoods[other])
        if self.tables is not None and (np.abs(z) < SMALL * np.abs(mine)).any():
            return np.asarray(self.tables.log_ratios(best, np.array([other]))[0])
        return z

    def _information(self, best: int, other: int, z: FloatArray | None = None) -> float:
        """I(best, other) of one pair, with as many digits as the numbers given allow."""
        if self.single is not None:
            return self.batch * self.single._information(best, other)
        p, z = self.probabilities, self._log_ratios(best, other) if z is None else z
        value = float(p @ z)
        if abs(value) >= SMALL * (1.0 + float(p @ np.abs(z))):
            return value
        if self.tables is not None:
            return float(self.tables.information(best, np.array([other]))[0])
        value = math.fsum((p * z).tolist())
        known = (best in self.true_hypotheses) - (other in self.true_hypotheses)
        if known and not self.indistinguishable(best, other):
            # KL(f ‖ ℓ) = Σ f (r − 1 − log r) + what ℓ puts where f is zero, no term negative.
            least = math.fsum((p * second_order(-known * z)).tolist())
            unseen = known * value - least
            doubt = UNITS * EPS * float(self._sizes[best] + self._sizes[other] + 2.0)
            return known * (least + (unseen if unseen > doubt else 0.0))
        return value

    def log_ratio_law(self, best: int, other: int) -> LogRatioLaw:
        """The law of z(best, other)."""
        z = self._log_ratios(best, other)
        mean = self._information(best, other, z)
        return LogRatioLaw(self.probabilities, z, np.zeros_like(z), self.batch, mean)

    @property
    def atom_count(self) -> int:
        """How many atoms O the law of a log-ratio has."""
        return int(self.probabilities.size)

    def atoms(self, first: IntArray, second: IntArray, *, hypothetical: bool = False) -> Atoms:
        """The laws of z(first[r], second[r]), shape (O, R).

        If `hypothetical`, that of row r where first[r] is the truth.

        Raises
        ------
        ValueError
            If `hypothetical` and it is not known what the agent would see then.
        """
        means = np.asarray((self.log_likelihoods[first] - self.log_likelihoods[second]).T)
        p = self._laws_if_true[:, first] if hypothetical else self.probabilities[:, None]
        mean = (p * means).sum(axis=0)
        cancels = np.abs(mean) < SMALL
        for r in np.flatnonzero(cancels).tolist():
            # Hypotheses that claim nearly the same: values and mean to all their digits.
            pair = int(first[r]), int(second[r])
            if pair not in self._close:
                self._close[pair] = self.log_ratio_law(*pair)
            means[:, r], mean[r] = self._close[pair].means, self._close[pair].mean
            if hypothetical:  # E[e^{−z} − 1] is zero
                mean[r] = p[:, r] @ second_order(-means[:, r])
        return Atoms(p, means, None, mean, cancels)

    @cached_property
    def _close(self) -> dict[tuple[int, int], LogRatioLaw]:
        return {}

    @cached_property
    def _laws_if_true(self) -> FloatArray:
        """The probability of each outcome under each hypothesis, shape (O, M)."""
        return np.exp(self.log_likelihoods.T) * input_probabilities(self)[:, None]

    def indistinguishable(self, first: int, second: int) -> bool:
        """Whether z(first, second) = 0 for every observation, to rounding of the logarithms."""
        if self.single is not None:
            return self.single.indistinguishable(first, second)
        a, b = self.log_likelihoods[first], self.log_likelihoods[second]
        # The log of two equal probabilities differs by a few units in the last place when the
        # probabilities were computed differently (products of fractions): 16 units.
        return bool(np.allclose(a, b, rtol=16 * np.finfo(float).eps, atol=1e-15))

    @cached_property
    def likelihood_bounds(self) -> LikelihoodBounds:
        """The tightest α and L over hypotheses and possible outcomes."""
        table = self.log_likelihoods
        return LikelihoodBounds(float(np.exp(table.min())), float(np.exp(table.max())))


def _check_single(batch: int, single: FiniteAgent | None, hypotheses: int) -> None:
    """Whether an agent of batches knows the agent of single observations, and no other does."""
    if (single is None) != (batch == 1) or (single is not None and single.hypotheses != hypotheses):
        wanted = "with `batch` above 1 the agent of single observations, for the same hypotheses"
        raise fail("single", wanted, f"batch {batch}", "make the agent with `batched`")


def _by_rows(table: FloatArray, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """A function of each row of a table, some rows at a time."""
    step = max(1, _BLOCK // max(1, table.shape[1]))
    parts = [function(table[start : start + step]) for start in range(0, len(table), step)]
    return np.concatenate(parts)


# What a finite agent would observe if a given hypothesis were the truth --------------------------


# Sums of likelihoods given as decimals: the tolerance of `theory.validation`, and logarithms and
# exponentials in between, a few units in the last place for each label.
_TOLERANCE = 1e-11


def input_probabilities(agent: FiniteAgent, *, name: str = "agent") -> FloatArray:
    """P(x) for each stored outcome (x, y), shape (O,).

    Of an agent of batches: what to multiply its likelihoods by, the number of sequences of a type
    times the probability of their inputs.

    Raises
    ------
    ValueError
        If the likelihoods of successive outcomes do not sum to one under every hypothesis: the
        agent holds a data set, or labels of probability zero were dropped.

    Examples
    --------
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[0.25, 0.75],
    ...     truth=[[0.5, 0.5], [0.5, 0.5]],
    ...     likelihood=[[[0.5, 0.5], [0.5, 0.5]], [[0.2, 0.8], [0.9, 0.1]]],
    ... )
    >>> input_probabilities(coin).tolist()
    [0.25, 0.25, 0.75, 0.75]
    """
    if agent.single is not None:
        shares = input_probabilities(agent.single, name=name)
        claims, group = alike(agent.single.log_likelihoods)
        counts = type_counts(claims.shape[1], agent.batch, rows=len(claims))
        return type_weights(totals(group, shares), counts)
    likelihoods = np.exp(agent.log_likelihoods)
    found = np.empty(agent.probabilities.size)
    start, total = 0, np.zeros(agent.hypotheses)
    for outcome in range(found.size):
        total = total + likelihoods[:, outcome]
        if (total > 1 + _TOLERANCE).any():
            break
        if (total >= 1 - _TOLERANCE).all():
            labels = slice(start, outcome + 1)
            found[labels] = agent.probabilities[labels].sum()
            start, total = outcome + 1, np.zeros(agent.hypotheses)
    if start < found.size:
        raise fail(
            name,
            "likelihoods that sum to one over the labels of each input, under every hypothesis",
            f"outcomes from number {start} on that do not",
            "a data set does not say what it would look like under another truth: give tables "
            "with a positive truth for every label, or name a target",
        )
    return found


# What one agent observes, and how each hypothesis explains it ------------------------------------


Agent = FiniteAgent | GaussianAgent
