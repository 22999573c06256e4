"""Theory beside simulation, for a regression.

The network is run, and beside it each agent alone, all data in one place, and the papers' central
node. Every expected error is known: exactly given the inputs, and averaged over drawn inputs, with
a standard error that the verdicts allow for. Constants of the limit are compared within the
transient that the second order predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from peerbayes.comparison import Comparison, equal_in_mean, within_transient
from peerbayes.kinds.regression.analyse import RegressionAnalysis, analyse_regression
from peerbayes.kinds.regression.learners import (
    Curve,
    Learner,
    allowed_error,
    expected_calibration,
    first_order_error,
    learners,
    run_learner,
)
from peerbayes.kinds.regression.simulate import recorded_rounds
from peerbayes.messages import input_error
from peerbayes.problem.regression import RegressionProblem
from theory.progress import Progress
from theory.validation import FloatArray

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
class RegressionVerification:
    """Everything `verify` knows of one regression: prediction, measurement and verdicts."""

    problem: RegressionProblem
    analysis: RegressionAnalysis
    curves: tuple[Curve, ...]  # the cooperating network first
    comparisons: tuple[Comparison, ...]

    def as_record(self) -> dict[str, Any]:
        """What the report needs, in plain numbers."""
        problem, network = self.problem, self.problem.network
        edges = network.edges
        weights = np.asarray(network.weights[edges[:, 0], edges[:, 1]]).ravel()
        return {
            "form": "regression",
            "name": problem.name,
            "title": problem.title,
            "family": problem.family,
            "parameters": dict(problem.parameters),
            "analysis": self.analysis.as_json(),
            "graph": {
                "edges": edges.tolist(),
                "weights": weights.tolist(),
                "positions": None if network.layout is None else network.layout.tolist(),
                "stationary_distribution": network.stationary_distribution.tolist(),
            },
            "curves": [curve.as_json() for curve in self.curves],
            "coordinates": coordinate_curves(self.curves[0], self.analysis),
            "replicates": self.curves[0].run.replicates,
            "comparisons": [comparison.as_json() for comparison in self.comparisons],
        }


def coordinate_curves(curve: Curve, analysis: RegressionAnalysis) -> list[dict[str, Any]]:
    """True over reported variance of each coefficient that somebody sees, for a record."""
    limits = analysis.calibration.coordinates
    run = curve.run
    return [
        {
            "name": f"coefficient {k}",
            "rounds": run.rounds,
            "measured": run.calibration[:, 0, k],
            "standard_error": run.calibration_standard_error[:, 0, k],
            "limit": float(limits[k]),
        }
        for k in range(len(limits))
        if np.isfinite(limits[k])
    ]


def verify_regression(
    problem: RegressionProblem, *, seed: int = 0, progress: Progress | None = None
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
            progress=_share(progress, index, len(every)),
        )
        for index, learner in enumerate(every)
    )
    statements = _of_a_data_set if problem.regression.has_targets else _of_a_model
    comparisons = tuple(statements(problem, curves, seed))
    return RegressionVerification(problem, analysis, curves, comparisons)


def _of_a_model(problem: RegressionProblem, curves: Sequence[Curve], seed: int) -> list[Comparison]:
    """What is said of labels that follow the model: expectations are known at every round."""
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
            _error_at_end(together),
            _report_at_end(together),
        ),
        *_calibration(problem, together, seed=seed),
        *_against_central(name, curves),
    ]


def _of_a_data_set(
    problem: RegressionProblem, curves: Sequence[Curve], seed: int
) -> list[Comparison]:
    """What is said of a data set's own labels: limit and first order, and what beliefs report."""
    statements = []
    for curve in curves:
        n = int(curve.rounds[-1])
        predicted = first_order_error(curve.learner, n)
        statements.append(
            within_transient(
                problem.name,
                f"excess error after {n} rounds, {curve.learner.name}: its limit, "
                f"{_limit_text(curve)}, and the first correction",
                predicted=predicted.value,
                measured=float(curve.measured[-1]),
                standard_error=float(curve.standard_error[-1]),
                allowed=float(curve.allowed[-1]),
                transient=_SECOND_ORDER * predicted.correction,
                is_theorem=False,
            )
        )
    return [*statements, *(_report(problem.name, curve) for curve in curves)]


def _limit_text(curve: Curve) -> str:
    """The limit of the excess error, without what is left of rounding where it is zero."""
    return f"{curve.limit:.3g}" if curve.limit > 1e-12 * float(curve.measured[-1]) else "0"


def _share(progress: Progress | None, index: int, parts: int) -> Progress | None:
    """One of several runs that report as one."""
    if progress is None:
        return None
    return lambda done, total: progress(index * total + done, parts * total)


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


def _averaged(curve: Curve) -> str:
    return f"averaged over {curve.expected.draws} draws of inputs"


def _error_at_end(curve: Curve) -> FloatArray:
    """Predicted, measured, the standard error of their difference, allowed; at the last round."""
    predicted, measured, error, allowed = curve.error_at_end
    own = float(curve.predicted_standard_error[-1])
    return np.array([predicted, measured, np.hypot(error, own), allowed])


