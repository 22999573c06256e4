"""Bayesian linear regression over a network, predicted."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.regression.agent import RegressionAgent, uniform_second_moment
    from theory.regression.conditional import (
        AveragedError,
        ConditionalError,
        averaged_error,
        conditional_error,
        draw_inputs,
    )
    from theory.regression.confidence import (
        BestStationary,
        Calibration,
        best_stationary_distribution,
        calibrating_tempering,
        calibration,
    )
    from theory.regression.limits import RegressionLimits, regression_limits
    from theory.regression.model import RegressionModel
    from theory.regression.predicted import (
        ErrorCurve,
        alone_error,
        central_error,
        central_node_error,
        predicted_error,
    )
else:
    show_lazily(__name__)

__all__ = [
    "AveragedError",
    "BestStationary",
    "Calibration",
    "ConditionalError",
    "ErrorCurve",
    "RegressionAgent",
    "RegressionLimits",
    "RegressionModel",
    "alone_error",
    "averaged_error",
    "best_stationary_distribution",
    "calibrating_tempering",
    "calibration",
    "central_error",
    "central_node_error",
    "conditional_error",
    "draw_inputs",
    "predicted_error",
    "regression_limits",
    "uniform_second_moment",
]
