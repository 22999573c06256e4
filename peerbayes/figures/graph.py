"""The network as a drawing: the area of a node is proportional to its share v of the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Circle, FancyArrowPatch

from peerbayes.documents import GraphDocument
from peerbayes.figures.chart import COLOURS, SMALL, WIDTH, Plot, figure_of, new_figure, on_axes
from peerbayes.figures.wording import EQUAL, agents_with, number
from theory.validation import FloatArray

Pair: TypeAlias = tuple[int, int]

MOST_AGENTS = 150
HEIGHT = 3.0
_LARGEST, _SMALLEST = 0.32, 0.01  # radii of the heaviest node in inches
_MOST_ARROWS = 200
_STUB = 0.14  # inches of a line that leaves the drawing, from the rim of its agent
_GAP = 0.03  # inches between an agent and a name beside it
_BESIDE = 0.8  # inches that such names may have at both sides of the drawing
# The directions in which such a name may stand, and at which end of it its agent then is.
_WAYS = {(1, 0): "left", (-1, 0): "right", (0, 1): "center", (0, -1): "center"} | {
    (0.7 * x, 0.7 * y): "left" if x > 0 else "right" for x in (1, -1) for y in (1, -1)
}
_LONGEST = 14  # letters of such a name; longer ones lose their middle


def network_plot(graph: GraphDocument, *, axes: Axes | None = None) -> Plot | None:
    """Nodes of area proportional to v, and who hears whom; None for more than 150 agents."""
    v = np.array(graph.stationary_distribution)
    if len(v) > MOST_AGENTS:
        return None
    weights = dict(zip(graph.edges, graph.weights, strict=True))
    pairs = list(weights)
    positions = _positions(graph.positions, pairs, len(v))
    radii = _radii(positions, v)
    around = _around(positions, radii, pairs)
    if around:
        # Once more, with room for what leaves the drawing.
        positions = _positions(graph.positions, pairs, len(v), margin=_STUB + 0.02)
        radii = _radii(positions, v)
        around = _around(positions, radii, pairs)
    # A flat drawing needs no high figure. One data unit is one inch.
    ends = np.array([end for stubs in around.values() for end in stubs]).reshape(-1, 2)
    places = np.concatenate([positions - radii[:, None], positions + radii[:, None], ends])
    (left, bottom), (right, top) = places.min(axis=0) - 0.1, places.max(axis=0) + 0.1
    height = top - bottom
    if axes is None:
        figure, inch = new_figure(height), 72.0
        axes = figure.add_axes((0, 0, 1, 1))
        left, right = 0.0, WIDTH
    else:
        figure = figure_of(axes)
        axes.set_aspect("equal")
        if graph.names is not None:  # they may stand beside their agents
            left, right = max(left - _BESIDE, 0.0), min(right + _BESIDE, WIDTH)
        room = axes.get_window_extent()
        inch = min(room.width / (right - left), room.height / height) * 72 / figure.dpi
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.set_axis_off()

    drawing = _Drawing(axes, positions, radii, around, inch)
    one_way = [(i, j) for i, j in pairs if (j, i) not in weights]
    arrows = one_way if len(one_way) <= _MOST_ARROWS else []
    both = sorted({(min(i, j), max(i, j)) for i, j in pairs if (j, i) in weights})
    drawing.lines({(i, j): max(weights[i, j], weights[j, i]) for i, j in both})
    if arrows:
        drawing.arrows({pair: weights[pair] for pair in arrows})
    else:
        drawing.lines({pair: weights[pair] for pair in one_way})
    drawing.nodes(set(graph.marked or ()))
    outside = drawing.names([graph.called(i) for i in range(len(v))])
    if graph.names is not None:
        drawing.beside(outside, [pair for pair in pairs if pair not in around])
    direction = " Arrows point from the heard agent to the hearer." if arrows else ""
    faulty = " Faulty agents are red." if graph.marked else ""
    wraps = " Lines that end outside come in again on the other side." if around else ""
    words = _shares(v, graph.quantity or "v", graph.names)
    return Plot(figure, "Network", words + direction + wraps + faulty)


def draw_network(graph: GraphDocument, ax: Axes | None = None) -> Axes:
    """The drawing of a network on axes of one's own, or on new ones, which are returned."""
    return on_axes(lambda axes: network_plot(graph, axes=axes), ax)


def not_drawn(graph: GraphDocument) -> list[str]:
    """A note on a network that is not drawn; nothing of one that is."""
    agents = len(graph.stationary_distribution)
    if agents <= MOST_AGENTS:
        return []
    return [f"{agents} agents are too many to draw: at most {MOST_AGENTS} are"]


