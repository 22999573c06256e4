"""Finite models for the tests: strategies, small fixtures, and the brute-force error law."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

from theory import FiniteAgent, FiniteModel, Network
from theory.rational import RationalFiniteAgent, RationalModel

COIN = FiniteAgent.from_tables(
    inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
)


def coins(agents: int) -> FiniteModel:
    """Identical agents that toss a fair coin and wonder whether it is loaded."""
    return FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[agents])


@st.composite
def distributions(draw: st.DrawFn, size: int) -> list[float]:
    """Positive probabilities, some of them small."""
    raw = draw(st.lists(st.integers(1, 1000), min_size=size, max_size=size))
    values = np.array(raw, dtype=float)
    return list(values / values.sum())


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


def error_probability(network: Network, model: FiniteModel, rounds: int) -> float:
    """P(some agent's arg max is outside the reference set), by enumerating every history.

    Exponential in rounds and agents: for the smallest problems alone.
    """
    weights = network.weights.toarray() if network.is_sparse else np.asarray(network.weights)
    reference = set(model.reference_hypotheses(network.stationary_distribution))
    tables = [model.kinds[k] for k in model.assignment]
    outcomes = list(product(*(range(t.probabilities.size) for t in tables)))
    total = 0.0
    start = model.log_priors[model.assignment]

    def descend(beliefs: np.ndarray, probability: float, left: int) -> None:
        nonlocal total
        if left == 0:
            top = beliefs.max(axis=1, keepdims=True)
            # Log-beliefs of a few rounds are right to about 1e-14: closer ones are ties.
            winners = beliefs >= top - 1e-12
            if any(winners[:, m].any() for m in range(beliefs.shape[1]) if m not in reference):
                total += probability
            return
        for outcome in outcomes:
            chance = np.prod([t.probabilities[o] for t, o in zip(tables, outcome, strict=True)])
            seen = np.array([t.log_likelihoods[:, o] for t, o in zip(tables, outcome, strict=True)])
            descend(weights @ (beliefs + seen), probability * float(chance), left - 1)

    descend(start, 1.0, rounds)
    return total
