"""The deviation: valid against ball arithmetic, and tight."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings

from tests.oracles import deviation_enclosures
from tests.strategies import networks
from theory.network import Network
from theory.network import mixing as mixing_module
from theory.network.mixing import reversible_bound, rows_apart, witness_bound


def reset_chain(agents: int) -> np.ndarray:
    here = np.arange(agents)
    weights = np.zeros((agents, agents))
    weights[here, np.minimum(here + 1, agents - 1)] += 1 - 1 / agents
    weights[:, 0] += 1 / agents
    return weights


def drifting_path(agents: int) -> np.ndarray:
    here = np.arange(agents)
    weights = np.zeros((agents, agents))
    weights[here, np.minimum(here + 1, agents - 1)] += 0.8
    weights[here, np.maximum(here - 1, 0)] += 0.2
    return weights


@settings(max_examples=12)
@given(networks(max_agents=6))
@example(Network.from_topology("complete", agents=4))
def test_valid(network: Network) -> None:
    truth = deviation_enclosures(network.weights, rounds=60)
    bounds = network.deviation
    for i, enclosure in enumerate(truth):
        assert bounds.lower[i] <= enclosure.upper
        assert enclosure.lower <= bounds.upper[i]


# All modes added up; two of them, and a bound on the others; the same with no mode added up.
FEW = {"_ALL_MODES": 1, "_MOST_MODES": 2}
MODES: tuple[dict[str, int], ...] = ({}, FEW, {"_MOST_MODAL": 0}, {**FEW, "_MOST_MODAL": 0})


@pytest.mark.parametrize("held", MODES, ids=["all", "two", "bounds", "bounds of two"])
@settings(max_examples=12)
@given(networks(max_agents=6).filter(lambda network: network.is_reversible and network.agents > 1))
@example(Network.from_topology("star", agents=5))
@example(Network.from_topology("ring", agents=6))
def test_modes_of_a_reversible_network_give_valid_bounds(
    held: dict[str, int], network: Network
) -> None:
    truth = deviation_enclosures(network.weights, rounds=60)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in held.items():
            patch.setattr(mixing_module, name, value)
        bounds = mixing_module._by_modes(network.weights, network.stationary_distribution)
    for i, enclosure in enumerate(truth):
        assert bounds.lower[i] <= enclosure.upper
        assert enclosure.lower <= bounds.upper[i]


@pytest.mark.parametrize("topology", ["ring", "path", "tree"])
def test_modes_are_as_tight_as_powers(topology: str) -> None:
    network = Network.from_topology(topology, agents=64)
    modes = mixing_module._by_modes(network.weights, network.stationary_distribution)
    powers = network.deviation
    assert modes.upper == pytest.approx(powers.upper, rel=0.03)
    assert modes.lower == pytest.approx(powers.lower, rel=0.03)


def test_hundreds_of_agents_on_a_ring_take_no_powers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixing_module, "_by_powers", None)
    network = Network.from_topology("ring", agents=500)
    assert network.deviation.width < 0.05
    assert np.ptp(network.deviation.upper) < 1e-6 * network.deviation.upper.max()


def test_powers_of_a_scattered_network_are_those_of_the_dense_one() -> None:
    network = Network.from_topology("ring", agents=300)
    assert not isinstance(network.compact, np.ndarray)
    assert isinstance(network.weights, np.ndarray)
    powers = network.powers()
    next(powers), next(powers)
    assert next(powers) == pytest.approx(np.linalg.matrix_power(network.weights, 3), abs=1e-15)


@settings(max_examples=12)
@given(networks(max_agents=6))
def test_tight(network: Network) -> None:
    """1024 samples an octave: strides cost at most 1/512, on the scale of the largest D_i.

    An agent far below the others carries the rounding of as many rounds as they need.
    """
    bounds = network.deviation
    assert (bounds.upper - bounds.lower).max() < max(bounds.upper.max(), 1.0) / 512


@pytest.mark.parametrize(
    ("weights", "rounds", "printed"),
    [(reset_chain(20), 20, 21.76), (drifting_path(50), 800, 155.06)],
    ids=["reset chain", "path with drift"],
)
def test_printed_counterexamples(weights: np.ndarray, rounds: int, printed: float) -> None:
    network = Network(weights)
    bounds = network.deviation
    assert bounds.upper.max() == pytest.approx(printed, abs=0.005)
    v, power, total = network.stationary_distribution, np.eye(network.agents), 0.0
    for _ in range(rounds):
        power = power @ weights
        total += np.abs(power - v).sum(axis=1)
    for end in (bounds.lower, bounds.upper):
        np.testing.assert_allclose(end, total, rtol=1e-8)
    # The papers' Lemma 1 would have it below this.
    assert bounds.lower.max() > 4 * np.log(network.agents) / (1 - max(0.0, network.slem))


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_slow_chains(gap: float) -> None:
    """Two agents, W_01 = g, W_10 = 2g: D_0 = 2/3 λ/(1 − λ) and D_1 = 4/3 λ/(1 − λ), λ = 1 − 3g.

    The largest error is the rounding of 1 − g, a part 1e-16/g of the gap.
    """
    bounds = Network([[1 - gap, gap], [2 * gap, 1 - 2 * gap]]).deviation
    decay = 1 / (3 * gap) - 1
    exact = np.array([2 / 3, 4 / 3]) * decay
    slack = 1 + 2e-16 / gap
    assert (bounds.lower <= exact * slack).all()
    assert (bounds.upper >= exact / slack).all()
    assert bounds.width < 1 / 512 + 4e-16 / gap


def test_reversible_bound_in_closed_form() -> None:
    """Against the sum itself, term by term."""
    v = np.array([0.5, 0.499, 1e-3])
    rounds = np.arange(1, 2000)
    terms = 0.9 ** rounds[:, None] * np.sqrt((1 - v) / v)
    np.testing.assert_allclose(
        reversible_bound(v, 0.9), np.minimum(2, terms).sum(axis=0), rtol=1e-13
    )
    assert np.isinf(reversible_bound(v, 1.0)).all()
    assert (reversible_bound(v, 0.0) == 0).all()


@settings(max_examples=8)
@given(networks(max_agents=6))
def test_any_witness_gives_a_lower_bound(network: Network) -> None:
    witness = np.cos(np.arange(network.agents))
    bound = witness_bound(network.weights, network.stationary_distribution, witness)
    # Differences of nearly equal numbers: where W hardly couples, half the digits are lost.
    assert (bound <= network.deviation.upper * (1 + 1e-6)).all()


@pytest.mark.parametrize(
    "options",
    [
        {"topology": "ring", "agents": 60},
        {"topology": "geometric", "agents": 60, "radius": 0.3, "seed": 1},
    ],
    ids=["ring", "geometric"],
)
def test_large_networks_are_bracketed(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done above 2000 agents, on networks small enough to know better."""
    truth = Network.from_topology(**options).deviation  # type: ignore[arg-type]
    monkeypatch.setattr(mixing_module, "DENSE_AGENTS", 10)
    monkeypatch.setattr("theory.network.spectrum.DENSE_AGENTS", 10)
    bounds = Network.from_topology(**options, sparse=True).deviation  # type: ignore[arg-type]
    assert bounds.terms == 1
    assert (bounds.lower <= truth.upper).all()
    assert (bounds.upper >= truth.lower).all()
    # Not tight, but of the right size where the slow mode is at its largest.
    assert bounds.upper.max() < 8 * truth.upper.max()
    assert bounds.lower.max() > truth.lower.max() / 8


