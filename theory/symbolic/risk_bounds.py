"""Risk from divergence, and rounds from risk, as formulas (docs: mathematics/risk).

If agents learn θ̂ while θ* is true and Σ_j u_j E KL(ℓ_j(θ*) ‖ ℓ_j(θ̂)) ≤ r, their expected losses
differ by a function of r alone: P1's printed one, which is no theorem, and those that are.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from theory.symbolic.parameter import Parameter
from theory.symbolic.sheet import Bound, Sheet, Where

B, s, r, t, eps, c, w, m, sigma, top, delta, E = (
    sympy.Symbol(letter, positive=True)
    for letter in ("B", "s", "r", "t", "epsilon", "c", "w", "m_2", "sigma", "v_max", "delta", "E")
)
M, N = (sympy.Symbol(letter, integer=True, positive=True) for letter in "MN")
psi = sympy.Symbol("psi", positive=True)

_ZERO, _ONE = Fraction(0), Fraction(1)
_LETTERS = (
    Parameter("largest_loss", B, "largest modulus of the loss", _ZERO, open_lower=True),
    Parameter("span", s, "largest loss less smallest", _ZERO, open_lower=True),
    Parameter("radius", r, "divergence, nats, in the average of the weights", _ZERO,
              open_lower=True),
    Parameter("tilt", t, "any positive number", _ZERO, open_lower=True),
    Parameter("risk", eps, "difference of expected losses that is allowed", _ZERO,
              open_lower=True),
    Parameter("slack", c, "hypotheses within (1 + c) r are acceptable", _ZERO, open_lower=True),
    Parameter("length", w, "length of the interval of parameters", _ZERO, open_lower=True),
    Parameter("second_moment", m, "second moment of the inputs", _ZERO, open_lower=True),
    Parameter("noise_std", sigma, "standard deviation of the labels", _ZERO, open_lower=True),
    Parameter("largest_influence", top, "largest v_j", _ZERO, _ONE, open_lower=True),
    Parameter("agents", N, "number of agents", _ONE, whole=True),
    Parameter("hypotheses", M, "number of hypotheses", Fraction(2), whole=True),
    Parameter("delta", delta, "chance of an error that is allowed", _ZERO, _ONE,
              open_lower=True, open_upper=True),
)  # fmt: skip
_ASSUMPTIONS = (
    "losses lie in an interval of length s, and between -B and B",
    "E and the last line: normal labels, one input value an agent; c > 0",
)


def risk_formulas() -> Sheet:
    """All of them; every letter is free.

    Examples
    --------
    >>> sheet = risk_formulas()
    >>> {bound.name: str(bound.expression) for bound in sheet.bounds}["risk, Pinsker"]
    'sqrt(2)*sqrt(r)*s/2'
    """
    return Sheet(
        title="risk of what is learned within a divergence r",
        letters=_LETTERS,
        where=(
            Where(
                psi,
                sympy.log((sympy.exp(t) - 1) / t) - 1 + t / (sympy.exp(t) - 1),
                "largest cumulant of a centred coin at t",
            ),
            Where(
                E,
                (sympy.sqrt(1 + c) - 1) ** 2 * r / (4 * top),
                "exponent, at least, of all that is not acceptable",
            ),
        ),
        bounds=(
            Bound("risk printed", B * sympy.sqrt(r) / 2, "as P1 Corollary 1 prints it: no bound",
                  is_theorem=False),
            Bound("risk, Pinsker", s * sympy.sqrt(r / 2), "best as r goes to 0"),
            Bound("risk, Bretagnolle-Huber", s * sympy.sqrt(1 - sympy.exp(-r)),
                  "best as r grows"),
            Bound("risk, every t", s * (r + psi) / t, "its smallest value over t is sharp"),
            Bound("loss of acting", 2 * s * sympy.sqrt(r / 2),
                  "of the action that is best under what was learned"),
            Bound("radius for a risk", 2 * eps**2 / s**2, "r that is small enough for epsilon"),
            Bound("points of an interval", w * sympy.sqrt(m / (8 * sigma**2 * r)),
                  "so many, rounded up, cover it with radius r, and no fewer",
                  counts=True),
            Bound("rounds, leading order", sympy.log(N * M / delta) / E,
                  "as delta goes to 0; the risk is then within that of (1 + c) r",
                  is_theorem=False, counts=True),
        ),
        assumptions=_ASSUMPTIONS,
        docs="mathematics/risk",
    )  # fmt: skip
