"""The front: fields, widths, notes, progress, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

from tests.strategies import networks
from theory import Network
from theory.certified import certify_network


@given(networks())
def test_every_width_is_met_or_noted(network) -> None:
    found = certify_network(network)
    for name, width in found.reached.items():
        noted = any(note.startswith(name) for note in found.notes)
        assert noted == (width > found.relative_width)
    assert found.agents == network.agents == len(found.deviation)
    v = found.network.stationary_distribution
    assert all(
        entry.contains(exact) for entry, exact in zip(found.stationary_distribution, v, strict=True)
    )
    assert found.slem.lower >= 0
    assert found.slem.upper <= 1
    assert found.second_eigenvalue.lower <= found.slem.upper
    json.dumps(found.as_json(), allow_nan=False)


def test_one_agent() -> None:
    found = certify_network(Network([[1.0]]))
    assert found.second_eigenvalue is None
    assert found.slem.upper == 0
    assert found.deviation[0].upper == 0
    assert found.stationary_distribution[0].lower == 1
    json.dumps(found.as_json(), allow_nan=False)


def test_entries_below_what_doubles_hold_are_noted() -> None:
    size = 40
    weights = np.eye(size) + np.diag(np.ones(size - 1), -1) + np.diag(np.full(size - 1, 1e-9), 1)
    found = certify_network(Network(weights / weights.sum(axis=1, keepdims=True)))
    assert found.stationary_distribution[-1].upper < 1e-300
    assert any("below what doubles hold" in note for note in found.notes)


def test_progress_is_told_and_can_stop_the_work() -> None:
    # A cycle of complex eigenvalues that pauses with 1e-6.
    size = 12
    weights = np.eye(size) * 1e-6
    weights[np.arange(size), (np.arange(size) + 1) % size] = 1 - 1e-6
    network = Network(weights)
    told: list[tuple[int, int]] = []
    full = certify_network(network, progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 100)
    assert told[-1] == (100, 100)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert any("mixes slowly" in note for note in full.notes)
    stopped = certify_network(network, progress=lambda done, total: done < 31)
    assert any("stopped" in note for note in stopped.notes)
    assert stopped.slem == full.slem
    for early, late in zip(stopped.deviation, full.deviation, strict=True):
        assert early.lower <= late.lower
        assert late.upper <= early.upper
    json.dumps(stopped.as_json(), allow_nan=False)


def test_too_many_agents_are_refused_with_the_alternative() -> None:
    ring = Network.from_topology("ring", agents=301)
    with pytest.raises(ValueError, match=r"at most 300 agents to certify, got 301 .*estimates"):
        certify_network(ring)
    with pytest.raises(ValueError, match="relative_width: expected a number in"):
        certify_network(Network([[1.0]]), relative_width=0)
