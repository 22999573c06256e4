"""Coins that break the papers' sample sizes: every probability is a binomial sum, taken exactly.

One agent of stationary weight 99/100 tosses, the other is blind; W has two equal rows, so that
λmax = 0 and all agents hold the same private belief. Or both toss alike, on W = J/2 or nearly
swapping.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpq

from theory.claims.chance import as_ball, binomial_at_most, binomial_ball
from theory.claims.claim import Effort, Finding

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
