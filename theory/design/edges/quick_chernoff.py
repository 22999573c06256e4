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
from theory.network import Network
from theory.validation import FloatArray

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
