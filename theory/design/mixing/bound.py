"""A lower bound on the slem of every feasible W, which anybody can check.

Place the agents in space twice: agent i at h_i and at k_i, with Σ_i v_i h_i = Σ_i v_i k_i = 0. Give
each a price λ_i ≥ 0 such that on every edge

    λ_i / p_ij + λ_j / p_ji ≥ |h_i − h_j|² − |k_i − k_j|².

With V(h) = Σ_i v_i |h_i|² and budgets u_i, every feasible reversible W has

    slem ≥ (V(h) − V(k) − Σ_i λ_i u_i) / (V(h) + V(k)).

Proof: Σ_e f_e |h_i − h_j|² lies between (1 − λ₂) V(h) and (1 − λ_N) V(h), λ₂ and λ_N the extreme
eigenvalues but one 1; the same for k. So (1 − slem) V(h) − (1 + slem) V(k) is at most
Σ_e f_e (|h_i − h_j|² − |k_i − k_j|²) ≤ Σ_e f_e (λ_i / p_ij + λ_j / p_ji) ≤ Σ_i λ_i u_i. Edges of
known flow need no price: what they contribute is counted as it is (docs:
mathematics/fastest-mixing).

From the multipliers of a solver, X₁ = R Rᵀ and X₂ = Q Qᵀ, the places are h = D^−½R and k = D^−½Q;
centring and any rounding are harmless, because prices are mended afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.mixing.mixing_problem import MixingProblem
from theory.showing import Shown
from theory.validation import FloatArray, fail, read_only

# Eigenvalues of a multiplier below this part of its largest are rounding.
_RANK = 1e-14


@dataclass(frozen=True, eq=False)
class MixingBound(Shown):
    """What proves that no feasible W has a smaller slem.

    Attributes
    ----------
    slow
        h, shape (N, a): agents far apart are hard to bring together.
    alternating
        k, shape (N, b): agents far apart take turns; (N, 0) if no eigenvalue is too negative.
    prices
        λ, shape (N,), at least 0: how much the bound falls as an agent's budget grows.
    value
        The bound, in floating point.
    """

    slow: FloatArray
    alternating: FloatArray
    prices: FloatArray
    value: float


def mixing_bound(
    problem: MixingProblem,
    slow: FloatArray,
    fast: FloatArray,
    prices: FloatArray,
    *,
    trim: float = 0.0,
) -> MixingBound:
    """The bound that multipliers of any accuracy give; they are made feasible first.

    Parameters
    ----------
    slow, fast
        Shape (N, N), symmetric: multipliers of S − qqᵀ ⪯ rI and of −rI ⪯ S − qqᵀ.
    prices
        Shape (N,): multipliers of the budgets.
    trim
        What part of the multipliers' traces may be left out to have fewer dimensions; the bound
        loses about as much.
    """
    total = float(np.trace(slow) + np.trace(fast))
    h = _places(problem.v, slow, trim * total)
    k = _places(problem.v, fast, trim * total)
    size = float(_variance(problem.v, h) + _variance(problem.v, k))
    if not size > 0:
        raise fail("slow", "multipliers that are not all 0", "none", "use another solver's")
    h, k = h / np.sqrt(size), k / np.sqrt(size)
    mended = _mended(problem, edge_stress(problem, h, k), np.maximum(prices, 0.0) / size)
    return MixingBound(
        read_only(h), read_only(k), read_only(mended), bound_value(problem, h, k, mended)
    )


def bound_value(problem: MixingProblem, h: FloatArray, k: FloatArray, prices: FloatArray) -> float:
    """(V(h) − V(k) − Σ λ_i u_i) / (V(h) + V(k)), with what the known flows contribute; at least 0.

    Evaluated as 1 − (…), so that nothing cancels where the slem is near 1. Holds for prices that
    are high enough on every free edge; see `price_slack`.
    """
    V_h, V_k = _variance(problem.v, h), _variance(problem.v, k)
    known = np.nan_to_num(problem.known)
    energy = float(known @ edge_stress(problem, h, k))
    spent = float((problem.shares * problem.v) @ prices)
    return max(0.0, 1.0 - (2 * V_k + spent + energy) / (V_h + V_k))


def edge_stress(problem: MixingProblem, h: FloatArray, k: FloatArray) -> FloatArray:
    """|h_i − h_j|² − |k_i − k_j|² for each edge, shape (E,)."""
    i, j = problem.graph.edges.T
    apart = ((h[i] - h[j]) ** 2).sum(axis=1)
    return np.asarray(apart - ((k[i] - k[j]) ** 2).sum(axis=1))


def price_slack(problem: MixingProblem, bound: MixingBound) -> FloatArray:
    """λ_i/p_ij + λ_j/p_ji − |h_i − h_j|² + |k_i − k_j|² on the free edges, shape (F,).

    The bound is proved where none is negative.
    """
    free = problem.free
    paid = (bound.prices[problem.graph.edges] * problem.load).sum(axis=1)
    stress = edge_stress(problem, bound.slow, bound.alternating)
    return np.asarray((paid - stress)[free])


def _places(v: FloatArray, multiplier: FloatArray, spare: float) -> FloatArray:
    """D^−½R for a factor R of the multiplier's positive part, centred at Σ v_i h_i = 0.

    Eigenvalues that sum to at most `spare` are left out.
    """
    values, vectors = np.linalg.eigh(0.5 * (multiplier + multiplier.T))
    keep = values > _RANK * max(float(values[-1]), 0.0)
    keep &= np.cumsum(np.maximum(values, 0.0)) > spare
    root = np.sqrt(v)
    factor = vectors[:, keep] * np.sqrt(values[keep])
    factor = factor - np.outer(root, root @ factor)
    return np.ascontiguousarray(factor / root[:, None])


def _variance(v: FloatArray, places: FloatArray) -> float:
    centred = places - v @ places
    return float(v @ (centred**2).sum(axis=1))


def _mended(problem: MixingProblem, stress: FloatArray, prices: FloatArray) -> FloatArray:
    """Prices no lower than those given that pay for the stress of every free edge.

    What is missing is charged to the end where it costs less.
    """
    edges, load = problem.graph.edges[problem.free], problem.load[problem.free]
    stress = stress[problem.free]
    budget = (problem.shares * problem.v)[edges] / load
    cheaper = np.argmin(budget, axis=1)
    rows = np.arange(len(edges))
    prices = prices.copy()
    # Twice, since the first time leaves a rounding error.
    for _ in range(2):
        missing = stress - (prices[edges] * load).sum(axis=1)
        rise = np.where(missing > 0, missing, 0.0) / load[rows, cheaper]
        grown = prices.copy()
        np.maximum.at(
            grown, edges[rows, cheaper], prices[edges[rows, cheaper]] + rise * (1 + 1e-15)
        )
        prices = grown
    return prices
