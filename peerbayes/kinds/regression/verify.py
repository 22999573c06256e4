"""Theory beside simulation, for a regression: several learners, and every statement.

The network is run, and beside it each agent alone, all data in one place, and the papers' central
node, as long and as often as there is time and memory for. Every expected error is known: exactly
given the inputs, and averaged over drawn inputs, with a standard error that the verdicts allow for.
Constants of the limit are compared within the transient that the second order predicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from peerbayes.comparison import (
    Comparison,
    Mean,
    equal_in_mean,
    share_of_chance,
    within_transient,
)
from peerbayes.kinds.regression.analyse import REGRESSION_ANALYSIS, analyse_regression
from peerbayes.kinds.regression.curves import (
    Curve,
    Learner,
    allowed_error,
    coordinate_curves,
    expected_calibration,
    first_order_error,
    learners,
    run_learner,
)
from peerbayes.kinds.regression.simulate import recorded_rounds
from peerbayes.kinds.shared.verify import Verified, verified
from peerbayes.measured import CoordinateCurve, ErrorCurve
from peerbayes.messages import input_error
from peerbayes.problem.problems import RegressionProblem
from peerbayes.quantities.quantity import entry
from theory.progress import Progress, part_of
from theory.regression import predicted_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDS = 1000
_REPLICATES = 2000
_LEAST_REPLICATES = 100
_RECORDS = 16
# Inputs over which the predictions are averaged: the noise is integrated out, so that few do. More,
# up to five times as many, where agents × squared coefficients × rounds are few: about a second.
_DRAWS = 60
_MOST_SUMMED = 2e7
# Numbers drawn at most for each curve: a few seconds on one core.
_MOST_DRAWS = 6e7
# Numbers that a prediction keeps: a quarter of a gigabyte.
_MOST_KEPT = 3e7
_LEAST_ROUNDS = 50
# Agents whose life alone is shown.
_MOST_ALONE = 4
# The second order leaves out terms of the third: its own transient is taken half as large again.
_TRANSIENT = 1.5
# What is left of the first correction in the second, where no formula is known: after a thousand
# rounds it was below a tenth on every data set tried.
_SECOND_ORDER = 0.15
# The predicted calibration is an average over drawn inputs. A second moment of a thousand inputs
# scatters by about 3 %, its average over a hundred draws by .3 %; five times this is allowed.
_PREDICTION_ERROR = 0.004


@dataclass(frozen=True, eq=False)
class RegressionVerification(Verified):
    """Everything `verify` knows of one regression: prediction, measurement and verdicts.

    Attributes
    ----------
    curves
        Errors of every learner, the cooperating network's first.
    """

    curves: tuple[Curve, ...]

    record = verified(
        "RegressionRecord",
        "A verified regression, as its record keeps it.",
        "regression",
        REGRESSION_ANALYSIS,
        curves=entry(
            Annotated[list[ErrorCurve], Field(min_length=1)],
            "the cooperating network first",
            get=lambda found: [curve.document() for curve in found.curves],
        ),
        coordinates=entry(list[CoordinateCurve], "coefficients that somebody sees"),
        replicates=entry(
            Annotated[int, Field(ge=1)],
            "of the cooperating network",
            get=lambda found: found.curves[0].run.replicates,
        ),
    )

    @property
    def coordinates(self) -> list[CoordinateCurve]:
        """True over reported variance of each coefficient that somebody sees."""
        return coordinate_curves(self.curves[0], self.analysis.calibration.coordinates)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Excess errors over the rounds, predicted and measured, with error bars.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.curves import errors_plot

        curves = [curve.document() for curve in self.curves]
        return on_axes(lambda axes: errors_plot(curves, axes=axes), ax)


def verify_regression(
    problem: RegressionProblem,
    *,
    seed: int = 0,
    delta: float = 0.05,
    progress: Progress | None = None,
) -> RegressionVerification:
    """Predict and measure a regression.

    Parameters
    ----------
    seed
        Of every run; the same seed gives the same verdicts.
    progress
        Called with (done, total).
    """
    rounds = _rounds(problem)
    analysis = analyse_regression(problem)
    count = problem.network.agents
    alone = sorted({round(float(i)) for i in np.linspace(0, count - 1, min(count, _MOST_ALONE))})
    every = learners(problem, alone=alone)
    record = recorded_rounds(rounds, most=_RECORDS)
    curves = tuple(
        run_learner(
            learner,
            rounds=rounds,
            record=record,
            replicates=_affordable(learner, rounds),
            draws=_draws(learner, rounds),
            seed=seed + index,
            progress=part_of(progress, index, len(every)),
        )
        for index, learner in enumerate(every)
    )
    statements = of_a_data_set if problem.regression.has_targets else of_a_model
    comparisons = tuple(statements(problem, curves, seed=seed, draws=_DRAWS))
    return RegressionVerification(problem, analysis, comparisons, curves)


def _rounds(problem: RegressionProblem) -> int:
    """As many rounds as there is memory for: a prediction keeps every round's second moments.

    Raises
    ------
    ValueError
        If these are too few.
    """
    model = problem.regression
    rounds = int(_MOST_KEPT / (model.agents * model.dimension**2))
    if rounds < _LEAST_ROUNDS:
        most = int(_MOST_KEPT / _LEAST_ROUNDS)
        raise input_error(
            problem.name,
            ("regression",),
            f"agents times squared coefficients of at most {most}, to be verified",
            f"{model.agents} times {model.dimension}²",
            "use 'peerbayes simulate', which needs less memory",
        )
    return min(rounds, _ROUNDS)


def _affordable(learner: Learner, rounds: int) -> int:
    """As many replicates as there is time for, between the least and enough."""
    model = learner.model
    numbers = model.agents * model.batch * model.dimension * rounds
    return int(np.clip(_MOST_DRAWS / numbers, _LEAST_REPLICATES, _REPLICATES))


def _draws(learner: Learner, rounds: int) -> int:
    """Over how many sets of inputs a prediction is averaged."""
    model = learner.model
    # What beliefs report scatters less than errors do.
    least = _DRAWS // 4 if model.has_targets else _DRAWS
    affordable = _MOST_SUMMED / (model.agents * model.dimension**2 * rounds)
    return int(np.clip(affordable, least, 5 * least))


# Statements -------------------------------------------------------------------------------------


def of_a_model(
    problem: RegressionProblem, curves: Sequence[Curve], *, seed: int, draws: int
) -> Iterator[Comparison]:
    """What is said of labels that follow the model: expectations are known at every round.

    Parameters
    ----------
    curves
        The cooperating network's first.
    seed, draws
        Of the inputs over which the expected calibration is averaged, and of how many sets of them.
    """
    name, together = problem.name, curves[0]
    n = int(together.rounds[-1])
    for curve in curves:
        words = f"excess error after {n} rounds, {curve.learner.name}"
        note = f"expected at this round, {_averaged(curve)}"
        yield _equal(name, words, curve.error.at_end.both_sides, note)
    yield _everywhere(name, curves)
    if together.limit <= 0:
        yield from _constants(name, together, n)
    for curve in curves:
        if curve.learner.role == "alone":
            yield _lasting(name, curve, n)
    yield _report(name, together)
    error, reported = together.error.at_end.both_sides, together.reported.at_end.both_sides
    words = f"true error over reported error after {n} rounds"
    yield _equal(name, words, error.over(reported), _QUOTIENT)
    yield from _calibration(name, together, seed=seed, draws=draws)
    for curve in curves[1:]:
        if curve.learner.role in ("pooled", "central node"):
            words = f"excess error after {n} rounds, cooperating over {curve.learner.name}"
            yield _equal(name, words, error.over(curve.error.at_end.both_sides), _QUOTIENT)


def of_a_data_set(
    problem: RegressionProblem, curves: Sequence[Curve], *, seed: int, draws: int
) -> Iterator[Comparison]:
    """What is said of a data set's own labels: limit and first order, and what beliefs report."""
    for curve in curves:
        n, end = int(curve.rounds[-1]), curve.error.at_end
        predicted, correction = first_order_error(curve.learner, n)
        # Without what is left of rounding where the limit is zero.
        limit = f"{curve.limit:.3g}" if curve.limit > 1e-12 * end.measured else "0"
        yield _approaches(
            problem.name,
            f"excess error after {n} rounds, {curve.learner.name}: its limit, {limit}, and the "
            "first correction",
            replace(end, predicted=predicted),
            _SECOND_ORDER * correction,
        )
    for curve in curves:
        yield _report(problem.name, curve)


