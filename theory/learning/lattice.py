"""The steps of a lattice: where all sums of z_j land, if they land on one.

Where each z_j has finitely many values, S = Σ_j v_j z_j may live on a lattice {b + m a : m integer}
of *span* a: one coin (a = log 3 for 1/2 against 3/4), or identical coins with rational weights.
Probabilities of errors then go in steps, and their asymptotics has a factor that depends on where
the lattice lies about zero (docs: mathematics/prefactor).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.network import Network
from theory.network.network import require_fixed
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_position, read_only

# Where a sum lies modulo a span ------------------------------------------------------------------


# Atoms kept: one more two-valued term takes about a fifth of a millisecond.
_MOST_POINTS = 1024
# Where the atoms kept have less mass than this between them, none is worth its while.
_LEAST_MASS = 1e-3
# Places that agree to so many decimals of a turn are one place.
_DECIMALS = 12


class Residues:
    """Atoms of one sum modulo 1, at first a single one at zero; floating-point values."""

    def __init__(self) -> None:
        self.places: FloatArray = np.zeros(1)
        self.masses: FloatArray = np.ones(1)
        self.is_whole = True

    def add(self, turns: FloatArray, probabilities: FloatArray) -> None:
        """Take in one independent term: its values in turns and their probabilities, shape (O,).

        The caller sees to it that some value moves the sum: see :func:`moves`.
        """
        places = np.add.outer(self.places, turns).ravel() % 1.0
        masses = np.multiply.outer(self.masses, probabilities).ravel()
        # Places are compared rounded and kept as they are, so that rounding does not add up.
        rounded = np.round(places, _DECIMALS) % 1.0
        _, first, group = np.unique(rounded, return_index=True, return_inverse=True)
        self.places = places[first]
        self.masses = np.asarray(np.bincount(group.ravel(), weights=masses), dtype=np.float64)
        if self.places.size > _MOST_POINTS:
            heaviest = np.argpartition(self.masses, -_MOST_POINTS)[-_MOST_POINTS:]
            self.places, self.masses = self.places[heaviest], self.masses[heaviest]
            self.is_whole = False
        if not self.is_whole and float(self.masses.sum()) < _LEAST_MASS:
            self.forget()

    def forget(self) -> None:
        """Keep no atom."""
        self.places, self.masses, self.is_whole = np.zeros(0), np.zeros(0), False

    def coefficients(self, orders: FloatArray) -> NDArray[np.complex128]:
        """E exp(2πi l Y) over the atoms kept, for each l of `orders`."""
        waves = np.exp(2j * np.pi * np.multiply.outer(orders, self.places))
        return np.asarray(waves @ self.masses)


def moves(turns: FloatArray) -> NDArray[np.bool_]:
    """Whether a term with these values, shape (N, O), moves sum i modulo 1; shape (N,)."""
    slack = 10.0**-_DECIMALS * (1 + np.abs(turns))
    return np.asarray((np.abs(turns - np.round(turns)) > slack).any(axis=1))


# The steps of a lattice --------------------------------------------------------------------------


# Differences that are multiples of a common span to this, relative to the largest one, are taken
# to be so in truth: rounding in logarithms and in v stays well below.
_TOLERANCE = 1e-10
# Finer lattices are not looked for: their steps are too small to be seen.
_FINEST = 1e-4
# Terms of the Fourier series: jumps are smeared over a/_FREQUENCIES.
_FREQUENCIES = 512
# The factor is within t·a of 1: finer lattices than this are as good as none.
_FINE = 1e-5
# Complex exponentials in one round: a tenth of a second.
_MOST_WORK = 3e6
# An atom is a tie if it is this close to zero, in spans, for each span that was summed: rounding
# of v, of logarithms and of sums stays below.
_ON_POINT = 1e-13
# Fourier coefficients below this leave the factor at 1.
_SMEARED = 1e-6

Kinds = Sequence[tuple[LogRatioLaw, IntArray]]


def lattice_span(terms: Iterable[tuple[LogRatioLaw, float]]) -> float | None:
    """The span of Σ w z over pairs (law of z, weight w), or None if it is on no lattice.

    A numerical judgement: Euclid's algorithm on the differences of values, to 1e-10 of the
    largest, which finds no span below 1e-4 of it.
    """
    differences: list[FloatArray] = []
    for law, weight in terms:
        if not law.is_bounded:
            return None
        values = np.unique(law.means)
        differences.append(weight * np.diff(values))
    steps = np.unique(np.concatenate(differences)) if differences else np.empty(0)
    steps = steps[steps > 0]
    if steps.size == 0:
        return None
    largest = float(steps[-1])
    steps = steps[steps > _TOLERANCE * largest]
    span = largest
    for step in steps:
        span = _common_divisor(float(step), span, _TOLERANCE * largest)
        if span < _FINEST * largest:
            return None
        # Euclid's remainders carry the rounding of their quotients; the largest step carries none.
        span = largest / round(largest / span)
    return span


def _common_divisor(a: float, b: float, tolerance: float) -> float:
    """Euclid's algorithm with nearest remainders, which end below `tolerance`."""
    while b > tolerance:
        a, b = b, abs(a - round(a / b) * b)
    return a


