"""A smooth stand-in for the probability of error, with its gradient in W.

    F_n(W, t) = log Σ_{i,θ} exp(−t_iθ p_iθ + Σ_{k ≤ n} Σ_j κ_j(−t_iθ [W^k]_ij))

is the logarithm of Chernoff's bound on P(some agent errs at round n), for any tilts t ≥ 0
(docs: mathematics/samples). It is smooth in W and t together, so that a search may move both; its
derivative in W comes backwards through the powers of W. κ is read off tables: what a search finds
here is judged elsewhere, by an account that is certified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from theory.design.directed.flow_descent import pulled_back
from theory.design.directed.flow_weights import FlowWeights, Measured, UnbalancedError
from theory.design.search import descended
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.learning.tilted import exponents, tabulate
from theory.validation import FloatArray

# A smooth stand-in for the probability of error, with its gradient in W --------------------------


_NODES = 2048
# Tilts are kept within these multiples of the best one for the start's stationary distribution.
LEAST_TILT, MOST_TILT = 0.1, 4.0
# Powers of W beyond these are taken to be the last: W has settled, or nearly.
_MOST_POWERS = 400
# Where evidence never misleads, the larger the tilt the better; so many times the scale of z.
_CERTAIN = 64.0


@dataclass(frozen=True, eq=False)
class _Table:
    """κ(−x) on [0, reach] by cubics through equally spaced nodes, straight beyond."""

    reach: float
    value: FloatArray
    slope: FloatArray

    @classmethod
    def of(cls, law: LogRatioLaw, reach: float) -> _Table:
        nodes = np.linspace(0.0, reach, _NODES + 1)
        return cls(reach, law.cumulant(-nodes), -law.cumulant_slope(-nodes) * (reach / _NODES))

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """κ(−x) and its derivative in x."""
        unit = self.reach / _NODES
        place = np.minimum(x / unit, float(_NODES))
        left = np.minimum(place.astype(np.intp), _NODES - 1)
        s = place - left
        f0, f1 = self.value[left], self.value[left + 1]
        d0, d1 = self.slope[left], self.slope[left + 1]
        rise = f1 - f0
        c2, c3 = 3 * rise - 2 * d0 - d1, d0 + d1 - 2 * rise
        slope = (d0 + s * (2 * c2 + 3 * s * c3)) / unit
        value = f0 + s * (d0 + s * (c2 + s * c3))
        return value + (x - place * unit) * slope, slope


class SmoothErrors:
    """F_n for one model and horizon n.

    Parameters
    ----------
    model
        The model.
    best, wrong
        The hypothesis to settle on, and those to reject.
    v
        Shape (N,): the tilts' scale is that of the error exponent at v.
    rounds
        n.
    """

    def __init__(
        self, model: FiniteModel, *, best: int, wrong: Sequence[int], v: FloatArray, rounds: int
    ) -> None:
        self.rounds = rounds
        self.agents = model.agents
        members = [np.flatnonzero(model.assignment == k) for k in range(len(model.kinds))]
        self._priors: list[FloatArray] = []
        self._tables: list[list[tuple[np.ndarray, _Table]]] = []
        tilts = []
        table = tabulate(model, np.full(len(wrong), best), np.array(wrong, dtype=np.int64))
        found = exponents(table, np.arange(len(wrong)), v)
        for theta, value, tilt in zip(wrong, found.values, found.tilts, strict=True):
            laws = model.log_ratio_laws(best, theta)
            if value == np.inf or tilt == 0:
                # Never confused with the truth for long, or not yet told apart: nothing to tilt.
                scale = max(float(abs(law.mean)) for law in laws)
                tilt = _CERTAIN / max(scale, 1e-12)
            else:
                tilt = min(tilt, 1e6)
            reach = MOST_TILT * tilt
            self._tables.append(
                [
                    (who, _Table.of(laws[k], reach))
                    for k, who in enumerate(members)
                    if who.size and (laws[k].variance > 0 or laws[k].mean != 0)
                ]
            )
            odds = model.log_priors[:, best] - model.log_priors[:, theta]
            self._priors.append(odds[model.assignment])
            tilts.append(tilt)
        self.tilts = np.array(tilts)

    def best_tilts(self, weights: FloatArray) -> FloatArray:
        """Logs of the best tilts for one W, relative to the scale, (N, T), to a few percent."""
        steps = np.log(np.geomspace(LEAST_TILT, MOST_TILT, 25))
        powers, counts = self._powers(weights)
        every = np.ones((self.agents, self.tilts.size))
        values = [
            self._exponents(powers, counts, self.tilts * np.exp(step) * every)[0] for step in steps
        ]
        found: FloatArray = steps[np.array(values).argmin(axis=0)]
        return found

    def value(self, weights: FloatArray, logs: FloatArray) -> float:
        """F alone."""
        powers, counts = self._powers(weights)
        return float(logsumexp(self._exponents(powers, counts, self.tilts * np.exp(logs))[0]))

    def _exponents(
        self, powers: FloatArray, counts: FloatArray, t: FloatArray
    ) -> tuple[FloatArray, list[list[FloatArray]]]:
        """Logs of Chernoff's bounds, shape (N, T), and the slopes of κ by θ and kind."""
        values = np.empty_like(t)
        slopes: list[list[FloatArray]] = []
        for index, tables in enumerate(self._tables):
            own = t[:, index]
            total = -own * (powers[-1] @ self._priors[index])
            slopes.append([])
            for who, table in tables:
                value, slope = table(own[None, :, None] * powers[:, :, who])
                total = total + counts @ value.sum(axis=2)
                slopes[-1].append(slope)
            values[:, index] = total
        return values, slopes

    def derivatives(self, weights: FloatArray, v: FloatArray, logs: FloatArray) -> Measured:
        """F and its derivatives by W and by log t, of which `logs` has N·T; by v there is none."""
        powers, counts = self._powers(weights)
        t = self.tilts * np.exp(logs.reshape(self.agents, -1))
        exponents, slopes = self._exponents(powers, counts, t)
        top = float(logsumexp(exponents))
        share = np.exp(exponents - top)
        by_powers = np.zeros_like(powers)
        by_tilts = np.empty_like(t)
        for index, parts in enumerate(slopes):
            slope = np.zeros_like(powers)
            for (who, _), part in zip(self._tables[index], parts, strict=True):
                slope[:, :, who] = part
            pull = (share[:, index] * t[:, index])[None, :, None]
            by_powers += pull * slope
            prior = powers[-1] @ self._priors[index]
            with_t = counts @ (slope * powers).sum(axis=2) - prior
            by_tilts[:, index] = share[:, index] * t[:, index] * with_t
        by_powers *= counts[:, None, None]
        for index, prior in enumerate(self._priors):
            by_powers[-1] -= np.outer(share[:, index] * t[:, index], prior)
        by_weights = pulled_back(weights, powers, by_powers)
        return Measured(top, by_weights, np.zeros_like(v), by_tilts.ravel())

    def _powers(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """W, W², …, and how many rounds each stands for: the last one for all that are left."""
        most = min(self.rounds, _MOST_POWERS)
        powers = np.empty((most, *weights.shape))
        powers[0] = weights
        for k in range(1, most):
            powers[k] = powers[k - 1] @ weights
        counts = np.ones(most)
        counts[-1] += self.rounds - most
        return powers, counts


# Local descent on W for few samples, on a smooth stand-in for the probability of error -----------


def descend(
    errors: SmoothErrors, flows: FlowWeights, weights: FloatArray, v: FloatArray, *, iterations: int
) -> FloatArray:
    """The W to set, shape (N, N), that a way down from `weights` leads to, over W and tilts.

    Parameters
    ----------
    errors
        The stand-in.
    flows
        All W there are.
    weights, v
        A W that meets the limits, shape (N, N), and its v.
    iterations
        The most steps.
    """
    start = flows.of(weights, v)
    try:
        logs = errors.best_tilts(flows.expected(flows.at(start)))
        end = descended(
            flows.objective(errors.derivatives),
            np.append(start, logs.ravel()),
            bounds=[flows.bounds] * start.size
            + [(np.log(LEAST_TILT), np.log(MOST_TILT))] * logs.size,
            iterations=iterations,
            maxcor=20,
        )
        return flows.weights(flows.at(end[: start.size]))
    except UnbalancedError:
        return weights
