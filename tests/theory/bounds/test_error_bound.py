import numpy as np
import pytest

from theory import ErrorBound


def falling(start: float, slope: float, horizon: int = 0) -> ErrorBound:
    """log bound = start − slope n, the first `horizon` rounds as a table."""
    table = np.array([[start - slope * n] for n in range(1, horizon + 1)]).reshape(horizon, 1)
    return ErrorBound("line", table, lambda n: start - slope * n)


@pytest.mark.parametrize("horizon", [0, 1, 7, 500])
def test_smallest_rounds_does_not_depend_on_where_the_tail_starts(horizon: int) -> None:
    # 3 − 0.01 n ≤ log 0.05 = −2.9957 from n = 600 on.
    assert falling(3.0, 0.01, horizon).smallest_rounds(0.05) == 600


def test_rounds_by_the_hundred_million() -> None:
    assert falling(0.0, 1e-8).smallest_rounds(np.exp(-1.0)) == pytest.approx(1e8, rel=1e-8)


def test_a_dip_is_not_the_answer() -> None:
    """Small at round 1, large at round 2, small from round 3 on."""
    bound = ErrorBound("dip", np.array([[-9.0], [-0.1], [-9.0]]), lambda n: -9.0 - n)
    assert bound.smallest_rounds(0.01) == 3
    assert bound.probability(1) < 0.01 < bound.probability(2)


def test_a_bound_that_never_falls_has_no_answer() -> None:
    assert falling(0.0, 0.0).smallest_rounds(0.05) is None


def test_at_most_one() -> None:
    assert falling(5.0, 0.0).probability(3) == 1.0


@pytest.mark.parametrize(
    ("peak", "at", "expected"),
    [
        (-50.0, 1e5, 600),  # the other event rises, but stays negligible
        (-1.0, 5000.0, 6996),  # −1 − (n − 5000)/1000 ≤ log 0.05 from n = 6996 on
    ],
)
def test_an_event_that_rises_counts_with_its_peak(peak: float, at: float, expected: int) -> None:
    """One event falls from 3 at 0.01 a round; the other rises to its peak, then falls."""
    bound = ErrorBound(
        "two",
        np.empty((0, 2)),
        lambda n: np.array([3.0 - 0.01 * n[0], peak - 1e-3 * abs(n[1] - at)]),
    )
    assert bound.smallest_rounds(0.05) == expected
    assert bound.probability(1000) < 0.05  # in vain, where the other is to rise
