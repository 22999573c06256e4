"""Agents, models and networks of these tests, in doubles and in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tests.models import COIN
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.rational import RationalNetwork

DICE = FiniteAgent.from_tables(
    inputs=[1.0],
    truth=[[0.5, 0.3, 0.2]],
    likelihood=[[[0.5, 0.3, 0.2]], [[0.3, 0.4, 0.3]], [[0.2, 0.2, 0.6]], [[0.25, 0.5, 0.25]]],
)
# log ℓ(fair)/ℓ(loaded) of heads and of tails, as the doubles they are.
RATIOS = [Fraction(float(np.log(0.5) - np.log(p))) for p in (0.75, 0.25)]
PAIR = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(3, 5), Fraction(2, 5)]]
HALVES = [[Fraction(1, 2)] * 2] * 2
NETWORK = Network(PAIR)
EXACT = RationalNetwork(PAIR)
STAR = Network.from_topology("star", agents=9, edge_confidence=0.5)


def coins(agents: int, prior: list[float] | None = None) -> FiniteModel:
    """Tossers of a fair coin, who share a prior."""
    return FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[agents], priors=[prior])


def dice(agents: int, prior: list[float] | None = None) -> FiniteModel:
    """Throwers of a three-sided die, of which there are four hypotheses."""
    return FiniteModel.from_agents(list("abcd"), [DICE], counts=[agents], priors=[prior])


def normals(agents: int, means: Sequence[float] = (0.0, 1.0)) -> FiniteModel:
    """Agents with normal data about 0: log-ratios without bound."""
    agent = GaussianAgent([1.0], [0.0], 1.0, [[mean] for mean in means], 1.0)
    return FiniteModel.from_agents([f"h{m}" for m in range(len(means))], [agent], counts=[agents])
