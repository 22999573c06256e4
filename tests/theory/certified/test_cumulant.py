"""Cumulants in balls, and the maximum of a concave function, against many digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb

from theory.certified.cumulant import BallLaw, Copies, Weighed
from theory.certified.maximum import concave_maximum
from theory.numbers import Enclosure, as_ball, precision
from theory.rational.log_ratio import RationalLogRatio

TENTH = Fraction(1, 10)
TABLE = RationalLogRatio(
    (TENTH, Fraction(9, 10)),
    (0, 0),
    (Fraction(1, 3), Fraction(7, 5)),
    (0, 0),  # type: ignore[arg-type]
)
STORED = RationalLogRatio(
    (Fraction(1, 2),) * 2, (Fraction(-1, 2), Fraction(3)), (Fraction(1),) * 2, (Fraction(0),) * 2
)
MIXTURE = RationalLogRatio(
    (TENTH, Fraction(9, 10)), (Fraction(-1), Fraction(2)), (Fraction(1),) * 2, (Fraction(3), TENTH)
)
RARE = RationalLogRatio(
    (Fraction(1, 10**400), 1 - Fraction(1, 10**400)),
    (Fraction(-5), Fraction(1)),
    (Fraction(1),) * 2,
    (Fraction(0),) * 2,
)
LAWS = {"table": TABLE, "stored": STORED, "mixture": MIXTURE, "rare": RARE}


def kappa(law: RationalLogRatio, u: mpmath.mpf) -> mpmath.mpf:
    total = mpmath.mpf(0)
    for p, r, a, s in zip(
        law.probabilities, law.offsets, law.arguments, law.variances, strict=True
    ):
        p, r, a, s = (mpmath.mpf(x.numerator) / x.denominator for x in map(Fraction, (p, r, a, s)))
        total += p * mpmath.exp(u * (r + mpmath.log(a)) + u * u * s / 2)
    return mpmath.log(total)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("u", ["-1e-30", "-0.25", "0.75", "-3", "-700"])
def test_the_jet_contains_the_cumulant_and_its_derivatives(name: str, u: str) -> None:
    law = LAWS[name]
    point = Fraction(u)
    with precision(192):
        balls = BallLaw.from_rational(law)
        jet = balls.jet(as_ball(point))
        again = balls.series(as_ball(point), 1)
    with mpmath.workdps(500 if name == "rare" else 120):
        x = mpmath.mpf(point.numerator) / point.denominator
        truths = [mpmath.diff(lambda t: kappa(law, t), x, n=n, h=None) for n in (0, 1, 2)]
        # Numerical derivatives in 120 digits are right to 30.
        for ball, truth in zip((jet.value, jet.slope, jet.curvature), truths, strict=True):
            found = Enclosure.from_ball(ball)
            slack = abs(truth) * mpmath.mpf(10) ** -30
            assert found.lower <= truth + slack
            assert truth - slack <= found.upper
            # Where one atom has all weight but 1e-60 of it, 192 bits do not see the variance.
            blind = ball is jet.curvature and (name == "rare" or u == "-700")
            assert found.relative_width < 1e-14 or blind
        assert again[0].overlaps(jet.value)


def test_a_ball_of_arguments_contains_all_their_cumulants() -> None:
    with precision(64):
        law = BallLaw.from_rational(MIXTURE)
        wide = arb(-0.5, 0.01)
        whole = law.jet(wide)
        for shift in (-0.01, -0.003, 0.0, 0.007, 0.01):
            part = law.jet(arb(-0.5) + arb(shift) * (1 - arb(2) ** -50))
            for name in ("value", "slope", "curvature"):
                assert getattr(whole, name).contains(getattr(part, name))


@pytest.mark.parametrize("name", ["table", "stored", "mixture"])
@pytest.mark.parametrize("t", ["1/1000", "1/20", "1/10", "30"])
def test_many_weights_of_one_law_are_summed_as_a_series(name: str, t: str) -> None:
    """At 1/20 weights are within the series' radius, at 1/10 some, at 30 none."""
    weights = [Fraction(40 + k, 100) for k in range(80)]
    with precision(128):
        law, point = BallLaw.from_rational(LAWS[name]), as_ball(Fraction(t))
        exact = Weighed(tuple((as_ball(w), law, 2) for w in weights), arb(0))
        wide = Weighed(tuple((w + arb(0, 1e-9), law, c) for w, law, c in exact.terms), arb(0))
        jet, loose, later = exact.jet(point), wide.jet(point), Weighed((), arb(1), (exact,))
        assert later.jet(point).value.overlaps(point + jet.value)
    with mpmath.workdps(60):
        x = mpmath.mpf(Fraction(t).numerator) / Fraction(t).denominator

        def f(t: mpmath.mpf) -> mpmath.mpf:
            sizes = (mpmath.mpf(w.numerator) / w.denominator for w in weights)
            return -2 * mpmath.fsum(kappa(LAWS[name], -t * w) for w in sizes)

        truths = [mpmath.diff(f, x, n=n) for n in (0, 1, 2)]
        for part, truth in zip(("value", "slope", "curvature"), truths, strict=True):
            found = Enclosure.from_ball(getattr(jet, part))
            slack = abs(truth) * mpmath.mpf(10) ** -15
            assert found.lower <= truth + slack
            assert truth - slack <= found.upper
            assert found.relative_width < 1e-14
            assert getattr(loose, part).contains(getattr(jet, part).mid())
            assert Enclosure.from_ball(getattr(loose, part)).relative_width < 1e-4


