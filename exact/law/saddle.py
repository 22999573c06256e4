"""The law from which an agent's errors at round n are best sampled, and how much it bounds.

For agent i and a wrong θ against a best r, with c(t) = log E e^{−tΛ_i(r, θ)}, let t ≥ 0 be where c
is least. The *component* of (i, r, θ) is the law of density e^{−tΛ_i(r, θ) − c(t)}: observations
stay independent, that of agent j at lag k is tilted by e^{−t[W^k]_ij z_j(r, θ)}, and Λ_i has mean
0 (docs: mathematics/laws).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from exact.law.lags import Lags
from theory import FiniteModel, LogRatioLaw
from theory.validation import FloatArray

# The tilt need not be exact: every tilt gives an unbiased estimate, and near the best one the
# variance is flat.
_TOLERANCE = 1e-7
# Where Λ can come down to 0 but no further, c falls for ever; the tilt stops where Λ's mean has
# come down to this share of what it is without a tilt.
_NEAR = 1e-4
_MOST_DOUBLINGS = 200


@dataclass(frozen=True, eq=False)
class Component:
    """One tilted law.

    Attributes
    ----------
    agents
        Those who have it as theirs: their log-ratios are the same.
    against, hypothesis
        r and θ.
    tilt
        t, per nat.
    log_scale
        c(t): the density with respect to the truth is e^{−tΛ_i − c(t)}, and P(Λ_i ≤ 0) ≤ e^{c(t)}.
    """

    agents: tuple[int, ...]
    against: int
    hypothesis: int
    tilt: float
    log_scale: float


@dataclass(frozen=True, eq=False)
class Cumulants:
    """c(t) of one agent and pair of hypotheses."""

    pieces: tuple[tuple[LogRatioLaw, FloatArray, FloatArray], ...]
    prior: float

    @classmethod
    def of(
        cls, model: FiniteModel, lags: Lags, agent: int, against: int, hypothesis: int
    ) -> Cumulants:
        """From the weights that the agent gives to each agent at each lag."""
        rows = lags.weights[:, agent]
        pieces = []
        for kind, law in enumerate(model.log_ratio_laws(against, hypothesis)):
            weights = rows[:, model.assignment == kind]
            counts = np.broadcast_to(lags.counts[:, None], weights.shape)
            used = weights > 0
            # Not kinds that the agent never hears: their law may reach down to −∞.
            if used.any():
                pieces.append((law, weights[used], counts[used].astype(np.float64)))
        odds = model.log_priors[:, against] - model.log_priors[:, hypothesis]
        return cls(tuple(pieces), float(lags.last[agent] @ odds[model.assignment]))

    def value(self, tilt: float) -> float:
        """The number c(t)."""
        total = -tilt * self.prior
        for law, weights, counts in self.pieces:
            total += float(counts @ law.cumulant(-tilt * weights))
        return total

    def slope(self, tilt: float) -> float:
        """The slope c'(t): less the mean of Λ under the law tilted by t."""
        total = -self.prior
        for law, weights, counts in self.pieces:
            total -= float((counts * weights) @ law.cumulant_slope(-tilt * weights))
        return total

    def lowest(self) -> float:
        """The smallest value of Λ; −inf if there is none."""
        return self.prior + sum(
            float((counts * weights).sum() * law.minimum) for law, weights, counts in self.pieces
        )

    def best_tilt(self) -> float:
        """Where c is least on t ≥ 0, or nearly so."""
        start = self.slope(0.0)
        if start >= 0:
            return 0.0
        spread = sum(
            float((counts * weights * weights).sum()) * law.variance
            for law, weights, counts in self.pieces
        )
        if spread == 0:
            return 0.0
        lower, upper = 0.0, -start / spread
        for _ in range(_MOST_DOUBLINGS):
            slope = self.slope(upper)
            if slope >= 0:
                return float(
                    brentq(self.slope, lower, upper, xtol=1e-300, rtol=_TOLERANCE, maxiter=500)
                )
            if slope > _NEAR * start:
                return upper
            lower, upper = upper, 2 * upper
        return upper


def components(
    model: FiniteModel, lags: Lags, reference: tuple[int, ...], ties: FloatArray
) -> tuple[Component, ...]:
    """The components of all agents and wrong hypotheses that can win, equal ones joined.

    A log-ratio of θ up to `ties`, shape (M,), counts as a tie.
    """
    wrong = [m for m in range(len(model.hypotheses)) if m not in reference]
    groups: dict[bytes, list[int]] = {}
    prior = lags.last @ model.log_priors[model.assignment]
    for agent in range(model.agents):
        key = np.ascontiguousarray(lags.weights[:, agent]).tobytes() + prior[agent].tobytes()
        groups.setdefault(key, []).append(agent)
    found = []
    for agents in groups.values():
        for theta in wrong:
            best: Component | None = None
            for against in reference:
                sums = Cumulants.of(model, lags, agents[0], against, theta)
                if sums.lowest() > ties[theta]:
                    best = None
                    break
                tilt = sums.best_tilt()
                scale = sums.value(tilt)
                if best is None or scale < best.log_scale:
                    best = Component(tuple(agents), against, theta, tilt, scale)
            if best is not None:
                found.append(best)
    return tuple(found)
