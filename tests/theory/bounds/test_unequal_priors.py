"""Bounds on the error of agents whose priors differ, against the exact law of errors."""

import numpy as np
import pytest

from exact import error_law
from tests.models import COIN
from theory import FiniteModel, Network, error_exponent, sample_sizes
from theory.design.edges.quick_chernoff import QuickChernoff

ROUNDS = 8
NETWORKS = {
    "settled": [[0.75, 0.25], [0.75, 0.25]],
    "pair": [[0.9, 0.1], [0.6, 0.4]],
    "slow": [[0.999, 0.001], [0.002, 0.998]],
}
# Agent 0 starts undecided, agent 1 nearly certain of the truth.
MODEL = FiniteModel.from_agents(["fair", "loaded"], [COIN] * 2, priors=[[0.5, 0.5], [0.97, 0.03]])


@pytest.mark.parametrize("powers", [None, 1], ids=["all powers of W", "one power of W"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_bound_holds_at_every_round(
    name: str, powers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where powers of W stop at the first, the worst row and prior stand for all later rounds."""
    if powers is not None:
        monkeypatch.setattr("theory.bounds.tails.events._MOST_ROUNDS", powers)
        monkeypatch.setattr("theory.design.edges.quick_chernoff._MOST_ROUNDS", powers)
    network = Network(NETWORKS[name])
    weights, tilts = np.asarray(network.weights), error_exponent(network, MODEL).tilts[[1]]
    quick = QuickChernoff(MODEL, reference=0, wrong=(1,), steepest=tilts)
    bounds = [
        *sample_sizes(network, MODEL, delta=0.05, certify=False).bounds,
        quick.bound(weights, tilts),
        quick.single(weights, tilts),
    ]
    assert len(bounds) == 6
    exact = error_law(network, MODEL, ROUNDS).some_agent
    assert exact.max() > 0.02
    for bound in bounds:
        found = np.array([bound.probability(n) for n in range(1, ROUNDS + 1)])
        # Rounding of the enumeration.
        assert (found >= exact - 1e-12).all(), bound.name
