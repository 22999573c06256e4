r"""Corollary 1 of P1: from a covering of the parameters to the risk (docs: mathematics/claims).

Printed: with \|r_i\| ≤ B and Θ an r-covering of Φ in the sense of P1 eq. 5, the average difference
of expected risks is at most B√r/2. Three steps: from risk to ∫\|p-q\|, Pinsker, and the covering.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb

from theory.claims.chance import as_ball
from theory.claims.claim import (
    PROJECT,
    Attempt,
    Claim,
    Effort,
    Finding,
    Witness,
    at_most,
    bound_witness,
    hunt,
    search_witness,
)
from theory.claims.tables import Law, bernoulli, distance, divergence, mean, random_law


def _covering(truth: Fraction, hypotheses: tuple[Fraction, Fraction]) -> arb | None:
    """The smallest r for Φ = {truth, *hypotheses}; None unless the first is certainly learnt.

    Coins of one agent. Two hypotheses, so that K and the sample size of eq. 4 are defined.
    """
    f = bernoulli(truth)
    best, other = (bernoulli(x) for x in hypotheses)
    if not divergence(f, best) < divergence(f, other):
        return None
    # As printed: the centre of the ball first.
    return divergence(best, f).min(divergence(other, f))


def _two_coins(effort: Effort) -> Finding:
    truth, best, other = Fraction(1, 3), Fraction(2, 3), Fraction(9, 10)
    p, q = bernoulli(truth), bernoulli(best)
    r = _covering(truth, (best, other))
    assert r is not None
    bound, gap = r.sqrt() / 2, distance(p, q)
    text = (
        f"coins, truth 1/3, Θ = {{2/3, 9/10}}, r = {float(r):.4f}: risks differ by {gap} B, "
        f"printed {float(bound):.4f} B"
    )
    return Finding(
        bool(as_ball(gap) <= bound), text, float(bound), float(gap),
        closest=float(as_ball(gap) / bound),
    )  # fmt: skip


def _every_radius(effort: Effort) -> Finding:
    """Coins p and 1-p with odds a: KL = (a-1)/(a+1) log a, and Σ|p-q| = 2(a-1)/(a+1).

    The truth is p; the second hypothesis, (1-p)/2, lies further off.
    """
    odds = [1 + Fraction(1, 10**k) for k in range(6, 0, -1)]
    odds += [Fraction(2**k) for k in range(1, 24)] + [Fraction(8_886_000)]
    low, high, least = arb(16), arb(0), arb(2)
    for a in odds:
        p = bernoulli(a / (a + 1))
        q = bernoulli(1 / (a + 1))
        r = _covering(p[0], (q[0], q[0] / 2))
        if r is None:
            return Finding(True, f"the second hypothesis is learnt at odds {a}", cases=len(odds))
        excess = as_ball(distance(p, q)) / (r.sqrt() / 2)
        if not excess > 1:
            return Finding(True, f"not broken at r = {float(r):.6g}", cases=len(odds))
        low, high, least = low.min(r), high.max(r), least.min(excess)
    text = (
        f"{len(odds)} truths, two coins each, with r from {float(low):.1e} to {float(high):.6f}: "
        "every one breaks the bound"
    )
    return Finding(False, text, 1.0, float(least), len(odds), closest=float(least))


def _vacuous(rng: np.random.Generator) -> Attempt | None:
    outcomes = int(rng.integers(2, 5))
    p, q = random_law(rng, outcomes), random_law(rng, outcomes)
    tiny = Fraction(1, 10 ** int(rng.integers(7, 30)))
    q = (*(x * tiny for x in q[:-1]), 1 - sum(q[:-1], Fraction(0)) * tiny)
    r = divergence(p, q)
    return at_most(as_ball(distance(p, q)), r.sqrt() / 2) if r > 16 else None


def _narrow(rng: np.random.Generator) -> Attempt:
    """Losses of span B/√2: risks differ by at most half of that times ∫|p-q|."""
    outcomes = int(rng.integers(2, 5))
    p, q = random_law(rng, outcomes), random_law(rng, outcomes)
    if rng.random() < 0.5:
        share = Fraction(1, 10 ** int(rng.integers(1, 6)))
        q = tuple((1 - share) * a + share * b for a, b in zip(p, q, strict=True))
    gap = as_ball(distance(p, q)) / (2 * arb(2).sqrt())
    return at_most(gap, divergence(p, q).sqrt() / 2)


def _says_nothing(effort: Effort) -> Finding:
    text = "|r_i| ≤ B allows a span of 2B; and from r = 16 on the bound says no more than 2B"
    return Finding(False, text)


def _wrong_way_round(effort: Effort) -> Finding:
    """P1's covering (5) puts the centre first in KL; learning puts the truth first."""
    truth, near, chosen = (bernoulli(Fraction(x)) for x in ("0.1", "0.000000001", "0.85"))
    r = divergence(near, truth)
    picks = divergence(truth, chosen) < divergence(truth, near)
    outside = divergence(chosen, truth) > r
    gap = as_ball(distance(truth, chosen))
    repaired = (2 * r).sqrt()
    holds = not (picks and outside)
    text = (
        f"coins, truth .1, Θ = {{1e-9, .85}}: r = {float(r):.4f} covers the truth by the first, "
        f"the second is learnt; risks differ by {float(gap):.2f} B, even B√(2r) = "
        f"{float(repaired):.2f} B is too small"
    )
    if not gap > repaired:
        return Finding(True, "the repaired bound is not exceeded", float(repaired), float(gap))
    return Finding(holds, text, float(repaired), float(gap), closest=float(gap / repaired))