class LatticePhases:
    """Where Λ_i lies modulo the span a, and the factor that this puts before its probability.

    Where Λ_i is on a lattice whose largest point at or below zero is x, the factor is
    ta e^{tx}/(1 − e^{−ta}), which jumps by ta where x does: a tie is an error. Where W^k differs
    from 1vᵀ, early rounds move Λ off the lattice, and F_i is the mean over where it lies, under
    the law tilted by e^{−tΛ}. Its atoms are followed one by one, with ties counted in full
    (:class:`theory.learning.residues.Residues`). The rest, where there are too many, has the
    Fourier series Σ_l φ(2πl/a) t/(t − 2πil/a), φ(u) = E e^{iuΛ}, of which 512 terms are summed by
    Fejér's means: jumps are smeared over about a/512, and a tie among the rest counts half.
    Spread over several spans, F tends to 1.
    """

    def __init__(self, kinds: Kinds, weights: FloatArray, tilts: FloatArray, span: float) -> None:
        self._kinds, self._weights, self._tilts, self._span = kinds, weights, tilts, span
        self._frequencies = 2 * np.pi / span * np.arange(1, _FREQUENCIES)
        self._offset = np.zeros(weights.size)
        self._coefficients = np.ones((weights.size, _FREQUENCIES - 1), dtype=np.complex128)
        self._residues = [Residues() for _ in range(weights.size)]

    @classmethod
    def of(
        cls, kinds: Kinds, weights: FloatArray, tilts: FloatArray, span: float | None
    ) -> LatticePhases | None:
        """For stationary `weights` and one tilt per agent, shape (N,) each.

        None where there is no lattice, or it is too fine to matter, or it is too much work.
        """
        if span is None or float(tilts.max()) * span < _FINE:
            return None
        work = sum(z.means.size * members.size for z, members in kinds) * weights.size
        return None if work * _FREQUENCIES > _MOST_WORK else cls(kinds, weights, tilts, span)

    def add(self, power: FloatArray) -> None:
        """Take in the round whose weights are `power` = W^k."""
        self._offset += self._lowest(power)
        if float(np.abs(self._coefficients).max()) < _SMEARED:
            for residue in self._residues:
                residue.forget()
            return
        for law, members in self._kinds:
            values = law.means - law.minimum
            for j in members:
                w = power[:, j]
                tilted = law.probabilities * np.exp(np.multiply.outer(-self._tilts * w, values))
                tilted /= tilted.sum(axis=1, keepdims=True)
                angles = np.multiply.outer(np.multiply.outer(w, self._frequencies), values)
                self._coefficients *= np.einsum("ilo,io->il", np.exp(1j * angles), tilted)
                turns = np.multiply.outer(w / self._span, values)
                for i in np.flatnonzero(moves(turns)):
                    if self._residues[i].places.size:
                        self._residues[i].add(turns[i], tilted[i])

    def _lowest(self, rows: FloatArray) -> FloatArray:
        """Σ_j w_j min z_j for rows w."""
        total = np.zeros(len(rows))
        for law, members in self._kinds:
            total += rows[:, members].sum(axis=1) * law.minimum
        return total

    def log_factor(self, prior: FloatArray, *, later: int) -> FloatArray:
        """Logarithms of F_i, shape (N,), after `later` more rounds of weights v."""
        start = self._offset + prior + later * self._lowest(self._weights[None])
        starts, steps = start / self._span, self._tilts * self._span
        factors = np.zeros(start.size)
        for i, (place, step) in enumerate(zip(starts, steps, strict=True)):
            kept = self._residues[i]
            slack = _ON_POINT * (10 + abs(place))
            above = (place + kept.places + slack) % 1.0
            x = np.where(above < 2 * slack, 0.0, above - 1.0)
            with np.errstate(divide="ignore"):
                logs = np.log(kept.masses) + np.log(step / -np.expm1(-step)) + step * x
                if not kept.is_whole:
                    logs = np.append(logs, np.log(self._smeared(i, place, step)))
            factors[i] = logsumexp(logs)
        return factors

    def _smeared(self, i: int, place: float, step: float) -> float:
        """What the atoms that were not kept add to F_i, jumps smeared."""
        kept, order = self._residues[i], np.arange(1.0, _FREQUENCIES)
        rest = self._coefficients[i] - kept.coefficients(order)
        turned = rest * np.exp(2j * np.pi * order * (place % 1.0))
        terms = turned * (1 - order / _FREQUENCIES) / (1 - 2j * np.pi * order / step)
        # Fejér's kernel and the masses are positive, so the sum is, but for rounding.
        return max(0.0, 1 - float(kept.masses.sum()) + 2 * float(terms.sum().real))


