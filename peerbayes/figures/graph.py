"""The network as a drawing: the area of a node is proportional to its share v of the decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Circle, FancyArrowPatch

from peerbayes.figures.canvas import COLOURS, SMALL, WIDTH, Plot, new_figure
from peerbayes.figures.wording import EQUAL, agents_with, number
from theory.validation import FloatArray

MOST_AGENTS = 150
HEIGHT = 3.0
_LARGEST, _SMALLEST = 0.32, 0.01  # radii of the heaviest node in inches
_MOST_ARROWS = 200
_STUB = 0.14  # inches of a line that leaves the drawing, from the rim of its agent


def network_plot(graph: Mapping[str, Any]) -> Plot | None:
    """Nodes of area proportional to v, and who hears whom; None for more than 150 agents.

    `graph` has ``edges`` as pairs (hearer, heard), ``weights``, ``positions`` (or None) and
    ``stationary_distribution``; perhaps ``quantity``, what stands in for v, and ``marked``, the
    faulty agents.
    """
    v = np.array(graph["stationary_distribution"], dtype=float)
    if len(v) > MOST_AGENTS:
        return None
    pairs = [(int(i), int(j)) for i, j in graph["edges"]]
    weights = dict(zip(pairs, graph["weights"], strict=True))
    positions = _positions(graph["positions"], pairs, len(v))
    radii = _radii(positions, v)
    around = _around(positions, radii, pairs)
    if around:
        # Once more, with room for what leaves the drawing.
        positions = _positions(graph["positions"], pairs, len(v), margin=_STUB + 0.02)
        radii = _radii(positions, v)
        around = _around(positions, radii, pairs)
    # A flat drawing needs no high figure. One data unit is one inch.
    ends = [float(end[1]) for stubs in around.values() for end in stubs]
    bottom = min([*ends, float((positions[:, 1] - radii).min())])
    top = max([*ends, float((positions[:, 1] + radii).max())])
    height = top - bottom + 0.2
    figure = new_figure(height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(bottom - 0.1, top + 0.1))
    axes.set_axis_off()

    both = {(min(i, j), max(i, j)) for i, j in pairs if (j, i) in weights}
    one_way = [(i, j) for i, j in pairs if (j, i) not in weights]
    plain, plain_weights = sorted(both), []
    for i, j in plain:
        plain_weights.append(max(weights[i, j], weights[j, i]))
    arrows = one_way if len(one_way) <= _MOST_ARROWS else []
    if not arrows:
        plain += one_way
        plain_weights += [weights[pair] for pair in one_way]
    lines, widths = [], []
    for pair, weight in zip(plain, plain_weights, strict=True):
        for line in _lines(pair, positions, around):
            lines.append(line)
            widths.append(_line_width(weight, radii))
    axes.add_collection(
        LineCollection(
            lines,
            linewidths=widths,
            colors=COLOURS["muted"],
            zorder=1,
        )
    )
    for i, j in arrows:
        # The last line ends at the hearer.
        *out, (start, end) = _lines((j, i), positions, around)
        for line in out:
            axes.plot(*np.transpose(line), color=COLOURS["muted"], zorder=1)
        axes.add_patch(
            FancyArrowPatch(
                tuple(start),
                tuple(end),
                arrowstyle="-|>",
                mutation_scale=8,
                shrinkA=0,
                shrinkB=72 * radii[i] + 1,
                linewidth=_line_width(weights[i, j], radii),
                color=COLOURS["muted"],
                zorder=1,
            )
        )
    marked = set(graph.get("marked", ()))
    nodes = [Circle((x, y), r) for (x, y), r in zip(positions, radii, strict=True)]
    axes.add_collection(
        PatchCollection(
            nodes,
            facecolor=[COLOURS["bad" if agent in marked else "node"] for agent in range(len(v))],
            edgecolor=COLOURS["paper"],
            linewidth=min(1.2, 10 * float(radii.max())),
            zorder=2,
        )
    )
    for agent, ((x, y), radius) in enumerate(zip(positions, radii, strict=True)):
        # A figure of two digits is 0.15 inches wide at this size.
        if radius >= 0.05 + 0.04 * len(str(agent)):
            axes.text(
                x, y, str(agent), color=COLOURS["paper"], fontsize=SMALL, weight="bold",
                ha="center", va="center_baseline", zorder=3,
            )  # fmt: skip
    direction = " Arrows point from the heard agent to the hearer." if arrows else ""
    faulty = " Faulty agents are red." if marked else ""
    wraps = " Lines that end outside come in again on the other side." if around else ""
    words = _shares(v, graph.get("quantity", "v"))
    return Plot(figure, "Network", words + direction + wraps + faulty)


def _lines(
    pair: tuple[int, int], positions: FloatArray, around: Mapping[tuple[int, int], Any]
) -> list[tuple[Any, Any]]:
    """From the first agent to the second: one line, or two that leave the drawing and come back."""
    first, second = pair
    stubs = around.get((min(pair), max(pair)))
    if stubs is None:
        return [(positions[first], positions[second])]
    outside = stubs if first < second else stubs[::-1]
    return [(positions[first], outside[0]), (outside[1], positions[second])]


def _around(
    positions: FloatArray, radii: FloatArray, pairs: list[tuple[int, int]]
) -> dict[tuple[int, int], tuple[FloatArray, FloatArray]]:
    """Edges that a straight line would hide behind other agents, as on a torus.

    Such an edge (i, j), i < j, joins the two ends of a row. It maps to the points outside at which
    the lines from i and from j stop, nearer than the next agent of the row is inside.
    """
    found = {}
    for i, j in {(min(pair), max(pair)) for pair in pairs}:
        way = positions[j] - positions[i]
        length = float(np.hypot(*way))
        if not length:
            continue
        along = (positions - positions[i]) @ way / length
        aside = np.abs((positions - positions[i]) @ np.array([-way[1], way[0]])) / length
        in_row = aside < 0.5 * radii
        inner = along[in_row & (along > 1e-9) & (along < length - 1e-9)]
        is_whole_row = bool(((along > -1e-9) & (along < length + 1e-9))[in_row].all())
        if len(inner) and is_whole_row:
            out = [
                min(0.8 * gap, radii[agent] + _STUB)
                for agent, gap in ((i, inner.min()), (j, length - inner.max()))
            ]
            step = way / length
            found[i, j] = (positions[i] - step * out[0], positions[j] + step * out[1])
    return found


def _line_width(weight: float, radii: FloatArray) -> float:
    """Points; thin beside the nodes, however small these are."""
    return min(1.0, 8 * float(radii.max())) * (0.5 + 2.5 * float(weight))


def _shares(v: FloatArray, quantity: str) -> str:
    most, least = float(v.max()), float(v.min())
    if most - least <= EQUAL * most:
        return f"Node area shows {quantity}, which is {number(v[0], 3)} for every agent."
    values = v.tolist()
    return (
        f"Node area shows {quantity}: the most is {number(most, 3)} ({agents_with(values, most)}), "
        f"the least {number(least, 3)} ({agents_with(values, least)}). Thicker lines carry more "
        "weight."
    )


def _positions(
    given: Any, pairs: list[tuple[int, int]], agents: int, *, margin: float = 0.06
) -> FloatArray:
    """Positions in inches, inside the figure with a margin around the largest node."""
    if given is not None:
        raw = np.array(given, dtype=float)
    elif agents == 1:
        raw = np.zeros((1, 2))
    else:
        import networkx as nx

        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(range(agents))
        graph.add_edges_from(pairs)
        # Draws nothing at random, and keeps nodes further apart than springs do.
        layout = nx.kamada_kawai_layout(graph)
        raw = np.array([layout[agent] for agent in range(agents)])
    span = np.ptp(raw, axis=0)
    if span[1] > span[0]:
        # The figure is wider than it is high.
        raw, span = raw[:, ::-1] * np.array([1.0, -1.0]), span[::-1]
    room = np.array([WIDTH, HEIGHT]) - 2 * (_LARGEST + margin)
    scale = min((room[k] / span[k] for k in range(2) if span[k] > 0), default=1.0)
    middle = (raw.max(axis=0) + raw.min(axis=0)) / 2
    placed: FloatArray = (raw - middle) * scale + np.array([WIDTH, HEIGHT]) / 2
    return placed


def _radii(positions: FloatArray, v: FloatArray) -> FloatArray:
    """Radii proportional to √v, as large as they can be without touching."""
    relative = np.sqrt(v / v.max())
    distances = np.hypot(*(positions[:, None] - positions[None]).transpose(2, 0, 1))
    np.fill_diagonal(distances, np.inf)
    largest = float((0.8 * distances / (relative[:, None] + relative)).min(initial=_LARGEST))
    radii: FloatArray = relative * min(_LARGEST, max(largest, _SMALLEST))
    return radii