def _symmetric_covering(rng: np.random.Generator) -> bool | None:
    """Gaussians of one variance: KL is symmetric, and quadratic, hence rational."""
    agents, size = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    points = rng.integers(-20, 21, size=(size + 4, agents))

    def between(a: int, b: int) -> list[int]:
        return [int(x) ** 2 for x in points[a] - points[b]]

    hypotheses, everything = range(size), range(size + 4)
    radius = max(min(sum(between(h, x)) for h in hypotheses) for x in everything)
    truth = int(rng.integers(size + 4))
    best = [
        h
        for h in hypotheses
        if all(
            between(truth, h)[j] == min(between(truth, k)[j] for k in hypotheses)
            for j in range(agents)
        )
    ]
    if not best:
        return None
    return all(sum(between(h, truth)) <= radius for h in best)


def _gaussian_examples(effort: Effort) -> Finding:
    text = "P1's regression: Gaussian likelihoods of one variance, whose divergence is symmetric"
    return Finding(True, text)


def _learnt(rng: np.random.Generator) -> tuple[list[Law], list[Law], arb] | None:
    """Truths and learnt laws of every agent, and the smallest r that covers, truth first."""
    agents, size, outcomes = (int(x) for x in rng.integers([1, 1, 2], [4, 4, 5]))
    skew = bool(rng.random() < 0.5)
    truths = [random_law(rng, outcomes, skew=skew) for _ in range(agents)]
    tables = [[random_law(rng, outcomes, skew=skew) for _ in range(agents)] for _ in range(size)]
    if rng.random() < 0.5:
        # Close to the truth, where Pinsker is sharp.
        share = Fraction(1, 10 ** int(rng.integers(1, 5)))
        tables = [
            [
                tuple((1 - share) * f + share * x for f, x in zip(t, law, strict=True))
                for t, law in zip(truths, row, strict=True)
            ]
            for row in tables
        ]
    divergences = [
        [divergence(t, law) for t, law in zip(truths, row, strict=True)] for row in tables
    ]
    radius = arb("inf")
    for row in divergences:
        radius = radius.min(mean(row))
    for laws, row in zip(tables, divergences, strict=True):
        if all(
            row[j] < other[j] for other in divergences if other is not row for j in range(agents)
        ):
            return truths, laws, radius
    return None