_QUOTIENT = "quotient of two expectations"


def _equal(name: str, words: str, end: Mean, note: str) -> Comparison:
    return equal_in_mean(name, words, end, note=note, unit=0.0)


def _approaches(name: str, words: str, end: Mean, transient: float) -> Comparison:
    return within_transient(name, words, end, transient, is_theorem=False, unit=0.0)


def _averaged(curve: Curve) -> str:
    return (
        f"averaged over {curve.expected.draws} draws of inputs; the standard error has both sides "
        "in it"
    )


def _report(name: str, curve: Curve) -> Comparison:
    """What the beliefs report on average."""
    who = "the network" if curve.learner.role == "cooperating" else curve.learner.name
    words = f"error that {who} reports after {curve.rounds[-1]} rounds"
    return _equal(name, words, curve.reported.at_end.both_sides, _averaged(curve))


def _everywhere(name: str, curves: Sequence[Curve]) -> Comparison:
    """All learners, agents and recorded rounds at once, in shares of what chance allows."""
    differences, allowed = [], []
    for curve in curves:
        run, expected = curve.run, curve.expected
        chance = allowed_error(
            run.excess_standard_error, expected.standard_error, run.replicates
        ) + 1e-12 * np.abs(expected.excess_error)
        differences.append(np.abs(run.excess_error - expected.excess_error).ravel())
        allowed.append(chance.ravel())
    difference = np.concatenate(differences)
    return share_of_chance(
        name,
        "excess error of every learner and agent at every recorded round, as a share of what "
        "chance allows",
        difference,
        np.concatenate(allowed),
        note=f"largest of {difference.size} differences from the expected errors",
    )


