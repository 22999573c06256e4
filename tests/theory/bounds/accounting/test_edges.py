"""Evidence without variance, ties at every round, and tilts that never fall."""

import numpy as np
import pytest

from tests.models import BLIND, FAIR, coin
from theory import FiniteModel, Network, account

SEES = coin([0.5, 0.5], [0.25, 0.75], truth=[1.0, 0.0])


@pytest.mark.parametrize("agents", [3, 4, 6])
def test_news_that_is_certain_but_has_to_travel(agents: int) -> None:
    """On a directed cycle, Λ_i = 0, a tie and so an error, until the one agent's news arrives."""
    weights = np.roll(np.eye(agents), 1, axis=1)
    weights[-1] = 0.5 * np.eye(agents)[0] + 0.5 * np.eye(agents)[-1]
    kinds = [BLIND, SEES, *[BLIND] * (agents - 2)]
    found = account(Network(weights), FiniteModel.from_agents(["a", "b"], kinds))
    early, late = found.probability(1), found.probability(agents + 1)
    assert early.upper == 1.0
    assert late.upper < 1e-3
    size = found.sample_size(0.05)
    assert size.lower <= agents <= size.upper <= agents + 1


@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-3])
def test_a_number_is_found_where_the_first_tilt_never_falls(delta: float) -> None:
    """At one round the best tilt is beyond the zero of the cumulant, so that its bound grows."""
    toss = coin([1 / 6, 5 / 6], FAIR, truth=[1 / 6, 5 / 6])
    found = account(Network([[1.0]]), FiniteModel.from_agents(["a", "b"], [toss]))
    size = found.sample_size(delta)

    def error(n: int) -> float:
        """Ties counted: Σ z ≤ 0 over n tosses."""
        from math import comb, log

        ones = np.arange(n + 1)
        ratio = ones * log(1 / 3) + (n - ones) * log(5 / 3)
        law = np.array([comb(n, k) * (1 / 6) ** k * (5 / 6) ** (n - k) for k in ones])
        return float(law[ratio <= 1e-12].sum())

    probabilities = np.array([error(n) for n in range(1, 121)])
    truth = int(np.flatnonzero(probabilities > delta)[-1]) + 2
    assert size.lower <= truth <= size.upper
