r"""Lemma 1 of both papers, and what holds of mixing (docs: mathematics/claims, mathematics/mixing).

Printed: for irreducible aperiodic W, v is unique and positive, and for every agent i and all n

.. math:: \sum_{k=1}^n\sum_j\lvert[W^k]_{ij}-v_j\rvert\le\frac{4\log N}{1-\lambda_{\max}(W)},

λmax the largest eigenvalue but the first ("signed"). Read with moduli it says less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from flint import arb, fmpq_mat

from theory.claims import chains
from theory.claims.claim import (
    Attempt,
    Claim,
    Effort,
    Finding,
    Witness,
    bound_witness,
    search_witness,
)
from theory.claims.examples import paper_networks
from theory.claims.search import (
    MODULUS_COUNTEREXAMPLES,
    SIGNED_COUNTEREXAMPLES,
    birth_death,
    restart,
    two_agents,
)

BALANCED = ("reversible", "symmetric", "star", "drift", "tiny-stationary")
SLOW = 60  # doublings of the stride; the slowest random network needs about 25


def printed_bound(agents: int, eigenvalue: arb) -> arb:
    """4 log N / (1 - λ)."""
    return 4 * arb(agents).log() / (1 - eigenvalue)


def exceeds(weights: fmpq_mat, eigenvalue: arb, rounds: int, name: str) -> Finding:
    """A counterexample: after `rounds` rounds the sum is certainly above 4 log N/(1-λ)."""
    if not chains.is_primitive(weights):
        return Finding(True, f"{name} is not irreducible and aperiodic")
    bound = printed_bound(weights.nrows(), eigenvalue)
    total = chains.largest(chains.partial_deviation(weights, rounds))
    text = (
        f"{name}: {float(total.mid()):.4f} after {rounds} rounds, "
        f"printed bound {float(bound.mid()):.4f}"
    )
    broken = bool(total > bound)
    return Finding(
        not broken, text, float(bound.mid()), float(total.mid()),
        closest=float((total / bound).mid()),
    )  # fmt: skip


def within(weights: fmpq_mat, eigenvalue: arb) -> Attempt:
    """Compare D, bracketed, with the printed bound."""
    lower, upper = chains.deviation(weights, levels=SLOW)
    bound = printed_bound(weights.nrows(), eigenvalue)
    low, high = chains.largest(lower), chains.largest(upper)
    return Attempt(
        bool(low > bound), float((high / bound).mid()), float(bound.mid()), float(high.mid())
    )


def is_covered(weights: fmpq_mat) -> bool:
    """Reversible, and every v_i at least 2/N⁴."""
    v, size = chains.stationary(weights), weights.nrows()
    return chains.is_reversible(weights, v) and min(v) * size**4 >= 2


def is_covered_with_sign(weights: fmpq_mat) -> bool:
    """Where the signed form is proved: `is_covered` and λ* = λmax, or a short geometric series.

    For reversible W, D_i ≤ λ*/(1-λ*) √(1/v_i - 1), which may be at most 4 log N/(1-λmax).
    """
    v = chains.stationary(weights)
    if not chains.is_reversible(weights, v):
        return False
    largest, size = chains.signed(weights), chains.modulus(weights)
    # λmax is the subdominant modulus unless the most negative eigenvalue is larger in size.
    if largest.overlaps(size) and is_covered(weights):
        return True
    series = arb(1 / min(v) - 1).sqrt() * size / (1 - size)
    return bool(series <= printed_bound(weights.nrows(), largest))


def _covered(rng: np.random.Generator) -> fmpq_mat | None:
    weights = chains.random_network(rng, most=8, kinds=BALANCED)
    return weights if is_covered(weights) else None


def _with_modulus(rng: np.random.Generator) -> Attempt | None:
    weights = _covered(rng)
    return None if weights is None else within(weights, chains.modulus(weights))


def _with_sign(rng: np.random.Generator) -> Attempt | None:
    weights = chains.random_network(rng, most=8, kinds=BALANCED)
    return within(weights, chains.signed(weights)) if is_covered_with_sign(weights) else None


def _all_covered(effort: Effort) -> Finding:
    networks = paper_networks()
    bad = [name for name, weights in networks.items() if not is_covered(weights)]
    text = f"{len(networks) - len(bad)} of the papers' {len(networks)} networks are reversible"
    return Finding(not bad, f"{text} with v_i ≥ 2/N⁴", cases=len(networks))


def _signed_form_on_the_networks(effort: Effort) -> Finding:
    """The printed inequality itself on the papers' networks, and the condition."""
    networks = paper_networks()
    tried = {name: within(W, chains.signed(W)) for name, W in networks.items()}
    name, worst = max(tried.items(), key=lambda item: item[1].ratio)
    behind = [n for n, W in networks.items() if chains.signed(W) < chains.modulus(W)]
    holds = worst.ratio < 1 and all(is_covered_with_sign(W) for W in networks.values())
    text = (
        f"the printed inequality on the papers' {len(networks)} networks: at most "
        f"{worst.ratio:.3f} of the bound ({name}); λmax is not the largest modulus in {len(behind)}"
    )
    return Finding(holds, text, worst.predicted, worst.measured, len(networks), worst.ratio)


