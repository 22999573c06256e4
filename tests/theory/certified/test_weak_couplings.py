"""Couplings far below a double's last digit: certified numbers cost bits, never the truth.

Oracles: closed forms in fractions; the exact deviation matrix; and the law of scale, D(W_ε) ε →
const for W_ε = I − εQ, whose constant is summed round by round at a moderate ε.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

from tests.theory.certified.adversaries import summed_deviation
from theory.certified import CertifiedNetwork, certify_network
from theory.numbers import Enclosure
from theory.rational import RationalNetwork

Rows = list[list[Fraction]]
DIGITS = (20, 40, 100, 300)
WEAK = [Fraction(1, 10**k) for k in DIGITS] + [Fraction(float(f"1e-{k}")) for k in DIGITS]
IDS = [f"{kind}-{k}" for kind in ("fraction", "double") for k in DIGITS]


def _pair(weak: Fraction) -> Rows:
    return [[1 - weak, weak], [weak / 2, 1 - weak / 2]]


def _slow(weak: Fraction, agents: int, *, reversible: bool) -> Rows:
    """I − εQ: every agent hardly listens to any other."""
    rng = np.random.default_rng(agents)
    counts = rng.integers(1, 9, (agents, agents))
    if reversible:
        counts = counts + counts.T
    rows = [[int(c) * weak if i != j else Fraction(0) for j, c in enumerate(row)]
            for i, row in enumerate(counts)]  # fmt: skip
    for i, row in enumerate(rows):
        row[i] = 1 - sum(row)
    return rows


_slow_directed = partial(_slow, reversible=False)


def _blocks(weak: Fraction, agents: int, *, reversible: bool) -> Rows:
    """Two groups that hear each other ε times as much as themselves."""
    rng = np.random.default_rng(agents)
    counts = rng.integers(1, 9, (agents, agents))
    if reversible:
        counts = counts + counts.T
    table = [
        [int(c) * (Fraction(1) if (i - j) % 2 == 0 else weak) for j, c in enumerate(row)]
        for i, row in enumerate(counts)
    ]
    return [[entry / sum(row) for entry in row] for row in table]


def _nearly_periodic(weak: Fraction, agents: int) -> Rows:
    """A directed ring in which everyone hears everyone else a little."""
    rng = np.random.default_rng(agents)
    rows = [[int(c) * weak for c in row] for row in rng.integers(1, 9, (agents, agents))]
    for i, row in enumerate(rows):
        row[(i + 1) % agents] += 1 - sum(row)
    return rows


def _is_tight_or_says_why(found: CertifiedNetwork, *, within: float) -> bool:
    widest = max(entry.relative_width for entry in found.deviation)
    return widest <= 1e-12 or (
        widest <= within and any("W mixes slowly" in note for note in found.notes)
    )


def _holds(enclosure: Enclosure, truth: Fraction, *, width: float = 1e-12) -> bool:
    return enclosure.contains(truth) and enclosure.relative_width <= width


@pytest.mark.parametrize("weak", WEAK, ids=IDS)
def test_two_agents(weak: Fraction) -> None:
    found = certify_network(RationalNetwork(_pair(weak)))
    v = (Fraction(1, 3), Fraction(2, 3))
    size = 1 - 3 * weak / 2
    assert all(_holds(a, b) for a, b in zip(found.stationary_distribution, v, strict=True))
    assert _holds(found.slem, size)
    assert found.second_eigenvalue is not None
    assert _holds(found.second_eigenvalue, size)
    for entry, share in zip(found.deviation, v, strict=True):
        assert _holds(entry, 2 * (1 - share) * size / (1 - size))
    assert not found.notes


@pytest.mark.parametrize("digits", [20, 40, 100, 300])
@pytest.mark.parametrize("reversible", [True, False])
@pytest.mark.parametrize("agents", [4, 8])
def test_nearly_decomposable(agents: int, reversible: bool, digits: int) -> None:
    weak = Fraction(1, 10**digits)
    network = RationalNetwork(_blocks(weak, agents, reversible=reversible))
    found = certify_network(network)
    for entry, share in zip(
        found.stationary_distribution, network.stationary_distribution, strict=True
    ):
        assert _holds(entry, share)
    assert 1 - 1e-12 < found.slem.lower <= found.slem.upper == 1
    assert found.is_reversible == reversible
    # Aggregated to the two groups, the slow part is exact to O(ε): compare with ε ten times less.
    ten = certify_network(
        RationalNetwork(_blocks(weak * 10, agents, reversible=reversible))
    ).deviation
    for entry, other in zip(found.deviation, ten, strict=True):
        assert abs(entry.midpoint / (10 * other.midpoint) - 1) < 1e-9
        assert entry.relative_width <= 1e-12


@cache
def _constants(make: Callable[[Fraction, int], Rows]) -> list[float]:
    """lim ε D as ε → 0, from a moderate ε."""
    moderate = RationalNetwork(make(Fraction(1, 5000), 4))
    return [float(d) / 5000 for d in summed_deviation(moderate, 15_000, bits=128)]


@pytest.mark.parametrize("digits", [40, 300])
@pytest.mark.parametrize("make", [_slow_directed, _nearly_periodic])
def test_slow_networks_of_every_kind(make: Callable[[Fraction, int], Rows], digits: int) -> None:
    weak = Fraction(1, 10**digits)
    network = RationalNetwork(make(weak, 4))
    found = certify_network(network)
    for entry, share in zip(
        found.stationary_distribution, network.stationary_distribution, strict=True
    ):
        assert _holds(entry, share)
    assert found.slem.lower > 1 - 1e-12
    assert not found.is_reversible
    assert _is_tight_or_says_why(found, within=0.01)
    for entry, constant in zip(found.deviation, _constants(make), strict=True):
        # Terms of order ε: 1/5000 times weights of up to 8, summed over a row.
        assert entry.lower * float(weak) <= constant * 1.01
        assert entry.upper * float(weak) >= constant * 0.99


@pytest.mark.parametrize("weak", [Fraction(5e-324)])
def test_sums_above_what_doubles_hold(weak: Fraction) -> None:
    found = certify_network(RationalNetwork(_pair(weak)))
    assert _holds(found.slem, 1 - 3 * weak / 2)
    assert all(entry.lower > 1e308 and entry.upper == np.inf for entry in found.deviation)
    assert any("above what doubles hold" in note for note in found.notes)