# How far the log-odds scatter about their mean, at every round -----------------------------------


# Up to this many agents every agent's variance is computed; beyond it, bounded.
_MOST_AGENTS = 300
# Rows of W^k that agree to this leave the variance unchanged to rounding.
_SETTLED = 1e-13


@dataclass(frozen=True, eq=False)
class LogRatioSpread(Shown):
    """Variances of Λ(best, θ), in nats², and the reach of a single observation.

    Attributes
    ----------
    rounds
        Shape (T,).
    average
        Shape (T, M): of the average over agents; exact up to rounding.
    agents
        Shape (T, N, M): of each agent; exact up to rounding up to 300 agents, above that the
        upper bound n·max_j Var z_j.
    reach
        Shape (M,): the most that one observation can differ from its mean: the range of z for
        bounded laws, six standard deviations more for normal ones.
    """

    rounds: IntArray
    average: FloatArray
    agents: FloatArray
    reach: FloatArray


@typed
def observation_reach(model: FiniteModel, *, best: int | str) -> FloatArray:
    """The most that one observation of z(best, θ) can differ from its mean, shape (M,), in nats.

    The range of z for bounded laws; six standard deviations more for normal ones, which have none.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin])
    >>> observation_reach(model, best=0).round(4).tolist()  # log 2 − log (2/3)
    [0.0, 1.0986]
    """
    best = as_position("best", best, model.hypotheses)
    return np.array(
        [
            max(
                float(np.ptp(z.means)) + 6 * float(np.sqrt(z.variances.max()))
                for z in model.log_ratio_laws(best, theta)
            )
            for theta in range(len(model.hypotheses))
        ]
    )


@typed
def log_ratio_spread(
    network: Network, model: FiniteModel, rounds: Sequence[int] | IntArray, *, best: int | str
) -> LogRatioSpread:
    """The variance of every agent's log-odds, and of their average, at given rounds.

    Parameters
    ----------
    rounds
        Increasing whole numbers of at least 1.
    best
        Index or name of the hypothesis in the numerator.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """
    check_same_agents(require_fixed(network), model)
    best = as_position("best", best, model.hypotheses)
    wanted = np.asarray(rounds, dtype=np.int64)
    laws = [model.log_ratio_laws(best, theta) for theta in range(len(model.hypotheses))]
    variances = np.array([[law.variance for law in row] for row in laws]).T[model.assignment]
    reach = observation_reach(model, best=best)
    average = _accumulate(
        network, variances, wanted, np.full((1, network.agents), 1 / network.agents)
    )
    if network.agents <= _MOST_AGENTS:
        agents = _accumulate(network, variances, wanted, np.eye(network.agents))
    else:
        most = np.multiply.outer(wanted.astype(np.float64), variances.max(axis=0))
        agents = np.broadcast_to(most[:, None], (wanted.size, *variances.shape))
    return LogRatioSpread(wanted, read_only(average[:, 0]), read_only(agents), read_only(reach))


def _accumulate(
    network: Network, variances: FloatArray, wanted: IntArray, rows: FloatArray
) -> FloatArray:
    """Σ_{k ≤ n} (rows W^k)² · variances at each wanted n, shape (T, rows, M)."""
    v = network.stationary_distribution
    total = np.zeros((len(rows), variances.shape[1]))
    values = np.empty((wanted.size, *total.shape))
    done = 0
    for index, n in enumerate(wanted):
        while done < n:
            if float(np.abs(rows - v).max()) <= _SETTLED:
                total = total + (n - done) * (rows * rows @ variances)
                done = int(n)
                break
            rows = np.asarray(rows @ network.weights)
            total = total + rows * rows @ variances
            done += 1
        values[index] = total
    return values
