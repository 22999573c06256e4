"""The best test between two laws: the normal formula, binomial sums, and all tests enumerated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from theory import LogRatioLaw
from theory.design.samples.cover import Term, least_probability


def point_law(probabilities: list[float], values: list[float]) -> LogRatioLaw:
    return LogRatioLaw(np.array(probabilities), np.array(values), np.zeros(len(values)))


def best_test(under_p: np.ndarray, under_q: np.ndarray, likely: float) -> float:
    """min P(B) over randomised events with Q(B) ≥ likely, by the lemma of Neyman and Pearson."""
    order = np.argsort(under_p / under_q)
    p, q = under_p[order], under_q[order]
    before = np.cumsum(q) - q
    taken = np.clip((likely - before) / q, 0.0, 1.0)
    return float(taken @ p)


@pytest.mark.parametrize("rounds", [1, 10, 60])
@pytest.mark.parametrize("likely", [0.5, 0.15])
def test_normal_observations(rounds: int, likely: float) -> None:
    law = LogRatioLaw(np.array([1.0]), np.array([0.5]), np.array([1.0]))
    found = least_probability([Term(law, 0.3, 1)], rounds, likely)
    exact = ndtr(ndtri(likely) - 0.3 * np.sqrt(rounds))
    assert found <= exact * (1 + 1e-9)
    assert found >= 0.99 * exact


@pytest.mark.parametrize("rounds", [1, 7, 80])
def test_coins(rounds: int) -> None:
    law = point_law([0.5, 0.5], [-0.405, 0.693])
    heads = law.tilted(-0.6).probabilities[0]
    n = np.arange(rounds + 1)
    exact = best_test(binom.pmf(n, rounds, 0.5), binom.pmf(n, rounds, heads), 0.4)
    found = least_probability([Term(law, 0.6, 1)], rounds, 0.4)
    assert 0.96 * exact <= found <= exact * (1 + 1e-9)


@given(
    st.lists(st.tuples(st.floats(0.1, 1), st.floats(-3, 3)), min_size=2, max_size=4),
    st.lists(st.tuples(st.floats(0.1, 1), st.floats(-3, 3)), min_size=2, max_size=3),
    st.floats(0.05, 2),
    st.floats(0.05, 2),
    st.floats(0.05, 0.95),
)
@settings(max_examples=40, deadline=None)
def test_all_outcomes_of_two_kinds_of_agents(
    first: list[tuple[float, float]],
    second: list[tuple[float, float]],
    u: float,
    w: float,
    likely: float,
) -> None:
    laws = []
    for atoms in (first, second):
        weights = np.array([p for p, _ in atoms])
        laws.append(point_law(list(weights / weights.sum()), [z for _, z in atoms]))
    bent = [law.tilted(-t) for law, t in zip(laws, (u, w), strict=True)]
    # One agent of the first kind, two of the second; two rounds.
    p, q = np.ones(1), np.ones(1)
    for kind in (0, 1, 1) * 2:
        p = np.multiply.outer(p, laws[kind].probabilities).ravel()
        q = np.multiply.outer(q, bent[kind].probabilities).ravel()
    found = least_probability([Term(laws[0], u, 1), Term(laws[1], w, 2)], 2, likely)
    exact = best_test(p, q, likely)
    assert found <= exact * (1 + 1e-9)
    assert found >= 0.93 * exact - 1e-12


def test_mixtures_of_normals_and_points() -> None:
    """Against a fine grid of outcomes of one observation."""
    law = LogRatioLaw(np.array([0.3, 0.7]), np.array([-0.5, 0.8]), np.array([0.0, 0.6]))
    edges = np.linspace(-8, 9, 20_001)
    bent = law.tilted(-0.9)

    def masses(of: LogRatioLaw) -> np.ndarray:
        normal = np.diff(ndtr((edges - of.means[1]) / np.sqrt(of.variances[1])))
        return np.append(of.probabilities[1] * normal, of.probabilities[0])

    p, q = masses(law), masses(bent)
    keep = q > 1e-15
    exact = best_test(p[keep], q[keep], 0.35)
    found = least_probability([Term(law, 0.9, 1)], 1, 0.35)
    assert 0.985 * exact <= found <= exact * (1 + 1e-5)


def test_many_rounds_stay_in_the_window() -> None:
    law = LogRatioLaw(np.array([1.0]), np.array([0.5e-3]), np.array([1e-3]))
    found = least_probability([Term(law, 0.5, 3)], 20_000, 0.5)
    exact = ndtr(-0.5 * np.sqrt(60_000 * 1e-3))
    assert 0.98 * exact <= found <= exact * (1 + 1e-9)
