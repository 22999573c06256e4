"""Where agents stand on a page, in the unit square: as the topology suggests, else by the graph.

As in the figures of a report: positions of a topology where it has them, else those of Kamada and
Kawai, which draw nothing at random; of many agents, forces from a fixed start.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from theory.validation import FloatArray, IntArray

_MARGIN = 0.06
# Kamada's and Kawai's positions of more agents take longer than a tenth of a second.
_MOST_EXACT = 60
_MOST_FORCES = 300
Position = tuple[float, float]


def layout_of(given: FloatArray | None, edges: IntArray, agents: int) -> list[list[float]]:
    """Positions in [0, 1]², one an agent; y grows downwards, as on a page.

    Parameters
    ----------
    given
        Positions that the topology suggests, shape (N, 2), y upwards; None if there are none.
    edges
        Who hears whom, shape (E, 2).
    """
    if given is not None:
        raw = np.asarray(given, dtype=float)
    else:
        pairs = {(min(a, b), max(a, b)) for a, b in edges.tolist()}
        raw = np.array(_of_graph(agents, tuple(sorted(pairs))))
    low, span = raw.min(axis=0), np.ptp(raw, axis=0)
    size = float(span.max()) or 1.0
    placed = (raw - low - span / 2) / size * (1 - 2 * _MARGIN) + 0.5
    placed[:, 1] = 1 - placed[:, 1]
    return [[round(float(x), 5), round(float(y), 5)] for x, y in placed]


@lru_cache(maxsize=16)
def _of_graph(agents: int, pairs: tuple[tuple[int, int], ...]) -> tuple[Position, ...]:
    circle = np.pi / 2 - 2 * np.pi * np.arange(agents) / agents
    if agents <= 3 or agents > _MOST_FORCES:
        return tuple(zip(np.cos(circle).tolist(), np.sin(circle).tolist(), strict=True))
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(agents))
    graph.add_edges_from(pairs)
    if agents <= _MOST_EXACT:
        found = nx.kamada_kawai_layout(graph)
    else:
        found = nx.spring_layout(graph, seed=0, iterations=30)
    return tuple((float(found[a][0]), float(found[a][1])) for a in range(agents))
