"""Figures are made to be read: labelled axes, texts that overlap nothing and leave no figure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from peerbayes.documents import GraphDocument
from peerbayes.figures.chart import COLOURS, linear_scale, log_scale, plotting_style, to_svg
from peerbayes.figures.curves import (
    MOST_ROWS,
    failures_plot,
    ladder_plot,
    measured_plot,
    rates_plot,
    sweep_plot,
    trajectory_plot,
)
from peerbayes.figures.graph import MOST_AGENTS, network_plot, shortened
from peerbayes.measured import (
    FailuresDocument,
    MeasuredDocument,
    RateDocument,
    SweepDocument,
    TrajectoryDocument,
)
from peerbayes.quantities.sizes import SAMPLES
from tests.peerbayes import reports

LONG = "a hypothesis with a name that is far too long for any figure of this width, $x_1$"


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with plotting_style():
        yield


@lru_cache(maxsize=1)  # drawing is what takes time, and a test asks of one figure several times
def text_boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """What is written in a figure, and where, in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    ticks: set[Any] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            # matplotlib keeps tick objects outside the range, which are never drawn.
            lower, upper = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not lower <= tick.get_loc() <= upper:
                    ticks |= {tick.label1, tick.label2}
    texts = [t for t in figure.findobj(Text) if t not in ticks and t.get_visible()]
    return [
        (t.get_text(), Text.get_window_extent(t, renderer)) for t in texts if t.get_text().strip()
    ]


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that share ink, and texts that leave the figure."""
    boxes = text_boxes(figure)
    page = figure.bbox
    pairs = [
        (a, b)
        for (a, first), (b, second) in combinations(boxes, 2)
        if Bbox.intersection(first.padded(-0.5), second.padded(-0.5)) is not None
    ]
    outside = [
        (text, "edge")
        for text, box in boxes
        if box.x0 < page.x0 or box.y0 < page.y0 or box.x1 > page.x1 or box.y1 > page.y1
    ]
    return pairs + outside


def assert_readable(figure: Figure, *, x: str, y: str | None) -> None:
    """Texts are apart and inside, and the axes say what they are, in which unit."""
    assert overlaps(figure) == []
    axes = figure.axes[0]
    assert re.fullmatch(x, axes.get_xlabel()), axes.get_xlabel()
    assert y is None or re.fullmatch(y, axes.get_ylabel()), axes.get_ylabel()
    assert len([t for t in axes.get_xticklabels() if t.get_text()]) >= 2


def test_the_check_sees_overlaps() -> None:
    figure = Figure(figsize=(2, 2), dpi=72)
    figure.text(0.5, 0.5, "one")
    figure.text(0.52, 0.5, "two")
    figure.text(0.95, 0.1, "outside")
    assert overlaps(figure) == [("one", "two"), ("outside", "edge")]


@pytest.mark.parametrize(
    ("rate", "last"),
    [(1e-7, 1), (1e-7, 250_000), (0.02, 60), (0.02, 400), (0.9, 2), (35.0, 400), (2e5, 1),
     (2e5, 250_000)],
)  # fmt: skip
def test_trajectory(rate: float, last: int) -> None:
    plot = trajectory_plot(
        TrajectoryDocument.model_validate(reports.trajectory("best", LONG, rate=rate, last=last))
    )
    assert_readable(plot.figure, x="round", y=r"log belief ratio \[(10\S+ )?nats\]")
    # The predicted line is K n, through the origin to the last round.
    line = next(
        np.asarray(line.get_xydata())
        for line in plot.figure.axes[0].lines
        if line.get_color() == COLOURS["ink"]
    )
    np.testing.assert_allclose(line, [[0, 0], [last, rate * last]])


def test_trajectory_without_standard_errors_or_paths() -> None:
    data = reports.trajectory("best", "other")
    data |= {"standard_error": [None] * len(data["rounds"]), "paths": []}
    assert_readable(
        trajectory_plot(TrajectoryDocument.model_validate(data)).figure, x="round", y=".*nats.*"
    )


def rates(rows: list[dict[str, Any]]) -> list[RateDocument]:
    return [RateDocument.model_validate(row) for row in rows]


@pytest.mark.parametrize(
    ("count", "ratio", "scale"),
    [(1, 1.0, 1e-6), (1, 1.7, 40.0), (2, 1.1, 0.02), (9, 1.7, 0.02),
     (20, 1.1, 1e-6), (45, 1.7, 1e-6)],
)  # fmt: skip
def test_rates(count: int, ratio: float, scale: float) -> None:
    names = [f"{index} {LONG}" for index in range(count)]
    plot = rates_plot(rates(reports.rates(names, scale=scale, ratio=ratio)), replicates=400)
    assert_readable(plot.figure, x=r"rate \[(10\S+ )?nats per round\]", y=None)
    main, side = plot.figure.axes
    assert side.get_xlabel() == "deviation [s.e.]"
    assert len(main.texts) == min(count, MOST_ROWS)
    texts = dict(text_boxes(plot.figure))
    assert all(texts[name.get_text()].x1 < side.bbox.x0 for name in main.texts)
    assert ("in the table" in plot.finding) == (count > MOST_ROWS)
    points_avoid_texts(plot.figure)


def points_avoid_texts(figure: Figure) -> None:
    boxes = [box for _, box in text_boxes(figure)]
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_marker() not in ("o", "D"):
                continue
            half = line.get_markersize() / 2
            for x, y in axes.transData.transform(np.asarray(line.get_xydata())):
                mark = Bbox([[x - half, y - half], [x + half, y + half]])
                assert not any(Bbox.intersection(mark, box) for box in boxes)


def test_names_are_no_formulas() -> None:
    plot = rates_plot(rates(reports.rates(["costs $x_1$ and &"])), replicates=400)
    assert ">costs $x_1$ and &amp;</text>" in to_svg(plot.figure, key="k", label="")


def test_rates_far_off_are_marked_as_bad() -> None:
    rows = reports.rates(["a", "b"])
    rows[1] |= {"measured": rows[1]["predicted"] * 2}
    plot = rates_plot(rates(rows), replicates=400)
    assert_readable(plot.figure, x="rate.*", y=None)
    colours = [line.get_color() for line in plot.figure.axes[1].lines if line.get_marker() == "o"]
    assert colours == [COLOURS["measured"], COLOURS["bad"]]
    assert "100 standard errors" in plot.finding


def test_rates_that_are_constants_do_not_deviate() -> None:
    rows = reports.rates(["a"])
    rows[0] |= {"measured": rows[0]["predicted"] * (1 + 1e-14), "standard_error": 0.0}
    assert "deviation is 0 standard errors" in rates_plot(rates(rows), replicates=400).finding
    rows[0] |= {"measured": -0.01, "standard_error": None}
    assert_readable(rates_plot(rates(rows), replicates=1).figure, x="rate.*", y=None)


@pytest.mark.parametrize(
    ("samples", "measured"),
    [
        ((188, 3158, 3346987), 56),
        ((188, None, None), None),
        ((None, None, None), None),
        ((1, 1, 1), 1),
        ((3, 4, 10**12), 2),
        ((10**7, 10**8, 10**9), None),
    ],
)
def test_ladder(samples: tuple[int | None, ...], measured: int | None) -> None:
    sizes = dict(zip(("chernoff", "repaired", "printed"), samples, strict=True))
    ladder = SAMPLES.read({"delta": 0.05, **sizes})
    plot = ladder_plot(ladder, measured=measured, was_measured=True)
    assert_readable(plot.figure, x="rounds", y=None)
    assert plot.figure.axes[0].get_xscale() == "log"
    names = [text.get_text() for text in plot.figure.axes[0].texts]
    assert names[0].startswith("measured")
    assert names[3].startswith("as printed, not a theorem")
    assert ("none" in names[1]) == (samples[0] is None)
    points_avoid_texts(plot.figure)


@pytest.mark.parametrize(("last", "replicates"), [(1, 400), (30, 10), (188, 2000), (10**6, 10**6)])
def test_failures(last: int, replicates: int) -> None:
    data = reports.failures(last=last, replicates=replicates)
    plot = failures_plot(FailuresDocument.model_validate(data), delta=0.05)
    assert_readable(plot.figure, x="round", y="share of runs")
    assert plot.figure.axes[0].get_yscale() == "log"


def test_failures_at_either_extreme() -> None:
    data = reports.failures()
    for share in (0.0, 1.0):
        data |= {"frequency": [share] * len(data["rounds"]), "measured_rounds": None}
        plot = failures_plot(FailuresDocument.model_validate(data), delta=1e-6)
        assert_readable(plot.figure, x="round", y="share of runs")


@pytest.mark.parametrize(
    ("count", "changes"), [(2, False), (2, True), (6, True), (10, False), (25, True)]
)
def test_sweep(count: int, changes: bool) -> None:
    names = tuple(f"h{index}" for index in range(count))
    data = reports.sweep(names=names, changes_reference=changes)
    plot = sweep_plot(SweepDocument.model_validate(data))
    assert_readable(plot.figure, x="weight v₁ of the centre", y=r"rate \[nats per round\]")
    assert ("break" in plot.finding) == changes
    lines = [line for line in plot.figure.axes[0].lines if line.get_linestyle() == "-"]
    gaps = [bool(np.isnan(np.asarray(line.get_ydata(), dtype=float)).any()) for line in lines]
    # The two hypotheses settled on are rejected on one side of the change alone.
    assert sum(gaps) == (count - 2 if changes else 0)
    wrong = names if changes else names[1:]
    assert [entry.label for entry in plot.legend] == list(wrong)


@pytest.mark.parametrize("replicates", [1, 50])
def test_measured_trajectories(replicates: int) -> None:
    body = reports.simulate_body(tuple(f"h{i}" for i in range(14)), replicates=replicates)
    plot = measured_plot(MeasuredDocument.model_validate(body["trajectory"]), reference="h0")
    assert_readable(plot.figure, x="round", y=r"log belief ratio \[nats\]")
    assert "4 fastest are not drawn" in plot.finding


def ring(agents: int, *, directed: bool = False) -> dict[str, Any]:
    edges = [[i, (i + 1) % agents] for i in range(agents) if agents > 1]
    edges += [] if directed or agents < 3 else [[j, i] for i, j in edges]
    v = np.linspace(1, 3, agents)
    return {
        "edges": edges, "weights": [0.5] * len(edges), "positions": None,
        "stationary_distribution": (v / v.sum()).tolist(),
    }  # fmt: skip


@pytest.mark.parametrize(
    "graph",
    [
        reports.star_graph(), reports.star_graph(2), reports.star_graph(60), ring(1), ring(2),
        ring(12), ring(7, directed=True), ring(MOST_AGENTS),
    ],
)  # fmt: skip
def test_network(graph: dict[str, Any]) -> None:
    plot = network_plot(GraphDocument.model_validate(graph))
    assert plot is not None
    assert overlaps(plot.figure) == []
    nodes = plot.figure.axes[0].collections[-1]
    extents = [path.get_extents() for path in nodes.get_paths()]
    areas = np.array([np.pi * (box.width / 2) ** 2 for box in extents])
    v = np.array(graph["stationary_distribution"])
    # Circles are made of Bezier curves, right to 3e-4.
    np.testing.assert_allclose(areas / areas.sum(), v / v.sum(), rtol=1e-3)
    for first, second in combinations(extents, 2):
        apart = np.hypot(*(np.mean(first.get_points(), 0) - np.mean(second.get_points(), 0)))
        assert apart > (first.width + second.width) / 2
    page = plot.figure.bbox
    for box in extents:
        corners = plot.figure.axes[0].transData.transform(box.get_points())
        assert (corners >= 0).all()
        assert (corners <= [page.x1, page.y1]).all()


@pytest.mark.parametrize("graph", [ring(3), ring(8), ring(40), reports.star_graph(60)])
@pytest.mark.parametrize("word", ["harbour", "the old mill at the lake"])
def test_names_of_agents_stand_in_or_beside_them(graph: dict[str, Any], word: str) -> None:
    """None touches another, nor an agent that it does not belong to; few agents have theirs."""
    agents = len(graph["stationary_distribution"])
    whole = [f"{word} {agent}" for agent in range(agents)]
    names = [shortened(name) for name in whole]
    plot = network_plot(GraphDocument.model_validate({**graph, "names": whole}))
    assert plot is not None
    assert overlaps(plot.figure) == []
    axes = plot.figure.axes[0]
    circles = [
        Bbox(axes.transData.transform(path.get_extents().get_points()))
        for path in axes.collections[-1].get_paths()
    ]
    shown = text_boxes(plot.figure)
    for name, box in shown:
        width = circles[names.index(name)].width
        # Letters stand within the box; a corner of a circle's box may be in it.
        inside = [Bbox.intersection(box.padded(-0.5), circle) for circle in circles]
        assert all(hit is None or hit.width < 0.15 * width for hit in inside), name
    if agents <= 8:
        assert len(shown) >= (agents if word == "harbour" else agents / 2)
    assert len({name for name, _ in shown}) == len(shown)


def test_large_networks_are_not_drawn() -> None:
    assert network_plot(GraphDocument.model_validate(ring(MOST_AGENTS + 1))) is None


def test_drawings_take_the_pages_colours_and_bring_no_ids_in_common() -> None:
    plot = trajectory_plot(TrajectoryDocument.model_validate(reports.trajectory("best", "other")))
    first = to_svg(plot.figure, key="one", label='a <b> & "c"')
    second = to_svg(plot.figure, key="two", label="again")
    assert not any(colour in first for colour in COLOURS.values())
    assert "var(--measured)" in first
    assert 'aria-label="a &lt;b&gt; &amp; &quot;c&quot;"' in first
    ids = [set(re.findall(r'id="([^"]+)"', svg)) for svg in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', first)) <= ids[0]
    # Numbers in texts are not rounded, those of coordinates are.
    assert not re.search(r"<[^>]*\d\.\d{3,}[^>]*>", first.split(">", 1)[1])


@pytest.mark.parametrize(
    "values", [[0.0], [5.0, 5.0], [1e-12, 2e-12], [-3.0, 4.0], [float("nan")], [0.0, 1e9]]
)
def test_linear_scales_hold_their_data_in_few_ticks(values: list[float]) -> None:
    for zero in (False, True):
        scale = linear_scale(values, zero=zero)
        finite = [value for value in values if np.isfinite(value)]
        assert all(scale.lower <= value <= scale.upper for value in finite)
        assert 2 <= len(scale.ticks) <= 7
        assert len(set(scale.labels)) == len(scale.labels)
        shown = [float(label.replace("−", "-")) * 10.0**scale.power for label in scale.labels]
        # Labels are rounded decimal fractions of round ticks.
        np.testing.assert_allclose(shown, scale.ticks, rtol=1e-9, atol=1e-12 * scale.upper)


def test_log_scales_stay_within_floating_point() -> None:
    scale = log_scale([5e-324, 1e-3, 1e308], room=0.06)
    # Normal doubles: below 2.2e-308 an axis would lose its digits, and then its sign.
    assert 2.3e-308 < scale.lower < 1e-200
    assert 1e200 < scale.upper < 1.7e308
    assert 2 <= len(scale.ticks) <= 7


@pytest.mark.parametrize("values", [[1.0], [56, 188], [0.008, 0.44], [1, 1e12], [2e-9, 3e-7], []])
def test_log_scales_hold_their_data_in_few_ticks(values: list[float]) -> None:
    scale = log_scale(values)
    assert all(scale.lower <= value <= scale.upper for value in values)
    assert 2 <= len(scale.ticks) <= 7
    assert len(set(scale.labels)) == len(scale.labels)