@dataclass(frozen=True, eq=False)
class _Drawing:
    """Axes on which agents have their places; `around` as of `_around`.

    A unit of the axes is called an inch, and drawn as `inch` points.
    """

    axes: Axes
    positions: FloatArray
    radii: FloatArray
    around: Mapping[Pair, tuple[FloatArray, FloatArray]]
    inch: float

    def lines(self, weights: Mapping[Pair, float]) -> None:
        """Links between two agents, thicker for more weight."""
        lines, widths = [], []
        for pair, weight in weights.items():
            parts = self._parts(pair)
            lines += parts
            widths += [self._width(weight)] * len(parts)
        if lines:
            self.axes.add_collection(
                LineCollection(lines, linewidths=widths, colors=COLOURS["muted"], zorder=1)
            )

    def arrows(self, weights: Mapping[Pair, float]) -> None:
        """Links (hearer, heard) that go one way."""
        for (hearer, heard), weight in weights.items():
            # The last part ends at the hearer.
            *out, (start, end) = self._parts((heard, hearer))
            for line in out:
                self.axes.plot(*np.transpose(line), color=COLOURS["muted"], zorder=1)
            arrow = FancyArrowPatch(
                tuple(start),
                tuple(end),
                arrowstyle="-|>",
                mutation_scale=8,
                shrinkA=0,
                shrinkB=self.inch * self.radii[hearer] + 1,
                linewidth=self._width(weight),
                color=COLOURS["muted"],
                zorder=1,
            )
            self.axes.add_patch(arrow)

    def nodes(self, marked: Set[int]) -> None:
        """Agents; the marked ones in red."""
        places = list(zip(self.positions, self.radii, strict=True))
        agents = range(len(places))
        self.axes.add_collection(
            PatchCollection(
                [Circle((x, y), radius) for (x, y), radius in places],
                facecolor=[COLOURS["bad" if agent in marked else "node"] for agent in agents],
                edgecolor=COLOURS["paper"],
                linewidth=min(1.2, 10 * float(self.radii.max())),
                zorder=2,
            )
        )

    def names(self, names: Sequence[str]) -> dict[int, str]:
        """Names within agents that have room for them; the others are returned."""
        left = {}
        for agent, ((x, y), radius) in enumerate(zip(self.positions, self.radii, strict=True)):
            # A figure of two digits is 0.15 inches wide at this size.
            if radius * self.inch / 72 >= 0.05 + 0.04 * len(names[agent]):
                self.axes.text(
                    x, y, names[agent], color=COLOURS["paper"], fontsize=SMALL, weight="bold",
                    ha="center", va="center_baseline", zorder=3,
                )  # fmt: skip
            else:
                left[agent] = names[agent]
        return left

    def beside(self, names: Mapping[int, str], pairs: Sequence[Pair]) -> None:
        """Names outside their agents, where they cover neither agents nor each other.

        Off the links if that can be had, and then towards the outside.
        """
        taken = [
            (at - radius, at + radius)
            for at, radius in zip(self.positions, self.radii, strict=True)
        ]
        page = np.array([self.axes.get_xlim(), self.axes.get_ylim()]).T
        ends = self.positions[np.array(pairs, dtype=np.int64).reshape(-1, 2)]
        along = np.linspace(0, 1, 30)[:, None, None]
        links = (ends[:, 0] * (1 - along) + ends[:, 1] * along).reshape(-1, 2)
        for agent, whole in names.items():
            at, name = self.positions[agent], shortened(whole)
            # Letters are 0.66 em wide at most, on average; with descenders 1.3 em high.
            half = SMALL / self.inch * np.array([0.33 * len(name), 0.65])
            outwards = at - self.positions.mean(axis=0)
            places = []
            for way, side in _WAYS.items():
                direction = np.array(way)
                middle = at + direction * (self.radii[agent] + _GAP) + np.sign(direction) * half
                low, high = middle - half, middle + half
                if (page[0] > low).any() or (high > page[1]).any():
                    continue
                if any((low < end).all() and (start < high).all() for start, end in taken):
                    continue
                covered = ((links > low) & (links < high)).all(axis=1).sum()
                places.append((covered, -float(outwards @ direction), side, low, high))
            if not places:
                continue
            *_, side, low, high = min(places, key=lambda place: place[:2])
            taken.append((low, high))
            x = {"left": low[0], "center": (low[0] + high[0]) / 2, "right": high[0]}[side]
            self.axes.text(
                x, (low[1] + high[1]) / 2, name, color=COLOURS["ink"], fontsize=SMALL, ha=side,
                va="center_baseline", zorder=3,
            )  # fmt: skip

    def _parts(self, pair: Pair) -> list[tuple[FloatArray, FloatArray]]:
        """From the first agent to the second: one line, or two that leave and come back."""
        first, second = pair
        stubs = self.around.get((min(pair), max(pair)))
        if stubs is None:
            return [(self.positions[first], self.positions[second])]
        outside = stubs if first < second else stubs[::-1]
        return [(self.positions[first], outside[0]), (outside[1], self.positions[second])]

    def _width(self, weight: float) -> float:
        """Points; thin beside the nodes, however small these are."""
        return min(1.0, 8 * float(self.radii.max())) * (0.5 + 2.5 * weight)


def shortened(name: str) -> str:
    """A name that fits beside an agent.

    >>> shortened("the old mill at the lake 3")
    'the old…lake 3'
    """
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[:half]}…{name[half - _LONGEST + 1 :]}"


def _around(
    positions: FloatArray, radii: FloatArray, pairs: Sequence[Pair]
) -> dict[Pair, tuple[FloatArray, FloatArray]]:
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


def _shares(v: FloatArray, quantity: str, names: Sequence[str] | None) -> str:
    most, least = float(v.max()), float(v.min())
    if most - least <= EQUAL * most:
        return f"Node area shows {quantity}, which is {number(v[0], 3)} for every agent."
    values = v.tolist()
    heavy, light = (agents_with(values, value, names) for value in (most, least))
    return (
        f"Node area shows {quantity}: the most is {number(most, 3)} ({heavy}), "
        f"the least {number(least, 3)} ({light}). Thicker lines carry more weight."
    )


def _positions(
    given: list[list[float]] | None, pairs: Sequence[Pair], agents: int, *, margin: float = 0.06
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
