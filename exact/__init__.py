"""Exact evaluation: the algorithm itself, on finitely many hypotheses.

:mod:`exact.beliefs` is the algorithm as the papers write it. :func:`simulate` runs it fast, for
many replicates, on networks that stay (:mod:`exact.learning`), change (:mod:`exact.changing`) or
have faulty agents (:mod:`exact.faults`); :mod:`exact.regression` runs linear regression. This
package imports ``theory`` alone.
"""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from exact.beliefs import Beliefs, bayes_update, consensus, estimates, learn, normalise
    from exact.changing import (
        Exchange,
        Mailbox,
        Message,
        Peer,
        PeerState,
        Post,
        Receipt,
        Rounds,
        draw_rounds,
        exchange,
        learn_changing,
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
    from exact.learning import FastBeliefs, learn_fast
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
        RegressionTask,
        StudentPrediction,
        learn_regression,
        prepare_regression,
        simulate_regression,
    )
    from exact.results import Rates, Run, Simulation
    from exact.sample_size import SimulatedSampleSize, simulated_sample_size
    from exact.sampling import draw_log_likelihoods
    from exact.simulation import learn_given, prepare, simulate
    from exact.statistics import Proportion, proportion
    from exact.task import (
        MeasuredRisk,
        MeasuredRiskCurve,
        Task,
        measure_risk,
        measured_risk_curve,
    )
else:
    show_lazily(__name__)

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
    "Peer",
    "PeerState",
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
    "RegressionTask",
    "Rounds",
    "Run",
    "SimulatedSampleSize",
    "Simulation",
    "StudentPrediction",
    "Task",
    "bayes_update",
    "belief_law",
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
    "learn_given",
    "learn_regression",
    "measure_risk",
    "measured_risk_curve",
    "normalise",
    "pair_law",
    "prepare",
    "prepare_regression",
    "proportion",
    "rare_errors",
    "simulate",
    "simulate_regression",
    "simulated_sample_size",
]
