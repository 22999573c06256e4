"""Chernoff's and Hoeffding's inequalities for given weights of past observations.

Each collects, lag by lag, what the observations of that lag add to the exponent of the bound, for
every agent and wrong hypothesis; see :mod:`theory.bounds.tails.chernoff` and
:mod:`theory.bounds.tails.chernoff` for the inequalities, :mod:`theory.changing.lagged` for the
weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from theory.bounds.tails.chernoff import log_bound, tabulated
from theory.bounds.tails.events import ErrorEvents
from theory.scientific import sparse
from theory.validation import FloatArray

# Multiples of the exponent's tilt t*: the best tilt tends to t* as rounds go by.
_FINE = np.union1d(np.geomspace(0.7, 1.3, 21), np.geomspace(1 / 32, 32, 21))
_COARSE = np.array([0.35, 0.5, 0.7, 0.85, 0.95, 1.0, 1.05, 1.15, 1.4, 2.0])
# Weights are rounded to this, so that agents in equal positions share their cumulants.
_DECIMALS = 13


class Hoeffding:
    """State: means and squared ranges, shape (2, N, H)."""

    name = "Hoeffding, union over agents"

    def __init__(self, events: ErrorEvents):
        self.events = events
        self.squares = events.squared_ranges

    def added(self, weights: FloatArray) -> FloatArray:
        """What the observations of one lag add to the state, for weights of shape (N, N)."""
        return np.array([weights @ self.events.information, (weights * weights) @ self.squares])

    def worst(self, added: FloatArray) -> FloatArray:
        """No less harmful than any later addition, given those of the last window (L, 2, N, H)."""
        return np.array([added[:, 0].min(axis=(0, 1)), added[:, 1].max(axis=(0, 1))])[:, None]

    @staticmethod
    def log_bound(state: FloatArray, priors: FloatArray) -> FloatArray:
        """−2 m₊²/R for each agent and hypothesis, shape (N, H)."""
        return log_bound(state[0] + priors, state[1])


class Chernoff:
    """State: Σ κ at every tilt of a grid, shape (N, H, T)."""

    name = "Chernoff, union over agents"

    def __init__(self, events: ErrorEvents, *, fine: bool):
        self.events = events
        grid = _FINE if fine else _COARSE
        centres = np.array([self._centre(index) for index in range(len(events.wrong))])
        self.tilts = np.multiply.outer(centres, grid)
        self.log_bound = partial(_least_exponents, self.tilts)
        self.cumulants: list[list[Callable[[FloatArray], FloatArray]]] = [
            [tabulated(law, -float(tilts.max())) for law in laws]
            for laws, tilts in zip(events.laws, self.tilts, strict=True)
        ]

    def _centre(self, index: int) -> float:
        theta = self.events.wrong[index]
        tilt = float(self.events.exponent.tilts[theta])
        if np.isfinite(tilt) and tilt > 0:
            return tilt
        # Evidence that never misleads: the larger the tilt the better.
        rate = float(self.events.rate.rates[theta])
        return 64.0 / rate if rate > 0 else 1.0

    def added(self, weights: FloatArray) -> FloatArray:
        """Σ_j κ_j(−t w_ij) for weights w of shape (N, N); shape (N, H, T)."""
        agents = len(weights)
        total = np.zeros((agents, *self.tilts.shape))
        for kind in range(len(self.events.model.kinds)):
            members = np.flatnonzero(self.events.model.assignment == kind)
            if not members.size:
                continue
            table = np.round(weights[:, members], _DECIMALS)
            values, place = np.unique(table, return_inverse=True)
            rows = np.repeat(np.arange(agents), members.size)
            # How often each agent gives each weight to agents of this kind.
            count = sparse.csr_array(
                (np.ones(rows.size), (rows, place.ravel())), shape=(agents, values.size)
            )
            count.sum_duplicates()
            for index, tilts in enumerate(self.tilts):
                points = np.multiply.outer(values, -tilts)
                total[:, index] += count @ self.cumulants[index][kind](points)
        return total

    def worst(self, added: FloatArray) -> FloatArray:
        """No less than any later addition, given those of the last window (L, N, H, T)."""
        return np.asarray(added.max(axis=(0, 1)))[None]


def _least_exponents(tilts: FloatArray, state: FloatArray, priors: FloatArray) -> FloatArray:
    """min_t of the exponents, at most 0, for each agent and hypothesis, shape (N, H)."""
    exponents = state - priors[..., None] * tilts
    return np.asarray(np.minimum(exponents.min(axis=-1), 0.0))
