"""`peerbayes analyse` for a regression: everything theory predicts of it, before any run.

All errors are excess errors: the mean squared error of predictions on the test's inputs, less the
test's noise. A constant c stands for an error of c/n after n rounds, in the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import RenderableType

from peerbayes.documents import Documented, numbers
from peerbayes.kinds.regression.approach import coefficient, lone_coefficients
from peerbayes.kinds.regression.documents import (
    CalibrationDocument,
    ExactCalibration,
    ExactRegressionDocument,
    RegressionAnalysisDocument,
    RegressionFractions,
    RegressionNumbers,
)
from peerbayes.kinds.regression.tables import regression_parts
from peerbayes.kinds.shared.network_proofs import NetworkProofs, check_exact
from peerbayes.problem.problems import RegressionProblem
from peerbayes.quantities.network import (
    EXACT_NETWORK,
    NETWORK,
    NetworkNumbers,
    in_doubles,
    spectrum_notes,
)
from peerbayes.records import plain
from theory.regression import (
    BestStationary,
    Calibration,
    RegressionLimits,
    best_stationary_distribution,
    calibrating_tempering,
    calibration,
    regression_limits,
)
from theory.regression.expansion import RationalRegression, rational_regression
from theory.validation import FloatArray


@dataclass(frozen=True, eq=False)
class RegressionAnalysis(Documented):
    """Predictions for one regression: floats, each defined where `theory` computes it.

    `best` is None where some coordinate is tested and seen by nobody, or labels are a data set's.
    `over_n` and `alone_over_n` are the coefficients of 1/n beside the limits.
    """

    problem: RegressionProblem
    limits: RegressionLimits
    calibration: Calibration
    best: BestStationary | None
    powers: FloatArray
    over_n: float
    alone_over_n: FloatArray

    def _facts(self) -> Iterator[tuple[str, object]]:
        limits = self.limits
        yield "identified", limits.is_identified
        yield "limit of the error", limits.limit
        yield "error, times n", limits.excess_error_constant
        yield "reported, times n", limits.reported_error_constant
        if limits.central_constant is not None:
            yield "central, times n", limits.central_constant
        yield "calibration", self.calibration.test
        if self.best is not None:
            yield "best v", self.best.distribution
            yield "best, times n", self.best.constant

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        notes = list(self.limits.notes)
        notes += spectrum_notes(self.problem.network)
        if np.isnan(self.calibration.coordinates).any():
            notes.append("calibration: null where nobody sees the coefficient")
        if self.best is None:
            notes.append(
                "best_stationary_distribution: only where labels follow theta, and what is tested "
                "is seen by somebody"
            )
        return notes

    def document(self) -> RegressionAnalysisDocument:
        """What `analyse` prints; null stands for what is not known, see ``notes``."""
        limits, ratios, best = self.limits, self.calibration, self.best
        return RegressionAnalysisDocument(
            problem=self.problem.name,
            network=NETWORK.document(in_doubles(self.problem.network)),
            regression=RegressionNumbers(
                dimension=self.problem.regression.dimension,
                identified=limits.is_identified,
                limit=limits.limit,
                over_n=self.over_n,
                excess_error_constant=limits.excess_error_constant,
                reported_error_constant=limits.reported_error_constant,
                central_constant=limits.central_constant,
                central_node_constant=limits.central_node_constant,
                alone=numbers(limits.alone),
                alone_over_n=numbers(self.alone_over_n),
                alone_constants=numbers(limits.alone_constants),
                estimator_covariance=limits.estimator_covariance.tolist(),
                reported_covariance=limits.reported_covariance.tolist(),
                calibration=CalibrationDocument(
                    test=ratios.test,
                    coordinates=numbers(ratios.coordinates),
                    ratios=numbers(ratios.ratios),
                    functionals=ratios.functionals.tolist(),
                ),
                calibrating_tempering=numbers(self.powers),
                best_stationary_distribution=None if best is None else numbers(best.distribution),
                best_constant=None if best is None else best.constant,
            ),
            notes=self.notes,
        )

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return regression_parts(self.document())


def analyse_regression(problem: RegressionProblem) -> RegressionAnalysis:
    """Predict errors, calibration and the best weights of a regression."""
    network, model = problem.network, problem.regression
    limits = regression_limits(network, model)
    can_be_best = limits.central_constant is not None and not model.has_targets
    return RegressionAnalysis(
        problem=problem,
        limits=limits,
        calibration=calibration(network, model),
        best=best_stationary_distribution(network, model) if can_be_best else None,
        powers=calibrating_tempering(network, model),
        over_n=coefficient(network, model, limits),
        alone_over_n=lone_coefficients(problem, limits),
    )


@dataclass(frozen=True, eq=False)
class ExactRegressionAnalysis(Documented):
    """The same numbers as fractions; the network's as fractions and expressions."""

    problem: RegressionProblem
    network: NetworkNumbers
    found: RationalRegression

    def _facts(self) -> Iterator[tuple[str, object]]:
        found = self.found
        yield "v", found.stationary_distribution
        yield "limit of the error", found.limit
        yield "error, times n", found.excess_error_constant
        yield "reported, times n", found.reported_error_constant
        if found.central_constant is not None:
            yield "central, times n", found.central_constant

    def document(self) -> ExactRegressionDocument:
        """What `analyse --exact` prints; null stands for what is not known."""
        found, network = self.found, self.network
        return ExactRegressionDocument(
            problem=self.problem.name,
            network=EXACT_NETWORK.document(network),
            regression=RegressionFractions(
                dimension=self.problem.regression.dimension,
                identified=found.is_identified,
                limit=plain(found.limit),
                excess_error_constant=plain(found.excess_error_constant),
                reported_error_constant=plain(found.reported_error_constant),
                central_constant=plain(found.central_constant),
                central_node_constant=plain(found.central_node_constant),
                alone=plain(found.alone),
                alone_constants=plain(found.alone_constants),
                estimator_covariance=plain(found.estimator_covariance),
                reported_covariance=plain(found.reported_covariance),
                calibration=ExactCalibration(coordinates=plain(found.coordinate_ratios)),
            ),
            notes=[*network.notes, *self._notes()],
        )

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return regression_parts(self.document())

    def _notes(self) -> list[str]:
        notes = []
        if None in self.found.coordinate_ratios:
            notes.append("calibration: null where nobody sees the coefficient")
        if self.found.central_node_constant is None:
            notes.append("central_node_constant: the agents' noises differ")
        if self.found.central_constant is None:
            notes.append("central_constant: all agents together leave a tested direction unseen")
        return notes


def analyse_regression_exactly(problem: RegressionProblem) -> ExactRegressionAnalysis:
    """The numbers of `analyse` as fractions, with no rounding anywhere.

    Raises
    ------
    ValueError
        If the problem has floating-point numbers, its agents have different priors, or its network
        is too large for fractions.
    """
    check_exact(problem)
    network = NetworkProofs(problem.rational_network, "exact").in_fractions()
    found = rational_regression(problem.rational_network, problem.rational_regression)
    return ExactRegressionAnalysis(problem, network, found)
