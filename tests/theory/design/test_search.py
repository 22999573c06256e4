"""What all searches of designs owe, in one table; and how they end when their time is up."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import count, permutations, product
from typing import Any

import numpy as np
import pytest

from tests.theory.design.oracles import (
    LINE,
    PAIR,
    PATH,
    TRIANGLE,
    best_along,
    best_rate,
    check_weights,
    decay,
    fractions_of,
    information,
    model_of,
    rate,
    samples,
    slem,
    summed,
    undirected,
)
from tests.theory.design.placement.oracles import coins as loaded
from tests.theory.design.placement.oracles import random_coins
from tests.theory.design.test_best_exponent import table_model
from tests.theory.design.test_converse import skewed
from tests.theory.design.test_edge_budget import BUDGETS, K4, SEARCHED, SOLVED, V4, every_choice
from tests.theory.design.test_fewest_samples import check as check_samples
from tests.theory.design.test_fewest_samples import uneven
from theory import FiniteModel, GaussianAgent, Network
from theory.changing import RandomLinks
from theory.design import (
    Certificate,
    Constraints,
    DesignGraph,
    baselines,
    best_edge_confidence,
    best_exponent,
    changing_weights,
    choose_edges,
    fastest_mixing,
    fewest_samples,
    local_mixing,
    optimal_rate,
    place,
    rank_edges,
    trade_off,
    worst_case_exponent,
)
from theory.design.search import Search, Sense, is_spent, seconds_left, time_budget
from theory.validation import FloatArray, IntArray


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


# What all searches owe: problems ------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What a search is asked about."""

    graph: DesignGraph
    model: FiniteModel
    v: FloatArray | None = None
    limits: Constraints = field(default_factory=Constraints)

    @property
    def network(self) -> Network:
        """The network that is there: agents weigh all alike whom they hear."""
        return baselines(self.graph)[0].network

    def renumbered(self, order: IntArray) -> Problem:
        """The same with agent order[k] as agent k."""
        new = np.argsort(order)
        costs = {(int(new[i]), int(new[j])): c for (i, j), c in self.limits.link_costs.items()}
        return Problem(
            DesignGraph(order.size, new[self.graph.links]),
            replace(self.model, assignment=self.model.assignment[order]),
            None if self.v is None else self.v[order],
            replace(self.limits, link_costs=costs),
        )


Value = Callable[[FiniteModel, FloatArray], float]

LOADED = random_coins(4, 4, 2, seed=1, blind=0.0)
CHAIN = Problem(LINE, LOADED)
STAR = Problem(undirected(4, (1, 0), (1, 2), (1, 3)), LOADED, np.array([0.2, 0.4, 0.2, 0.2]))
# After two rounds everybody has heard everybody alike: W² = J/4, and D_i = 2 (1 − 1/2).
SHIFTS = DesignGraph(4, np.array([(i, (2 * i + b) % 4) for i in range(4) for b in (0, 1)]))
DISTANCES = (0.5, 0.7, 1.1)
NORMAL = FiniteModel.from_agents(
    ["zero", "near", "far"],
    [GaussianAgent([1.0], [7.0], 1.0, [[0.0], [d], [3.0]], 1.0) for d in DISTANCES],
)


def around(problem: Problem, x: float) -> FloatArray:
    """The influence x at the centre of a star of four, and what is left at its ends."""
    return np.where(problem.graph.degrees == 3, x, (1 - x) / 3)


def with_one_more(problem: Problem) -> list[Network]:
    """The networks that have one edge more than the line."""
    edges = problem.graph.edges.tolist()
    return [Network.from_edges([*edges, e], agents=4) for e in ([0, 2], [0, 3], [1, 3])]


def placements(problem: Problem) -> list[FiniteModel]:
    """The model with its data sets in every order."""
    orders = permutations(problem.model.assignment.tolist())
    return [replace(problem.model, assignment=np.array(order)) for order in orders]


def pairs() -> list[Network]:
    """Two agents that keep 7/10 at least, on a grid."""
    grid = np.linspace(0.06, 0.3, 5)
    return [Network([[1 - a, a], [b, 1 - b]]) for a, b in product(grid, grid)]


def paths() -> list[Network]:
    """Three agents on a path, on a grid."""
    weights = product((0.3, 0.9), (0.1, 0.3), (0.1, 0.5), (0.3, 0.9))
    return [Network([[1 - a, a, 0], [b, 1 - b - c, c], [0, d, 1 - d]]) for a, b, c, d in weights]


