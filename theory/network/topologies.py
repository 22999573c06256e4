"""Named graphs: who talks to whom, and where to draw it.

Each builder returns the graph's links as rows (listener, speaker), both ways, and positions for
drawing where the graph has natural ones. Builders work on arrays, so that a ring or a grid of a
million agents takes well under a second.

============== ================================= ==========================================
topology       parameters                        graph
============== ================================= ==========================================
`star`         agents, [edge_confidence]         agent 0 in the centre, joined to all others
`ring`         agents (3 or more)                a cycle
`path`         agents                            a line
`grid`         shape                             a box of that shape, nearest neighbours
`torus`        shape (each 3 or more)            a grid whose opposite sides are joined
`complete`     agents                            everyone with everyone
`tree`         agents, [branching = 2]           agent k's children are bk + 1 … bk + b
`hypercube`    dimension, or agents = 2^d        numbers that differ in one binary digit
`erdos-renyi`  agents, probability, seed         each pair with that probability
`geometric`    agents, radius, seed              points of the unit square closer than radius
============== ================================= ==========================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory.validation import FloatArray, IntArray, as_integer, as_positive, as_probability, fail

MOST_AGENTS = 10_000_000
"""The largest network: a ring of so many agents fills a few GB on its way to a sparse W."""

# A complete graph has N² weights; this many agents fill 200 MB.
_COMPLETE_AGENTS = 5000
# Links (listener, speaker), 16 bytes each, of which some four copies exist at a time: 13 GB.
_MOST_LINKS = 2e8
# 2²³ is the last power of two below MOST_AGENTS; a shape with more sides has sides of 1.
_MOST_DIMENSIONS = MOST_AGENTS.bit_length() - 1
_MOST_SIDES = 24


@dataclass(frozen=True, eq=False)
class Topology:
    """A graph: its links (listener, speaker) in both directions, shape (E, 2), and its drawing.

    `layout` has shape (N, 2), or is None where the graph suggests no positions.
    """

    agents: int
    links: IntArray
    layout: FloatArray | None = None


def build_topology(
    topology: str,
    *,
    agents: int | None = None,
    shape: Sequence[int] | None = None,
    probability: float | None = None,
    radius: float | None = None,
    branching: int | None = None,
    dimension: int | None = None,
    seed: int | None = None,
) -> Topology:
    """The named graph.

    Raises
    ------
    ValueError
        If the name is unknown, a parameter is missing, out of range or foreign to the topology,
        or a random graph turns out not to be connected.
    """
    if topology not in _TABLE:
        raise fail("topology", f"one of {', '.join(_TABLE)}", repr(topology), "choose one of these")
    builder, needed, optional = _TABLE[topology]
    given: dict[str, Any] = {
        "agents": agents,
        "shape": shape,
        "probability": probability,
        "radius": radius,
        "branching": branching,
        "dimension": dimension,
        "seed": seed,
    }
    given = {name: value for name, value in given.items() if value is not None}
    for name in needed:
        if name not in given:
            raise fail(name, f"a value, since topology {topology!r} needs it", "none", "give it")
    for name in given:
        refuse_foreign(name, topology, known=name in needed or name in optional)
    return builder(**given)


def refuse_foreign(name: str, topology: str, *, known: bool) -> None:
    """Check that the topology has the parameter that was given.

    Raises
    ------
    ValueError
        If the topology has no such parameter.
    """
    if not known:
        raise fail(name, f"none, since topology {topology!r} has no such parameter", "a value",
                   "leave it out")  # fmt: skip


def _both_ways(a: IntArray, b: IntArray) -> IntArray:
    return np.column_stack([np.concatenate([a, b]), np.concatenate([b, a])]).astype(np.int64)


def _circle(count: int) -> FloatArray:
    angle = math.pi / 2 - 2 * math.pi * np.arange(count) / count
    return np.column_stack([np.cos(angle), np.sin(angle)]).astype(np.float64)


def _star(agents: int) -> Topology:
    count = _count(agents, minimum=2)
    edges = np.arange(1, count)
    layout = np.concatenate([np.zeros((1, 2)), _circle(count - 1)])
    return Topology(count, _both_ways(np.zeros_like(edges), edges), layout)


def _ring(agents: int) -> Topology:
    count = _count(agents, minimum=3)
    return Topology(count, _lattice([count], wrap=True), _circle(count))


def _path(agents: int) -> Topology:
    count = _count(agents)
    return Topology(count, _lattice([count], wrap=False), _lattice_layout([count]))


def _grid(shape: Sequence[int], agents: int | None = None) -> Topology:
    sides = _sides(shape, agents, minimum=1)
    return Topology(math.prod(sides), _lattice(sides, wrap=False), _lattice_layout(sides))


def _torus(shape: Sequence[int], agents: int | None = None) -> Topology:
    sides = _sides(shape, agents, minimum=3)
    return Topology(math.prod(sides), _lattice(sides, wrap=True), _lattice_layout(sides))


def _complete(agents: int) -> Topology:
    count = _count(agents)
    if count > _COMPLETE_AGENTS:
        raise fail(
            "agents",
            f"at most {_COMPLETE_AGENTS} for topology 'complete', which has N² weights",
            count,
            "use fewer agents, or 'erdos-renyi' with a small probability",
        )
    a, b = np.triu_indices(count, 1)
    return Topology(count, _both_ways(a, b), _circle(count))


def _tree(agents: int, branching: int = 2) -> Topology:
    count = _count(agents)
    children = as_integer("branching", branching, minimum=1, maximum=MOST_AGENTS)
    child = np.arange(1, count)
    parent = (child - 1) // children
    # Level by level, each spread evenly over the same width.
    layout = np.zeros((count, 2))
    start, width, level = 0, 1, 0
    while start < count:
        inside = np.arange(start, min(start + width, count))
        layout[inside, 0] = (inside - start + 0.5) / width - 0.5
        layout[inside, 1] = -level
        start, width, level = start + width, width * children, level + 1
    return Topology(count, _both_ways(parent, child), layout)


def _hypercube(dimension: int | None = None, agents: int | None = None) -> Topology:
    if dimension is None:
        if agents is None:
            raise fail("dimension", "a value, since topology 'hypercube' needs it", "none",
                       "give it, or a number of agents that is a power of 2")  # fmt: skip
        dimension = _count(agents).bit_length() - 1
    bits = as_integer("dimension", dimension, minimum=0)
    if bits > _MOST_DIMENSIONS:
        raise fail("dimension", f"at most {_MOST_DIMENSIONS}", bits,
                   "use a smaller one: there are 2^d agents")  # fmt: skip
    _check_count(agents, 2**bits, "2 to the power of the dimension")
    everyone = np.arange(2**bits)
    low = [everyone[(everyone >> bit) & 1 == 0] for bit in range(bits)]
    high = [everyone[(everyone >> bit) & 1 == 1] for bit in range(bits)]
    none = np.zeros(0, dtype=np.int64)
    return Topology(
        2**bits, _both_ways(np.concatenate([none, *low]), np.concatenate([none, *high]))
    )


def _erdos_renyi(agents: int, probability: float, seed: int) -> Topology:
    count = _count(agents)
    chance = as_probability("probability", probability, open_interval=False)
    rng = np.random.default_rng(as_integer("seed", seed, minimum=0))
    # Pairs a < b are numbered b(b−1)/2 + a, and the gaps between chosen ones are geometric.
    pairs = count * (count - 1) // 2
    most = _MOST_LINKS / max(1, 2 * pairs)
    _check_links("probability", chance, 2 * pairs * chance, most=most)
    chosen, last = [np.zeros(0, dtype=np.int64)], -1
    while chance > 0 and last < pairs:
        expected = (pairs - last) * chance
        size = int(expected + 4 * math.sqrt(expected)) + 8
        # A gap beyond the last pair ends the list, however large it is; those of a tiny
        # probability are the largest int64, and their sum would wrap around.
        gaps = np.minimum(rng.geometric(chance, size), pairs + 1)
        chosen.append(last + np.cumsum(gaps))
        last = int(chosen[-1][-1])
    index = np.concatenate(chosen)
    index = index[index < pairs]
    b = ((1 + np.sqrt(1.0 + 8.0 * index)) / 2).astype(np.int64)
    b -= b * (b - 1) // 2 > index  # the root may round up to the next row, or down below it
    b += b * (b + 1) // 2 <= index
    return _connected(
        Topology(count, _both_ways(index - b * (b - 1) // 2, b)),
        f"probability={chance:g} and seed={seed}",
        "raise the probability (ln N / N is the threshold) or try another seed",
    )


def _geometric(agents: int, radius: float, seed: int) -> Topology:
    from scipy.spatial import cKDTree

    count = _count(agents)
    reach = as_positive("radius", radius)
    # A disc of this radius inside the unit square; at the border less of it is.
    share = min(1.0, math.pi * min(reach, 1.0) ** 2)
    most = math.sqrt(_MOST_LINKS / math.pi) / count
    _check_links("radius", reach, share * count * (count - 1), most=most)
    points = np.random.default_rng(as_integer("seed", seed, minimum=0)).random((count, 2))
    pairs = cKDTree(points).query_pairs(reach, output_type="ndarray")
    return _connected(
        Topology(count, _both_ways(pairs[:, 0], pairs[:, 1]), points),
        f"radius={reach:g} and seed={seed}",
        "raise the radius (√(ln N / πN) is the threshold) or try another seed",
    )


def _lattice(sides: Sequence[int], *, wrap: bool) -> IntArray:
    number = np.arange(math.prod(sides)).reshape(sides)
    links = [np.zeros((0, 2), dtype=np.int64)]
    for axis, side in enumerate(sides):
        following = np.roll(number, -1, axis=axis)
        here, there = number, following
        if not wrap:
            inner = tuple(
                slice(0, side - 1) if other == axis else slice(None) for other in range(len(sides))
            )
            here, there = number[inner], following[inner]
        links.append(_both_ways(here.ravel(), there.ravel()))
    return np.concatenate(links)


def _lattice_layout(sides: Sequence[int]) -> FloatArray | None:
    if len(sides) > 2:
        return None
    rows, columns = (1, *sides)[-2:]
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.column_stack([column, -row]).astype(np.float64)


def _sides(shape: Sequence[int], agents: int | None, *, minimum: int) -> list[int]:
    if np.ndim(shape) != 1 or len(shape) == 0:
        raise fail("shape", "a list of side lengths, such as [3, 3]", repr(shape), "list the sides")
    if len(shape) > _MOST_SIDES:
        raise fail("shape", f"at most {_MOST_SIDES} sides", len(shape),
                   "leave out sides of 1, or use fewer")  # fmt: skip
    sides = [as_integer("shape", side, minimum=minimum, maximum=MOST_AGENTS) for side in shape]
    if math.prod(sides) > MOST_AGENTS:
        raise fail(
            "shape",
            f"sides whose product, the number of agents, is at most {MOST_AGENTS}",
            math.prod(sides),
            "use shorter sides",
        )
    _check_count(agents, math.prod(sides), "the product of the shape")
    return sides


def _count(agents: int, *, minimum: int = 1) -> int:
    return as_integer("agents", agents, minimum=minimum, maximum=MOST_AGENTS)


def _check_links(name: str, value: float, links: float, *, most: float) -> None:
    """Refuse a random graph that would fill the memory before it is drawn."""
    if links > _MOST_LINKS:
        raise fail(
            name,
            f"at most {_MOST_LINKS:g} links",
            f"about {links:.2g} with {name}={value:g}",
            f"use at most {most:.1g}, or fewer agents",
        )


def _check_count(agents: int | None, count: int, meaning: str) -> None:
    if agents is not None and agents != count:
        raise fail("agents", f"{count}, {meaning}", agents, "leave it out or correct it")


def _connected(topology: Topology, choice: str, remedy: str) -> Topology:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    a, b = topology.links.T
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(topology.agents, topology.agents))
    parts, _ = connected_components(graph.tocsr(), directed=False)
    if parts > 1:
        raise fail("topology", "a connected graph", f"{parts} parts with {choice}", remedy)
    return topology


_TABLE: dict[str, tuple[Callable[..., Topology], tuple[str, ...], tuple[str, ...]]] = {
    "star": (_star, ("agents",), ()),
    "ring": (_ring, ("agents",), ()),
    "path": (_path, ("agents",), ()),
    "grid": (_grid, ("shape",), ("agents",)),
    "torus": (_torus, ("shape",), ("agents",)),
    "complete": (_complete, ("agents",), ()),
    "tree": (_tree, ("agents",), ("branching",)),
    "hypercube": (_hypercube, (), ("agents", "dimension")),
    "erdos-renyi": (_erdos_renyi, ("agents", "probability", "seed"), ()),
    "geometric": (_geometric, ("agents", "radius", "seed"), ()),
}

TOPOLOGIES = tuple(_TABLE)
