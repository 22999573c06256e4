"""Signed and absolute deviation against definitions, powers in balls, and closed forms."""

from __future__ import annotations

from fractions import Fraction

import flint
import pytest
from hypothesis import given, settings

from tests.strategies import rational_networks
from tests.theory.rational.networks import directed_ring, reset_chain
from theory.rational import RationalNetwork
from theory.rational.deviation import RationalDeviation


def _identity(size: int) -> flint.fmpq_mat:
    return flint.fmpq_mat([[int(i == j) for j in range(size)] for i in range(size)])


@settings(deadline=None, max_examples=40)
@given(rational_networks())
def test_the_signed_sum_solves_its_equations(network: RationalNetwork) -> None:
    """(I − W)Z = W − 1vᵀ and vZ = 0 have one solution."""
    agents, Z = network.agents, network.deviation.signed
    v = [flint.fmpq(x.numerator, x.denominator) for x in network.stationary_distribution]
    limit = flint.fmpq_mat([v] * agents)
    assert (_identity(agents) - network.matrix) * Z == network.matrix - limit
    assert not any((flint.fmpq_mat([v]) * Z).entries())


@settings(deadline=None, max_examples=40)
@given(rational_networks())
def test_kemeny_is_a_sum_over_eigenvalues(network: RationalNetwork) -> None:
    total = sum(
        (
            (e.multiplicity * (1 / (1 - complex(e.real.midpoint, e.imaginary.midpoint)))).real
            for e in network.spectrum.eigenvalues
            if e.rational != 1
        ),
        0.0,
    )
    # 1/(1 − λ) has the relative error of the gap.
    assert float(network.deviation.kemeny) == pytest.approx(total, rel=1e-5)


@settings(deadline=None, max_examples=30)
@given(rational_networks(max_agents=4))
def test_deviation_is_enclosed(network: RationalNetwork) -> None:
    """Against balls; the same rational W, so that the enclosures overlap whatever the rounding."""
    found = network.deviation
    rounds = 300
    expected = _balls(network, rounds)
    for i, (mine, other) in enumerate(zip(found.enclosures, expected, strict=True)):
        assert mine.lower <= other[1]
        assert other[0] <= mine.upper
        if found.exact is not None:
            assert mine.contains(found.exact[i])
            assert mine.relative_width < 3e-16
        signed = sum(abs(found.signed[i, j]) for j in range(network.agents))
        assert (
            signed <= flint.fmpq(*float(mine.upper).as_integer_ratio())
            if mine.upper < 1e300
            else True
        )


def _balls(network: RationalNetwork, rounds: int) -> list[tuple[float, float]]:
    before = flint.ctx.prec
    flint.ctx.prec = 300
    try:
        v = [flint.fmpq(x.numerator, x.denominator) for x in network.stationary_distribution]
        W, limit = (
            flint.arb_mat(network.matrix),
            flint.arb_mat(flint.fmpq_mat([v] * network.agents)),
        )
        power, sums = W, [flint.arb(0)] * network.agents
        for k in range(rounds):
            power = power * W if k else W
            rows = (power - limit).tolist()
            terms = [sum((abs(x) for x in row), flint.arb(0)) for row in rows]
            sums = [a + b for a, b in zip(sums, terms, strict=True)]
        tau = max(float(term.upper()) for term in terms)
        top = 1 / (1 - tau) if tau < 1 else float("inf")
        grow = 1 + 1e-14
        return [(float(s.lower()) / grow, float(s.upper()) * top * grow) for s in sums]
    finally:
        flint.ctx.prec = before


def test_two_agents() -> None:
    """λ = −.98: D = λ/(1 − λ) in modulus, 49; P1's pair: .3/.7 of 2(1 − v)."""
    swap = RationalNetwork([["1/100", "99/100"], ["99/100", "1/100"]]).deviation
    assert swap.exact == (49, 49)
    pair = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]]).deviation
    assert pair.exact == (Fraction(6, 49), Fraction(36, 49))
    assert pair.kemeny == Fraction(10, 7)