def test_the_maximum_is_bracketed_by_values_and_tangents() -> None:
    # z ~ N(m, s): f(t) = t w m − t² w² s/2 has its maximum m²/2s at t = m/ws.
    law = RationalLogRatio((Fraction(1),), (Fraction(3),), (Fraction(1),), (Fraction(7),))
    with precision(128):
        for weight in (Fraction(1), Fraction(1, 10**12), Fraction(10**9)):
            z = Weighed(((as_ball(weight), BallLaw.from_rational(law), 1),), arb(0))
            for guess in (None, as_ball(Fraction(1, 10**6)), as_ball(10**6)):
                found = concave_maximum(z, closeness=40, guess=guess)
                assert found.value.contains(as_ball(Fraction(9, 14)))
                assert found.argument.contains(as_ball(Fraction(3, 7) / weight))
                # The tangents meet 2^-80 above the values, but for a small factor.
                assert found.value.rel_accuracy_bits() > 70
                assert found.argument.rel_accuracy_bits() > 35


def test_no_maximum_is_claimed_without_evidence_in_favour() -> None:
    law = RationalLogRatio((Fraction(1),), (Fraction(-1),), (Fraction(1),), (Fraction(1),))
    z = Weighed(((arb(1), BallLaw.from_rational(law), 1),), arb(0))
    assert concave_maximum(z, closeness=20) is None


def test_copies_of_a_sum_are_as_many_of_its_terms() -> None:
    law = RationalLogRatio(
        (Fraction(1, 3), Fraction(2, 3)),
        (Fraction(0), Fraction(1, 8)),
        (Fraction(2), Fraction(1, 2)),
        (Fraction(0), Fraction(0)),
    )
    with precision(128):
        balls = BallLaw.from_rational(law)
        one = Weighed(((arb(0.5), balls, 1), (arb(0.25), balls, 2)), arb(0))
        many = Weighed(((arb(0.5), balls, 7), (arb(0.25), balls, 14)), arb(0))
        copies = Copies(one, 7)
        assert copies.mean.overlaps(many.mean)
        assert copies.variance.overlaps(many.variance)
        assert copies.minimum.overlaps(many.minimum)
        for part in ("value", "slope", "curvature"):
            found, truth = (getattr(s.jet(arb(0.75)), part) for s in (copies, many))
            assert found.overlaps(truth)
            assert found.rel_accuracy_bits() > 100
