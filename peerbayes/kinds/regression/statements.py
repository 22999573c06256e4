"""What is said of a regression, each statement with its verdict: prediction beside measurement.

Every expected error is known: exactly given the inputs, and averaged over drawn inputs, with a
standard error that the verdicts allow for. Constants of the limit are compared within the transient
that the second order predicts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerbayes.comparison import Comparison, equal_in_mean, within_transient
from peerbayes.kinds.regression.approach import first_order_error
from peerbayes.kinds.regression.curves import (
    AtEnd,
    Curve,
    allowed_error,
    expected_calibration,
)
from peerbayes.problem.problems import RegressionProblem
from theory.regression import predicted_error

# The second order leaves out terms of the third: its own transient is taken half as large again.
_TRANSIENT = 1.5
# What is left of the first correction in the second, where no formula is known: after a thousand
# rounds it was below a tenth on every data set tried.
_SECOND_ORDER = 0.15
# The predicted calibration is an average over drawn inputs. A second moment of a thousand inputs
# scatters by about 3 %, its average over a hundred draws by .3 %; five times this is allowed.
_PREDICTION_ERROR = 0.004


def of_a_model(
    problem: RegressionProblem, curves: Sequence[Curve], *, seed: int, draws: int
) -> list[Comparison]:
    """What is said of labels that follow the model: expectations are known at every round.

    Parameters
    ----------
    curves
        The cooperating network's first.
    seed, draws
        Of the inputs over which the expected calibration is averaged, and of how many sets of them.
    """
    name, together = problem.name, curves[0]
    return [
        *(_expected_error(name, curve) for curve in curves),
        _everywhere(name, curves),
        *_constant(name, together),
        *(_lasting(name, curve) for curve in curves if curve.learner.role == "alone"),
        _report(name, together),
        _quotient(
            name,
            f"true error over reported error after {together.rounds[-1]} rounds",
            together.error.at_end,
            together.reported.at_end,
        ),
        *_calibration(name, together, seed=seed, draws=draws),
        *_against_central(name, curves),
    ]


def of_a_data_set(
    problem: RegressionProblem, curves: Sequence[Curve], *, seed: int, draws: int
) -> list[Comparison]:
    """What is said of a data set's own labels: limit and first order, and what beliefs report."""
    statements = []
    for curve in curves:
        n = int(curve.rounds[-1])
        predicted = first_order_error(curve.learner, n)
        end = curve.error.at_end
        statements.append(
            within_transient(
                problem.name,
                f"excess error after {n} rounds, {curve.learner.name}: its limit, "
                f"{_limit_text(curve)}, and the first correction",
                predicted=predicted.value,
                measured=end.measured,
                standard_error=end.standard_error,
                allowed=end.allowed,
                transient=_SECOND_ORDER * predicted.correction,
                is_theorem=False,
                unit=0.0,
            )
        )
    return [*statements, *(_report(problem.name, curve) for curve in curves)]


def _limit_text(curve: Curve) -> str:
    """The limit of the excess error, without what is left of rounding where it is zero."""
    return f"{curve.limit:.3g}" if curve.limit > 1e-12 * float(curve.error.measured[-1]) else "0"


def _equal(name: str, words: str, end: AtEnd, *, note: str) -> Comparison:
    return equal_in_mean(
        name,
        words,
        predicted=end.predicted,
        measured=end.measured,
        standard_error=end.standard_error,
        allowed=end.allowed,
        note=note,
        unit=0.0,
    )


def _averaged(curve: Curve) -> str:
    return (
        f"averaged over {curve.expected.draws} draws of inputs; the standard error has both sides "
        "in it"
    )


def _expected_error(name: str, curve: Curve) -> Comparison:
    words = f"excess error after {curve.rounds[-1]} rounds, {curve.learner.name}"
    note = f"expected at this round, {_averaged(curve)}"
    return _equal(name, words, curve.error.at_end.both_sides, note=note)


def _report(name: str, curve: Curve) -> Comparison:
    """What the beliefs report on average."""
    who = "the network" if curve.learner.role == "cooperating" else curve.learner.name
    words = f"error that {who} reports after {curve.rounds[-1]} rounds"
    return _equal(name, words, curve.reported.at_end.both_sides, note=_averaged(curve))


