from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles import precision
from theory import CoinTrial, reversal_factor, risk_bound
from theory.risk.quantised import EMPTY_INTERSECTION, HALVED_PINSKER, REVERSED_COVERING

probabilities = st.builds(Fraction, st.integers(1, 59), st.just(60))


@st.composite
def trials(draw: st.DrawFn) -> CoinTrial:
    agents, hypotheses = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    shares = draw(st.lists(st.integers(1, 20), min_size=agents, max_size=agents))
    return CoinTrial(
        tuple(draw(probabilities) for _ in range(agents)),
        tuple(tuple(draw(probabilities) for _ in range(agents)) for _ in range(hypotheses)),
        tuple(Fraction(share, sum(shares)) for share in shares),
    )


def test_the_printed_constant_fails() -> None:
    """P1 Corollary 1 in its own setting: one agent, two hypotheses, a covering both ways."""
    trial = HALVED_PINSKER
    assert len(trial.hypotheses) > 1
    assert trial.learnt == 0
    assert trial.is_globally_learnable
    assert trial.risk_difference == Fraction(2, 3)
    # B²r/4 with r = (log 2)/3, and log 2 < 1: nothing but rationals is needed.
    assert trial.risk_difference**2 > Fraction(1, 12)
    assert trial.printed_bound() < Fraction(2, 3).numerator / 3
    assert trial.repaired_bound() > 2 / 3 + 0.01
    # The largest possible failure is 2√2 ≈ 2.83 times.
    assert 2.7 < float(trial.risk_difference) / float(trial.printed_bound().mid()) < 2.83


def test_the_direction_of_the_covering_matters() -> None:
    trial = REVERSED_COVERING
    assert trial.learnt == 1
    assert trial.average_divergence(0, printed=True) < trial.average_divergence(1, printed=True)
    assert trial.repaired_bound(printed_direction=True) < 0.6 < trial.risk_difference
    assert trial.repaired_bound() > 2 / 3


def test_the_network_must_agree_on_what_is_nearest() -> None:
    trial = EMPTY_INTERSECTION
    assert not trial.is_globally_learnable
    assert trial.risk_difference == Fraction(1, 6)
    assert trial.repaired_bound() < 0.15 < trial.risk_difference
    assert trial.compromise_bound() > 1 / 6


@given(trials())
def test_the_repaired_statements_hold(trial: CoinTrial) -> None:
    """Hostile search: any coins, any weights."""
    with precision(100):
        try:
            learnt = trial.learnt
            learnable = trial.is_globally_learnable
            trial.radius()
        except ValueError:  # ties are not decided
            assume(False)
        assert 0 <= learnt < len(trial.hypotheses)
        difference = float(trial.risk_difference)
        assert difference <= float(trial.compromise_bound().upper()) + 1e-15
        if learnable:
            radius = float(trial.radius().upper())
            assert difference <= risk_bound(radius).sharp + 1e-12
            assert difference <= float(trial.repaired_bound().upper()) + 1e-15


def test_the_print_holds_exactly_for_small_spans_and_large_radii() -> None:
    narrow = (1 - 0.999 / np.sqrt(2), 1.0)
    for r in (1e-9, 0.01, 1.0, 10.0):
        assert risk_bound(r, loss_range=narrow).print_is_theorem
        assert not risk_bound(r).print_is_theorem
    # The span B/√2 is exact: a bit more, and small radii break it.
    wide = (1 - 1.001 / np.sqrt(2), 1.0)
    assert not risk_bound(1e-6, loss_range=wide).print_is_theorem
    assert not risk_bound(15.99).print_is_theorem
    assert risk_bound(16.0).print_is_theorem


@pytest.mark.parametrize(("q", "holds"), [(0.02, True), (0.03, True), (0.036, False), (0.5, False)])
def test_the_print_holds_locally_for_rare_events(q: float, holds: bool) -> None:
    """Two coins close together: printed ≥ 2|p − q| iff q(1 − q) ≤ 1/32."""
    p = q + 1e-4
    r = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    assert (risk_bound(r).printed >= 2 * (p - q)) == holds


@pytest.mark.parametrize("r", [1e-8, 0.1, 1.0, 3.0])
def test_order_and_scale(r: float) -> None:
    bound, half = risk_bound(r, loss_range=(-3, 3)), risk_bound(r, loss_range=(0, 3))
    assert bound.repaired == pytest.approx(3 * np.sqrt(2 * r), rel=1e-14)
    assert bound.bretagnolle_huber == pytest.approx(6 * np.sqrt(1 - np.exp(-r)), rel=1e-9)
    assert bound.sharp <= bound.best <= bound.repaired
    assert half.sharp == pytest.approx(bound.sharp / 2, rel=1e-14)
    assert half.printed == bound.printed
    assert set(bound.sources) == {"printed", "repaired", "bretagnolle_huber", "best", "sharp"}


def test_best_changes_sides_where_the_curves_cross() -> None:
    """r/2 = 1 − e^{−r} at r = 1.5936."""
    below, above = risk_bound(1.59), risk_bound(1.60)
    assert below.best == below.repaired < below.bretagnolle_huber
    assert above.best == above.bretagnolle_huber < above.repaired


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_reversal_factor_is_valid(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(size, 0.7), size=2) + 1e-9
    p, q = p / p.sum(), q / q.sum()
    forward, backward = (p * np.log(p / q)).sum(), (q * np.log(q / p)).sum()
    ratio = float(np.log(p / q).max())
    assume(ratio > 1e-6)
    assert forward <= reversal_factor(ratio) * backward * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("C", [0.5, 2.0, 8.0])
def test_reversal_factor_is_tight(C: float) -> None:
    """A rare outcome that P makes e^C times as likely."""
    q = np.array([1e-7, 1 - 1e-7])
    p = np.array([1e-7 * np.exp(C), 1 - 1e-7 * np.exp(C)])
    forward = p[0] * C + p[1] * (np.log1p(-p[0]) - np.log1p(-q[0]))
    backward = -q[0] * C - q[1] * (np.log1p(-p[0]) - np.log1p(-q[0]))
    assert forward / backward == pytest.approx(reversal_factor(C), rel=1e-3)


@pytest.mark.parametrize("C", [9.99e-4, 1.001e-3, 29.99, 30.01])
def test_reversal_factor_where_its_formulas_meet(C: float) -> None:
    import mpmath

    with mpmath.workdps(50):
        c = mpmath.mpf(C)
        exact = (c * mpmath.exp(c) - mpmath.exp(c) + 1) / (mpmath.exp(c) - 1 - c)
        assert reversal_factor(C) == pytest.approx(float(exact), rel=2e-9)


@pytest.mark.parametrize("wrong", [(1.0, 1.0), (2.0, 0.0), (0.0,), (0.0, 1.0, 2.0)])
def test_bad_loss_range(wrong: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="loss_range: expected two increasing numbers"):
        risk_bound(0.1, loss_range=wrong)


def test_bad_trials() -> None:
    half = (Fraction(1, 2),)
    with pytest.raises(ValueError, match="one probability for each of 1 agents"):
        CoinTrial(half, ((Fraction(1, 2), Fraction(1, 3)),), (Fraction(1),))
    with pytest.raises(ValueError, match="probabilities in"):
        CoinTrial(half, ((Fraction(1),),), (Fraction(1),))
    with pytest.raises(ValueError, match="stationary: expected positive, of sum 1"):
        CoinTrial(half, (half,), half)
    with pytest.raises(ValueError, match="no ties"):
        _ = CoinTrial(half, (half, half), (Fraction(1),)).learnt
