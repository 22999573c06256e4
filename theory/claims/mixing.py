r"""What holds of mixing instead of Lemma 1 (docs: mathematics/mixing)."""

from __future__ import annotations

import numpy as np
from flint import arb

from theory.claims import chains
from theory.claims.claim import PROJECT, Attempt, Claim, bound_witness
from theory.claims.lemma_one import BALANCED, within


def _symmetric(rng: np.random.Generator) -> Attempt:
    weights = chains.random_network(rng, most=8, kinds=("symmetric",))
    return within(weights, chains.modulus(weights))


def _sandwich(rng: np.random.Generator) -> Attempt | None:
    """Some later partial sum against S_m/(1-τ_m), m at random."""
    weights = chains.random_network(rng, most=5)
    v = chains.stationary(weights)
    rounds = int(rng.integers(1, 40))
    table = chains.powers(weights, 200)
    coefficient = chains.dobrushin(table[rounds - 1])
    if not coefficient < 1:
        return None
    sums = [chains.distances(power, v) for power in table]
    worst: Attempt | None = None
    for i in range(weights.nrows()):
        short = sum((row[i] for row in sums[:rounds]), arb(0))
        long = sum((row[i] for row in sums), arb(0))
        upper = short / (1 - coefficient)
        found = Attempt(bool(long > upper), float((long / upper).mid()), float(upper), float(long))
        if worst is None or found.is_broken or found.ratio > worst.ratio:
            worst = found
    return worst


def _reversible(rng: np.random.Generator) -> Attempt:
    """a_k(i) against min(2, λ*^k sqrt((1-v_i)/v_i)), all agents and many k."""
    weights = chains.random_network(rng, kinds=BALANCED)
    v, size = chains.stationary(weights), chains.modulus(weights)
    worst = Attempt(False, 0.0, 0.0, 0.0)
    for k, power in enumerate(chains.powers(weights, 60), 1):
        for i, a in enumerate(chains.distances(power, v)):
            bound = (size**k * arb((1 - v[i]) / v[i]).sqrt()).min(arb(2))
            if not bound > arb("1e-40"):
                continue
            ratio = float((a / bound).mid())
            if a > bound:
                return Attempt(True, ratio, float(bound.mid()), float(a.mid()))
            if ratio > worst.ratio:
                worst = Attempt(False, ratio, float(bound.mid()), float(a.mid()))
    return worst


CLAIMS = (
    Claim(
        key="lemma-1-symmetric",
        title="Lemma 1 for symmetric weights",
        statement=r"W=W^{\mathsf T}\implies D_i\le\frac{4\log N}{1-\lambda_*}",
        words="For symmetric W the printed form holds with the modulus.",
        source=f"{PROJECT}: mathematics/mixing",
        kind="bound",
        verdict="holds",
        witnesses=(
            bound_witness(
                "support",
                "lemma-1-symmetric",
                200,
                _symmetric,
                "symmetric networks, some nearly decomposable",
            ),
        ),
    ),
    Claim(
        key="mixing-bracket",
        title="The deviation between two computable numbers",
        statement=r"S_m(i)\le D_i\le\frac{S_m(i)}{1-\tau(W^m)}",
        words="The sum of m rounds bounds the whole sum from below, and from above after division.",
        source=f"{PROJECT}: mathematics/mixing",
        kind="bound",
        verdict="holds",
        witnesses=(
            bound_witness(
                "support",
                "mixing-bracket",
                300,
                _sandwich,
                "networks of every kind, against the sum of 200 rounds",
            ),
        ),
    ),
    Claim(
        key="mixing-reversible",
        title="Mixing of reversible networks",
        statement=r"\sum_j|[W^k]_{ij}-v_j|\le\min\bigl(2,\lambda_*^k\sqrt{(1-v_i)/v_i}\bigr)",
        words=(
            "For reversible W the distance falls like the subdominant modulus, from a known start."
        ),
        source=f"{PROJECT}: mathematics/mixing",
        kind="bound",
        verdict="holds",
        witnesses=(
            bound_witness(
                "support",
                "mixing-reversible",
                300,
                _reversible,
                "reversible networks, every agent and 60 rounds",
            ),
        ),
    ),
)
