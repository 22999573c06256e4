"""Chernoff's sample size at a few tilts: quick enough to compare thousands of networks.

    P(some agent errs at n) ≤ Σ_{i,θ} min_t exp(−t p_i + Σ_{k≤n} Σ_j κ_j(−t [W^k]_ij))

is valid for every t, so that three tilts around that of the error exponent give a bound; the ladder
of `theory.bounds.samples` tries 77. κ is read off a table: it is convex, and
lies below its chords. Rounds after the rows of W^k have nearly met are bounded by the worst of
these rows, again by convexity (docs: mathematics/samples). What comes out is a number of rounds
that is enough, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.bounds.tails.events import ErrorBound
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.learning.tilted import exponents as exponents_of
from theory.learning.tilted import tabulate
from theory.network import Network
from theory.validation import FloatArray, IntArray

# What many similar networks would do, at once ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearningEffects:
    """K and E of C networks that differ in v.

    Attributes
    ----------
    rate, exponent
        Shape (C,), in nats per round; infinite if nothing is wrong.
    binding
        Shape (C,): the wrong hypothesis that binds the rate, −1 if there is none.
    reference
        Shape (C,): the hypothesis that the network settles on, the first if there are several.
    tilts
        Shape (C, M): the maximising t of each wrong hypothesis' exponent; 0 for the reference.
    wrong
        Shape (C, M): whether a hypothesis is wrong.
    """

    rate: FloatArray
    exponent: FloatArray
    binding: IntArray
    reference: IntArray
    tilts: FloatArray
    wrong: np.ndarray


def learning_effects(model: FiniteModel, influence: FloatArray) -> LearningEffects:
    """K and E for each row v of `influence`, shape (C, N)."""
    count = len(model.hypotheses)
    members = np.eye(len(model.kinds))[model.assignment]
    weights = influence @ members
    wrong = np.ones((len(influence), count), dtype=bool)
    reference = np.zeros(len(influence), dtype=np.int64)
    for row, v in enumerate(influence):
        settled = model.reference_hypotheses(v)
        wrong[row, list(settled)] = False
        reference[row] = settled[0]
    rates = np.full(wrong.shape, np.inf)
    for best in np.unique(reference):
        rows = np.flatnonzero(reference == best)
        rates[rows] = weights[rows] @ model.comparison(int(best)).values
    rates[~wrong] = np.inf
    rate = rates.min(axis=1)
    binding = np.where(np.isfinite(rate), rates.argmin(axis=1), -1)
    alike, representative = _classes(model, influence, wrong)
    tilts, exponents = np.zeros((len(alike), count)), np.full((len(alike), count), np.inf)
    shapes, group = np.unique(wrong[alike], axis=0, return_inverse=True)
    for index, shape in enumerate(shapes):
        rows = np.flatnonzero(group.ravel() == index)
        v, here = influence[alike[rows]], np.arange(len(rows))
        best = np.flatnonzero(~shape)
        rays = np.tile(v, (best.size, 1))
        for theta in np.flatnonzero(shape):
            table = tabulate(model, best, np.full(best.size, theta))
            found = exponents_of(table, np.repeat(np.arange(best.size), rows.size), rays)
            values = found.values.reshape(best.size, rows.size)
            largest = values.argmax(axis=0)
            exponents[rows, theta] = values[largest, here]
            tilts[rows, theta] = found.tilts.reshape(values.shape)[largest, here]
    return LearningEffects(
        rate=rate,
        exponent=exponents.min(axis=1)[representative],
        binding=binding,
        reference=reference,
        tilts=tilts[representative],
        wrong=wrong,
    )


def subdominant_moduli(weights: FloatArray, *, reversible: bool) -> FloatArray:
    """The slem of each W of a stack, shape (C, N, N): (C,), floating-point estimates.

    As for one network: good to a few roundings where W is reversible, not to be trusted where it
    is far from normal.
    """
    agents = weights.shape[-1]
    if agents == 1:
        return np.zeros(len(weights))
    if reversible:
        symmetric = np.sqrt(weights * weights.transpose(0, 2, 1))
        others = np.linalg.eigvalsh(symmetric)[:, :-1]
        return np.asarray(np.abs(others).max(axis=1))
    values = np.linalg.eigvals(weights)
    moduli = np.abs(values)
    # Exactly one eigenvalue is 1. Others may be as near as 1e-12 and must stay.
    moduli[np.arange(len(weights)), np.abs(values - 1.0).argmin(axis=1)] = 0.0
    return np.asarray(moduli.max(axis=1))


def _classes(
    model: FiniteModel, influence: FloatArray, wrong: np.ndarray
) -> tuple[IntArray, IntArray]:
    """Rows that stand for all with equal weights, kind by kind, and whom each row is stood for by.

    Weights count as equal if they agree to 13 digits: the exponent, Lipschitz in v, then does too.
    """
    scaled = np.round(influence / influence.max(), 13)
    keys = np.empty((len(influence), influence.shape[1] + wrong.shape[1]))
    start = 0
    for kind in np.unique(model.assignment):
        block = np.sort(scaled[:, model.assignment == kind], axis=1)
        keys[:, start : start + block.shape[1]] = block
        start += block.shape[1]
    keys[:, start:] = wrong
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.ravel().astype(np.int64)


# Chernoff's sample size at a few tilts -----------------------------------------------------------


# Of the exponent's tilt. Agents that hear little at first want more, so the steps lean upwards.
_MULTIPLES = np.array([0.8, 1.0, 1.25])
# For the single event, whose transient costs more the larger the tilt.
_SMALL = np.geomspace(0.02, 1.25, 60)
# A chord of 1/4096 of the range costs N²/(4·4096²) of the exponent: 1.5e-4 for 100 agents.
_NODES = 4096
# Rows of W^k that agree to this part of the largest weight cost as little.
_SETTLED = 1e-3
_MOST_ROUNDS = 2000


@dataclass(frozen=True, eq=False)
class _Chords:
    """κ(−x) for 0 ≤ x ≤ `reach` from above: `value` and `slope` at equally spaced nodes."""

    reach: float
    value: FloatArray
    slope: FloatArray

    @classmethod
    def of(cls, law: LogRatioLaw, reach: float) -> _Chords:
        nodes = law.cumulant(-np.linspace(0.0, reach, _NODES + 1))
        slope = np.append(np.diff(nodes), 0.0)
        return cls(reach, nodes, slope)

    def __call__(self, x: FloatArray) -> FloatArray:
        place = x * (_NODES / self.reach)
        below = np.minimum(place.astype(np.intp), _NODES)
        return np.asarray(self.value[below] + self.slope[below] * (place - below))


class QuickChernoff:
    """Chernoff's bound for many networks of one model.

    Parameters
    ----------
    model
        The model.
    reference
        The hypothesis in the numerator.
    wrong
        The hypotheses to reject.
    steepest
        Shape (len(wrong),): the largest tilt of each that will be asked for.
    """

    def __init__(
        self, model: FiniteModel, *, reference: int, wrong: tuple[int, ...], steepest: FloatArray
    ) -> None:
        self.model = model
        self.wrong = wrong
        logs = model.log_priors
        odds = logs[:, [reference]] - logs[:, list(wrong)]
        self.priors = odds[model.assignment]
        kinds = [int(k) for k in np.unique(model.assignment)]
        self._columns = [np.flatnonzero(model.assignment == k) for k in kinds]
        self._chords = []
        ranges = []
        for theta, steep in zip(wrong, steepest, strict=True):
            laws = model.log_ratio_laws(reference, theta)
            reach = float(_MULTIPLES[-1] * steep)
            self._chords.append([_Chords.of(laws[k], reach) for k in kinds])
            ranges.append(max(z.maximum for z in laws) - min(z.minimum for z in laws))
        self._range = np.array(ranges)

    @staticmethod
    def evaluations(rounds: FloatArray, agents: int, wrong: np.ndarray) -> FloatArray:
        """About how many evaluations of κ it takes to get to each of `rounds`, shape (C,)."""
        events = agents**2 * len(_MULTIPLES) * wrong.sum(axis=1)
        return np.asarray(np.minimum(rounds, _MOST_ROUNDS) * np.maximum(events, 1))

    def rounds(self, weights: FloatArray, tilts: FloatArray, *, delta: float) -> int | None:
        """Rounds that are enough for `delta`, an upper bound on n(δ); None if none was found."""
        # A little further than the bound needs to fall: then the worst row of the last power,
        # which takes the place of all later ones, decides nothing.
        union = self.bound(weights, tilts, until=np.log(delta) - 1.0).smallest_rounds(delta)
        single = self.single(weights, tilts)
        found = [union, None if single is None else single.smallest_rounds(delta)]
        return min((n for n in found if n is not None), default=None)

    def single(self, weights: FloatArray, tilts: FloatArray) -> ErrorBound | None:
        """One event for all agents: exp(n Σ_j κ_j(−t v_j) + t c); None where z has no bound.

        As in `theory.bounds.tails.chernoff`, c the most that any agent may fall behind the average:
        D_i times half the range of z, less the prior's odds.
        """
        if not np.isfinite(self._range).all():
            return None
        network = Network(weights)
        v = network.stationary_distribution
        behind = float(network.deviation.upper.max()) * self._range / 2 - self.priors.min(axis=0)
        grid = np.multiply.outer(tilts, _SMALL)
        slopes = self._contributions(v[None, :], grid)[0]

        def tail(n: FloatArray) -> FloatArray:
            values = n[:, None] * slopes + behind[:, None] * grid
            return np.asarray(np.minimum(values.min(axis=-1), 0.0))

        return ErrorBound("Chernoff, one event at some tilts", np.empty((0, len(grid))), tail)

    def bound(
        self, weights: FloatArray, tilts: FloatArray, *, until: float = -np.inf
    ) -> ErrorBound:
        """The bound for one W, shape (N, N), at the exponent's tilts, shape (len(wrong),).

        An upper bound on the probability of error at every round, rigorous up to rounding. Rounds
        are summed one by one until the log of the bound is below `until`, and bounded from there.
        """
        size = len(weights)
        grid = np.multiply.outer(tilts, _MULTIPLES)
        running = np.zeros((size, *grid.shape))
        terms = []
        power = weights
        while True:
            added = self._contributions(power, grid)
            running = running + added
            priors = power @ self.priors
            exponents = running - priors[..., None] * grid
            terms.append(np.minimum(exponents.min(axis=-1), 0.0).ravel())
            spread = float(np.ptp(power, axis=0).max())
            settled = spread <= _SETTLED * float(power.max()) or len(terms) >= _MOST_ROUNDS
            # The sum of all events is at most their number times the largest.
            if settled or float(terms[-1].max()) + np.log(terms[-1].size) < until:
                break
            power = power @ weights
        horizon = len(terms)
        later = added.max(axis=0)
        offset = running - priors.min(axis=0)[:, None] * grid

        def tail(n: FloatArray) -> FloatArray:
            more = n.reshape(size, len(self.wrong), 1) - horizon
            return np.asarray(np.minimum((offset + more * later).min(axis=-1), 0.0)).ravel()

        return ErrorBound("Chernoff at three tilts", np.array(terms), tail)

    def _contributions(self, power: FloatArray, grid: FloatArray) -> FloatArray:
        """Σ_j κ_j(−t [W^k]_ij), shape (N, wrong, T)."""
        values = np.zeros((len(power), *grid.shape))
        for members, which in zip(self._columns, range(len(self._columns)), strict=True):
            block = power if members.size == power.shape[1] else power[:, members]
            for index, chords in enumerate(self._chords):
                for place, t in enumerate(grid[index]):
                    values[:, index, place] += chords[which](t * block).sum(axis=1)
        return values
