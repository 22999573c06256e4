from fractions import Fraction
from itertools import accumulate
from math import comb

import numpy as np
import pytest
from scipy.stats import beta, binom

from peerbayes.comparison import (
    CONFIDENCE,
    STANDARD_ERRORS,
    Comparison,
    Mean,
    allowed_deviation,
    equal_in_mean,
    frequency,
    within_transient,
)


@pytest.mark.parametrize(
    ("shift", "holds"), [(0.0, True), (4.9, True), (5.1, False), (-5.1, False)]
)
def test_equal_in_mean_allows_sampling_error_alone(shift: float, holds: bool) -> None:
    verdict = equal_in_mean("p", "s", Mean(1.0, 1.0 + shift * 0.01, 0.01, 0.05))
    assert verdict.holds is holds
    assert verdict.is_broken is not holds


def test_without_randomness_only_rounding_is_allowed() -> None:
    def verdict(measured: float) -> Comparison:
        return equal_in_mean("p", "s", Mean(2.0, measured, 0.0))

    assert verdict(2.0 + 1e-12).holds
    assert not verdict(2.0 + 1e-9).holds


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_squared_errors_have_no_slack_of_their_own(unit: float) -> None:
    """Errors in square metres and in square kilometres are judged alike."""
    scaled = Mean(2e-6, 3e-6, 0.0).times(unit**2)
    assert not equal_in_mean("p", "s", scaled, unit=0.0).holds
    assert not within_transient("p", "s", scaled, 0.0, unit=0.0).holds


@pytest.mark.parametrize(("measured", "holds"), [(1.05, True), (1.2, False), (0.8, False)])
def test_within_transient(measured: float, holds: bool) -> None:
    verdict = within_transient("p", "s", Mean(1.0, measured, 0.01, 0.05), 0.1)
    assert verdict.holds is holds


def test_an_unknown_transient_proves_nothing() -> None:
    verdict = within_transient("p", "s", Mean(1.0, 1.0, 0.01, 0.05), float("inf"))
    assert not verdict.holds


def test_frequency_holds_exactly_when_the_interval_reaches_the_limit() -> None:
    for failures in range(60, 200):
        lower = beta.ppf((1 - CONFIDENCE) / 2, failures, 1000 - failures + 1)
        verdict = frequency("p", "s", "at most", 0.05, failures=failures, trials=1000)
        assert verdict.holds is bool(lower <= 0.05)
    assert frequency("p", "s", "at most", 0.05, failures=50, trials=1000).holds
    assert not frequency("p", "s", "at most", 0.05, failures=200, trials=1000).holds


def binomial(trials: int, chance: Fraction) -> list[Fraction]:
    """P(X = k) for k from 0 to `trials`."""
    return [comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]


@pytest.mark.parametrize(
    ("trials", "chance", "slack"),
    [
        (70, Fraction(3, 10), Fraction(0)),
        (50, Fraction(1, 2), Fraction(1, 10)),
        (60, Fraction(9, 10), Fraction(1, 50)),
        (40, Fraction(1, 100), Fraction(0)),
    ],
)
def test_a_frequency_holds_while_neither_tail_is_too_small(
    trials: int, chance: Fraction, slack: Fraction
) -> None:
    """Too many and too few both break it, and a true one is broken as seldom as is said."""
    tail = (1 - Fraction(CONFIDENCE)) / 2
    most, least = binomial(trials, chance + slack), binomial(trials, chance - slack)
    # So many or more by the largest chance; so many or fewer by the smallest.
    many, few = list(accumulate(most[::-1]))[::-1], list(accumulate(least))
    verdicts = []
    for failures in range(trials + 1):
        seen = {"failures": failures, "trials": trials}
        found = frequency("p", "s", "is", float(chance), **seen, slack=float(slack))
        expected = many[failures] >= tail and few[failures] >= tail
        assert found.holds is expected
        assert (found.predicted, found.measured) == (float(chance), failures / trials)
        verdicts.append(expected)
    assert verdicts[round(trials * chance)]
    assert not verdicts[-1] or chance > Fraction(4, 5)
    assert not verdicts[0] or chance < Fraction(1, 5)
    for law in (most, least, binomial(trials, chance)):
        assert sum(p for p, held in zip(law, verdicts, strict=True) if not held) <= 2 * tail


def test_a_published_statement_may_fail_without_breaking_the_program() -> None:
    verdict = frequency("p", "s", "at most", 0.05, failures=900, trials=1000, is_theorem=False)
    assert not verdict.holds
    assert not verdict.is_broken


def test_false_alarms_are_rare() -> None:
    # Five hundred statements of a full run.
    assert 500 * 2 * np.exp(-(STANDARD_ERRORS**2) / 2) < 0.01


def test_bernstein_covers_rare_outcomes() -> None:
    """400 tosses of a coin of 1/200: the chance of an excess is at most what is claimed."""
    p, tosses = 1 / 200, 400
    allowed = float(allowed_deviation(p * (1 - p), 1.0, tosses))
    high = binom.sf(np.ceil(tosses * (p + allowed)) - 1, tosses, p)
    low = binom.cdf(np.floor(tosses * (p - allowed)), tosses, p)
    assert high + low <= 2 * np.exp(-(STANDARD_ERRORS**2) / 2)
    # Tight where nothing is rare: five standard errors and 1 %.
    assert float(allowed_deviation(1.0, 1.0, 10**6)) == pytest.approx(5e-3, rel=0.01)


def test_many_scores_share_the_probability() -> None:
    one, many = allowed_deviation(1.0, 0.0, 100), allowed_deviation(1.0, 0.0, 100, scores=1000)
    assert float(many / one) == pytest.approx(np.sqrt(1 + np.log(1000) / 12.5))
