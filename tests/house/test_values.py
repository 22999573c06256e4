"""Networks, models and agents built alike are equal and hash alike, in every process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from tests.models import COIN, coins
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    Network,
    RegressionAgent,
    RegressionModel,
)
from theory.changing import (
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    influence,
    rotating_star,
)
from theory.design import DesignGraph
from theory.rational import RationalModel, RationalNetwork
from theory.robustness import ConstantBelief, Push


def ring(**options: object) -> Network:
    return Network.from_topology("ring", agents=5, **options)  # type: ignore[arg-type]


def agent(bias: float = 0.75) -> FiniteAgent:
    tables = [[[0.5, 0.5]], [[bias, 1 - bias]]]
    return FiniteAgent.from_tables(truth=[[0.5, 0.5]], likelihood=tables)


def regression(noise: float = 0.8) -> RegressionModel:
    one = RegressionAgent(ranges=[[1, 1], [-1, 1]], noise_std=noise)
    return RegressionModel([0.5, 1.0], [one, one], np.eye(2), np.eye(2))


def rational(bias: str = "3/4") -> RationalModel:
    from theory.rational import RationalFiniteAgent

    claims = [[["1/2", "1/2"]], [[bias, "1/4"]]]
    coin = RationalFiniteAgent.from_tables(inputs=["1"], truth=[["1/2", "1/2"]], likelihood=claims)
    return RationalModel.from_agents(["fair", "loaded"], [coin], counts=[2])


HALF, TALK = [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]
# What builds a value, and what builds another of the same type.
PAIRS: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "network": (ring, lambda: ring(rule="metropolis", sparse=True)),
    "weights": (lambda: Network(HALF), lambda: Network([[0.5, 0.5], [0.25, 0.75]])),
    "named": (lambda: Network(HALF, names=("a", "b")), lambda: Network(HALF, names=("a", "c"))),
    "sparse": (lambda: ring(sparse=True), ring),
    "rational": (
        lambda: RationalNetwork([["1/2", "1/2"], ["1/3", "2/3"]]),
        lambda: RationalNetwork([["1/2", "1/2"], ["1/2", "1/2"]]),
    ),
    "links": (lambda: RandomLinks(ring(), 0.9), lambda: RandomLinks(ring(), 0.8)),
    "presence": (lambda: RandomPresence(ring(), 0.9), lambda: RandomPresence(ring(), 0.8)),
    "delays": (lambda: DelayedNetwork(ring(), 3), lambda: DelayedNetwork(ring(), 2)),
    "periodic": (lambda: PeriodicNetwork([HALF, TALK]), lambda: PeriodicNetwork([TALK, HALF])),
    "rotation": (
        lambda: rotating_star(groups=3, group_size=40, edge_confidence=0.5),
        lambda: rotating_star(groups=3, group_size=40, edge_confidence=0.4),
    ),
    "markov": (
        lambda: MarkovNetwork.independent([HALF, TALK], [0.5, 0.5]),
        lambda: MarkovNetwork.independent([HALF, TALK], [0.25, 0.75]),
    ),
    "phase": (lambda: Phase(HALF, [0]), lambda: Phase(HALF, [1])),
    "agent": (agent, lambda: agent(0.8)),
    "gaussian": (
        lambda: GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0),
        lambda: GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0]], 1.0),
    ),
    "model": (
        lambda: FiniteModel.from_agents(["fair", "loaded"], [agent()], counts=[5]),
        lambda: FiniteModel.from_agents(["fair", "other"], [agent()], counts=[5]),
    ),
    "rational model": (rational, lambda: replace(rational(), hypotheses=("a", "b"))),
    "regression": (regression, lambda: regression(0.7)),
    "graph": (
        lambda: DesignGraph.from_edges([[0, 1], [1, 2]], agents=3),
        lambda: DesignGraph.from_edges([[0, 1], [0, 2]], agents=3),
    ),
    "belief": (lambda: ConstantBelief([0.0, 1.0]), lambda: ConstantBelief([0.0, 2.0])),
    "push": (lambda: Push("fair", 2.0), lambda: Push("fair", 3.0)),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_built_alike_is_equal_and_hashes_alike(kind: str) -> None:
    build, build_other = PAIRS[kind]
    one, two, other = build(), build(), build_other()
    assert one is not two
    assert one == two
    assert hash(one) == hash(two)
    assert {one: "kept"}[two] == "kept"
    assert one != other
    assert hash(one) != hash(other)  # 64 bits: equal by chance once in 2e19
    assert one != "something else"


@pytest.mark.parametrize("kind", ["network", "sparse", "model", "agent", "regression", "periodic"])
def test_what_equality_rests_on_cannot_be_written_to(kind: str) -> None:
    def arrays(value: object) -> list[np.ndarray]:
        if isinstance(value, np.ndarray):
            return [value]
        if hasattr(value, "indptr"):
            return [value.data, value.indices, value.indptr]
        if isinstance(value, tuple):
            return [a for entry in value for a in arrays(entry)]
        parts = (
            [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else []
        )
        return [a for part in parts for a in arrays(part)]

    found = arrays(PAIRS[kind][0]())
    assert found
    assert not any(array.flags.writeable for array in found)


def test_a_hash_is_the_same_in_another_process() -> None:
    code = (
        "from theory import Network;"
        "print(hash(Network([[0.5, 0.5], [0.5, 0.5]], names=('a', 'b'))))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) == hash(Network(HALF, names=("a", "b")))


def test_what_was_computed_for_one_holds_for_its_equal() -> None:
    one = PeriodicNetwork([HALF, TALK])
    first = influence(one)
    assert influence(PeriodicNetwork([HALF, TALK])) is first
    del one, first
    assert influence(PeriodicNetwork([HALF, TALK])).total > 0


def test_a_network_of_many_phases_has_its_hash_at_once() -> None:
    few = rotating_star(groups=80, group_size=1, edge_confidence=0.5)
    phases = [*few.phases]
    other = PeriodicNetwork((*phases[:-2], phases[-1], phases[-2]), few.name, few.layout)
    assert other != few
    assert hash(other) == hash(few)  # which reads the first phases only
    assert coins(3) == coins(3)
    assert agent() == COIN