@pytest.mark.parametrize("agents", [5, 20, 40])
def test_the_reset_chain_ends(agents: int) -> None:
    """Σ over the N − 1 powers that are not yet 1vᵀ, in fractions."""
    network = reset_chain(agents)
    found = network.deviation
    assert found.method == "vanishing"
    W, v = network.rows, network.stationary_distribution
    row, total = list(W[0]), Fraction(0)
    for _ in range(agents):
        total += sum((abs(a - b) for a, b in zip(row, v, strict=True)), Fraction(0))
        row = [sum((row[i] * W[i][j] for i in range(agents)), Fraction(0)) for j in range(agents)]
    assert found.exact[0] == total
    if agents == 20:
        assert float(total) == pytest.approx(21.76, abs=0.005)


@pytest.mark.parametrize(
    ("network", "method"),
    [
        (
            RationalNetwork.from_topology("complete", agents=6, rule="lazy-metropolis"),
            "proportional",
        ),
        (RationalNetwork.from_topology("star", agents=9, edge_confidence="9/10"), "settled-signs"),
        (RationalNetwork.from_topology("path", agents=8), "settled-signs"),
        (RationalNetwork([["1/100", "99/100"], ["99/100", "1/100"]]), "settled-signs"),
        (RationalNetwork.from_topology("ring", agents=8), "powers"),
        (RationalNetwork([["1/3"] * 3] * 3), "vanishing"),
        (RationalNetwork([[1]]), "vanishing"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_is_exact_and_how(network: RationalNetwork, method: str) -> None:
    found = network.deviation
    assert found.method == method
    assert (found.exact is None) == (method == "powers")
    for mine, (low, high) in zip(found.enclosures, _balls(network, 3000), strict=True):
        assert low <= mine.upper
        assert mine.lower <= high
        assert mine.relative_width < 1e-15


def test_signs_that_repeat_once_prove_nothing() -> None:
    """The signs of one power multiply to themselves, but those of the next ones differ."""
    rows = [[2, 4, 1, 0], [0, 0, 1, 0], [0, 3, 0, 1], [2, 0, 1, 7]]
    network = RationalNetwork([[Fraction(x, sum(row)) for x in row] for row in rows])
    for mine, (low, high) in zip(network.deviation.enclosures, _balls(network, 500), strict=True):
        assert low <= mine.upper
        assert mine.lower <= high


def test_few_rounds_give_wide_bounds_that_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    network = RationalNetwork.from_topology("ring", agents=8)
    narrow = network.deviation.enclosures
    monkeypatch.setattr("theory.rational.deviation._RELATIVE_WIDTH", flint.fmpq(1, 4))
    wide = RationalDeviation(network.matrix, network.stationary_distribution)
    assert wide.rounds < 30
    for one, two in zip(narrow, wide.enclosures, strict=True):
        assert two.lower <= one.lower
        assert one.upper <= two.upper
        # S_m / (1 − τ) with τ < 1/4.
        assert two.relative_width < 0.4


def test_balls_take_over_where_fractions_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    network = directed_ring(6, Fraction(1, 3))
    exact = network.deviation
    assert exact.method == "powers"
    monkeypatch.setattr("theory.rational.deviation._WORDS", 0.0)
    balls = RationalDeviation(network.matrix, network.stationary_distribution)
    assert balls.method == "powers in balls"
    for one, two in zip(exact.enclosures, balls.enclosures, strict=True):
        assert one.overlaps(two)
        assert two.relative_width < 1e-15
    # Stopped early, the bounds are wide but true.
    monkeypatch.setattr("theory.rational.deviation._BALL_WORK", 3 * 6**3)
    early = RationalDeviation(network.matrix, network.stationary_distribution)
    assert early.rounds == 3
    for one, two in zip(exact.enclosures, early.enclosures, strict=True):
        assert two.lower <= one.lower
        assert one.upper <= two.upper