# What all searches owe: the table -----------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A search, a small problem, and the best there is, found without it.

    Attributes
    ----------
    ask
        The search, of a problem and a seed.
    worth
        The value of what it hands back, from the problem.
    best
        The best value; unless `is_best`, the best on a grid, which may be beaten.
    slack
        How far value and bound may be on the wrong side: rounding, or a solver's tolerance.
    close, gap
        How far behind the best the value may be, and behind the bound.
    told
        What an answer says that had no time, empty where only the budget tells; None of searches
        that take hardly any.
    like
        By how much answers differ if agents are numbered otherwise; None where luck decides.
    """

    problem: Problem
    ask: Callable[[Problem, int], Any]
    worth: Callable[[Problem, Any], float]
    best: Callable[[Problem], float]
    sense: Sense = "maximise"
    slack: float = 1e-12
    close: float = 1e-9
    gap: float = np.inf
    told: str | None = None
    like: float | None = 1e-9
    is_best: bool = True


def largest_exponent(
    problem: Problem, on_a_line: Callable[[float], list[float]], least: float, most: float
) -> Row:
    """Of a model for which the best influence is known to lie on a line."""
    return Row(
        problem,
        lambda p, seed: best_exponent(p.model),
        lambda p, found: decay(p.model, found.stationary_distribution),
        lambda p: best_along(lambda x: decay(p.model, on_a_line(x)), least, most),
        slack=1e-9,
        gap=1e-9,
        told="proved",
    )


def chosen_edges(limits: Constraints, method: Any) -> Row:
    whole = method == "exhaustive"
    tried = r"1 of \d+ sets of edges were tried in the time given"
    return Row(
        Problem(K4, LOADED, V4, limits),
        lambda p, seed: choose_edges(
            p.graph, p.v, constraints=p.limits, method=method, seed=seed, effort=0.1
        ),
        lambda p, found: slem(found.mixing.expected),
        lambda p: every_choice(p.graph, V4, p.limits),
        "minimise",
        slack=1e-9,
        close=SOLVED if whole else SEARCHED,
        gap=SOLVED if whole else np.inf,
        told=f"time, .*{tried}" if whole else "time, .*stopped by the time budget",
        like=1e-9 if whole else None,
    )


def next_edge(order: Any, value: Callable[[FiniteModel, Network], float]) -> Row:
    pick, sense = (min, "minimise") if order == "slem" else (max, "maximise")
    return Row(
        CHAIN,
        lambda p, seed: rank_edges(p.graph, p.model, order=order).best,
        lambda p, found: float(getattr(found, order)),
        lambda p: pick(value(p.model, network) for network in with_one_more(p)),
        sense,
        told="",
    )


def edge_confidence(objective: Any, value: Value) -> Row:
    return Row(
        STAR,
        lambda p, seed: best_edge_confidence(p.graph, p.model, objective=objective),
        lambda p, found: value(p.model, found.network.stationary_distribution),
        lambda p: best_along(lambda x: value(p.model, around(p, x)), 1 / 40, 4 / 7),
        slack=1e-9,
    )


def placement(objective: Any, value: Value, method: Any) -> Row:
    return Row(
        CHAIN,
        lambda p, seed: place(p.network, p.model, objective=objective, method=method, seed=seed),
        lambda p, found: value(found.model, p.network.stationary_distribution),
        lambda p: max(value(m, p.network.stationary_distribution) for m in placements(p)),
        told=None if method == "exhaustive" else "time",
    )


SEARCHES = {
    "optimal rate": Row(
        Problem(PATH, skewed()),
        lambda p, seed: optimal_rate(p.model),
        lambda p, found: rate(p.model, found.stationary_distribution),
        lambda p: float(best_rate(fractions_of(information(p.model)), Fraction(1, 30))),
        close=1e-14,
        gap=1e-13,
    ),
    # The first two agents are alike: E, quasi-concave, is largest where they are heard alike.
    "best exponent": largest_exponent(
        Problem(PATH, skewed()), lambda x: [x, x, 1 - 2 * x], 1 / 30, 29 / 60
    ),
    "best exponent, realizable": largest_exponent(
        Problem(PAIR, table_model(1, 2, 3, realizable=True)), lambda x: [x, 1 - x], 0.05, 0.95
    ),
    "best exponent, misspecified": largest_exponent(
        Problem(PAIR, table_model(1, 2, 3, realizable=False)), lambda x: [x, 1 - x], 0.05, 0.95
    ),
    "worst-case exponent": Row(
        Problem(PATH, NORMAL),
        lambda p, seed: worst_case_exponent(p.model),
        lambda p, found: found.exponent,
        lambda p: sum(d * d / 8 for d in DISTANCES),  # of the nearest pair
        gap=1e-12,
    ),
    # The eigenvalues of a star are 1 − x and 1 − x/c, opposite at x = 2c/(1 + c), with c = 2/5.
    "fastest mixing": Row(
        STAR,
        lambda p, seed: fastest_mixing(p.graph, p.v),
        lambda p, found: slem(found.expected),
        lambda p: 3 / 7,
        "minimise",
        close=1e-8,
        gap=1e-8,
    ),
    "local mixing, modulus": Row(
        STAR,
        lambda p, seed: local_mixing(p.graph, p.v, restarts=1, seed=seed),
        lambda p, found: slem(found.expected),  # on a tree every W is reversible
        lambda p: 3 / 7,
        "minimise",
        close=1e-7,
        gap=1e-7,
        told="time",
    ),
    "local mixing, deviation": Row(
        replace(STAR, graph=SHIFTS, v=np.full(4, 0.25)),
        lambda p, seed: local_mixing(p.graph, p.v, measure="deviation", restarts=1, seed=seed),
        lambda p, found: float(summed(found.expected).max()),
        lambda p: 1.0,
        "minimise",
        close=5e-4,
        gap=5e-4,
        told="time",
        like=1e-8,
    ),
    **{f"edges, exhaustive, {k}": chosen_edges(BUDGETS[k], "exhaustive") for k in range(4)},
    **{f"edges, local, {k}": chosen_edges(BUDGETS[k], "local") for k in range(4)},
    "next edge, rate": next_edge("rate", lambda m, n: rate(m, n.stationary_distribution)),
    "next edge, exponent": next_edge("exponent", lambda m, n: decay(m, n.stationary_distribution)),
    "next edge, slem": next_edge("slem", lambda m, n: slem(n)),
    "edge confidence, rate": edge_confidence("rate", rate),
    "edge confidence, exponent": edge_confidence("exponent", decay),
    "fewest samples": Row(
        Problem(PATH, uneven(3)),
        lambda p, seed: fewest_samples(p.graph, p.model, delta=0.2, effort=0.1, seed=seed),
        lambda p, found: samples(found.network, p.model, 0.2),
        lambda p: min(samples(network, p.model, 0.2) for network in paths()),
        "minimise",
        told="time",
        is_best=False,
    ),
    "trade-off": Row(
        Problem(PAIR, uneven(2), limits=Constraints(minimum_self_weight=0.7)),
        lambda p, seed: trade_off(
            p.graph, p.model, delta=0.05, points=3, effort=0.1, constraints=p.limits, seed=seed
        ),
        lambda p, found: samples(found.recommended.network, p.model, 0.05),
        lambda p: min(samples(network, p.model, 0.05) for network in pairs()),
        "minimise",
        told="time",
        is_best=False,
    ),
    "changing weights": Row(
        Problem(TRIANGLE, model_of([[0, 0.5, 0], [0, 0, 0.2], [0, 0.1, 0.1]])),
        lambda p, seed: changing_weights(
            RandomLinks(p.network, 0.3), p.model, target=0, effort=600
        ),
        # What gets lost is said by the listener, so that E[W] has the v of W; any v will do.
        lambda p, found: rate(p.model, found.network.network.stationary_distribution),
        lambda p: float(best_rate(fractions_of(information(p.model)), Fraction(0))),
        close=4e-4,
        gap=4e-4,
        told="time",
        like=1e-5,
    ),
    "placement, rate, exhaustive": placement("rate", rate, "exhaustive"),
    "placement, rate, local": placement("rate", rate, "local"),
    "placement, exponent, exhaustive": placement("exponent", decay, "exhaustive"),
    "placement, exponent, local": placement("exponent", decay, "local"),
    "placement, samples": Row(
        Problem(PATH, loaded([[0.3], [0.1], [0.0]])),
        lambda p, seed: place(p.network, p.model, objective="samples", delta=0.2, seed=seed),
        lambda p, found: samples(p.network, found.model, 0.2),
        lambda p: min(samples(p.network, model, 0.2) for model in placements(p)),
        "minimise",
        told="time, .*in the time given",
    ),
}


# What all searches owe: the promises --------------------------------------------------------------


@cache
def answered(name: str) -> Any:
    return SEARCHES[name].ask(SEARCHES[name].problem, 0)


@cache
def best_of(name: str) -> float:
    return SEARCHES[name].best(SEARCHES[name].problem)


def design(found: Any) -> Any:
    """The network in a trade-off, or on the edges chosen."""
    return getattr(found, "recommended", getattr(found, "mixing", found))


def certificate(row: Row, problem: Problem, found: Any) -> Certificate:
    """That of the answer; of a search without one its value, and no bound."""
    nothing = np.inf if row.sense == "maximise" else -np.inf
    value = getattr(found, "value", None) or row.worth(problem, found)
    alone = Certificate(value, nothing, row.sense, "rounded")
    return getattr(found, "certificate", getattr(design(found), "certificate", alone))


def check(name: str, found: Any) -> Certificate:
    """Value, bound and W are what they are said to be; on the right sides of the best."""
    row = SEARCHES[name]
    problem, proof = row.problem, certificate(row, row.problem, found)
    sign = 1 if row.sense == "maximise" else -1
    assert proof.sense == row.sense
    assert proof.value == pytest.approx(row.worth(problem, found), rel=1e-9)
    assert sign * (proof.bound - best_of(name)) >= -row.slack
    assert not row.is_best or sign * (best_of(name) - proof.value) >= -row.slack
    if network := getattr(design(found), "network", None):
        # Of a network that changes the weights that there are whatever fails.
        network = getattr(network, "network", network)
        check_weights(network, getattr(found, "graph", problem.graph), problem.limits)
    if problem.v is not None and hasattr(design(found), "expected"):
        v = design(found).expected.stationary_distribution
        assert np.abs(v / problem.v - 1).max() < 1e-9
    return proof


@pytest.mark.parametrize("name", SEARCHES)
def test_value_and_bound_lie_around_the_best(name: str) -> None:
    proof, row = check(name, answered(name)), SEARCHES[name]
    assert (best_of(name) - proof.value) * (1 if row.sense == "maximise" else -1) <= row.close
    assert proof.gap <= row.gap or not proof.is_proved


@pytest.mark.parametrize("name", SEARCHES)
def test_the_same_seed_gives_the_same_answer_to_the_last_bit(name: str) -> None:
    again = SEARCHES[name].ask(SEARCHES[name].problem, 0)
    assert pickle.dumps(again) == pickle.dumps(answered(name))


@pytest.mark.parametrize("name", SEARCHES)
def test_an_answer_without_time_is_allowed_and_says_so(name: str) -> None:
    """It is worth what it says, no more than with time, and its bound holds for all answers."""
    row = SEARCHES[name]
    with time_budget(1, clock=count().__next__) as budget:  # every look takes a second
        found = row.ask(row.problem, 0)
    proof, longer = check(name, found), certificate(row, row.problem, answered(name))
    sign = 1 if row.sense == "maximise" else -1
    assert sign * (longer.value - proof.value) >= -row.slack
    assert sign * (proof.bound - longer.value) >= -row.slack
    if row.told is not None:
        assert budget.stopped
        assert proof.stopped != "done"
        assert re.search(row.told, f"{proof.stopped}, {proof.note}")


@pytest.mark.parametrize("name", [name for name, row in SEARCHES.items() if row.like is not None])
def test_agents_numbered_otherwise_have_an_answer_as_good(name: str) -> None:
    row, order = SEARCHES[name], np.array([2, 0, 3, 1])
    problem = row.problem.renumbered(order[order < row.problem.graph.agents])
    first = certificate(row, row.problem, answered(name))
    again = certificate(row, problem, row.ask(problem, 0))
    assert again.value == pytest.approx(first.value, rel=row.like)
    assert again.bound == pytest.approx(first.bound, rel=row.like)


def test_few_samples_are_what_the_account_and_the_baselines_say() -> None:
    found = answered("fewest samples")
    check_samples(found, PATH, uneven(3))
    assert found.certificate.value <= min(start.rounds for start in found.baselines)


def test_a_point_is_best_unless_another_beats_it() -> None:
    """Two agents that keep 7/10: the slem is 1 − (1 + v_min/v_max) 3/10."""
    curve = answered("trade-off")
    points = [(point.share, point.slem) for point in curve.points]
    for point, (share, modulus) in zip(curve.points, points, strict=True):
        v = point.stationary_distribution
        assert modulus == pytest.approx(1 - 0.3 * (1 + v.min() / v.max()), abs=1e-6)
        others = [other for other in points if other != (share, modulus)]
        assert point.is_pareto is not any(a >= share and s <= modulus for a, s in others)
