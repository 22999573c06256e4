"""Solvers that fail keep what they have."""

import numpy as np
import pytest

from tests.theory.design.mixing.support import geometric, grid, judge, uneven, uniform
from theory.design import DesignFailed, FastestMixing, fastest_mixing
from theory.design.mixing import fastest
from theory.design.mixing.barrier import solve_barrier
from theory.design.mixing.mixing_problem import mixing_problem
from theory.design.search import time_budget


def test_an_accuracy_beyond_rounding_is_a_named_failure() -> None:
    graph, v = geometric(15, seed=8), uneven(15, seed=9)
    message = r"stalled: tried barrier; kept a design of .*at most .* ask for a tolerance above"
    with pytest.raises(DesignFailed, match=message) as caught:
        fastest_mixing(graph, v, tolerance=1e-17)
    failure = caught.value
    assert (failure.status, failure.tried) == ("stalled", ("barrier",))
    assert isinstance(failure.best, FastestMixing)
    judge(graph, v, failure.best)


def test_without_time_the_best_so_far_is_a_design_with_a_bound() -> None:
    graph, v = geometric(180, seed=8), uniform(180)
    assert len(graph.edges) > 500
    with time_budget(1e-6) as budget:
        found = fastest_mixing(graph, v)
    assert budget.stopped
    assert found.certificate.stopped == "time"
    assert found.iterations == 0
    assert 0 <= found.certificate.bound < found.slem < 1
    np.testing.assert_allclose(found.network.stationary_distribution, v, rtol=1e-9)


def test_a_solver_that_is_cut_short_has_a_bound_all_the_same() -> None:
    """After every number of steps: feasible flows, a valid bound, and a gap that shrinks."""
    graph, v = grid(4), uniform(16)
    problem = mixing_problem(graph, v)
    best = fastest_mixing(graph, v).slem
    gaps = []
    for steps in range(9):
        found = solve_barrier(problem, tolerance=1e-9, iterations=steps)
        assert found.status == "iteration limit"
        assert found.iterations == steps
        slem = problem.expected_network(problem.repaired(found.flows)).slem
        bound = fastest.mixing_bound(problem, found.slow, found.fast, found.multipliers)
        assert bound.value <= best + 1e-12
        assert slem >= best - 1e-6
        gaps.append(slem - bound.value)
    assert gaps[-1] < 1e-4 < gaps[0]
