"""Who learns a regression: the network, each agent alone, all data in one place, a central node.

Each is a network of its own with its own model, so that all are run and predicted alike
(`peerbayes.kinds.regression.curves`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from peerbayes.problem.problems import RegressionProblem
from theory import Network
from theory.regression import RegressionAgent, RegressionModel

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
