"""`peerbayes analyse` for a regression: everything theory predicts of it, before any run.

All errors are excess errors: the mean squared error of predictions on the test's inputs, less the
test's noise. A constant c stands for an error of c/n after n rounds, in the limit. The numbers are
the same in doubles and as fractions, which one result holds.

Where labels follow θ*, the error is limit + constant/n with the constants of
:func:`theory.regression.regression_limits`. For labels of a data set those constants are of the
error about what the estimates tend to. Where that is not θ*, scores that go with the precision move
the mean as well, and the whole coefficient of 1/n may be negative: the error then rises to its
limit. It is read off the first order of the expected error, at a round so late that nothing else
is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from peerbayes.documents import Number, Numbers, PerAgent
from peerbayes.figures.wording import DASH, Fact, count
from peerbayes.figures.wording import number as page_number
from peerbayes.kinds.shared.analyse import NOTES, PROBLEM, NetworkProofs, check_exact
from peerbayes.problem.problems import RegressionProblem
from peerbayes.quantities.network import (
    EXACT_NETWORK,
    NETWORK,
    Count,
    NetworkNumbers,
    in_doubles,
)
from peerbayes.quantities.numbers import (
    ExpressionDocument,
    FractionText,
    IntervalDocument,
    written,
)
from peerbayes.quantities.quantity import Quantity, Table, entries, entry
from peerbayes.quantities.showing import Result
from peerbayes.tables import facts_table, figures_table, notes_text, number, spread
from theory import Network
from theory.regression import (
    BestStationary,
    Calibration,
    RegressionLimits,
    RegressionModel,
    alone_error,
    best_stationary_distribution,
    calibrating_tempering,
    calibration,
    predicted_error,
    regression_limits,
)
from theory.regression.expansion import RationalRegression, rational_regression
from theory.validation import FloatArray, read_only

if TYPE_CHECKING:
    from peerbayes.settings.questions import Analyse
    from theory.progress import Progress

# The order 1/n² is down to 1e-7 of 1/n there, and the rounding of the limit has grown to 1e-9.
_LATE = 10**7
# Limits are sums of squares of differences: what rounding leaves of a zero is of this size beside
# the constant, which has the same unit.
_ROUNDING = 1e-12
# More agents than this are not listed one by one.
_MOST_LISTED = 12


# What is said of it -----------------------------------------------------------------------------


def over_n_text(limit: float | None, over_n: float | None) -> str:
    """Limit and coefficient of 1/n, as one term or two."""
    if limit is None or over_n is None or not lasts(limit, over_n):
        return DASH if over_n is None else f"{page_number(over_n)}/n"
    sign = "−" if over_n < 0 else "+"
    return f"{page_number(limit)} {sign} {page_number(abs(over_n))}/n"


def _said(name: str, *remark: str) -> Callable[[Any, Any], Fact]:
    """A constant of 1/n on the page: what it is called, with a word on what it is."""
    return lambda value, _: Fact(name, over_n_text(None, value), *remark)


def _regression(name: str, meaning: str, one: Any, each: Any, **more: Quantity) -> Table:
    """The numbers of a regression: `one` is the type of a number, `each` of a list of them."""
    return Table(
        name,
        meaning,
        entries(
            dimension=entry(
                Count,
                "coefficients",
                get="problem.regression.dimension",
                fact=lambda value, _: Fact("Coefficients", count(value)),
            ),
            identified=entry(
                bool,
                "whether the agents together see every direction",
                get="limits.is_identified",
                short="identified",
            ),
            limit=entry(
                one,
                "of the excess error of the network",
                get="limits.limit",
                short="limit of the error",
            ),
            excess_error_constant=entry(
                one,
                "tr(S_test A⁻¹BA⁻¹)",
                get="limits.excess_error_constant",
                short="error, times n",
            ),
            reported_error_constant=entry(
                one,
                "tr(S_test A⁻¹)",
                get="limits.reported_error_constant",
                fact=_said("As reported", "by the beliefs"),
                short="reported, times n",
            ),
            central_constant=entry(
                one,
                "all data in one place",
                get="limits.central_constant",
                fact=_said("All data in one place"),
                short="central, times n",
            ),
            central_node_constant=entry(
                one,
                "one full sample a round",
                get="limits.central_node_constant",
                fact=_said("Central node", "one sample a round"),
            ),
            alone=entry(each, "limits without the network, agent by agent", get="limits.alone"),
            alone_constants=entry(each, get="limits.alone_constants"),
            estimator_covariance=entry(list[each], "times 1/n", get="limits.estimator_covariance"),
            reported_covariance=entry(list[each], "times 1/n", get="limits.reported_covariance"),
            **more,
        ),
    )


CALIBRATION = Table(
    "CalibrationDocument",
    "True over reported variance, in the limit; 1 is honest.",
    entries(
        test=entry(Number, "of predictions on the test's inputs", short="calibration"),
        coordinates=entry(PerAgent, "of each coefficient; null where nobody sees it"),
        ratios=entry(Numbers, "of the functionals, from least to most"),
        functionals=entry(list[PerAgent]),
    ),
)
NUMBERS = _regression(
    "RegressionNumbers",
    "What theory says of a regression, in doubles.",
    Number,
    PerAgent,
    over_n=entry(
        Number,
        "coefficient of 1/n beside the limit",
        fact=lambda value, d: Fact("Excess error", over_n_text(d.limit, value), "cooperating"),
    ),
    alone_over_n=entry(PerAgent, "the same without the network, agent by agent"),
    calibration=entry(CALIBRATION),
    calibrating_tempering=entry(
        PerAgent, "powers of the agents' likelihoods that make the calibration 1", get="powers"
    ),
    best_stationary_distribution=entry(
        PerAgent | None,
        get=lambda found: found.best and found.best.distribution,
        older=None,
        short="best v",
    ),
    best_constant=entry(
        Number,
        "with that distribution",
        get=lambda found: found.best and found.best.constant,
        older=None,
        short="best, times n",
        fact=_said("With the best v"),
    ),
)
REGRESSION_ANALYSIS = Table(
    "RegressionAnalysisDocument",
    "What `analyse` prints of a regression: excess errors are limit + over_n/n.",
    entries(
        problem=PROBLEM,
        network=entry(NETWORK),
        regression=entry(NUMBERS, get=lambda found: found),
        notes=NOTES,
    ),
)
_FRACTIONS = Annotated[list[FractionText | None], Field(min_length=1)]
EXACT_CALIBRATION = Table(
    "ExactCalibration",
    "True over reported variance, in the limit; 1 is honest.",
    (
        Quantity(
            "coordinates",
            _FRACTIONS,
            "of each coefficient; null where nobody sees it",
            get="coordinate_ratios",
        ),
    ),
)
EXACT_REGRESSION = Table(
    "ExactRegressionDocument",
    "What `analyse --exact` prints of a regression.",
    entries(
        problem=PROBLEM,
        arithmetic=entry(Literal["exact"], older="exact"),
        network=entry(EXACT_NETWORK),
        regression=entry(
            _regression(
                "RegressionFractions",
                "What theory says of a regression, in fractions: labels follow theta.",
                FractionText | None,
                _FRACTIONS,
                calibration=entry(EXACT_CALIBRATION, get="limits"),
            ),
            get=lambda found: found,
        ),
        notes=NOTES,
    ),
    kind="proved",
)


@dataclass(frozen=True, eq=False)
class RegressionAnalysis(Result):
    """Predictions for one regression, in doubles or as fractions.

    Attributes
    ----------
    problem, arithmetic
        What was analysed, and how: "double" or "exact".
    network, limits
        Numbers of the network; limits and constants of excess errors.
    over_n, alone_over_n
        The coefficients of 1/n beside the limits, of the network and of each agent alone.
    notes
        Why a number is missing or needs a word, one sentence each.
    calibration, powers
        True over reported variances, and what makes them 1; None as fractions, which `limits` has.
    best
        The best v; None where some coordinate is tested and seen by nobody, or labels are a data
        set's, or as fractions.
    """

    problem: RegressionProblem
    arithmetic: Literal["double", "exact"]
    network: NetworkNumbers
    limits: RegressionLimits | RationalRegression
    over_n: Any
    alone_over_n: Any
    notes: tuple[str, ...]
    calibration: Calibration | None = None
    powers: FloatArray | None = None
    best: BestStationary | None = None

    @property
    def table(self) -> Table:
        """The quantities, by the types of their numbers."""
        return REGRESSION_ANALYSIS if self.arithmetic == "double" else EXACT_REGRESSION

    def tables(self) -> list[RenderableType]:
        """Terminal tables of this result."""
        document = self.document()
        network, found = document.network, document.regression
        facts = {
            "agents, coefficients": f"{network.agents}, {found.dimension}",
            "stationary distribution v": _spread(network.stationary_distribution),
            "subdominant modulus": _words(network.slem),
            "every coefficient is seen": "yes" if found.identified else "no",
        }
        table = figures_table("Excess error after n rounds", "learner", "limit", "times 1/n")
        over_n, alone_over_n = written(self.over_n), written(self.alone_over_n)
        table.add_row("cooperating", _limit_words(found.limit, over_n), _words(over_n))
        for words, constant in (
            ("  as its beliefs report it", found.reported_error_constant),
            ("all data in one place", found.central_constant),
            ("central node, one sample a round", found.central_node_constant),
        ):
            table.add_row(words, "-", _words(constant))
        lone = list(zip(found.alone, alone_over_n, strict=True))
        for i, (limit, constant) in enumerate(lone[:_MOST_LISTED]):
            table.add_row(f"agent {i} alone", _limit_words(limit, constant), _words(constant))
        ratios = {"coefficients": _spread(found.calibration.coordinates)}
        if self.arithmetic == "double":
            if found.best_constant is not None:
                table.add_row("cooperating, with the best v", "-", number(found.best_constant))
            ratios["likelihoods to the powers"] = spread(found.calibrating_tempering)
            ratios[""] = "would make all of them 1"
        honest = facts_table("True over reported variance (1 is honest)", ratios)
        notes = [Text(), notes_text(document.notes)] if document.notes else []
        return [facts_table(document.problem, facts), Text(), table, honest, *notes]


def _words(value: Any) -> str:
    """A float to four digits, a fraction as it is, an algebraic number by its expression."""
    if isinstance(value, ExpressionDocument) and value.expression is not None:
        return value.expression
    if isinstance(value, ExpressionDocument | IntervalDocument):
        return f"{number(value.lower)} to {number(value.upper)}"
    return value if isinstance(value, str) else number(value)


def _limit_words(value: float | str | None, over_n: float | str | None) -> str:
    """A limit, 0 where only rounding is left of it."""
    if isinstance(value, float) and isinstance(over_n, float) and not lasts(value, over_n):
        return "0"
    return _words(value)


def _spread(values: Sequence[Any]) -> str:
    if all(value is None or isinstance(value, int | float) for value in values):
        return spread(values)
    words = [_words(value) for value in values[:_MOST_LISTED]]
    return " ".join(words) + (" …" if len(values) > _MOST_LISTED else "")


# How it is computed -----------------------------------------------------------------------------


def analyse_regression(
    problem: RegressionProblem,
    request: Analyse | None = None,
    progress: Progress | None = None,
) -> RegressionAnalysis:
    """Predict errors, calibration and the best weights of a regression.

    As fractions if that is asked for: with no rounding anywhere.

    Raises
    ------
    ValueError
        As fractions: if the problem has floating-point numbers, its agents have different priors,
        or its network is too large.
    """
    if request is not None and request.exact:
        return _in_fractions(problem)
    network, model = problem.network, problem.regression
    mixing, limits = in_doubles(network), regression_limits(network, model)
    ratios, best = calibration(network, model), None
    if limits.central_constant is not None and not model.has_targets:
        best = best_stationary_distribution(network, model)
    notes = [*limits.notes, *mixing.notes]
    if np.isnan(ratios.coordinates).any():
        notes.append(_UNSEEN)
    if best is None:
        notes.append(
            "best_stationary_distribution: only where labels follow theta, and what is tested "
            "is seen by somebody"
        )
    return RegressionAnalysis(
        problem=problem,
        arithmetic="double",
        network=mixing,
        limits=limits,
        over_n=coefficient(network, model, limits),
        alone_over_n=_lone_coefficients(model, limits),
        notes=tuple(notes),
        calibration=ratios,
        powers=calibrating_tempering(network, model),
        best=best,
    )


_UNSEEN = "calibration: null where nobody sees the coefficient"


def _in_fractions(problem: RegressionProblem) -> RegressionAnalysis:
    check_exact(problem)
    network = NetworkProofs(problem.rational_network, "exact").in_fractions()
    found = rational_regression(problem.rational_network, problem.rational_regression)
    notes = [*network.notes]
    if None in found.coordinate_ratios:
        notes.append(_UNSEEN)
    if found.central_node_constant is None:
        notes.append("central_node_constant: the agents' noises differ")
    if found.central_constant is None:
        notes.append("central_constant: all agents together leave a tested direction unseen")
    return RegressionAnalysis(
        problem=problem,
        arithmetic="exact",
        network=network,
        limits=found,
        over_n=found.excess_error_constant,
        alone_over_n=found.alone_constants,
        notes=tuple(notes),
    )


def coefficient(network: Network, model: RegressionModel, limits: RegressionLimits) -> float:
    """The coefficient of 1/n of a network's excess error: an asymptotic value in doubles.

    Examples
    --------
    >>> from theory.regression import regression_limits
    >>> from theory.regression.rational_model import two_nodes
    >>> case = two_nodes().as_floats()
    >>> limits = regression_limits(case.network, case.model)
    >>> coefficient(case.network, case.model, limits) == limits.excess_error_constant
    True
    """
    if not model.has_targets:
        return limits.excess_error_constant
    late = predicted_error(network, model, [_LATE], order=1)
    return _LATE * (float(late.excess_error[0].mean()) - limits.limit)


def _lone_coefficients(model: RegressionModel, limits: RegressionLimits) -> FloatArray:
    """The same of each agent without the network; shape (N,)."""
    if not model.has_targets:
        return limits.alone_constants
    late = alone_error(model, [_LATE], order=1)
    return read_only(np.asarray(_LATE * (late.excess_error[0] - limits.alone)))


def lasts(limit: float, constant: float) -> bool:
    """Whether a limit is more than rounding leaves of zero; `constant` is that of 1/n beside it.

    >>> lasts(0.684, 7.1), lasts(7e-30, 9.1)
    (True, False)
    """
    return limit > _ROUNDING * abs(constant)
