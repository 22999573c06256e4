"""Exact evaluation: the algorithm itself, on finitely many hypotheses.

:mod:`exact.beliefs` is the algorithm as the papers write it; :mod:`exact.learning` the same in
log-ratios, fast, for many replicates. This floor imports ``theory`` alone.
"""

from exact.beliefs import Beliefs, bayes_update, consensus, estimates, learn, normalise
from exact.learning import FastBeliefs, Rates, Simulation, learn_fast, simulate
from exact.quantised_regression import (
    MeasuredRisk,
    MeasuredRiskCurve,
    measure_risk,
    measured_risk_curve,
)
from exact.sampling import draw_log_likelihoods
from exact.statistics import Proportion, proportion

__all__ = [
    "Beliefs",
    "FastBeliefs",
    "MeasuredRisk",
    "MeasuredRiskCurve",
    "Proportion",
    "Rates",
    "Simulation",
    "bayes_update",
    "consensus",
    "draw_log_likelihoods",
    "estimates",
    "learn",
    "learn_fast",
    "measure_risk",
    "measured_risk_curve",
    "normalise",
    "proportion",
    "simulate",
]
