"""What one agent observes and each hypothesis claims, in rationals.

The counterparts of `theory.FiniteAgent` and `theory.GaussianAgent`. Divergences come out as
`LogSum`: a rational and rational multiples of logarithms of integers, so that whether two
hypotheses are equally good is decided and not judged by a tolerance.
"""

from __future__ import annotations

from typing import TypeAlias

from theory.learning import FiniteAgent, GaussianAgent
from theory.rational.finite_agent import RationalFiniteAgent
from theory.rational.gaussian_agent import RationalGaussianAgent

RationalAgent: TypeAlias = RationalFiniteAgent | RationalGaussianAgent


def rational_agent(agent: FiniteAgent | GaussianAgent) -> RationalAgent:
    """The agent's doubles, read as the binary fractions they are."""
    if isinstance(agent, FiniteAgent):
        return RationalFiniteAgent.from_agent(agent)
    return RationalGaussianAgent.from_agent(agent)