def test_valid_when_the_sum_is_cut_off_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 64 rounds a seventh of the distance is left: the tail bound carries the rest."""
    monkeypatch.setattr(mixing_module, "_OCTAVES", 6)
    bounds = Network([[0.99, 0.01], [0.02, 0.98]]).deviation
    exact = np.array([2 / 3, 4 / 3]) * (0.97 / 0.03)
    assert bounds.terms == 64
    assert (bounds.lower <= exact).all()
    assert (bounds.upper >= exact).all()
    assert 0.05 < bounds.width < 0.5
    monkeypatch.setattr(mixing_module, "_OCTAVES", 0)
    first = Network([[0.99, 0.01], [0.02, 0.98]]).deviation
    # Nothing but the reversible bound is left when one round has mixed nothing.
    assert first.terms == 1
    assert (first.upper >= exact).all()


def test_coarser_samples_stay_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The strides that expensive products get, on a chain whose answer is known."""
    gap = 1e-5
    monkeypatch.setattr(mixing_module, "_samples_an_octave", lambda agents: 4)
    bounds = Network([[1 - gap, gap], [2 * gap, 1 - 2 * gap]]).deviation
    exact = np.array([2 / 3, 4 / 3]) * (1 / (3 * gap) - 1)
    assert (bounds.lower <= exact * (1 + 1e-10)).all()
    assert (bounds.upper >= exact * (1 - 1e-10)).all()
    assert bounds.width < 1 / 4


def test_single_agent() -> None:
    bounds = Network([[1.0]]).deviation
    assert bounds.lower.tolist() == [0.0]
    assert bounds.width < 1e-14


def test_reversible_bound_for_the_smallest_doubles() -> None:
    v = np.array([5e-324, 1e-310, 0.25, 1.0])
    # √((1 − v)/v) = √(1/v) for the first two, in multiple precision.
    start = [mpmath.sqrt((1 - mpmath.mpf(x)) / mpmath.mpf(x)) for x in v]
    expected = [
        float(sum(min(mpmath.mpf(2), s / mpmath.mpf(2) ** k) for k in range(1, 1200)))
        for s in start
    ]
    # Logarithms of about 372, so that exp loses three digits more than its sixteen: 1e-12.
    np.testing.assert_allclose(reversible_bound(v, 0.5), expected, rtol=1e-12)


def test_rows_that_are_the_same_numbers_in_another_order_are_not_apart() -> None:
    rng = np.random.default_rng(5)
    first = rng.random((70, 1, 6))
    powers = np.concatenate([first, first[:, :, [2, 0, 1, 4, 3, 5]], first], axis=1)
    powers[50, 2, 4] *= 1.25  # late, in the second set of columns
    parts = [np.array([0, 1, 2]), [3, 4, 5]]
    found = rows_apart(powers, np.array([0, 1, 2]), parts, enough=0.1)
    assert found[:2].tolist() == [0.0, 0.0]
    # Sorted by hand, with Python's sort.
    ours, theirs = (sorted(powers[50, i, 3:].tolist()) for i in (0, 2))
    assert found[2] == max(abs(a - b) / max(a, b) for a, b in zip(ours, theirs, strict=True))
    # Columns of different sets are not exchanged.
    other = powers[:, :, [0, 1, 3, 2, 4, 5]]
    assert rows_apart(other, np.array([0, 1]), parts, enough=1e-9)[1] > 1e-9
