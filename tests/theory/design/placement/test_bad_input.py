"""What cannot be placed, and what need not be."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.design.placement.oracles import coins
from theory import FiniteAgent, FiniteModel, Network
from theory.design import place

PATH = Network.from_topology("path", agents=3)
MODEL = coins([[0.3], [0.1], [0.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fixed": [3]}, "fixed: expected agents numbered 0 to 2, got 3"),
        ({"fixed": [-1]}, "fixed: expected a whole number of at least 0, got -1"),
        ({"fixed": [1, 1]}, r"fixed: expected every agent once, got \[1, 1\]"),
        ({"fixed": [0, 1, 2]}, "fixed: expected some agent left out, got all agents"),
        ({"objective": "mixing"}, "objective: expected one of rate, exponent, samples"),
        ({"method": "guess"}, "method: expected one of auto, milp, exhaustive, local"),
        ({"objective": "exponent", "method": "milp"}, "method: expected exhaustive or local"),
        ({"target": 2}, "target: expected a whole number of at most 1, got 2"),
        ({"target": 1}, "target: expected 'fair', on which every network settles, got 'loaded0'"),
        ({"delta": 0.0}, r"delta: expected a number in \(0, 1\), got 0"),
        ({"seed": -1}, "seed: expected a whole number of at least 0"),
        ({"restarts": -1}, "restarts: expected a whole number of at least 0"),
        ({"tolerance": 0.0}, "tolerance: expected a finite number above 0"),
        ({"seconds": np.inf}, "seconds: expected a finite number above 0"),
    ],
)
def test_messages(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        place(PATH, MODEL, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("influence", "message"),
    [
        ([0.5, 0.5], "model: expected as many agents as the network, 2, got 3"),
        ([0.5, 0.6, -0.1], "influence: expected numbers of at least 0, some above"),
        ([0.0, 0.0, 0.0], "influence: expected numbers of at least 0, some above"),
        ([[0.5, 0.3, 0.2]], "influence: expected an array with 1 axes"),
        ([0.5, np.nan, 0.5], "influence: expected finite numbers, got nan"),
    ],
)
def test_influences(influence: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        place(influence, MODEL)


def test_rounds_need_a_network() -> None:
    with pytest.raises(ValueError, match="network: expected a Network for the objective samples"):
        place([0.5, 0.3, 0.2], MODEL, objective="samples")


def test_too_many_to_try() -> None:
    model = coins([[0.01 * k] for k in range(1, 12)])
    v = np.arange(1.0, 12.0)
    with pytest.raises(ValueError, match="exhaustive, with 39916800 for 11 agents"):
        place(v / v.sum(), model, method="exhaustive")
    assert place(v / v.sum(), model).method == "milp"


def test_too_many_to_certify() -> None:
    model = coins([[0.02 * k] for k in range(1, 8)])
    with pytest.raises(ValueError, match=r"at most 1000 classes .* got exhaustive, with 2520"):
        place(
            Network.from_topology("path", agents=7), model, objective="samples", method="exhaustive"
        )


def test_nothing_is_wrong() -> None:
    with pytest.raises(ValueError, match="hypotheses: expected one that fits worse"):
        place(PATH, coins([[0.0]], [3]))


@pytest.mark.parametrize("objective", ["rate", "exponent", "samples"])
def test_nothing_to_place(objective: str) -> None:
    alike = coins([[0.3]], [3])
    found = place(PATH, alike, objective=objective)  # type: ignore[arg-type]
    assert found.method == "none"
    assert found.moved == ()
    assert found.value == found.original == found.worst
    assert "nothing to place: all data sets that may move are alike" in found.note
    assert (found.placements, found.classes, found.equivalent) == (1, 1, 1)
    assert found.certificate.gap == 0 or objective == "samples"
    alone = place(Network([[1.0]]), coins([[0.3]]), objective=objective)  # type: ignore[arg-type]
    assert alone.method == "none"
    assert "fewer than two agents" in alone.note
    kept = place(PATH, MODEL, fixed=[0, 2], objective=objective)  # type: ignore[arg-type]
    assert kept.method == "none"
    assert "fewer than two agents" in kept.note


def test_all_places_alike() -> None:
    ring = Network.from_topology("ring", agents=3)
    found = place(ring, MODEL)
    assert found.method == "none"
    assert "the same influence" in found.note
    assert (found.placements, found.classes, found.equivalent) == (6, 1, 6)
    exponent = place(ring, MODEL, objective="exponent")
    assert exponent.value == exponent.worst > 0


def divided() -> FiniteModel:
    """One agent's data speak for "left", three agents' for "right"; one cannot tell."""
    left, right, fair = [0.75, 0.25], [0.25, 0.75], [0.5, 0.5]
    kinds = [
        FiniteAgent.from_tables(inputs=[1.0], truth=[truth], likelihood=[[left], [right]])
        for truth in (left, right, fair)
    ]
    return FiniteModel.from_agents(["left", "right"], kinds, counts=[1, 3, 1])


@pytest.mark.parametrize("objective", ["rate", "exponent", "samples"])
@pytest.mark.parametrize("method", ["auto", "exhaustive", "local"])
def test_a_target_out_of_reach_is_named(objective: str, method: str) -> None:
    network = Network.from_topology("path", agents=5)
    with pytest.raises(ValueError, match="'left', which under none found rejects 'right'; name"):
        place(
            network,
            divided(),
            target=0,
            objective=objective,  # type: ignore[arg-type]
            method=method,  # type: ignore[arg-type]
        )


def test_a_target_that_a_placement_reaches() -> None:
    network = Network.from_topology("star", agents=5, edge_confidence=0.9)
    model = FiniteModel(
        ("left", "right"),
        divided().kinds,
        np.array([1, 0, 1, 1, 2]),
        divided().log_priors,
    )
    assert model.compromise(network.stationary_distribution) != (0,)
    for objective in ("rate", "exponent"):
        for method in ("exhaustive", "local"):
            found = place(
                network,
                model,
                target=0,
                objective=objective,  # type: ignore[arg-type]
                method=method,  # type: ignore[arg-type]
            )
            assert found.original <= 0 < found.value
            assert found.assignment[0] == 1
            assert found.model.compromise(network.stationary_distribution) == (0,)


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    place(PATH, MODEL, objective="samples", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_one_agent_may_be_told_to_keep_its_data() -> None:
    """There is nothing to place, and that is no error."""
    found = place([1.0], coins([[0.3]]), fixed=[0])
    assert found.assignment.tolist() == [0]
    assert found.method == "none"
