"""Theorem 1 of both papers and the step of their proofs that fails (docs: mathematics/claims).

Printed, with C = log(L/α) where α < ℓ < L, g = 1 - λmax and L(δ) = log(NM/δ):

* P1: some agent's arg max is wrong with probability at most δ once n ≥ 16 C L(δ)/(K² g);
* P2: max over i and wrong θ of b_i(θ) is below exp(-n(K-ε)) once n ≥ 8 C L(δ)/(ε² g).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from theory.claims.chance import as_ball, binomial_at_most, binomial_ball
from theory.claims.claim import PROJECT, Claim, Effort, Finding, Role, Witness, hunt
from theory.claims.repaired import concentration, under_condition, with_square

# Coins that break the papers' sample sizes -------------------------------------------------------


_WEIGHT = Fraction(99, 100)
"""Stationary weight of the agent that sees anything; W has two equal rows, hence λmax = 0."""


def ceiling(ball: arb) -> int:
    """The smallest whole number at least as large as what the ball contains.

    Raises
    ------
    ArithmeticError
        If the ball is too wide to tell.
    """
    number = ball.ceil().unique_fmpz()
    if number is None:
        raise ArithmeticError("the precision does not decide a whole number of rounds")
    return int(number)


def largest_below(ball: arb) -> int:
    """The largest whole number certainly at most what the ball contains.

    Raises
    ------
    ArithmeticError
        If the ball is too wide to tell.
    """
    number = ball.lower().floor().unique_fmpz()
    if number is None:
        raise ArithmeticError("the precision does not decide a whole number of successes")
    return int(number)


def _verdict(text: str, delta: Fraction, chance: Fraction) -> Finding:
    return Finding(
        chance <= delta, text, float(delta), float(chance), closest=float(chance / delta)
    )


def first_theorem_coin(odds: int, gamma: Fraction, delta: Fraction) -> Finding:
    """P1: hypotheses at odds `odds` to 1 and 1 to `odds`, a truth of ½ + γ, so that z = ± log odds.

    α and L are rationals just outside of the likelihoods: C = log odds + 2^-30. A strict error:
    ties are not counted.
    """
    z = arb(odds).log()
    bound = z + arb(2) ** -30
    rate = as_ball(_WEIGHT * 2 * gamma) * z
    rounds = ceiling(16 * bound * (4 / as_ball(delta)).log() / rate**2)
    chance = binomial_at_most((rounds - 1) // 2, rounds, Fraction(1, 2) + gamma)
    text = (
        f"odds {odds}:1 (C = {float(bound):.2f}), truth {Fraction(1, 2) + gamma}, "
        f"δ = {float(delta):g}: wrong with probability {float(chance):.4g} after {rounds} rounds"
    )
    return _verdict(text, delta, chance)


def second_theorem_coin(odds: int, gamma: Fraction, share: Fraction, delta: Fraction) -> Finding:
    """P2: the same coin with ε = share × K, seen by the blind agent's public belief.

    That belief's log-ratio is .99 times a sum of n-1 tosses. Where it is at most n(K-ε) - 1 the
    belief is at least exp(-n(K-ε)), provided n(K-ε) ≥ ½, which is checked.
    """
    z = arb(odds).log()
    bound = z + arb(2) ** -30
    rate = as_ball(_WEIGHT * 2 * gamma) * z
    epsilon = as_ball(share) * rate
    rounds = ceiling(8 * bound * (4 / as_ball(delta)).log() / epsilon**2)
    level = rounds * (rate - epsilon)
    reached = ((level - 1) / (as_ball(_WEIGHT) * z) + rounds - 1) / 2
    chance = binomial_at_most(largest_below(reached), rounds - 1, Fraction(1, 2) + gamma)
    if not level > arb(0.5):
        return Finding(True, "n(K - ε) is too small for this argument")
    text = (
        f"odds {odds}:1 (C = {float(bound):.2f}), truth {Fraction(1, 2) + gamma}, ε = {share} K, "
        f"δ = {float(delta):g}: fails with probability {float(chance):.4g} after {rounds} rounds"
    )
    return _verdict(text, delta, chance)


def both_toss(effort: Effort) -> Finding:
    """P1 with K < 1: W = J/2, both agents see coins at odds e^100, and the truth is nearly even.

    After n rounds both have seen 2n tosses; fewer heads than tails is an error. z = ± log odds.
    """
    delta, gamma = Fraction(1, 100), Fraction(1, 250)
    odds = largest_below(arb(100).exp())
    z = arb(odds).log()
    bound, rate = z + arb(2) ** -30, 2 * as_ball(gamma) * z
    rounds = ceiling(16 * bound * (4 / as_ball(delta)).log() / rate**2)
    chance = binomial_ball(rounds - 1, 2 * rounds, Fraction(1, 2) + gamma)
    text = (
        f"K = {float(rate):.2f} < 1, both agents toss at odds e^100 (C = {float(bound):.1f}), "
        f"truth {Fraction(1, 2) + gamma}, δ = 1/100: wrong with probability {float(chance):.4f} "
        f"after {rounds} rounds"
    )
    # Certainly above δ, or else not broken.
    return Finding(
        not (rate < 1 and chance > as_ball(delta)), text, float(delta), float(chance),
        closest=float(chance / as_ball(delta)),
    )  # fmt: skip


def nearly_swapped(effort: Effort) -> Finding:
    """P1 where only Lemma 1 fails: W_12 = W_21 = 1 - 10^-15, both agents toss, K < 1.

    The rows of W^k are within k 10^-15 of those of a swap or of no change, so that agent 1's
    log-ratio is z times heads less tails of n tosses, its own and the other's in turn, give or
    take z n(n+1) 10^-15; agent 2 sees the other n tosses. v = (1/2, 1/2), λmax = 2·10^-15 - 1. The
    condition on C is met, with λmax as printed.
    """
    wobble, delta, gamma = Fraction(1, 10**15), Fraction(1, 10**6), Fraction(1, 20)
    z = arb(1000).log()
    bound, rate = z + arb(2) ** -30, 2 * as_ball(gamma) * z
    gap, logarithm = as_ball(2 - 2 * wobble), (4 / as_ball(delta)).log()
    rounds = ceiling(16 * bound * logarithm / (rate**2 * gap))
    is_met = bound * gap / 2 <= 8 * (1 - rate * arb(2).log() / (4 * logarithm)) ** 2
    assert is_met
    assert rate < 1
    assert rounds * (rounds + 1) * wobble < 1
    alone = binomial_at_most((rounds - 1) // 2, rounds, Fraction(1, 2) + gamma)
    text = (
        f"two agents who nearly swap, K = {float(rate):.2f}, C = {float(bound):.2f} as small as "
        f"the condition asks, δ = 1e-6: wrong with probability {float(2 * alone):.2g} after "
        f"{rounds} rounds"
    )
    return _verdict(text, delta, 1 - (1 - alone) ** 2)


def few_rounds(effort: Effort) -> Finding:
    """P1, realizable: fair coins, and a hypothesis that gives heads 2^-100."""
    delta = Fraction(1, 100)
    tiny = fmpq(1, 2**100)
    two = arb(2).log()
    bound = 101 * two  # α = 2^-101, L = 1
    heads, tails = 99 * two, -(two + arb(1 - tiny).log())
    rate = as_ball(_WEIGHT) * (heads + tails) / 2
    rounds = ceiling(16 * bound * (4 / as_ball(delta)).log() / rate**2)
    # Without heads every z is negative; with one, 99 log 2 outweighs the other rounds.
    assert tails < 0
    assert heads + (rounds - 1) * tails > 0
    chance = Fraction(1, 2**rounds)
    text = (
        f"realizable, fair coin against 2^-100 (C = {float(bound):.1f}), δ = 1/100: "
        f"wrong with probability {chance} after {rounds} rounds"
    )
    return _verdict(text, delta, chance)


def overwhelming_prior(theorem: str) -> Finding:
    """A prior against the truth that n rounds cannot outweigh: wrong for certain.

    Two agents, W = J/2, coins of 2/3 (the truth) and 1/3; 1/4 < ℓ < 3/4, C = log 3. The log-ratio
    gains at most log 2 a round, in the public belief too.
    """
    delta = Fraction(1, 10)
    bound, rate = arb(3).log(), arb(2).log() / 3
    logarithm = (4 / as_ball(delta)).log()
    epsilon = rate / 2
    size = 16 * bound * logarithm / rate**2
    if theorem == "P2":
        size = 8 * bound * logarithm / epsilon**2
    rounds = ceiling(size)
    text = (
        f"prior 2^-{rounds + 1} on the truth, C = log 3: after n = {rounds} rounds the log-ratio "
        f"is at most (n - n - 1) log 2 < 0, so that the wrong one is ahead for certain"
    )
    return _verdict(text, delta, Fraction(1))


def one_toss(effort: Effort) -> Finding:
    """McDiarmid's step: one agent, one toss, z = ±log 2, truth 11/20, 1/4 < ℓ < 3/4.

    E z = (log 2)/10 > 0, so that θ is wrong, as the step asks. z = -log 2 is E z - 1.1 log 2,
    which is E z - ε/2 for ε = 2.2 log 2.
    """
    heads = Fraction(11, 20)
    mean = 2 * heads - 1
    share = 2 * (1 + mean)
    assert mean > 0
    bound = (-((as_ball(share) * arb(2).log()) ** 2) / (2 * arb(3).log())).exp()
    chance = 1 - heads
    text = (
        f"one agent, one toss, z = ±log 2, truth {heads}, C = log 3, ε = {float(share)} log 2: "
        f"probability {float(chance)}, printed {float(bound):.4f}"
    )
    return Finding(
        not bound < as_ball(chance), text, float(bound), float(chance),
        closest=float(as_ball(chance) / bound),
    )  # fmt: skip


# Theorem 1 of both papers and the step of their proofs that fails (docs --------------------------


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
    r"\rho_i^{(0)}\text{ uniform},\ D_i\le\frac{4\log N}{1-\lambda_*}\text{ for all }i,\quad "
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
