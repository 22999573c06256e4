"""Searches end when their time is up, with the best that they have and what is proved of it."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from tests.models import coin, coins
from theory import FiniteModel, GaussianAgent, Network
from theory.bounds import account
from theory.bounds.accounting.inversion import EventCurve
from theory.changing import DelayedNetwork
from theory.design import (
    Certificate,
    Constraints,
    DesignGraph,
    changing_weights,
    choose_edges,
    fewest_samples,
    trade_off,
)
from theory.design.mixing import fastest
from theory.design.mixing.barrier import solve_barrier
from theory.design.search import Search, Sense, is_spent, seconds_left, time_budget

COMPLETE = DesignGraph.from_edges([(i, j) for i in range(7) for j in range(i)], agents=7)
BIASED = coin([0.5, 0.5], [0.9, 0.1])


def test_a_budget_is_over_when_the_clock_says_so() -> None:
    now = [0.0]
    assert not is_spent()
    assert seconds_left() == np.inf
    with time_budget(5.0, clock=lambda: now[0]) as budget:
        now[0] = 4.0
        assert not is_spent()
        assert seconds_left() == 1.0
        assert not budget.stopped
        now[0] = 6.0
        assert is_spent()
        assert seconds_left() == 0.0
        assert budget.stopped
    assert not is_spent()
    with (
        pytest.raises(ValueError, match=r"seconds: expected a finite number above 0"),
        time_budget(0.0),
    ):
        pass


@pytest.mark.parametrize(
    ("sense", "values", "best"), [("minimise", [3, 1, 2], 1), ("maximise", [3, 5, 4], 5)]
)
def test_a_search_ends_with_its_candidates_its_proof_or_its_time(
    sense: Sense, values: list[float], best: float
) -> None:
    def run(bound: float | None, seconds: float) -> tuple[list[float], Certificate]:
        """Which values were looked at; the clock moves by a second at every look."""
        search, seen = Search[float](sense), []
        if bound is not None:
            search.raise_bound(bound, "known")
        with time_budget(seconds, clock=count().__next__):
            for value in search.over(values):
                seen.append(value)
                search.offer(value, value)
            return seen, search.certificate("exact")

    seen, certificate = run(None, 90.0)
    assert (seen, certificate.value, certificate.stopped) == (values, best, "done")
    assert not certificate.is_proved
    seen, certificate = run(best, 90.0)
    assert (seen, certificate.gap, certificate.stopped) == (values[:2], 0.0, "proved")
    seen, certificate = run(None, 0.5)
    assert (seen, certificate.value, certificate.stopped) == (values[:1], values[0], "time")


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """All programs of fastest mixing that are solved: the work of these searches."""
    problems: list[object] = []

    def counted(problem: object, **options: object) -> object:
        problems.append(problem)
        return solve_barrier(problem, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fastest, "solve_barrier", counted)
    return problems


def test_edges_chosen_in_no_time_are_allowed_and_their_bound_is_right(
    solved: list[object],
) -> None:
    limits = Constraints(edge_budget=9)
    v = np.array([1, 1, 1, 1, 1, 1, 3]) / 9
    with time_budget(1, clock=count().__next__) as budget:  # every look takes a second
        quick = choose_edges(COMPLETE, v, constraints=limits)
    assert budget.stopped
    assert len(solved) < 20  # of a hundred without a limit
    assert len(quick.graph.edges) <= 9
    assert "stopped by the time budget" in quick.certificate.note
    np.testing.assert_allclose(quick.mixing.network.stationary_distribution, v, rtol=1e-6)
    # A bound of all sets of edges: that of a set found by another, longer search is no smaller.
    with time_budget(40, clock=count().__next__) as budget:
        longer = choose_edges(COMPLETE, v, constraints=limits)
    assert budget.stopped
    assert quick.certificate.bound <= longer.certificate.value + 1e-9
    assert quick.certificate.value >= longer.certificate.bound - 1e-9


def test_a_trade_off_with_an_edge_budget_and_a_failing_link_ends(solved: list[object]) -> None:
    """Networks on fewer edges are judged by limits that speak of an edge they lack."""
    model = FiniteModel.from_agents(["fair", "loaded"], [coins(1).kinds[0], BIASED], counts=[6, 1])
    up = {(int(i), int(j)): 1.0 for i, j in COMPLETE.links} | {(1, 0): 0.5, (0, 1): 0.5}
    limits = Constraints(edge_budget=9, availability=up)
    with time_budget(1, clock=count().__next__) as budget:
        curve = trade_off(COMPLETE, model, delta=0.05, constraints=limits)
    assert budget.stopped
    assert len(solved) < 40  # two sets of edges, their certificates
    best = curve.recommended.best
    assert best.rounds >= curve.recommended.bound.rounds
    off = np.asarray(best.network.weights)[np.tril_indices(7, -1)]
    assert np.count_nonzero(off) <= 9
    assert len(curve.points) >= 1


def test_searches_without_time_still_answer() -> None:
    ring = Network.from_topology("ring", agents=5)
    model = coins(5)
    with time_budget(1e-6) as budget:
        found = fewest_samples(ring, model, delta=0.05)
    assert budget.stopped
    assert found.bound.rounds <= found.best.rounds
    with time_budget(1e-6) as budget:
        late = changing_weights(DelayedNetwork(ring, 2), model, target=0)
    assert budget.stopped
    assert late.rate == late.given_rate <= late.certificate.bound


def test_links_that_are_left_out_take_their_limits_with_them() -> None:
    path = DesignGraph.from_edges([(0, 1), (1, 2)], agents=3)
    whole = DesignGraph.from_edges([(0, 1), (1, 2), (0, 2)], agents=3)
    limits = Constraints(
        availability={(0, 2): 0.5, (1, 0): 0.75}, link_costs={(0, 2): 3.0, (1, 2): 2.0}
    )
    limits.check(whole)
    with pytest.raises(ValueError, match="of the graph"):
        limits.check(path)
    part = limits.on(path)
    part.check(path)
    assert dict(part.availability) == {(1, 0): 0.75}  # type: ignore[arg-type]
    assert dict(part.link_costs) == {(1, 2): 2.0}


@pytest.mark.parametrize("weights", [[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.6, 0.4]]])
def test_means_a_million_apart_take_few_frequencies(
    weights: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """log P(error) is −10^11 in the first round: no grid of frequencies has to reach there."""
    work, forward = [], EventCurve._forward

    def counted(curve: EventCurve, begin: int, end: int, *rest: object) -> object:
        work.append((end - begin) * curve.frequencies)
        return forward(curve, begin, end, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(EventCurve, "_forward", counted)
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1e6]], 1.0)
    model = FiniteModel.from_agents(["near", "far"], [agent], counts=[2])
    found = account(Network(weights), model)
    size = found.sample_size(0.05)
    assert (size.lower, size.upper) == (1, 1)
    probability = found.probability(1)
    # One agent errs with probability Φ(−m/s): Λ has mean m = d²/2 and variance d² Σ_j w_j².
    row = np.asarray(weights)
    z = 1e6 / 2 / np.sqrt((row**2).sum(axis=1).max())
    exact = -(z**2) / 2 - np.log(z * np.sqrt(2 * np.pi))
    assert probability.log_lower[0] <= exact <= probability.log_upper[0] < -1e6
    assert 0 < sum(work) < 2e7  # of 2e5 frequencies each, in 24 rounds
