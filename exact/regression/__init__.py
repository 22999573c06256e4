"""Bayesian linear regression over a network, run: Gaussian beliefs, given data, and simulation."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from exact.regression.batches import BasisFunctions, FourierBasis, PolynomialBasis, RadialBasis
    from exact.regression.beliefs import GaussianBeliefs, Prediction
    from exact.regression.cost import RegressionCost
    from exact.regression.results import RegressionSimulation
    from exact.regression.simulation import RegressionTask, prepare_regression, simulate_regression
    from exact.regression.unknown_noise import (
        NormalInverseGammaBeliefs,
        RegressionBeliefs,
        StudentPrediction,
        learn_regression,
    )
else:
    show_lazily(__name__)

__all__ = [
    "BasisFunctions",
    "FourierBasis",
    "GaussianBeliefs",
    "NormalInverseGammaBeliefs",
    "PolynomialBasis",
    "Prediction",
    "RadialBasis",
    "RegressionBeliefs",
    "RegressionCost",
    "RegressionSimulation",
    "RegressionTask",
    "StudentPrediction",
    "learn_regression",
    "prepare_regression",
    "simulate_regression",
]
