"""Who learns a regression: the network, each agent alone, all data in one place, a central node.

Each is run and predicted by the same two calls, so that every curve has its prediction: the
expected error of every recorded round, averaged over drawn inputs given which it is exact
(`theory.regression.averaged_error`), with a standard error of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from exact.regression import RegressionSimulation, simulate_regression
from peerbayes.comparison import STANDARD_ERRORS, allowed_deviation
from peerbayes.kinds.regression.approach import coefficient
from peerbayes.problem.regression import RegressionProblem
from peerbayes.records import plain
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

Role = Literal["cooperating", "alone", "pooled", "central node"]

# Of a squared error of one coefficient: 3√2 standard deviations make Bernstein's inequality true
# of a squared normal variable; sums of several have less.
_REACH = 3 * np.sqrt(2.0)


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
    result = [Learner("cooperating", "cooperating", network, model)]
    for i in agents:
        lone = _single(model, model.agent(i), i)
        result.append(Learner("alone", f"agent {i} alone", _SINGLE, lone))
    pooled = _pooled(problem)
    if pooled is not None:
        result.append(pooled)
    node = central_node(problem)
    if node is not None:
        result.append(Learner("central node", "central node", _SINGLE, _single(model, node, None)))
    return result


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


def _single(model: RegressionModel, agent: RegressionAgent, index: int | None) -> RegressionModel:
    """One agent by itself, with its own prior, or the first agent's."""
    i = 0 if index is None else index
    return RegressionModel(
        model.theta,
        (agent,),
        np.array(model.prior_covariances[i]),
        model.test_second_moment,
        prior_mean=np.array(model.prior_means[i]),
    )


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

    @property
    def measured(self) -> FloatArray:
        """Excess error at each recorded round."""
        return self.run.network_error

    @property
    def standard_error(self) -> FloatArray:
        """Of `measured`."""
        return self.run.network_standard_error

    @property
    def predicted(self) -> FloatArray:
        """The expectation of `measured`."""
        return np.asarray(self.expected.excess_error.mean(axis=1))

    @property
    def predicted_standard_error(self) -> FloatArray:
        """Of `predicted`, at most: agents hear the same inputs."""
        return np.asarray(self.expected.standard_error.mean(axis=1))

    @property
    def reported(self) -> FloatArray:
        """What the beliefs report on average, at each recorded round."""
        return np.asarray(self.run.reported_error.mean(axis=1))

    @property
    def reported_standard_error(self) -> FloatArray:
        """Of `reported`, at most: agents hear the same inputs."""
        return np.asarray(self.run.reported_standard_error.mean(axis=1))

    @property
    def reported_predicted(self) -> FloatArray:
        """The expectation of `reported`."""
        return np.asarray(self.expected.reported_error.mean(axis=1))

    @property
    def allowed(self) -> FloatArray:
        """How far chance may take `measured` from `predicted`, at each recorded round."""
        return allowed_error(
            self.standard_error, self.predicted_standard_error, self.run.replicates
        )

    @property
    def reported_allowed(self) -> FloatArray:
        """The same of `reported`."""
        own = np.asarray(self.expected.reported_standard_error.mean(axis=1))
        return allowed_error(self.reported_standard_error, own, self.run.replicates)

    @property
    def error_at_end(self) -> FloatArray:
        """Of the excess error at the last round: predicted, measured, standard error, allowed."""
        parts = (self.predicted, self.measured, self.standard_error, self.allowed)
        return np.array([part[-1] for part in parts])

    @property
    def report_at_end(self) -> FloatArray:
        """The same of what the beliefs report."""
        parts = (
            self.reported_predicted,
            self.reported,
            self.reported_standard_error,
            self.reported_allowed,
        )
        return np.array([part[-1] for part in parts])

    def as_json(self) -> dict[str, Any]:
        """What a record keeps of the curve, in plain numbers."""
        content = {
            "name": self.learner.name,
            "role": self.learner.role,
            "rounds": self.rounds,
            "replicates": self.run.replicates,
            "measured": self.measured,
            "standard_error": self.standard_error,
            "predicted": self.predicted,
            "predicted_standard_error": self.predicted_standard_error,
            "constant": self.constant,
            "limit": self.limit,
            "reported": {
                "rounds": self.rounds,
                "measured": self.reported,
                "standard_error": self.reported_standard_error,
                "predicted": self.reported_predicted,
                "constant": self.reported_constant,
            },
        }
        result: dict[str, Any] = plain(content)
        return result


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
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        record=list(record),
        progress=progress,
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
    kinds = [
        RegressionAgent(
            inputs=kind.inputs,
            noise_std=kind.noise_std,
            claimed_noise_std=kind.claimed_noise_std,
            batch=kind.batch,
            tempering=kind.tempering,
        )
        if kind.targets is not None
        else kind
        for kind in model.kinds
    ]
    return replace(model, kinds=tuple(kinds))


@dataclass(frozen=True)
class FirstOrderError:
    """Excess error at a round to first order in 1/n, and the size of what is added to its limit."""

    value: float
    correction: float


def first_order_error(learner: Learner, rounds: int) -> FirstOrderError:
    """The limit of a learner's excess error and what it is off by after `rounds`, to first order.

    The correction is the constant over n, and what the prior adds where the limit of the estimates
    is not θ*; its size counts both without regard to sign.
    """
    limits = regression_limits(learner.network, learner.model)
    curve = predicted_error(learner.network, learner.model, [rounds], order=1)
    value = float(curve.excess_error[0].mean())
    size = max(abs(value - limits.limit), limits.excess_error_constant / rounds)
    return FirstOrderError(value, size)


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
