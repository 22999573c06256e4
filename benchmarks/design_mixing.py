"""The fastest reversible mixing: our barrier beside cvxpy's solvers, time, memory and gap.

Every number is taken in a process of its own, on one thread, after a toy problem has loaded all
that is imported.

Seconds are of the CPU; memory is by how much the process has grown at its peak; the gap is between
the slem of a feasible W made from the solver's flows and the bound made from its multipliers, for
all in the same way.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from scipy.linalg import lapack

from benchmarks.limits import in_a_process
from benchmarks.tables import Options, Row
from tests.theory.design.mixing.sdp import solve_sdp
from theory.design import DesignGraph, fastest_mixing
from theory.design.mixing.fastest import mixing_bound
from theory.design.mixing.mixing_problem import mixing_problem
from theory.validation import FloatArray

MIB = 1 << 20
CONTENDERS = ("ours", "clarabel", "scs", "sdpa")
KINDS = ("grid", "random geometric", "scale-free")
SIDES = (3, 5, 8, 10, 15, 20, 32)
TOY_SIDES = (3,)

# The most agents each contender is asked for: beyond, minutes and gigabytes.
MOST_AGENTS = {"ours": 10_000, "clarabel": 100, "scs": 64, "sdpa": 225}

# Mean degree of the random geometric graphs, before the radius grows until they are connected.
DEGREE = 10.0


def graph_of(kind: str, side: int) -> DesignGraph:
    """A graph of about side² agents; always the same."""
    agents = side * side
    if kind == "grid":
        graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    elif kind == "scale-free":
        graph = nx.barabasi_albert_graph(agents, 2, seed=0)
    else:
        places = np.random.default_rng(0).random((agents, 2))
        named = {i: tuple(place) for i, place in enumerate(places)}
        radius = np.sqrt(DEGREE / (np.pi * agents))
        graph = nx.random_geometric_graph(agents, radius, pos=named)
        while not nx.is_connected(graph):
            radius *= 1.02
            graph = nx.random_geometric_graph(agents, radius, pos=named)
    return DesignGraph.from_edges(list(graph.edges()), agents=agents)


def gap_of(graph: DesignGraph, v: FloatArray, contender: str) -> float | None:
    """Solve, and say how far what was found is from what was proved; None for no answer."""
    if contender == "ours":
        return fastest_mixing(graph, v).certificate.gap
    problem = mixing_problem(graph, v)
    found = solve_sdp(problem, solver=contender.upper())
    if found is None:
        return None
    slem = problem.expected_network(problem.repaired(found.flows)).slem
    bound = mixing_bound(problem, found.slow, found.fast, found.multipliers)
    return slem - bound.value


def measure_alone(kind: str, side: int, contender: str) -> dict[str, float | None]:
    """Seconds, bytes and gap, in the process that calls it."""
    import resource

    gap_of(graph_of("grid", 2), np.full(4, 0.25), contender)
    # The linear algebra of numpy and of scipy allocate their buffers at the first large matrix.
    np.linalg.cholesky(np.eye(300))
    lapack.dpotrf(np.eye(300))
    graph = graph_of(kind, side)
    v = np.full(graph.agents, 1 / graph.agents)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    before = pages * resource.getpagesize()
    start = time.process_time()
    gap = gap_of(graph, v, contender)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "bytes": max(peak - before, 0), "gap": gap}


def measure(kind: str, side: int, contender: str, *, repeats: int) -> dict[str, Any]:
    """The median of several processes; all None where there is no answer."""
    runs = [
        in_a_process("design_mixing:measure_alone", kind, side, contender) for _ in range(repeats)
    ]
    if runs[0]["gap"] is None:
        return {"seconds": None, "bytes": None, "gap": None}
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def installed() -> tuple[str, ...]:
    """The contenders that this machine has."""
    try:
        import cvxpy
    except ImportError:
        return ("ours",)
    solvers = cvxpy.installed_solvers()
    return tuple(name for name in CONTENDERS if name == "ours" or name.upper() in solvers)


def table(
    sides: tuple[int, ...], contenders: tuple[str, ...], *, repeats: int
) -> Iterator[dict[str, Any]]:
    nothing = {"seconds": None, "bytes": None, "gap": None}
    for kind in KINDS:
        for side in sides:
            graph = graph_of(kind, side)
            found = {
                name: measure(kind, side, name, repeats=repeats)
                if name in contenders and graph.agents <= MOST_AGENTS[name]
                else nothing
                for name in CONTENDERS
            }
            yield {
                "network": kind,
                "N": graph.agents,
                "edges": len(graph.edges),
                "s": {name: numbers["seconds"] for name, numbers in found.items()},
                "MiB": {
                    name: None if numbers["bytes"] is None else numbers["bytes"] / MIB
                    for name, numbers in found.items()
                },
                "gap": {name: numbers["gap"] for name, numbers in found.items()},
            }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    # Importing the others takes seconds.
    contenders = ("ours",) if how.quick else installed()
    return list(table(TOY_SIDES if how.quick else SIDES, contenders, repeats=how.repeats))
