"""Exponents and their certificates, worked out without the package's solver or tables.

The bound is recomputed in 60 decimal digits from the agents' own numbers; exponents by bisection
on the definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from tests.theory.learning.decay import largest_decay
from theory import FiniteAgent, FiniteModel, GaussianAgent

Atoms = list[tuple[Any, Any, Any]]  # (probability, mean, variance)


def atoms(agent: FiniteAgent | GaussianAgent, best: int, other: int) -> Atoms:
    """The law of z(best, other), doubles read as the numbers they are."""
    if isinstance(agent, FiniteAgent):
        total = mpmath.fsum(agent.probabilities.tolist())
        table = agent.log_likelihoods
        return [
            (mpmath.mpf(p) / total, mpmath.mpf(a) - mpmath.mpf(b), mpmath.mpf(0))
            for p, a, b in zip(
                agent.probabilities.tolist(),
                table[best].tolist(),
                table[other].tolist(),
                strict=True,
            )
        ]
    std, spread = mpmath.mpf(agent.std), mpmath.mpf(agent.truth_std)
    total = mpmath.fsum(agent.inputs.tolist())
    found = []
    for x, p in enumerate(agent.inputs.tolist()):
        a, b = (mpmath.mpf(float(agent.means[m, x])) for m in (best, other))
        truth = mpmath.mpf(float(agent.truth_means[x]))
        mean = (a - b) * (truth - (a + b) / 2) / std**2
        found.append((mpmath.mpf(p) / total, mean, ((a - b) * spread / std**2) ** 2))
    return found


def tilted(law: Atoms, u: Any) -> tuple[Any, Any]:
    """The mean of z under the law tilted by e^{−uz}, and its divergence from the law."""
    weights = [p * mpmath.exp(-u * m + u * u * s / 2) for p, m, s in law]
    total = mpmath.fsum(weights)
    q = [w / total for w in weights]
    mean = mpmath.fsum(x * (m - u * s) for x, (_, m, s) in zip(q, law, strict=True))
    # Of the atoms, and of a normal moved by −us within each: (us)²/2s.
    cost = mpmath.fsum(
        x * (mpmath.log(x / p) + u * u * s / 2) for x, (p, _, s) in zip(q, law, strict=True) if x
    )
    return mean, cost


def recheck(
    model: FiniteModel,
    pairs: Sequence[tuple[int, int]],
    multipliers: Sequence[float],
    tilts: Sequence[NDArray[np.float64]],
    *,
    floor: float | None = None,
    vertices: NDArray[np.float64] | None = None,
) -> tuple[float, float]:
    """What must not be positive, relative to what it is a sum of, and the bound it then proves.

    The first is max_v Σ_j v_j a_j over {v ≥ floor, Σ v = 1}, or over given vertices, shape (·, N).
    """
    with mpmath.workdps(60):
        a = [mpmath.mpf(0)] * model.agents
        size, costs = mpmath.mpf(0), []
        for (best, other), multiplier, u in zip(pairs, multipliers, tilts, strict=True):
            assert multiplier > 0
            cost = mpmath.mpf(0)
            for j, kind in enumerate(model.assignment):
                assert u[j] >= 0
                law = atoms(model.kinds[kind], best, other)
                mean, part = tilted(law, mpmath.mpf(float(u[j])))
                a[j] += mpmath.mpf(multiplier) * mean
                untilted = tilted(law, mpmath.mpf(0))[0]
                size = max(size, multiplier * (abs(mean) + abs(untilted)))
                cost += part
            costs.append(cost)
        if vertices is not None:
            highest = max(mpmath.fsum(x * y for x, y in zip(v, a, strict=True)) for v in vertices)
        else:
            low = mpmath.mpf(floor)
            highest = low * mpmath.fsum(a) + (1 - model.agents * low) * max(a)
        return float(highest / size), float(max(costs))


def exponent(model: FiniteModel, best: int, wrong: Sequence[int], v: NDArray[np.float64]) -> float:
    """E(v) by its definition, one pair at a time."""
    return min(largest_decay(model.log_ratio_laws(best, m), model.assignment, v) for m in wrong)


def grid(agents: int, floor: float, steps: int) -> NDArray[np.float64]:
    """All v ≥ floor with (v − floor)/(1 − N floor) in multiples of 1/steps."""
    if agents == 2:
        rows = [(k, steps - k) for k in range(steps + 1)]
    else:
        rows = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    return floor + (1 - agents * floor) * np.array(rows) / steps
