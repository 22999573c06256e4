"""Curves of errors: measured and predicted, of every learner by the same two calls.

The prediction is the expected error of every recorded round, averaged over drawn inputs given which
it is exact (`theory.regression.averaged_error`), with a standard error of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from exact import Run
from exact.regression import RegressionSimulation, simulate_regression
from peerbayes.comparison import STANDARD_ERRORS, Mean, allowed_deviation
from peerbayes.kinds.regression.analyse import coefficient
from peerbayes.measured import CoordinateCurve, ErrorCurve, Predicted
from peerbayes.problem.problems import RegressionProblem
from theory import Network
from theory.progress import Progress
from theory.regression import (
    AveragedError,
    RegressionAgent,
    RegressionModel,
    averaged_error,
    conditional_error,
    draw_inputs,
    predicted_error,
    regression_limits,
)
from theory.validation import FloatArray, IntArray

# Who learns a regression -------------------------------------------------------------------------


Role = Literal["cooperating", "alone", "pooled", "central node"]


@dataclass(frozen=True, eq=False)
class Learner:
    """A network of its own (of one, for those who learn alone) and what it learns."""

    role: Role
    name: str
    network: Network
    model: RegressionModel


def learners(problem: RegressionProblem, *, alone: Sequence[int] | None = None) -> list[Learner]:
    """The network of a problem, and those it is compared with.

    Parameters
    ----------
    alone
        Which agents learn without the network; left out: all.

    Notes
    -----
    All data in one place is the complete network with likelihoods to the power N: each round its
    pooled belief is the prior times the product of all N likelihoods.
    """
    network, model = problem.network, problem.regression
    agents = range(network.agents) if alone is None else alone
    pooled, node = _pooled(problem), central_node(problem)
    return [
        Learner("cooperating", "cooperating", network, model),
        *(_single("alone", f"agent {i} alone", model, model.agent(i), i) for i in agents),
        *([] if pooled is None else [pooled]),
        *([] if node is None else [_single("central node", "central node", model, node)]),
    ]


_SINGLE = Network(np.ones((1, 1)))
# The complete network of a large problem would cost more than the problem itself.
_MOST_POOLED = 30


def _pooled(problem: RegressionProblem) -> Learner | None:
    agents = problem.network.agents
    # Who is sent pieces of a data set's rows cannot put them together again.
    if agents > _MOST_POOLED or problem.regression.has_targets:
        return None
    complete = Network(np.full((agents, agents), 1 / agents))
    model = problem.regression.tempered(float(agents))
    return Learner("pooled", "all data in one place", complete, model)


def central_node(problem: RegressionProblem) -> RegressionAgent | None:
    """The papers' central node: one pair a round, its input from the test's law.

    Inputs are uniform where the file gives ranges, else normal. None if the agents' noises differ.
    """
    if problem.node is not None:
        return problem.node
    model = problem.regression
    noise = model.noise_std
    if noise is None:
        return None
    specification = problem.specification
    if specification is not None and specification.regression.test_ranges is not None:
        ranges = np.array(specification.regression.test_ranges, dtype=np.float64)
        return RegressionAgent(ranges=ranges, noise_std=noise)
    return RegressionAgent(second_moment=model.test_second_moment, noise_std=noise)


def _single(
    role: Role, name: str, model: RegressionModel, agent: RegressionAgent, prior: int = 0
) -> Learner:
    """One agent by itself, with the prior of an agent of the model."""
    covariance, mean = (
        np.array(priors[prior]) for priors in (model.prior_covariances, model.prior_means)
    )
    tested = model.test_second_moment
    lone = RegressionModel(model.theta, (agent,), covariance, tested, prior_mean=mean)
    return Learner(role, name, _SINGLE, lone)


# Curves of errors --------------------------------------------------------------------------------


# Of a squared error of one coefficient: 3√2 standard deviations make Bernstein's inequality true
# of a squared normal variable; sums of several have less.
_REACH = 3 * np.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class Means:
    """Means of replicates beside their expectations, as `Mean` has them, at each recorded round."""

    predicted: FloatArray
    measured: FloatArray
    standard_error: FloatArray
    allowed: FloatArray
    predicted_error: FloatArray

    @property
    def at_end(self) -> Mean:
        """The same at the last round."""
        return Mean(*(float(values[-1]) for values in vars(self).values()))

    def lists(self) -> dict[str, Any]:
        """What a record keeps, whoever learns."""
        keys = ("measured", "standard_error", "predicted")
        return {key: getattr(self, key).tolist() for key in keys}


def _averaged(
    replicates: int,
    measured: FloatArray,
    error: FloatArray,
    predicted: FloatArray,
    predicted_error: FloatArray,
) -> Means:
    """Means averaged over agents; standard errors at most, as agents hear the same inputs."""
    found, error, expected, own = (
        np.asarray(values if values.ndim == 1 else values.mean(axis=1))
        for values in (measured, error, predicted, predicted_error)
    )
    return Means(expected, found, error, allowed_error(error, own, replicates), own)


@dataclass(frozen=True, eq=False)
class Curve:
    """Measured and predicted errors of one learner, averaged over its agents, round by round.

    Attributes
    ----------
    learner
        Who.
    run, expected
        All that was measured and predicted, agent by agent.
    constant, limit
        Of limit + constant/n, which the error approaches.
    reported_constant
        The same of what the beliefs report.
    """

    learner: Learner
    run: RegressionSimulation
    expected: AveragedError
    constant: float
    limit: float
    reported_constant: float

    @property
    def rounds(self) -> IntArray:
        """The recorded rounds."""
        return self.run.rounds

    @cached_property
    def error(self) -> Means:
        """The excess error."""
        run, known = self.run, self.expected
        measured = run.network_error, run.network_standard_error
        return _averaged(run.replicates, *measured, known.excess_error, known.standard_error)

    @cached_property
    def reported(self) -> Means:
        """The error that the beliefs report."""
        run, known = self.run, self.expected
        measured = run.reported_error, run.reported_standard_error
        predicted = known.reported_error, known.reported_standard_error
        return _averaged(run.replicates, *measured, *predicted)

    def document(
        self, coordinates: list[CoordinateCurve] | None = None, *, with_ends: bool = False
    ) -> ErrorCurve:
        """What a record keeps of the curve; that of an experiment has the last round apart."""
        rounds, error, reported = self.rounds.tolist(), self.error, self.reported
        ends = [list(astuple(means.at_end)[:4]) for means in (error, reported)]
        return ErrorCurve(
            name=self.learner.name,
            role=self.learner.role,
            rounds=rounds,
            replicates=self.run.replicates,
            **error.lists(),
            predicted_standard_error=error.predicted_error.tolist(),
            constant=self.constant,
            limit=self.limit,
            reported=Predicted(rounds=rounds, **reported.lists(), constant=self.reported_constant),
            error_at_end=ends[0] if with_ends else None,
            report_at_end=ends[1] if with_ends else None,
            coordinates=coordinates,
        )


def first_order_error(learner: Learner, rounds: int) -> tuple[float, float]:
    """The limit of a learner's excess error and what it is off by after `rounds`, to first order.

    The value, and the size of what is added to the limit: the constant over n and what the prior
    adds where the limit of the estimates is not θ*, both counted without regard to sign.
    """
    limits = regression_limits(learner.network, learner.model)
    curve = predicted_error(learner.network, learner.model, [rounds], order=1)
    value = float(curve.excess_error[0].mean())
    return value, max(abs(value - limits.limit), limits.excess_error_constant / rounds)


def coordinate_curves(curve: Curve, limits: FloatArray) -> list[CoordinateCurve]:
    """True over reported variance of each coefficient that somebody sees, for a record.

    Parameters
    ----------
    limits
        What the quotients tend to, shape (d,); NaN where nobody sees the coefficient.
    """
    run = curve.run
    return [
        CoordinateCurve(
            name=f"coefficient {k}",
            rounds=run.rounds.tolist(),
            measured=run.calibration[:, 0, k].tolist(),
            standard_error=run.calibration_standard_error[:, 0, k].tolist(),
            limit=float(limits[k]),
        )
        for k in range(len(limits))
        if np.isfinite(limits[k])
    ]


def allowed_error(
    standard_error: FloatArray, predicted_standard_error: FloatArray, replicates: int
) -> FloatArray:
    """How far chance may take a mean squared error of R replicates from its prediction."""
    deviation = np.asarray(standard_error) * np.sqrt(replicates)
    chance = allowed_deviation(deviation**2, _REACH * deviation, replicates)
    return np.asarray(chance + STANDARD_ERRORS * np.asarray(predicted_standard_error))


def run_learner(
    learner: Learner,
    *,
    rounds: int,
    record: Sequence[int],
    replicates: int,
    draws: int,
    seed: int,
    progress: Progress | None = None,
) -> Curve:
    """Measure one learner's errors and predict them.

    Parameters
    ----------
    record
        Round numbers, increasing, up to `rounds`.
    draws
        How many sets of inputs the prediction is averaged over.
    """
    run = simulate_regression(
        learner.network,
        learner.model,
        run=Run(
            rounds=rounds, replicates=replicates, seed=seed, record=list(record), progress=progress
        ),
    )
    # Inputs of the prediction are drawn apart from those of the run.
    stream = np.random.SeedSequence(seed, spawn_key=(1,))
    limits = regression_limits(learner.network, learner.model)
    expected = averaged_error(
        learner.network, _free_of_targets(learner.model), record, draws=draws, seed=stream
    )
    if learner.model.has_targets:
        # What beliefs report does not depend on labels; errors are known to first order.
        first = predicted_error(learner.network, learner.model, expected.rounds, order=1)
        error, none = first.excess_error, np.zeros_like(first.excess_error)
        expected = replace(expected, excess_error=error, standard_error=none)
    return Curve(
        learner,
        run,
        expected,
        constant=coefficient(learner.network, learner.model, limits),
        limit=limits.limit,
        reported_constant=limits.reported_error_constant,
    )


def _free_of_targets(model: RegressionModel) -> RegressionModel:
    """The same inputs, with labels that follow the model."""
    if not model.has_targets:
        return model
    return replace(model, kinds=tuple(kind.changed(targets=None) for kind in model.kinds))


def expected_calibration(
    learner: Learner, *, rounds: int, draws: int, seed: int, agent: int = 0
) -> FloatArray:
    """True over reported variance of each coefficient of one agent, in expectation: an estimate.

    The true variance is that over noise and inputs: the mean of the variance given the inputs, and
    the variance of the mean given them. Shape (d,).
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    given = []
    for _ in range(draws):
        inputs = draw_inputs(learner.model, rounds, generator)
        given.append(conditional_error(learner.network, learner.model, inputs, [rounds]))
    variances = np.array([np.diag(one.covariance[0, agent]) for one in given])
    biases = np.array([one.bias[0, agent] for one in given])
    reported = np.array([np.diag(one.reported_covariance[0, agent]) for one in given])
    return np.asarray((variances.mean(axis=0) + biases.var(axis=0)) / reported.mean(axis=0))
