"""The nearest doubles of a model of fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from exact.law.law_problem import Model
from theory import Agent, FiniteAgent, FiniteModel, GaussianAgent
from theory.numbers import LogSum
from theory.rational import RationalAgent, RationalFiniteAgent


def in_doubles(model: Model) -> FiniteModel:
    """The model itself, or the nearest one whose numbers are doubles.

    Examples
    --------
    >>> from theory.rational import RationalModel
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    ... )
    >>> in_doubles(RationalModel.from_agents(["fair", "loaded"], [coin])).agents
    1
    """
    if isinstance(model, FiniteModel):
        return model
    priors = np.array([[_log(p) for p in row] for row in model.priors])
    return FiniteModel(
        model.hypotheses,
        tuple(_agent(kind) for kind in model.kinds),
        np.array(model.assignment),
        priors,
    )


def _agent(kind: RationalAgent) -> Agent:
    if isinstance(kind, RationalFiniteAgent):
        logs = [
            [_log(likelihood, offset) for likelihood, offset in zip(claims, row, strict=True)]
            for claims, row in zip(kind.likelihoods, kind.log_likelihoods, strict=True)
        ]
        entropy = kind.negative_entropy.enclosure()
        probabilities = np.array([float(p) for p in kind.probabilities])
        one = FiniteAgent(probabilities, np.array(logs), -(entropy.lower + entropy.upper) / 2)
        return one.batched(kind.batch)
    return GaussianAgent(
        inputs=np.array([float(p) for p in kind.inputs]),
        truth_means=np.array([float(m) for m in kind.truth_means]),
        truth_std=float(kind.truth_std),
        means=np.array([[float(m) for m in row] for row in kind.means]),
        std=float(kind.std),
        batch=kind.batch,
    )


def _log(value: Fraction, offset: Fraction = Fraction(0)) -> float:
    found = (LogSum.log(value) + LogSum.constant(offset)).enclosure()
    return (found.lower + found.upper) / 2
