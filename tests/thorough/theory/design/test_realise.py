"""Weights of many graphs, and of large ones."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.design.oracles import INFLUENCES, SHAPES, graph_of, influence_of
from tests.theory.design.test_realise import check, check_torus
from theory.design import realise


@pytest.mark.parametrize("shape", SHAPES)
def test_thousands_of_graphs(shape: str) -> None:
    rng = np.random.default_rng([SHAPES.index(shape), 99])
    for kind in INFLUENCES * 40:
        agents = int(rng.integers(2, 13))
        graph, v = graph_of(shape, agents, rng), influence_of(kind, agents, rng)
        check(graph, v, realise(graph, v))


@pytest.mark.parametrize("directed", [False, True])
def test_ten_thousand_agents(directed: bool) -> None:
    check_torus(side=100, directed=directed)
