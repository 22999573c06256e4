"""Power sums of the weights that agents give, against every weight by itself in many digits."""

from __future__ import annotations

from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from flint import arb

from tests.theory.certified.test_cumulant import LAWS, kappa
from theory.certified.cumulant import BallLaw
from theory.certified.history import RoundedPowers, Weighing, alike
from theory.numbers import Enclosure, precision

AGENTS, ROUNDS = 7, 40


def _ring() -> flint.fmpq_mat:
    def hears(i: int, j: int) -> bool:
        return (i - j) % AGENTS in (0, 1)

    near = [[flint.fmpq(int(hears(i, j)), 2) for j in range(AGENTS)] for i in range(AGENTS)]
    near[0][0], near[0][1] = flint.fmpq(1, 3), flint.fmpq(1, 6)
    return flint.fmpq_mat(near)


def _exact(matrix: flint.fmpq_mat) -> list[flint.fmpq_mat]:
    powers = [matrix]
    while len(powers) < ROUNDS:
        powers.append(powers[-1] * matrix)
    return powers


@pytest.mark.parametrize("name", ["table", "stored", "mixture"])
@pytest.mark.parametrize("t", ["1/100", "1", "12"])
def test_what_was_heard_contains_the_sum_over_all_weights(name: str, t: str) -> None:
    matrix, point = _ring(), Fraction(t)
    powers = RoundedPowers(matrix, 128, ROUNDS)
    assert powers.reach(ROUNDS) == ROUNDS
    with precision(128):
        law, nothing = BallLaw.from_rational(LAWS[name]), [arb(0)] * AGENTS
        groups = alike(powers, [law] * AGENTS, nothing, ROUNDS)
        agent = groups[0].agents[0]
        (history,) = groups[0].histories
        # Rounds are added to what was there; a larger tilt asks for finer cells.
        for rounds in (30, ROUNDS):
            jet = history.until(rounds).jet(arb(point.numerator) / point.denominator)
        heard = history.until(ROUNDS)
    weights = [W[agent, j] for W in _exact(matrix) for j in range(AGENTS) if W[agent, j]]
    with mpmath.workdps(40):
        sizes = [mpmath.mpf(int(w.p)) / int(w.q) for w in weights]
        x = mpmath.mpf(point.numerator) / point.denominator

        def f(t: mpmath.mpf) -> mpmath.mpf:
            return -mpmath.fsum(kappa(LAWS[name], -t * w) for w in sizes)

        truths = [f(x), mpmath.diff(f, x, h=mpmath.mpf(10) ** -12)]
        for ball, truth in zip((jet.value, jet.slope), truths, strict=True):
            found = Enclosure.from_ball(ball)
            assert found.lower <= truth * (1 + 1e-15)
            assert truth * (1 - 1e-15) <= found.upper
            assert found.relative_width < 1e-10
        slope = float(mpmath.diff(f, mpmath.mpf(0), h=mpmath.mpf(10) ** -12))
        assert float(heard.mean.mid()) == pytest.approx(slope, rel=1e-9)


def test_weighted_sums_contain_the_exact_ones_and_zero_weights_stay_zero() -> None:
    matrix = _ring()
    powers, exact = RoundedPowers(matrix, 128, ROUNDS), _exact(matrix)
    values = [arb(0), arb(3), *[arb(0)] * (AGENTS - 2)]
    for power in (1, 2):
        weighing = Weighing.of(values, power=power)
        for rounds in (1, 2, ROUNDS):
            found = weighing.until(powers, rounds)
            for i, ball in enumerate(found):
                truth = sum((W[i, 1] ** power * 3 for W in exact[:rounds]), flint.fmpq(0))
                assert ball.contains(arb(truth))
                assert ball.is_zero() == (truth == 0)
    assert np.isfinite(powers.error(ROUNDS))
