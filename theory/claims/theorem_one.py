r"""Theorem 1 of both papers and the step of their proofs that fails (docs: mathematics/claims).

Printed, with C = log(L/α) where α < ℓ < L, g = 1 - λmax and L(δ) = log(NM/δ):

* P1: some agent's arg max is wrong with probability at most δ once n ≥ 16 C L(δ)/(K² g);
* P2: max over i and wrong θ of b_i(θ) is below exp(-n(K-ε)) once n ≥ 8 C L(δ)/(ε² g).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from theory.claims.claim import PROJECT, Claim, Effort, Finding, Role, Witness
from theory.claims.coins import (
    both_toss,
    few_rounds,
    first_theorem_coin,
    nearly_swapped,
    one_toss,
    overwhelming_prior,
    second_theorem_coin,
)
from theory.claims.hunting import hunt
from theory.claims.lazy import concentration, under_condition, with_square


def _hunt(
    role: Role, name: str, usual: int, what: str, *, condition: bool, second: bool
) -> Witness:
    attempt = under_condition if condition else with_square

    def run(effort: Effort) -> Finding:
        return hunt(effort, name, usual, lambda rng: attempt(rng, second=second), what)

    return Witness(role, what, run)


def _step(role: Role, name: str, *, repaired: bool) -> Witness:
    what = (
        "weights, coins and deviations, with C = 1/(4 Σ v_j²)"
        if not repaired
        else ("weights, coins and deviations, with any C")
    )

    def run(effort: Effort) -> Finding:
        return hunt(effort, name, 300, lambda rng: concentration(rng, repaired=repaired), what)

    return Witness(role, what, run)


def _unbounded(effort: Effort) -> Finding:
    text = "the papers' worked examples have Gaussian or network likelihoods: C is infinite, or "
    return Finding(False, text + "not given")


def _coin(first: bool, odds: int, gamma: Fraction, delta: Fraction, share: Fraction) -> Witness:
    def run(effort: Effort) -> Finding:
        if first:
            return first_theorem_coin(odds, gamma, delta)
        return second_theorem_coin(odds, gamma, share, delta)

    return Witness("counterexample", f"a coin at δ = {float(delta):g}", run)


_REACH = Witness("reach", "the papers' own examples", _unbounded)
_HYPOTHESES = (
    r"\rho_i^{(0)}\text{ uniform},\ D_i\le\frac{4\log N}{1-\lambda_*}\text{ for all }i,\quad"
)
_IN_WORDS = (
    "For uniform priors, agents who are independent, and W that obeys Lemma 1 with moduli, as it "
    "does wherever lemma-1-modulus says."
)
_TWENTIETH, _BILLIONTH = Fraction(1, 20), Fraction(1, 10**9)

CLAIMS = (
    Claim(
        key="theorem-1-p1",
        title="Theorem 1 of P1, samples for the arg max",
        statement=(
            r"n\ge\frac{16\,C\log(NM/\delta)}{K(\Theta)^2(1-\lambda_{\max}(W))}\implies"
            r"\mathsf P\bigl(\exists i:\hat\theta_i^{(n)}\notin\Theta^*\bigr)\le\delta"
        ),
        words="So many rounds make every agent's arg max right with probability 1 - δ.",
        source="P1 Theorem 1, eq. 4",
        kind="bound",
        verdict="fails",
        condition=(
            "uniform prior, agents independent, W as in lemma-1-signed, and "
            "C (1-λmax) Σ v_j² ≤ 8 (1 - K log N/(4 log(NM/δ)))₊²; C ≤ 2 is enough"
        ),
        repaired="n ≥ 8 C² log(NM/δ)/(K² (1-λ*)), uniform prior, W as in lemma-1-modulus",
        witnesses=(
            Witness("counterexample", "both agents toss, K < 1", both_toss),
            _coin(True, int(np.exp(27)), Fraction(1, 20), _TWENTIETH, Fraction(1)),
            Witness("counterexample", "realizable, a handful of rounds", few_rounds),
            Witness("counterexample", "a prior", lambda effort: overwhelming_prior("P1")),
            _coin(True, 60000, Fraction(1, 10), _BILLIONTH, Fraction(1)),
            Witness("counterexample", "only Lemma 1 fails", nearly_swapped),
            _hunt(
                "conditional",
                "theorem-1-p1",
                100,
                "coins at one agent or all, C as large as the condition allows",
                condition=True,
                second=False,
            ),
            _REACH,
        ),
    ),
    Claim(
        key="theorem-1-p2",
        title="Theorem 1 of P2, samples for the rate",
        statement=(
            r"n\ge\frac{8\,C\log(N|\Theta|/\delta)}{\epsilon^2(1-\lambda_{\max}(W))}\implies"
            r"\max_i\max_{\theta\notin\Theta^*}b_i^{(n)}(\theta)<e^{-n(K(\Theta)-\epsilon)}"
        ),
        words=(
            "So many rounds bring every wrong hypothesis below exp(-n(K-ε)); with probability "
            "1 - δ, as the proof adds."
        ),
        source="P2 Theorem 1",
        kind="bound",
        verdict="fails",
        condition=(
            "uniform prior, agents independent, W as in lemma-1-signed, and "
            "C (1-λmax) Σ v_j² ≤ 4 (1 - ε(log N + (1-λmax)/2)/(2 log(N|Θ|/δ)))₊²"
        ),
        repaired="n ≥ 8 C² log(N|Θ|/δ)/(ε² (1-λ*)), uniform prior, W as in lemma-1-modulus",
        witnesses=(
            _coin(False, 268337, Fraction(3, 20), _TWENTIETH, Fraction(3, 4)),
            Witness("counterexample", "a prior", lambda effort: overwhelming_prior("P2")),
            _coin(False, 300, Fraction(1, 20), Fraction(1, 10**6), Fraction(3, 4)),
            _hunt(
                "conditional",
                "theorem-1-p2",
                100,
                "coins at one agent or all, C as large as the condition allows",
                condition=True,
                second=True,
            ),
            _REACH,
        ),
    ),
    Claim(
        key="mcdiarmid-step",
        title="The proofs' concentration step",
        statement=(
            r"\mathsf P\Bigl(\sum_{k}\sum_jv_j(z_j^{(k)}-\mathsf Ez_j)\le-\frac{\epsilon n}2\Bigr)"
            r"\le e^{-\epsilon^2n/2C}"
        ),
        words=(
            "McDiarmid's inequality, for variables between -C and C, printed with C in place of C²."
        ),
        source="P1 appendix A, P2 section 1.6",
        kind="bound",
        verdict="fails",
        condition="C Σ v_j² ≤ 1/4",
        repaired="exp(-ε²n/(8 C² Σ v_j²)), hence at most exp(-ε²n/(8 C²))",
        witnesses=(
            Witness("counterexample", "one toss", one_toss),
            _step("conditional", "mcdiarmid-printed", repaired=False),
            _step("repaired", "mcdiarmid-repaired", repaired=True),
            _REACH,
        ),
    ),
    Claim(
        key="theorem-1-p1-repaired",
        title="Theorem 1 of P1, repaired",
        statement=_HYPOTHESES
        + (
            r"n\ge\frac{8\,C^2\log(NM/\delta)}{K^2(1-\lambda_*)}\implies"
            r"\mathsf P\bigl(\exists i:\hat\theta_i^{(n)}\notin\Theta^*\bigr)\le\delta"
        ),
        words=(f"With C² and the modulus the constant may even be halved. {_IN_WORDS}"),
        source=f"{PROJECT}: mathematics/claims",
        kind="bound",
        verdict="holds",
        witnesses=(
            _hunt(
                "support",
                "theorem-1-p1-repaired",
                150,
                "coins on complete networks, lazy and restless",
                condition=False,
                second=False,
            ),
        ),
    ),
    Claim(
        key="theorem-1-p2-repaired",
        title="Theorem 1 of P2, repaired",
        statement=_HYPOTHESES
        + (
            r"n\ge\frac{8\,C^2\log(N|\Theta|/\delta)}{\epsilon^2(1-\lambda_*)}\implies"
            r"\mathsf P\Bigl(\max_{i,\theta}b_i^{(n)}(\theta)\ge e^{-n(K-\epsilon)}\Bigr)\le\delta"
        ),
        words=(
            "P2's own constant is right with C² and the modulus, for public and private beliefs. "
            f"{_IN_WORDS}"
        ),
        source=f"{PROJECT}: mathematics/claims",
        kind="bound",
        verdict="holds",
        witnesses=(
            _hunt(
                "support",
                "theorem-1-p2-repaired",
                150,
                "coins on complete networks, lazy and restless",
                condition=False,
                second=True,
            ),
        ),
    ),
)
