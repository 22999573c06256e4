"""What designs refuse: a search, what it is asked, and the one line that it answers with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.models import FAIR, coin, coins
from tests.theory.design.oracles import model_of
from tests.theory.design.placement.oracles import coins as loaded
from tests.theory.design.placement.oracles import divided
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.changing import DelayedNetwork
from theory.design import (
    Constraints,
    DesignGraph,
    InfluenceSet,
    best_edge_confidence,
    best_exponent,
    changing_weights,
    choose_edges,
    every_design_bound,
    fastest_mixing,
    fewest_samples,
    local_mixing,
    optimal_rate,
    place,
    prove_placement,
    rank_edges,
    realise,
    realise_exactly,
    reweighted,
    star_network,
    trade_off,
    worst_case_exponent,
)
from theory.design.mixing.fastest import mixing_bound
from theory.design.mixing.mixing_problem import mixing_problem
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork


def graph(kind: str, agents: int) -> DesignGraph:
    return DesignGraph.from_network(Network.from_topology(kind, agents=agents))


def line(agents: int) -> Network:
    return Network.from_topology("path", agents=agents)


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
RARE = [0.2, 0.8]
APART = FiniteModel.from_agents(
    ["left", "right"], [coin(FAIR, RARE), coin(FAIR, RARE, truth=RARE)], counts=[1, 3]
)
LARGE, K6 = graph("complete", 202), graph("complete", 6)
HUB3 = Network.from_topology("star", agents=3)
NONE, NAN = np.zeros((3, 3)), float("nan")
V202, V16, V6 = (np.full(n, 1 / n) for n in (202, 16, 6))
BOUND = {"delta": 0, "influences": InfluenceSet(2), "v": V2, "most_rounds": 9}
RING3, RING4 = graph("ring", 3), graph("ring", 4)
LEADER = [0.4, 0.2, 0.2, 0.2]
# No influence: what is expected.
BAD = [
    ([0.5, 0.0, 0.5], r"positive influence.*got 0 at agent 1; give it"),
    ([0.7, -0.2, 0.5], "positive influence.*got -0.2 at agent 1"),
    ([0.5, 0.5], "one influence for each of 3 agents, got 2 numbers; give"),
    ([0.5, 0.5, 0.5], "probabilities that sum to 1, got a sum of 1.5; rescale"),
    ([0.5, NAN, 0.5], r"finite numbers, got nan at \[1\]; replace"),
    ([0.5, float("inf"), 0.5], r"finite numbers, got inf at \[1\]"),
    ([[0.5, 0.25, 0.25]], r"an array with 1 axes, got shape \(1, 3\)"),
    (["a", "b", "c"], "a rectangular array of numbers"),
    ([1.0, 1e-300, 1e-300], "positive influence.*got 1e-300 at agent 1"),
]
# To be placed on a path of three agents, and on one of five.
PLACED, PATH3, PATH5 = loaded([[0.3], [0.1], [0.0]]), line(3), line(5)
DIVIDED = divided()
EXACT = RationalNetwork.from_topology("path", agents=3)
FOR_FAIR, FOR_LOADED, BLIND = (
    RationalFiniteAgent.from_tables(inputs=[1], truth=[truth], likelihood=[[a], [b]])
    for truth, a, b in (
        (["1/2", "1/2"], ["1/2", "1/2"], ["3/4", "1/4"]),
        (["3/4", "1/4"], ["1/2", "1/2"], ["3/4", "1/4"]),
        (["1/2", "1/2"], ["1/2", "1/2"], ["1/2", "1/2"]),
    )
)
ALIKE = RationalModel.from_agents(["fair", "loaded"], [FOR_FAIR], counts=[3])
READER = FiniteAgent.from_log_likelihoods(np.log([[0.5, 0.4, 0.7], [0.3, 0.6, 0.2]]))
GAP = FiniteAgent.from_tables(
    inputs=[1.0], truth=[[0.5, 0.5, 0.0]], likelihood=[[[0.4, 0.4, 0.2]], [[0.3, 0.5, 0.2]]]
)
SAME = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0], [1.0]], 1.0)
LATE = DelayedNetwork(PATH3, 2)
TORN = [[0.0, 1.0], [1.0, 0.0]]


def tied(*, v_min: float | None = None, **limits: Any) -> tuple[Any, ...]:
    """What a set of influences on a ring is made of."""
    return 4, v_min, Constraints(**limits), RING4


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
    realise: [
        (RING3, V3, {"edge_budget": 2}, "edge_budget: .* budget of 2.* got 3 edges"),
        (STAR, V4, {"degree_budget": 2}, "degree_budget: .* got 3 neighbours"),
        (
            STAR,
            V4,
            {"cost_budget": 3, "link_costs": {(0, 1): 2}},
            "cost_budget: .* got 4 as cost of all edges; choose the edges first",
        ),
        (STAR, LEADER, {"symmetric": True}, "v: .* uniform .*, which symmetric .* to 0.4"),
        (STAR, LEADER, {"doubly_stochastic": True}, "v: expected the uniform"),
        (STAR, LEADER, {"availability": {(1, 2): 0.5}}, "availability: .* of the graph"),
        *((PATH, v, {}, f"v: expected {message}") for v, message in BAD),
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
    InfluenceSet: [
        (tied(v_min=0.3), {}, "minimum_influence: .*from 0 to 1/N = 0.25"),
        (tied(v_min=-1), {}, "minimum_influence: .*from 0 to 1/N"),
        ((3, None, Constraints(), RING4), {}, "graph: expected a graph of 3 agents, got 4"),
        ((4, None, Constraints(fixed_rows={0: [1, 0, 0, 0]})), {}, "graph: .* of the fixed rows"),
        (tied(fixed_rows={1: [0, 1, 0, 0]}), {}, r"fixed_rows: .*2 parts: .*\{1\}"),
        (
            tied(v_min=0.2, fixed_rows={0: [0.9, 0.1, 0, 0], 1: [0.3, 0.5, 0.2, 0]}),
            {},
            "minimum_influence: expected at most 0.166667, the most .* fixed_rows of agents 0, 1,",
        ),
        (
            tied(symmetric=True, fixed_rows={1: [0.3, 0.5, 0.2, 0], 2: [0, 0.3, 0.5, 0.2]}),
            {},
            ".*agents 1, 2, minimum_self_weight 0 and symmetric=True, which contradict",
        ),
        (
            tied(doubly_stochastic=True, fixed_rows={1: [0.6, 0.2, 0.2, 0], 3: [0.6, 0, 0.2, 0.2]}),
            {},
            ".*fixed_rows of agents 1, 3, minimum_self_weight 0 and doubly_stochastic=True",
        ),
    ],
    optimal_rate: [
        ((model_of([[0.0, 0.0]] * 2),), {}, ".*no agent tells 'h0' from 'h1'"),
        ((model_of(TORN),), {}, "target: .*name one"),
        ((model_of([[0.0, 1.0]] * 2),), {"target": 1}, ".*'h0', on which every network settles"),
        (
            (model_of([[0.0, 1.0, 2.0], [2.0, 1.0, 1.0]]),),
            {"target": 2},
            ".*'h1' fits at least as well everywhere",
        ),
        (
            (model_of([[0.0, 1.5, 2.0], [2.0, 1.5, 0.0]]),),
            {"target": 1},
            ".*('h2', 'h0' stands in the way|'h0', 'h2' stands)",
        ),
        ((model_of(TORN),), {"target": 2}, "target: .*at most 1"),
        (
            (model_of(TORN),),
            {"target": 0, "influences": InfluenceSet(2, "1/2")},
            ".*lower minimum_influence: with 0 the rate comes up to 1",
        ),
        (
            (model_of(TORN),),
            {"target": 0, "influences": InfluenceSet(3)},
            "influences: .*as many agents as the model, 2, got 3",
        ),
    ],
    best_exponent: [
        ((coins(3),), {"influences": InfluenceSet(3, 0)}, "minimum_influence: .* above 0"),
        ((coins(3),), {"influences": InfluenceSet(4)}, "influences: expected as many agents"),
        ((coins(3),), {"tolerance": 0.0}, "tolerance"),
        ((APART,), {}, "target"),
    ],
    worst_case_exponent: [
        (
            (FiniteModel.from_agents(["a", "b"], [READER]),),
            {},
            "agents of kind 0: expected likelihoods that sum to one",
        ),
        ((FiniteModel.from_agents(["a", "b"], [GAP]),), {}, ".*positive truth for every label"),
        ((FiniteModel.from_agents(["a", "b", "c"], [SAME]),), {}, ".*no agent tells 'b' from 'c'"),
        ((coins(3),), {"influences": InfluenceSet(3, 0)}, "minimum_influence: .*above 0"),
    ],
    changing_weights: [
        ((LATE, coins(2)), {"target": 0}, "model: expected 3 agents, got 2"),
        ((LATE, coins(3)), {"target": 3}, "target"),
        ((LATE, model_of(np.zeros((3, 2)))), {"target": 0}, "target: .*nothing to reject"),
    ],
    realise_exactly: [
        ((PATH, v), {}, message)
        for v, message in (
            (["1/2", "0", "1/2"], "v: expected positive influence.*got 0 at agent 1"),
            (["1/2", "1/4"], "v: expected one influence for each of 3 agents, got 2"),
            (["1/2", "1/4", "1/3"], "v: expected probabilities that sum to 1"),
            (["1/2", "3/4", "-1/4"], "v: expected probabilities of at least 0"),
            (["1/2", "half", "1/4"], ".*expected a fraction such as 1/3, got 'half'"),
            ([0.5, NAN, 0.5], ".*expected a finite number, got nan"),
        )
    ],
    place: [
        *(
            ((PATH3, PLACED), options, message)
            for options, message in (
                ({"fixed": [3]}, "fixed: expected agents numbered 0 to 2, got 3"),
                ({"fixed": [-1]}, "fixed: expected a whole number of at least 0, got -1"),
                ({"fixed": [1, 1]}, r"fixed: expected every agent once, got \[1, 1\]"),
                ({"fixed": [0, 1, 2]}, "fixed: expected some agent left out, got all agents"),
                ({"objective": "mixing"}, "objective: expected one of rate, exponent, samples"),
                ({"method": "guess"}, "method: expected one of auto, milp, exhaustive, local"),
                ({"objective": "exponent", "method": "milp"}, "method: .* exhaustive or local"),
                ({"target": 2}, "target: expected a whole number of at most 1, got 2"),
                ({"target": 1}, "target: expected 'fair', on which every .*, got 'loaded0'"),
                ({"delta": 0.0}, r"delta: expected a number in \(0, 1\), got 0"),
                ({"seed": -1}, "seed: expected a whole number of at least 0"),
                ({"restarts": -1}, "restarts: expected a whole number of at least 0"),
                ({"tolerance": 0.0}, "tolerance: expected a finite number above 0"),
                ({"seconds": np.inf}, "seconds: expected a finite number above 0"),
            )
        ),
        *(
            ((v, PLACED), {}, message)
            for v, message in (
                ([0.5, 0.5], "model: expected as many agents as the network, 2, got 3"),
                ([0.5, 0.6, -0.1], "influence: expected numbers of at least 0, some above"),
                ([0.0, 0.0, 0.0], "influence: expected numbers of at least 0, some above"),
                ([[0.5, 0.3, 0.2]], "influence: expected an array with 1 axes"),
                ([0.5, NAN, 0.5], "influence: expected finite numbers, got nan"),
            )
        ),
        (([0.5, 0.3, 0.2], PLACED), {"objective": "samples"}, "network: expected a Network for"),
        (
            (line(7), loaded([[0.02 * k] for k in range(1, 8)])),
            {"objective": "samples", "method": "exhaustive"},
            "method: expected at most 1000 classes .* got exhaustive, with 2520",
        ),
        ((PATH3, loaded([[0.0]], [3])), {}, "hypotheses: expected one that fits worse"),
        *(
            (
                (PATH5, DIVIDED),
                {"target": 0, "objective": objective, "method": method},
                ".*'left', which under none found rejects 'right'; name",
            )
            for objective in ("rate", "exponent", "samples")
            for method in ("auto", "exhaustive", "local")
        ),
    ],
    prove_placement: [
        ((EXACT, ALIKE, [0, 0, 1]), {}, r"assignment: .* each of 0 to 2 once, got \[0, 0, 1\]"),
        ((EXACT, ALIKE), {"target": 1}, "target: expected .* on which every network settles"),
        (
            (EXACT, RationalModel.from_agents(["fair", "loaded"], [FOR_FAIR])),
            {},
            "model: expected as many agents as the network, 3, got 1",
        ),
        (
            (EXACT, RationalModel.from_agents(["a", "b"], [BLIND], counts=[3])),
            {},
            "hypotheses: expected one that fits worse",
        ),
        (
            (EXACT, RationalModel.from_agents(["a", "b"], [FOR_FAIR, FOR_LOADED], counts=[1, 2])),
            {},
            "target: expected the hypothesis to settle on",
        ),
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