def _constants(name: str, curve: Curve, n: int) -> Iterator[Comparison]:
    """N times the error, of the network and as it is reported."""
    second = predicted_error(curve.learner.network, curve.learner.model, [n])
    for words, constant, at_n, means in (
        ("excess error of the network", curve.constant, second.excess_error, curve.error),
        (
            "error that the network reports",
            curve.reported_constant,
            second.reported_error,
            curve.reported,
        ),
    ):
        end = replace(means.at_end.times(n), predicted=constant)
        transient = _TRANSIENT * abs(n * float(at_n.mean()) - constant)
        yield _approaches(name, f"n × {words}, n = {n}", end, transient)


def _lasting(name: str, curve: Curve, n: int) -> Comparison:
    """What an agent's error tends to without the network."""
    end = curve.error.at_end
    transient = _TRANSIENT * abs(end.predicted - curve.limit) + abs(curve.constant) / n
    words = f"excess error that stays for ever, {curve.learner.name}"
    return _approaches(name, words, replace(end, predicted=curve.limit), transient)


def _calibration(name: str, curve: Curve, *, seed: int, draws: int) -> Iterator[Comparison]:
    """True over reported variance of the first agent's coefficients."""
    n, run = int(curve.rounds[-1]), curve.run
    expected = expected_calibration(curve.learner, rounds=n, draws=draws, seed=seed)
    for k, prediction in enumerate(expected):
        measured = float(run.calibration[-1, 0, k])
        error = float(run.calibration_standard_error[-1, 0, k])
        if not np.isfinite(prediction) or not np.isfinite(error) or measured == 0:
            continue
        own = np.array(_PREDICTION_ERROR * prediction)
        allowed = float(allowed_error(np.array(error), own, run.replicates))
        yield _equal(
            name,
            f"true over reported variance of coefficient {k}, agent 0, after {n} rounds",
            Mean(float(prediction), measured, error, allowed),
            "sampling error, and 2 % for that of the prediction",
        )
