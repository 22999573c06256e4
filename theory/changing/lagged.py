"""The weights of past observations in the log-ratios of round n, lag by lag.

    Λ_i^(n) = Σ_{m=1..n} Σ_j G_m(i, j) z_j^(n−m+1) + Σ_j R_n(i, j) Λ_j^(0).

For periodic phases G_m = W_n W_{n−1} ⋯ W_{n−m+1} A depends on the phase of round n alone, and R_n
is the whole product. With delays G_m = W⁽ᵐ⁻¹⁾ + Σ_d W⁽ᵈ⁾ G_{m−1−d}, W⁽ᵈ⁾ the weights of delay d.

Rows of later G and R are averages of rows of the last ones: for any convex function of a row, its
largest value over those bounds all later ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from theory.changing.delays import DelayedNetwork
from theory.changing.periodic import PeriodicNetwork
from theory.network.structure import as_dense
from theory.validation import FloatArray


@dataclass(frozen=True, eq=False)
class LaggedWeights:
    """G_m and R_m, shape (N, N) each, and how far the rows of R still differ."""

    observed: FloatArray
    prior: FloatArray
    spread: float


def lagged_weights(
    network: PeriodicNetwork | DelayedNetwork, ending: int
) -> Iterator[LaggedWeights]:
    """G_m and R_m for m = 1, 2, … without end, where round n is of phase `ending`."""
    if isinstance(network, PeriodicNetwork):
        return _periodic(network, ending)
    return _delayed(network)


def _periodic(network: PeriodicNetwork, ending: int) -> Iterator[LaggedWeights]:
    product = np.eye(network.agents)
    m = 0
    while True:
        phase = network.phases[(ending - m) % network.period]
        product = product.copy()
        phase.carry_back(product)
        observed = np.where(phase.observes, product, 0.0)
        yield LaggedWeights(observed, product, float(np.ptp(product, axis=0).max()))
        m += 1


def _delayed(network: DelayedNetwork) -> Iterator[LaggedWeights]:
    parts = network.weights_by_delay
    size, depth = network.agents, len(parts)
    zero, one = np.zeros((size, size)), np.eye(size)
    past: deque[FloatArray] = deque([zero] * depth, maxlen=depth)
    priors: deque[FloatArray] = deque([one] * depth, maxlen=depth)
    m = 0
    while True:
        m += 1
        observed = sum((part @ x for part, x in zip(parts, past, strict=True)), start=zero)
        if m <= depth:
            observed = observed + as_dense(parts[m - 1])
        prior = sum((part @ x for part, x in zip(parts, priors, strict=True)), start=zero)
        past.appendleft(np.asarray(observed))
        priors.appendleft(np.asarray(prior))
        window = np.concatenate(list(past) if m > depth else [zero, one])
        spread = max(
            np.ptp(window, axis=0).max(), np.ptp(np.concatenate(list(priors)), axis=0).max()
        )
        yield LaggedWeights(past[0], priors[0], float(spread))
