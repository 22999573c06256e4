"""Exact evaluation: the algorithm itself, on finitely many hypotheses.

:mod:`exact.beliefs` is the algorithm as the papers write it; :mod:`exact.learning` the same in
log-ratios, fast, for many replicates; :mod:`exact.changing` runs networks that change, and
:mod:`exact.regression` linear regression. This package imports ``theory`` alone.
"""

from exact.beliefs import Beliefs, bayes_update, consensus, estimates, learn, normalise
from exact.changing import (
    Exchange,
    Mailbox,
    Message,
    Post,
    Receipt,
    Rounds,
    changing_cost,
    draw_rounds,
    exchange,
    learn_changing,
    simulate_changing,
)
from exact.cost import Cost
from exact.law import (
    BeliefLaw,
    ErrorLaw,
    ExactSampleSize,
    JointErrors,
    RareError,
    RareErrors,
    RareInterval,
    belief_law,
    error_law,
    exact_sample_size,
    pair_law,
    rare_errors,
)
from exact.learning import (
    FastBeliefs,
    Rates,
    Simulation,
    learn_fast,
    simulate,
    simulation_cost,
)
from exact.quantised_regression import (
    MeasuredRisk,
    MeasuredRiskCurve,
    measure_risk,
    measured_risk_curve,
)
from exact.regression import (
    FourierBasis,
    GaussianBeliefs,
    NormalInverseGammaBeliefs,
    PolynomialBasis,
    Prediction,
    RadialBasis,
    RegressionBeliefs,
    RegressionCost,
    RegressionSimulation,
    StudentPrediction,
    learn_regression,
    regression_cost,
    simulate_regression,
)
from exact.sample_size import SimulatedSampleSize, simulated_sample_size
from exact.sampling import draw_log_likelihoods
from exact.statistics import Proportion, proportion

__all__ = [
    "BeliefLaw",
    "Beliefs",
    "Cost",
    "ErrorLaw",
    "ExactSampleSize",
    "Exchange",
    "FastBeliefs",
    "FourierBasis",
    "GaussianBeliefs",
    "JointErrors",
    "Mailbox",
    "MeasuredRisk",
    "MeasuredRiskCurve",
    "Message",
    "NormalInverseGammaBeliefs",
    "PolynomialBasis",
    "Post",
    "Prediction",
    "Proportion",
    "RadialBasis",
    "RareError",
    "RareErrors",
    "RareInterval",
    "Rates",
    "Receipt",
    "RegressionBeliefs",
    "RegressionCost",
    "RegressionSimulation",
    "Rounds",
    "SimulatedSampleSize",
    "Simulation",
    "StudentPrediction",
    "bayes_update",
    "belief_law",
    "changing_cost",
    "consensus",
    "draw_log_likelihoods",
    "draw_rounds",
    "error_law",
    "estimates",
    "exact_sample_size",
    "exchange",
    "learn",
    "learn_changing",
    "learn_fast",
    "learn_regression",
    "measure_risk",
    "measured_risk_curve",
    "normalise",
    "pair_law",
    "proportion",
    "rare_errors",
    "regression_cost",
    "simulate",
    "simulate_changing",
    "simulate_regression",
    "simulated_sample_size",
    "simulation_cost",
]
