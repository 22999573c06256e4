"""Laws of the data bent towards an error: tilts of the truth, and what they cost.

For a wrong θ let Q be the law under which agent j's log-ratio has the density
e^{−u_j z − κ_j(−u_j)} with respect to the true one, with u = t v. It costs Σ_j KL(Q_j ‖ P_j) nats a
round, which rises with t, and of all laws that cost as much its mean Σ_j v_j E_Q z_j is the
smallest. So E_θ(v), the error exponent, is the cost at which that mean is zero
(docs: mathematics/fewest-samples).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.validation import FloatArray, IntArray

# In units of one over the largest influence; laws tilted further have settled at their least.
_MOST_TILT = 1e6


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the agents see of one wrong hypothesis.

    Attributes
    ----------
    hypothesis
        θ.
    laws
        The law of z of each kind.
    assignment
        Shape (N,): the kind of each agent.
    priors
        Shape (N,): log-odds of the prior.
    """

    hypothesis: int
    laws: tuple[LogRatioLaw, ...]
    assignment: IntArray
    priors: FloatArray

    @classmethod
    def of(cls, model: FiniteModel, best: int, theta: int) -> Evidence:
        """Evidence for `best` against `theta`."""
        odds = model.log_priors[:, best] - model.log_priors[:, theta]
        laws = model.log_ratio_laws(best, theta)
        return cls(theta, laws, model.assignment, odds[model.assignment])

    @cached_property
    def informed(self) -> IntArray:
        """The agents whose log-ratio is not zero."""
        speaks = [bool(law.means.any()) or not law.is_bounded for law in self.laws]
        return np.flatnonzero(np.array(speaks)[self.assignment])

    def means(self, tilts: FloatArray) -> FloatArray:
        """E_Q z_j, shape (N,)."""
        values = np.empty(tilts.size)
        for kind in np.unique(self.assignment):
            who = self.assignment == kind
            values[who] = self.laws[kind].cumulant_slope(-tilts[who])
        return values

    def cost(self, tilts: FloatArray) -> float:
        """Σ_j KL(Q_j ‖ P_j), in nats a round."""
        total = -float(tilts @ self.means(tilts))
        for kind in np.unique(self.assignment):
            who = self.assignment == kind
            total -= float(self.laws[kind].cumulant(-tilts[who]).sum())
        return total

    def balanced(self, v: FloatArray) -> float | None:
        """The t at which the mean at v is zero; None where it is never."""
        return self._root(v, lambda t: -float(v @ self.means(t * v)))

    def spending(self, v: FloatArray, budget: float) -> float | None:
        """The t at which t v costs `budget`; None where no t costs as much."""
        return self._root(v, lambda t: self.cost(t * v) - budget)

    def exponent(self, v: FloatArray) -> float:
        """E_θ(v) in nats a round; infinite where z is never negative, zero where θ is favoured."""
        if float(v @ self.means(np.zeros_like(v))) <= 0:
            return 0.0
        t = self.balanced(v)
        return np.inf if t is None else self.cost(t * v)

    def _root(self, v: FloatArray, rising: Callable[[float], float]) -> float | None:
        unit = 1.0 / float(v.max())
        high = unit
        while rising(high) < 0:
            high *= 2.0
            if high > _MOST_TILT * unit:
                return None
        if rising(0.0) >= 0:
            return 0.0
        return float(brentq(rising, 0.0, high, xtol=1e-300, rtol=1e-12))