def _everywhere(name: str, curves: Sequence[Curve]) -> Comparison:
    """All learners, agents and recorded rounds at once, in shares of what chance allows."""
    largest, count = 0.0, 0
    for curve in curves:
        run, expected = curve.run, curve.expected
        allowed = allowed_error(
            run.excess_standard_error, expected.standard_error, run.replicates
        ) + 1e-12 * np.abs(expected.excess_error)
        difference = np.abs(run.excess_error - expected.excess_error)
        largest = max(largest, float((difference / allowed).max()))
        count += difference.size
    return Comparison(
        problem=name,
        statement="excess error of every learner and agent at every recorded round, as a share of "
        "what chance allows",
        predicted=1.0,
        measured=largest,
        standard_error=None,
        kind="bound",
        holds=largest <= 1.0,
        note=f"largest of {count} differences from the expected errors",
    )


def _constant(name: str, curve: Curve) -> list[Comparison]:
    """N times the error, of the network and as it is reported."""
    n = int(curve.rounds[-1])
    if curve.limit > 0:
        return []
    second = predicted_error(curve.learner.network, curve.learner.model, [n])
    reported = curve.reported_constant, second.reported_error, curve.reported.at_end
    return [
        within_transient(
            name,
            f"{words}, n = {n}",
            predicted=constant,
            measured=n * end.measured,
            standard_error=n * end.standard_error,
            allowed=n * end.allowed,
            transient=_TRANSIENT * abs(n * float(at_n.mean()) - constant),
            is_theorem=False,
            unit=0.0,
        )
        for words, constant, at_n, end in (
            (
                "n × excess error of the network",
                curve.constant,
                second.excess_error,
                curve.error.at_end,
            ),
            ("n × error that the network reports", *reported),
        )
    ]


def _lasting(name: str, curve: Curve) -> Comparison:
    """What an agent's error tends to without the network."""
    end = curve.error.at_end
    return within_transient(
        name,
        f"excess error that stays for ever, {curve.learner.name}",
        predicted=curve.limit,
        measured=end.measured,
        standard_error=end.standard_error,
        allowed=end.allowed,
        transient=_TRANSIENT * abs(end.predicted - curve.limit)
        + abs(curve.constant) / int(curve.rounds[-1]),
        is_theorem=False,
        unit=0.0,
    )


def _calibration(name: str, curve: Curve, *, seed: int, draws: int) -> list[Comparison]:
    """True over reported variance of the first agent's coefficients."""
    n = int(curve.rounds[-1])
    expected = expected_calibration(curve.learner, rounds=n, draws=draws, seed=seed)
    run = curve.run
    statements = []
    for k in range(len(expected)):
        measured = float(run.calibration[-1, 0, k])
        error = float(run.calibration_standard_error[-1, 0, k])
        if not np.isfinite(expected[k]) or not np.isfinite(error) or measured == 0:
            continue
        own = np.array(_PREDICTION_ERROR * expected[k])
        allowed = float(allowed_error(np.array(error), own, run.replicates))
        statements.append(
            _equal(
                name,
                f"true over reported variance of coefficient {k}, agent 0, after {n} rounds",
                AtEnd(float(expected[k]), measured, error, allowed),
                note="sampling error, and 2 % for that of the prediction",
            )
        )
    return statements


def _against_central(name: str, curves: Sequence[Curve]) -> list[Comparison]:
    """The network's error over that of everybody's data in one place, and of the central node."""
    together = curves[0]
    return [
        _quotient(
            name,
            f"excess error after {curve.rounds[-1]} rounds, cooperating over {curve.learner.name}",
            together.error.at_end,
            curve.error.at_end,
        )
        for curve in curves[1:]
        if curve.learner.role in ("pooled", "central node")
    ]


def _quotient(name: str, words: str, above: AtEnd, below: AtEnd) -> Comparison:
    end = above.both_sides.over(below.both_sides)
    return _equal(name, words, end, note="quotient of two expectations")
