"""Problems to place, and what every placement is worth, found without the code under test."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from tests.models import FAIR, coin
from theory import FiniteModel
from theory.design.placement.bounds import RateBound

Array = NDArray[np.float64]


def coins(table: list[list[float]], counts: list[int] | None = None) -> FiniteModel:
    """Kinds that toss a fair coin; entry (k, h) is how loaded hypothesis h claims kind k's coin."""
    kinds = [coin(FAIR, *([0.5 + load, 0.5 - load] for load in row)) for row in table]
    names = ["fair", *(f"loaded{h}" for h in range(len(table[0])))]
    return FiniteModel.from_agents(names, kinds, counts=counts)


def divided() -> FiniteModel:
    """One agent's data speak for "left", three agents' for "right"; one cannot tell."""
    left, right, fair = [0.75, 0.25], [0.25, 0.75], [0.5, 0.5]
    kinds = [coin(left, right, truth=truth) for truth in (left, right, fair)]
    return FiniteModel.from_agents(["left", "right"], kinds, counts=[1, 3, 1])


def random_coins(agents: int, kinds: int, wrong: int, *, seed: int, blind: float) -> FiniteModel:
    """Kinds that are blind to hypothesis h with this probability, and one that is not."""
    rng = np.random.default_rng(seed)
    loads = rng.uniform(0.05, 0.4, (kinds, wrong)) * (rng.random((kinds, wrong)) >= blind)
    loads[np.arange(wrong) % kinds, np.arange(wrong)] = rng.uniform(0.1, 0.3, wrong)
    counts = [agents // kinds] * kinds
    counts[0] += agents - sum(counts)
    return coins(loads.tolist(), counts)


def influences(agents: int, seed: int) -> Array:
    values = np.random.default_rng(seed).dirichlet(np.full(agents, 2.0))
    return np.asarray(values)


@st.composite
def vectors(draw: st.DrawFn, agents: int) -> list[float]:
    """Influences with ties, zeros and twelve orders of magnitude."""
    levels = st.sampled_from([0.0, 1e-12, 1e-6, 0.1, 0.1, 0.25, 0.3, 0.7, 1.0])
    found = draw(st.lists(levels, min_size=agents, max_size=agents))
    found[draw(st.integers(0, agents - 1))] = 1.0
    return [x / sum(found) for x in found]


@st.composite
def coin_models(draw: st.DrawFn, agents: int) -> FiniteModel:
    """Up to four kinds, some twice, some blind."""
    kinds = draw(st.integers(1, min(4, agents)))
    wrong = draw(st.integers(1, 3))
    load = st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.3])
    row = st.lists(load, min_size=wrong, max_size=wrong)
    table = [draw(row) for _ in range(kinds)]
    for h in range(wrong):  # somebody can tell
        table[h % kinds][h] = draw(st.sampled_from([0.2, 0.4]))
    counts = [1] * kinds
    counts[draw(st.integers(0, kinds - 1))] += agents - kinds
    return coins(table, counts)


def wrong_of(model: FiniteModel, target: int) -> list[int]:
    return [
        m
        for m in range(len(model.hypotheses))
        if m != target and m not in set(model.optimal_hypotheses)
    ]


def exact_rates(model: FiniteModel, v: list[float], target: int) -> dict[tuple[int, ...], Fraction]:
    """K of every permutation, in rationals, from the divergences as they are stored."""
    weights = [Fraction(x) for x in v]
    table = [
        [
            Fraction(float(model.kind_divergences[k, m] - model.kind_divergences[k, target]))
            for m in wrong_of(model, target)
        ]
        for k in model.assignment
    ]
    return {
        order: min(
            sum((w * table[d][h] for w, d in zip(weights, order, strict=True)), Fraction(0))
            for h in range(len(table[0]))
        )
        for order in permutations(range(len(v)))
    }


def rate_of(model: FiniteModel, v: Array, order: Array, target: int) -> float:
    """K of one placement."""
    gaps = model.divergences[order] - model.divergences[order][:, [target]]
    return float((v @ gaps)[wrong_of(model, target)].min())


def checked_bound(model: FiniteModel, v: Array, target: int, proof: RateBound) -> float:
    """The bound that the multipliers prove, redone agent by agent: first by sorting, then by
    matchings of clipped terms."""
    wrong = wrong_of(model, target)
    information = (model.divergences - model.divergences[:, [target]])[:, wrong]
    bound = np.inf
    for step, multipliers in enumerate(proof.multipliers):
        assert (multipliers >= 0).all()
        weights = multipliers / multipliers.sum()
        if step == 0:
            bound = float(np.sort(v) @ np.sort(information @ weights))
            continue
        assert information.min() >= 0
        terms = np.minimum(v[:, None, None] * information[None], bound) @ weights
        # A matching takes positive costs only: those of one more than what is gained.
        cost = csr_array(1.0 + terms.max() - terms)
        rows, columns = min_weight_full_bipartite_matching(cost)
        bound = float(terms[rows, columns].sum())
    return bound