def _report_at_end(curve: Curve) -> FloatArray:
    """The same of what the beliefs report."""
    predicted, measured, error, allowed = curve.report_at_end
    own = float(curve.expected.reported_standard_error[-1].mean())
    return np.array([predicted, measured, np.hypot(error, own), allowed])


def _expected_error(name: str, curve: Curve) -> Comparison:
    n = int(curve.rounds[-1])
    predicted, measured, error, allowed = _error_at_end(curve).tolist()
    return equal_in_mean(
        name,
        f"excess error after {n} rounds, {curve.learner.name}",
        predicted=predicted,
        measured=measured,
        standard_error=error,
        allowed=allowed,
        note=f"expected at this round, {_averaged(curve)}; the standard error has both sides in it",
    )


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
    n = float(curve.rounds[-1])
    if curve.limit > 0:
        return []
    from theory.regression import predicted_error

    second = predicted_error(curve.learner.network, curve.learner.model, [int(n)])
    statements = []
    for words, constant, at_n, measured, error, allowed in (
        (
            "n × excess error of the network",
            curve.constant,
            second.excess_error,
            curve.measured,
            curve.standard_error,
            curve.allowed,
        ),
        (
            "n × error that the network reports",
            curve.reported_constant,
            second.reported_error,
            curve.reported,
            curve.reported_standard_error,
            curve.reported_allowed,
        ),
    ):
        transient = _TRANSIENT * abs(n * float(at_n.mean()) - constant)
        statements.append(
            within_transient(
                name,
                f"{words}, n = {n:.0f}",
                predicted=constant,
                measured=n * float(measured[-1]),
                standard_error=n * float(error[-1]),
                allowed=n * float(allowed[-1]),
                transient=transient,
                is_theorem=False,
            )
        )
    return statements


def _lasting(name: str, curve: Curve) -> Comparison:
    """What an agent's error tends to without the network."""
    n = float(curve.rounds[-1])
    return within_transient(
        name,
        f"excess error that stays for ever, {curve.learner.name}",
        predicted=curve.limit,
        measured=float(curve.measured[-1]),
        standard_error=float(curve.standard_error[-1]),
        allowed=float(curve.allowed[-1]),
        transient=_TRANSIENT * abs(float(curve.predicted[-1]) - curve.limit)
        + abs(curve.constant) / n,
        is_theorem=False,
    )


def _report(name: str, curve: Curve) -> Comparison:
    """What the beliefs report on average."""
    who = "the network" if curve.learner.role == "cooperating" else curve.learner.name
    predicted, measured, error, allowed = _report_at_end(curve).tolist()
    return equal_in_mean(
        name,
        f"error that {who} reports after {curve.rounds[-1]} rounds",
        predicted=predicted,
        measured=measured,
        standard_error=error,
        allowed=allowed,
        note=f"{_averaged(curve)}; the standard error has both sides in it",
    )


def _calibration(problem: RegressionProblem, curve: Curve, *, seed: int) -> list[Comparison]:
    """True over reported variance of the first agent's coefficients."""
    n = int(curve.rounds[-1])
    expected = expected_calibration(curve.learner, rounds=n, draws=_DRAWS, seed=seed)
    run = curve.run
    statements = []
    for k in range(problem.regression.dimension):
        measured = float(run.calibration[-1, 0, k])
        error = float(run.calibration_standard_error[-1, 0, k])
        if not np.isfinite(expected[k]) or not np.isfinite(error) or measured == 0:
            continue
        statements.append(
            equal_in_mean(
                problem.name,
                f"true over reported variance of coefficient {k}, agent 0, after {n} rounds",
                predicted=float(expected[k]),
                measured=measured,
                standard_error=error,
                allowed=float(
                    allowed_error(
                        np.array(error), np.array(_PREDICTION_ERROR * expected[k]), run.replicates
                    )
                ),
                note="sampling error, and 2 % for that of the prediction",
            )
        )
    return statements


def _against_central(name: str, curves: Sequence[Curve]) -> list[Comparison]:
    """The network's error over that of everybody's data in one place, and of the central node."""
    statements = []
    for curve in curves[1:]:
        if curve.learner.role in ("pooled", "central node"):
            n = int(curve.rounds[-1])
            words = f"excess error after {n} rounds, cooperating over {curve.learner.name}"
            ends = _error_at_end(curves[0]), _error_at_end(curve)
            statements.append(_quotient(name, words, *ends))
    return statements


def _quotient(name: str, words: str, above: FloatArray, below: FloatArray) -> Comparison:
    """A quotient of two means, each (predicted, measured, standard error, allowed)."""
    (p, m, e, a), (q, r, f, b) = above.tolist(), below.tolist()
    predicted, measured = p / q, m / r
    error = measured * float(np.hypot(e / m, f / r))
    # Both ends at once: (p ± a)/(q ∓ b).
    allowed = (p + a) / max(q - b, 1e-300) - predicted
    return equal_in_mean(
        name,
        words,
        predicted=predicted,
        measured=measured,
        standard_error=error,
        allowed=allowed,
        note="quotient of two expectations",
    )