def _repaired(rng: np.random.Generator) -> Attempt | None:
    found = _learnt(rng)
    if found is None:
        return None
    truths, laws, radius = found
    gap = mean([as_ball(distance(t, law)) for t, law in zip(truths, laws, strict=True)])
    bound = (2 * radius).sqrt().min(2 * (1 - (-radius).exp()).sqrt())
    return at_most(gap, bound) if bound > 0 else None


CLAIMS = (
    Claim(
        key="corollary-1",
        title="Corollary 1, the risk",
        statement=(
            r"\frac1N\sum_i\bigl|R_i(\theta^*)-R_i(\hat\theta_i^{(n)})\bigr|\le\frac{B\sqrt r}{2}"
        ),
        words=(
            "Risks differ by at most B√r/2; the proof takes ∫|p-q| ≤ ½√KL for Pinsker's inequality."
        ),
        source="P1 Corollary 1, step (a)",
        kind="bound",
        verdict="fails",
        condition="losses that span at most B/√2; or r ≥ 16, where it says no more than 2B",
        repaired="min(B√(2r), 2B√(1-e^-r)), with a covering that puts the truth first",
        witnesses=(
            Witness("counterexample", "two coins", _two_coins),
            Witness("counterexample", "every r below 16", _every_radius),
            Witness(
                "conditional",
                "laws with r ≥ 16",
                lambda effort: hunt(effort, "corollary-vacuous", 100, _vacuous, "laws with r ≥ 16"),
            ),
            bound_witness(
                "conditional", "corollary-narrow", 200, _narrow, "losses of span B/√2, any laws"
            ),
            Witness("reach", "the losses allowed", _says_nothing),
        ),
    ),
    Claim(
        key="corollary-1-covering",
        title="Corollary 1, the covering",
        statement=r"\theta\in\Theta^*\implies\theta^*\in\mathcal B_r(\theta)",
        words=(
            "What is learnt lies within r of the truth. Eq. 5 measures from the centre, "
            "KL(ℓ(θ)‖ℓ(ψ)); Θ* minimises from the truth, KL(ℓ(θ*)‖ℓ(θ))."
        ),
        source="P1 section 4.1, eq. 5 and the sentence after it",
        kind="exact",
        verdict="holds under an added condition",
        condition=(
            "KL symmetric between every θ in Θ and every ψ in Φ, as for Gaussians of one variance"
        ),
        repaired="measure from the truth: {ψ : Σ E KL(ℓ(ψ)‖ℓ(θ))/N ≤ r}",
        witnesses=(
            Witness("counterexample", "three coins", _wrong_way_round),
            search_witness(
                "conditional",
                "covering",
                300,
                _symmetric_covering,
                "coverings by Gaussians of one variance, in whole numbers",
                text="Gaussians of one variance",
            ),
            Witness("reach", "P1's own example", _gaussian_examples),
        ),
    ),
    Claim(
        key="corollary-1-repaired",
        title="Corollary 1, repaired",
        statement=(
            r"\frac1N\sum_i|R_i(\theta^*)-R_i(\hat\theta_i)|\le"
            r"\min\bigl(B\sqrt{2r},\,2B\sqrt{1-e^{-r}}\bigr)"
        ),
        words=(
            "With Pinsker's factor, Bretagnolle and Huber's bound, and balls that put the "
            "truth first."
        ),
        source=f"{PROJECT}: mathematics/risk",
        kind="bound",
        verdict="holds",
        witnesses=(
            Witness(
                "support",
                "random coverings",
                lambda effort: hunt(
                    effort,
                    "corollary-repaired",
                    600,
                    _repaired,
                    "agents, hypotheses and truths, at the smallest r that covers",
                ),
            ),
        ),
    ),
)
