"""How many rounds are enough, as a formula in N, the weights and δ.

Rounds n from which on every agent's arg max is right with probability 1 − δ, for any family with
closed forms: P1's printed size, Hoeffding's and Chernoff's solved for n (docs:
mathematics/formulas, "Sample sizes"). Priors are flat. The numbers of :func:`theory.sample_sizes`
are never larger than the theorems here: there every round of mixing is counted as it is, here all
of it goes into the deviation D.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from theory.symbolic.evaluation import tidy
from theory.symbolic.formula import Formula
from theory.symbolic.parameter import Bound, Parameter, Sheet, Where
from theory.validation import fail

K, V, Q, D = (sympy.Symbol(letter, positive=True) for letter in "KVQD")
second = sympy.Symbol("lambda_2", real=True)
wrong, everyone = sympy.symbols("L L_N", positive=True)
M = sympy.Symbol("M", integer=True, positive=True)
delta, C, R, J, p, t = (sympy.Symbol(x, positive=True) for x in ("delta", "C", "R", "J", "p", "t"))

_OWN = (
    Parameter("hypotheses", M, "number of hypotheses", Fraction(2), whole=True),
    Parameter(
        "delta", delta, "chance of an error that is allowed", Fraction(0), Fraction(1),
        open_lower=True, open_upper=True,
    ),
    Parameter(
        "log_ratio_bound", C, "log(L/alpha), likelihoods between alpha and L", Fraction(0),
        open_lower=True,
    ),
    Parameter(
        "range", R, "largest less smallest value of z, over all agents", Fraction(0),
        open_lower=True,
    ),
    Parameter("largest_information", J, "largest I_j of any agent", Fraction(0), open_lower=True),
    Parameter(
        "coin", p, "coins: chance that z is positive", Fraction(1, 2), Fraction(1),
        open_lower=True, open_upper=True,
    ),
    Parameter("tilt", t, "coins: any positive number", Fraction(0), open_lower=True),
)  # fmt: skip
_ASSUMPTIONS = (
    "priors are flat, observations independent across agents and rounds",
    "of several wrong hypotheses I_j is the smallest, r_j and R the largest; n normal asks that"
    " they have the same I_j",
    "normal z have mean I_j and variance 2 I_j, as of normal labels of known width with the truth"
    " among the hypotheses",
    "coins: every agent's z is log(p/(1-p)) with probability p, else -log(p/(1-p))",
)


def of_class(letter: str, information: sympy.Symbol) -> sympy.Symbol:
    """A letter of a class of agents, named as that of its information is."""
    _, mark, name = str(information).partition("_")
    return sympy.Symbol(f"{letter}{mark}{name}", positive=True)


def sample_size_formulas(formula: Formula) -> Sheet:
    """The sample sizes of a family of networks.

    Parameters
    ----------
    formula
        The family, some of its parameters given or none.

    Examples
    --------
    >>> from theory.symbolic import closed_form
    >>> sheet = sample_size_formulas(closed_form("ring"))
    >>> [bound.name for bound in sheet.bounds]
    ['n printed', 'n repaired', 'n normal', 'n coins', 'n coins, best t', 'n printed, P2']
    >>> str(sheet.bounds[0].expression)
    '16*C*log(M*N/delta)/(K**2*(1 - lambda_2))'
    """
    _check_letters(formula)
    deviation, agents = _deviation(formula), formula.members.agents
    letters = list(_OWN)
    letters += [
        Parameter(str(symbol), symbol, f"{what}: {c.name}", Fraction(0))
        for c in formula.classes
        for symbol, what in (
            (c.information, "sum of I_j"),
            (of_class("r", c.information), "range r_j of z"),
        )
    ]
    where = [
        Where(K, formula.rate, "rate, nats a round"),
        Where(V, _ranges(formula), "sum over j of (v_j r_j)^2"),
        Where(Q, _information(formula), "sum over j of v_j^2 I_j"),
        Where(wrong, sympy.log((M - 1) / delta), "a wrong hypothesis, once"),
        Where(
            everyone,
            sympy.log(sympy.cancel(agents * (M - 1) / 2 / delta)),
            "a wrong hypothesis at an agent, half",
        ),
    ]
    if deviation is None:
        letters.append(Parameter("deviation", D, "largest D_i", Fraction(0)))
    else:
        where.append(Where(D, deviation, "largest D_i"))
    if formula.second_eigenvalue is not None:
        where.append(Where(second, formula.second_eigenvalue, "largest eigenvalue but 1, signed"))
    where += [
        Where(of_class("h", c.information), _tilted(t * c.stationary), f"coins: {c.name}")
        for c in formula.classes
    ]
    return Sheet(
        title=f"rounds enough on {formula.title}",
        letters=tuple(letters),
        where=tuple(where),
        bounds=tuple(_bounds(formula)),
        assumptions=_ASSUMPTIONS,
        docs=formula.docs,
    )


def _bounds(formula: Formula) -> list[Bound]:
    agents = formula.members.agents
    found = []
    if formula.second_eigenvalue is not None:
        printed = 16 * C * sympy.log(agents * M / delta) / (K**2 * (1 - second))
        words = "as P1 eq. 4 prints it; no bound of any kind"
        found.append(Bound("n printed", printed, words, is_theorem=False, counts=True))
    # One event a wrong hypothesis: 2 (n K - R D/2)^2 = n V L.
    root = sympy.sqrt(V * wrong / 2)
    repaired = (root + sympy.sqrt(V * wrong / 2 + 2 * K * R * D)) ** 2 / (4 * K**2)
    found.append(
        Bound("n repaired", repaired, "Hoeffding's inequality: bounded likelihoods", counts=True)
    )
    # One event an agent and a wrong hypothesis: (n K - J D/2)^2 = 4 L_N (n Q + J D).
    inner = everyone * (everyone * Q**2 + K * Q * J * D / 2 + K**2 * J * D)
    normal = (K * J * D / 2 + 2 * everyone * Q + 2 * sympy.sqrt(inner)) / K**2
    found.append(Bound("n normal", normal, "Chernoff's inequality: normal z", counts=True))
    found += _coins(formula)
    if formula.second_eigenvalue is not None:
        words = "as P2 Theorem 1 prints it, with K/2 for its epsilon; no bound of any kind"
        printed = 2 * found[0].expression
        found.append(Bound("n printed, P2", printed, words, is_theorem=False, counts=True))
    return found


def _coins(formula: Formula) -> list[Bound]:
    odds, agents = sympy.log(p / (1 - p)), formula.members.agents
    exponent = sympy.Add(*(c.size * of_class("h", c.information) for c in formula.classes))
    words = "Chernoff's inequality: coins, for every t with a positive denominator"
    found = [Bound("n coins", (wrong + t * D * odds) / exponent, words, counts=True)]
    if all(_given(formula, c.stationary * agents - 1) == 0 for c in formula.classes):
        best = (wrong + agents * D * odds / 2) / (-agents * sympy.log(2 * sympy.sqrt(p * (1 - p))))
        words = "the same at t = N/2, which is best as n grows: v is uniform"
        found.append(Bound("n coins, best t", best, words, counts=True))
    return found


def _given(formula: Formula, expression: sympy.Basic) -> Any:
    """With the values that were given; what has a default may still be something else."""
    values = {s: sympy.Rational(x.numerator, x.denominator) for s, x in formula.values.items()}
    return tidy(expression.subs(values))


def _check_letters(formula: Formula) -> None:
    """A matrix of one's own may use letters that the bounds use."""
    own = {str(parameter.symbol) for parameter in _OWN} | set("KVQDL")
    for parameter in formula.parameters:
        if str(parameter.symbol) in own:
            raise fail("weights", f"letters other than {', '.join(sorted(own))}, which the sample"
                       " sizes use", str(parameter.symbol), "rename it")  # fmt: skip


def _tilted(tilt: sympy.Expr) -> sympy.Expr:
    """-log E exp(-u z) of a coin at u."""
    odds = p / (1 - p)
    return -sympy.log(p * odds ** (-tilt) + (1 - p) * odds**tilt)


def _ranges(formula: Formula) -> sympy.Expr:
    return sympy.Add(
        *(c.size * c.stationary**2 * of_class("r", c.information) ** 2 for c in formula.classes)
    )


def _information(formula: Formula) -> sympy.Expr:
    return sympy.Add(*(c.stationary**2 * c.information for c in formula.classes))


def _deviation(formula: Formula) -> sympy.Expr | None:
    """The largest D_i, if all are known wherever the family's parameters lie."""
    if any(
        c.deviation is None or _given(formula, c.condition) != sympy.true for c in formula.classes
    ):
        return None
    return sympy.Max(*(c.deviation for c in formula.classes))