def _unique_and_positive(rng: np.random.Generator) -> bool:
    weights = chains.random_network(rng)
    size = weights.nrows()
    identity = fmpq_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    return (weights - identity).rank() == size - 1 and min(chains.stationary(weights)) > 0


def _smallest_denominator(effort: Effort) -> Finding:
    """No two agents with weights in halves break the signed form; thirds do."""
    tried = 0
    for a, b in product((Fraction(1, 2), Fraction(1)), repeat=2):
        weights = two_agents(a, b)
        if not chains.is_primitive(weights):
            continue
        tried += 1
        if within(weights, chains.signed(weights)).is_broken:
            return Finding(True, "already halves break it", cases=tried)
    name = "two agents, (0, 1; 2/3, 1/3), thirds being the smallest denominator that breaks"
    weights = two_agents(Fraction(1), Fraction(2, 3))
    found = exceeds(weights, chains.signed(weights), 6, name)
    return Finding(
        found.holds, found.text, found.predicted, found.measured, tried + 1, found.closest
    )


def _counterexample(
    build: Callable[[], fmpq_mat], eigenvalue: Callable[[fmpq_mat], arb], rounds: int, name: str
) -> Witness:
    def run(effort: Effort) -> Finding:
        weights = build()
        return exceeds(weights, eigenvalue(weights), rounds, name)

    return Witness("counterexample", name, run)


_STATEMENT = (
    r"\sum_{k=1}^{n}\sum_{j=1}^{N}\bigl|[W^k]_{ij}-v_j\bigr|\le\frac{4\log N}{1-\lambda_{\max}(W)}"
)
_SOURCE = "P1 appendix A, P2 section 1.6, Lemma 1"


def _signed_witnesses() -> Sequence[Witness]:
    return [
        _counterexample(
            lambda a=a, b=b: two_agents(a, b), chains.signed, rounds,  # type: ignore[misc]
            f"two agents, W_12 = {a}, W_21 = {b}",
        )
        for a, b, rounds in SIGNED_COUNTEREXAMPLES
    ]  # fmt: skip


def _modulus_witnesses() -> Sequence[Witness]:
    builders = {"restart": restart, "birth-death": birth_death}
    return [
        _counterexample(
            lambda c=c: builders[c.family](c.agents, c.forward, c.back, c.denominator),  # type: ignore[misc]
            chains.modulus, c.rounds, c.words,
        )
        for c in MODULUS_COUNTEREXAMPLES
    ]  # fmt: skip


CLAIMS = (
    Claim(
        key="lemma-1-stationary",
        title="Lemma 1, the stationary distribution",
        statement=r"v=vW\text{ is unique and }v_i>0",
        words=(
            "An irreducible aperiodic network has one stationary distribution, and it is positive."
        ),
        source=_SOURCE,
        kind="exact",
        verdict="holds",
        witnesses=(
            search_witness(
                "support",
                "stationary",
                1000,
                _unique_and_positive,
                "networks, rank and signs in exact arithmetic",
                text="rank of W - I and sign of v, exactly",
            ),
        ),
    ),
    Claim(
        key="lemma-1-signed",
        title="Lemma 1, with the largest signed eigenvalue",
        statement=_STATEMENT,
        words="As printed: λmax is the largest eigenvalue of W but the first, with its sign.",
        source=_SOURCE,
        kind="bound",
        verdict="holds under an added condition",
        condition=(
            "W reversible, and either every v_i ≥ 2/N⁴ and no eigenvalue below -λmax, or "
            "√(1/v_i - 1) λ*/(1-λ*) ≤ 4 log N/(1-λmax) for all i, λ* the largest modulus"
        ),
        repaired="the modulus in place of λmax, for reversible W with every v_i ≥ 2/N⁴",
        witnesses=(
            Witness("counterexample", "the smallest denominators", _smallest_denominator),
            *_signed_witnesses(),
            bound_witness(
                "conditional", "lemma-1-signed", 200, _with_sign, "networks that meet the condition"
            ),
            Witness("reach", "the papers' own networks", _signed_form_on_the_networks),
        ),
    ),
    Claim(
        key="lemma-1-modulus",
        title="Lemma 1, with the largest modulus",
        statement=_STATEMENT.replace(r"\lambda_{\max}", r"\lambda_{*}"),
        words="The charitable reading: λ* is the largest modulus of an eigenvalue but the first.",
        source=_SOURCE + ", read with moduli",
        kind="bound",
        verdict="holds under an added condition",
        condition="W reversible and every v_i ≥ 2/N⁴",
        repaired="as it stands where the condition is met; elsewhere the bracket S_m, S_m/(1-τ_m)",
        witnesses=(
            *_modulus_witnesses(),
            bound_witness(
                "conditional",
                "lemma-1-modulus",
                250,
                _with_modulus,
                "reversible networks with every v_i ≥ 2/N⁴",
            ),
            Witness("reach", "the papers' own networks", _all_covered),
        ),
    ),
)
