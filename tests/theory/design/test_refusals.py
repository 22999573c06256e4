"""What designs refuse: a search, what it is asked, and the one line that it answers with."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models import coins
from theory import FiniteAgent, FiniteModel, Network
from theory.design import (
    Constraints,
    DesignGraph,
    InfluenceSet,
    best_edge_confidence,
    choose_edges,
    every_design_bound,
    fastest_mixing,
    fewest_samples,
    local_mixing,
    rank_edges,
    reweighted,
    star_network,
    trade_off,
)
from theory.design.mixing.fastest import mixing_bound
from theory.design.mixing.mixing_problem import mixing_problem


def graph(kind: str, agents: int) -> DesignGraph:
    return DesignGraph.from_network(Network.from_topology(kind, agents=agents))


def coin(truth: float, other: float) -> FiniteAgent:
    tables = [[[bias, 1 - bias]] for bias in (0.5, other)]
    return FiniteAgent.from_tables(inputs=[1.0], truth=[[truth, 1 - truth]], likelihood=tables)


PAIR, PATH, STAR, K4 = graph("path", 2), graph("path", 3), graph("star", 4), graph("complete", 4)
GRID = DesignGraph.from_network(Network.from_topology("grid", shape=[3, 3]))
ONE_WAY = DesignGraph(3, np.array([[0, 1], [1, 2], [2, 0]]))
LINE = Network.from_topology("path", agents=4)
HUB = DesignGraph.from_edges([[0, i] for i in range(1, 16)] + [[1, 2]], agents=16)
V2, V3, V4, V9 = (np.full(n, 1 / n) for n in (2, 3, 4, 9))
UNEVEN, SKEWED = [0.4, 0.3, 0.2, 0.1], [0.5, 0.25, 0.25]
HALF = np.array([0.5, 0.5, 0.0])
FIXED = {"fixed_rows": {0: HALF}}
ROW = {"fixed_rows": {0: np.array([0.5, 0.3, 0.0, 0.2])}}
ALL = {0: np.array([0.0, 1.0, 0.0])}
CLASH = {0: HALF, 1: np.array([0.2, 0.4, 0.4])}
TRIANGLE = {"fixed_rows": {0: np.array([0.4, 0.3, 0.3, 0]), 1: np.array([0.3, 0.4, 0.3, 0])}}
COSTS = {"link_costs": {(0, 1): 3.0, (0, 2): 0.5, (2, 3): 2.5}}
POOR = {"availability": {(1, 0): 0.1}}
EIGHT = Constraints(edge_budget=8)
APART = FiniteModel.from_agents(["left", "right"], [coin(0.5, 0.2), coin(0.2, 0.2)], counts=[1, 3])
LARGE, K6 = graph("complete", 202), graph("complete", 6)
HUB3 = Network.from_topology("star", agents=3)
NONE, NAN = np.zeros((3, 3)), float("nan")
V202, V16, V6 = (np.full(n, 1 / n) for n in (202, 16, 6))
BOUND = {"delta": 0, "influences": InfluenceSet(2), "v": V2, "most_rounds": 9}


# Under limits: the graph, v, the limits, and the answer.
LIMITED = {
    fastest_mixing: [
        (PATH, SKEWED, {"symmetric": True}, "v: expected the uniform .* which symmetric forces"),
        (PATH, V3, POOR | {"symmetric": True}, "symmetric: .*of the links between agents 0 and 1"),
        (GRID, V9, {"edge_budget": 10}, "edge_budget: .*of 10.*got 12 edges.*choose_edges"),
        (GRID, V9, {"degree_budget": 3}, "degree_budget: .*of 3.*got 4 neighbours"),
        (GRID, V9, {"cost_budget": 11.5}, "cost_budget: .*of 11.5.*got 12 as cost"),
        (PATH, V3, {"fixed_rows": CLASH}, "fixed_rows: .*flows 0.16.* and 0.06.* agents 0 and 1"),
        (PATH, [0.6, 0.2, 0.2], FIXED, "fixed_rows: .*agent 1.*got a sum of 1.5"),
        (PATH, V3, POOR | FIXED, "fixed_rows: .*agent 1.*got a sum of 5"),
        (PATH, V3, {"fixed_rows": ALL}, r"fixed_rows: .*2 parts.*\{0, 1\}, \{2\}"),
        (LARGE, V202, {"minimum_self_weight": 0.5}, "graph: .*most 20000 edges.*got 20301.*choose"),
    ],
    local_mixing: [
        (ONE_WAY, SKEWED, {"doubly_stochastic": True}, "v: expected the uniform"),
        (GRID, None, {"symmetric": True}, "symmetric: .*use fastest_mixing"),
    ],
    choose_edges: [
        (K4, UNEVEN, {"edge_budget": 2}, "edge_budget: expected at least 3 edges"),
        (K4, UNEVEN, {"degree_budget": 1}, "degree_budget: expected at least 2"),
        (K4, UNEVEN, COSTS | {"cost_budget": 2.4}, r"cost_budget: .*least 2\.5, .* spanning"),
        # Agent 0 uses edges of cost 3 and 1, and agent 2 is cheapest joined by one of cost 1.
        (K4, V4, COSTS | ROW | {"cost_budget": 4.9}, "cost_budget: .*least 5, .* connected edges"),
        # A triangle in use takes an edge more than a tree would.
        (K4, V4, TRIANGLE | {"edge_budget": 3}, "edge_budget: expected at least 4 .* fixed rows"),
        (HUB, V16, {"degree_budget": 3}, "degree_budget: .* integer programming proves"),
        (ONE_WAY, V3, {"edge_budget": 3}, "graph: expected"),
    ],
}
CASE = {"delta": 0.1}
# What is asked of a search, in order and by name, and the answer.
REFUSED = {
    fastest_mixing: [
        (
            (ONE_WAY, V3),
            {},
            r"graph: .* both ways .*agent \d listens to agent \d.*local_mixing",
        ),
        ((PATH, V2), {}, "v: expected one influence for each of 3"),
        ((PATH, [0.5, 0.5, 0]), {}, "v: .*got 0 at agent 2"),
        ((PATH, V3), {"tolerance": 0}, "tolerance"),
    ],
    mixing_bound: [
        ((mixing_problem(PATH, V3), NONE, NONE, [0, 0, 0]), {}, "slow: .*multipliers .* not all 0"),
    ],
    reweighted: [
        ((HUB3, [1.0, 1.0]), {}, r"influence: .* 3 positive numbers, .* got \[1.0, 1.0\]"),
        ((HUB3, [1.0, 0.0, 1.0]), {}, "influence: expected 3 positive numbers"),
        ((HUB3, [1.0, NAN, 1.0]), {}, "influence: expected"),
        ((HUB3, "much"), {}, "influence: expected"),
    ],
    local_mixing: [
        ((ONE_WAY, None), {"measure": "gap"}, "measure: expected one of modulus"),
        ((ONE_WAY, V2), {}, "v: expected one influence for each of 3"),
        ((ONE_WAY, [0, 0.5, 0.5]), {}, "v: expected positive influence"),
        ((ONE_WAY, None), {"minimum_influence": 0.4}, "minimum_influence: .* less than 1/3"),
        ((ONE_WAY, None), {"restarts": -1}, "restarts: "),
    ],
    choose_edges: [
        ((K4, V4), {"method": "best", "constraints": EIGHT}, "method: expected one of auto"),
        ((K6, V6), {"method": "exhaustive", "constraints": EIGHT}, "method: .* than exhaustive"),
    ],
    rank_edges: [
        ((LINE, coins(4)), {"rule": "even"}, "rule: expected one of uniform"),
        ((LINE, coins(4)), {"order": "speed"}, "order: expected one of samples"),
        ((LINE, coins(4)), {"delta": 0}, "delta: "),
        ((LINE, coins(4)), {"limit": 0}, "limit: "),
        ((LINE, coins(4)), {"certify_best": -1}, "certify_best: "),
        ((LINE, coins(4)), {"candidates": [(0, 1)]}, r"candidates\[0\]: .* that is not joined"),
        ((LINE, coins(4)), {"candidates": [(0, 0)]}, r"candidates\[0\]: .*two different agents"),
        ((LINE, coins(4)), {"candidates": [(0, 9)]}, r"candidates\[0\]: "),
        ((LINE, coins(4)), {"directed": True, "rule": "metropolis"}, "rule: "),
        ((LINE, coins(5)), {}, "model: expected as many agents"),
        ((ONE_WAY, coins(3)), {"directed": False}, "directed: "),
    ],
    best_edge_confidence: [
        ((graph("ring", 4), coins(4)), {}, "graph: expected a star: .* 4 edges"),
        ((graph("star", 5), coins(4)), {}, "model: expected as many agents as the network, 5"),
        ((STAR, APART), {}, "target: expected the hypothesis to settle on, .* name one"),
        ((STAR, coins(4)), {"objective": "speed"}, "objective: expected rate or exponent"),
        ((STAR, coins(4)), {"minimum_influence": 0.9}, "minimum_influence: expected less than"),
        ((STAR, coins(4)), {"target": 5}, "target: expected a whole number of at most 1"),
        ((STAR, coins(4)), {"target": 1}, "target: expected 'fair', on which every network"),
    ],
    star_network: [
        ((STAR,), {"edge_confidence": a}, "edge_confidence: expected a number in")
        for a in (0.0, -0.1, 1.1, NAN)
    ],
    fewest_samples: [
        ((PAIR, coins(3)), CASE, "model: expected as many agents as the network, 2, got 3"),
        ((PAIR, coins(2)), {"delta": 0}, r"delta: expected a number in \(0, 1\), got 0"),
        ((PAIR, coins(2)), CASE | {"effort": 0}, "effort: expected"),
    ],
    every_design_bound: [((coins(2),), BOUND, r"delta: expected a number in \(0, 1\)")],
    trade_off: [
        ((PAIR, coins(2)), CASE | {"objective": "speed"}, "objective: expected rate or exponent"),
        ((PAIR, coins(2)), CASE | {"points": 1}, "points: expected a whole number of at least 2"),
    ],
}
ASKED = [
    *(
        (search, (on, v), {"constraints": Constraints(**limits)}, message)  # type: ignore[arg-type]
        for search, rows in LIMITED.items()
        for on, v, limits, message in rows
    ),
    *((search, *row) for search, rows in REFUSED.items() for row in rows),
]


@pytest.mark.parametrize("case", range(len(ASKED)))
def test_what_is_refused(case: int) -> None:
    search, asked, options, message = ASKED[case]
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        search(*asked, **options)
    assert "\n" not in str(caught.value)
