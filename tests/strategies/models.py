"""What agents see: finite and normal laws, fractions; and networks with agents."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.strategies.basic import distributions, several
from tests.strategies.networks import KINDS, networks
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.rational import RationalFiniteAgent, RationalModel


@st.composite
def finite_agents(draw: st.DrawFn, hypotheses: int) -> FiniteAgent:
    """One or two inputs, two or three labels, any truth and any positive likelihoods."""
    inputs, labels = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    return FiniteAgent.from_tables(
        inputs=draw(distributions(inputs)),
        truth=[draw(distributions(labels)) for _ in range(inputs)],
        likelihood=[
            [draw(distributions(labels)) for _ in range(inputs)] for _ in range(hypotheses)
        ],
    )


@st.composite
def finite_models(draw: st.DrawFn, agents: int) -> FiniteModel:
    """`agents` agents of up to as many kinds, with priors of their own."""
    hypotheses = draw(st.integers(2, 4))
    kinds = [draw(finite_agents(hypotheses)) for _ in range(agents)]
    priors = [draw(distributions(hypotheses)) for _ in range(agents)]
    names = [f"theta{m}" for m in range(hypotheses)]
    return FiniteModel.from_agents(names, kinds, priors=priors)


@st.composite
def rational_models(draw: st.DrawFn, agents: int, *, max_hypotheses: int = 3) -> RationalModel:
    """`agents` agents with small fractions everywhere, so that histories meet and tie often."""
    hypotheses = draw(st.integers(2, max_hypotheses))

    def law(size: int) -> list[Fraction]:
        digits = draw(st.lists(st.integers(1, 4), min_size=size, max_size=size))
        return [Fraction(x, sum(digits)) for x in digits]

    kinds = []
    for _ in range(draw(st.integers(1, agents))):
        labels = draw(st.integers(2, 3))
        kinds.append(
            RationalFiniteAgent.from_tables(
                inputs=[1],
                truth=[law(labels)],
                likelihood=[[law(labels)] for _ in range(hypotheses)],
            )
        )
    counts = [1] * len(kinds)
    counts[0] += agents - len(kinds)
    priors = [draw(st.sampled_from([None, law(hypotheses)])) for _ in kinds]
    names = [f"theta{m}" for m in range(hypotheses)]
    return RationalModel.from_agents(names, kinds, counts=counts, priors=priors)


@st.composite
def gaussian_agents(draw: st.DrawFn, hypotheses: int) -> GaussianAgent:
    """One or two inputs, real labels; what is claimed may be wrong for every hypothesis."""
    inputs = draw(st.integers(1, 2))
    means = several(st.integers(-8, 8).map(lambda k: k / 4), inputs)
    return GaussianAgent(
        inputs=np.array(draw(distributions(inputs))),
        truth_means=np.array(draw(means)),
        truth_std=draw(st.sampled_from([0.3, 1.0, 2.0])),
        means=np.array([draw(means) for _ in range(hypotheses)]),
        std=draw(st.sampled_from([0.5, 1.0])),
    )


@st.composite
def mixed_models(draw: st.DrawFn, agents: int) -> FiniteModel:
    """Finite and Gaussian agents side by side, with priors of their own."""
    hypotheses = draw(st.integers(2, 4))
    some = st.one_of(finite_agents(hypotheses), gaussian_agents(hypotheses))
    kinds = [draw(some) for _ in range(draw(st.integers(1, agents)))]
    counts = [1] * len(kinds)
    counts[-1] += agents - len(kinds)
    return FiniteModel.from_agents(
        [f"theta{m}" for m in range(hypotheses)],
        kinds,
        counts=counts,
        priors=[draw(distributions(hypotheses)) for _ in kinds],
    )


@dataclass(frozen=True)
class Problem:
    """A network, and what its agents see."""

    network: Network
    model: FiniteModel

    @property
    def log_priors(self) -> NDArray[np.float64]:
        """Of every agent, shape (N, M)."""
        return self.model.log_priors[self.model.assignment]


@st.composite
def problems(
    draw: st.DrawFn, *, kinds: tuple[str, ...] = KINDS, max_agents: int = 9, finite: bool = False
) -> Problem:
    """Networks of every kind with models of every kind, or with finite agents alone."""
    network = draw(networks(kinds=kinds, max_agents=max_agents))
    model = (finite_models if finite else mixed_models)(network.agents)
    return Problem(network, draw(model))
