"""Small SVG: the same drawing, decoded by hand, and a page of many problems that stays small."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from peerbayes.documents import GraphDocument
from peerbayes.figures.canvas import plotting_style, to_svg
from peerbayes.figures.curves import trajectory_plot
from peerbayes.figures.graph import network_plot
from peerbayes.figures.svg import share_styles
from peerbayes.measured import TrajectoryDocument
from tests.peerbayes import reports
from tests.peerbayes.test_report import HOSTILE, Page, full_body, full_page, page_of
from theory.network import Network


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with plotting_style():
        yield


def strokes(path: str) -> list[list[tuple[float, float]]]:
    """Points of a path, stroke by stroke; relative M, l, h, v, q, c, a (its end), z."""
    tokens = re.findall(r"[A-Za-z]|-?(?:\d+\.?\d*|\.\d+)", path)
    counts = {"M": 2, "l": 2, "h": 1, "v": 1, "q": 4, "c": 6, "a": 7, "z": 0}
    found: list[list[tuple[float, float]]] = []
    at, command, x, y = 0, "", 0.0, 0.0
    while at < len(tokens):
        if tokens[at].isalpha():
            command, at = tokens[at], at + 1
        values = [float(token) for token in tokens[at : at + counts[command]]]
        at += counts[command]
        if command == "z":
            x, y = found[-1][0]
            continue
        if command == "M":
            x, y = values
            found.append([])
        elif command in "hv":
            x, y = x + values[0] * (command == "h"), y + values[0] * (command == "v")
        else:
            x, y = x + values[-2], y + values[-1]
        found[-1].append((x, y))
    return found


def figure() -> tuple[Figure, Any]:
    """Axes of 200 by 100 pixels, data in pixels from the top left."""
    found = Figure(figsize=(200 / 72, 100 / 72), dpi=72)
    found.patch.set_visible(False)
    axes = found.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 200), ylim=(100, 0))
    axes.set_axis_off()
    return found, axes


def drawn(found: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(found, key="k", label="l"))


def test_rounding_does_not_add_up() -> None:
    points = np.random.default_rng(1).uniform([1, 1], [199, 99], size=(3000, 2)).cumsum(0)
    points = 1 + points % [198, 98]
    found, axes = figure()
    axes.plot(*points.T, color="k")
    (path,) = drawn(found).iter("path")
    (stroke,) = strokes(path.get("d", ""))
    # matplotlib joins what lies within a third of a pixel; every point is a tenth from one of them.
    far = [min(np.hypot(*(np.array(stroke) - point).T)) for point in points[::50]]
    assert max(far) <= 0.45
    assert np.allclose(stroke[-1], points[-1], atol=0.06)
    assert "clip-path" not in path.attrib


def test_what_leaves_the_axes_is_still_clipped() -> None:
    found, axes = figure()
    axes.plot([10, 300], [10, 90], color="k")
    root = drawn(found)
    (path,) = (path for path in root.iter("path") if path.get("clip-path"))
    (box,) = root.iter("clipPath")
    assert path.get("clip-path") == f"url(#{box.get('id')})"
    assert strokes(box[0].get("d", ""))[0] == [(0, 0), (200, 0), (200, 100), (0, 100)]


def test_the_same_stroke_is_drawn_once_and_another_stays() -> None:
    found, axes = figure()
    once, other = ([10, 50], [20, 30]), ([60, 90], [20, 40])
    x, y = (
        np.concatenate([*(np.append(line[k], np.nan) for line in (once, other, once))])
        for k in (0, 1)
    )
    axes.plot(x, y, color="k")
    (path,) = drawn(found).iter("path")
    assert strokes(path.get("d", "")) == [[(10, 20), (50, 30)], [(60, 20), (90, 40)]]


def test_circles_are_arcs_and_dots_are_strokes_without_length() -> None:
    found, axes = figure()
    circles = [Circle((50, 40), 12.5), Circle((150, 40), 5)]
    axes.add_collection(PatchCollection(circles, facecolor="b", edgecolor="w", linewidth=1))
    axes.plot([100, 120], [30, 60], "o", markersize=5, mew=0, color="r")
    circle, _, dots = drawn(found).iter("path")
    ends = strokes(circle.get("d", ""))[0]
    assert np.allclose(ends, [(50, 27.5), (50, 52.5), (50, 27.5)], atol=0.06)
    assert circle.get("d", "").count("a12.5 12.5 0 1 1") == 2
    assert strokes(dots.get("d", "")) == [[(100, 30), (100, 30)], [(120, 60), (120, 60)]]
    style = dots.get("style", "")
    assert "stroke-linecap: round" in style
    assert "stroke-width: 5;" in style + ";"
    assert "fill: none" in style


def test_opaque_and_see_through_shapes_are_kept_apart() -> None:
    for alpha, count in ((None, 1), (0.5, 2)):
        found, axes = figure()
        for y in (20, 30):
            axes.plot([10, 50], [y, y + 5], color="k", alpha=alpha)
        assert len(list(drawn(found).iter("path"))) == count


def test_edges_of_circles_stay_where_they_cover_one_another() -> None:
    found, axes = figure()
    circles = [Circle((x, 50), 10) for x in (50, 60)]
    axes.add_collection(PatchCollection(circles, facecolor="b", edgecolor="w", linewidth=2))
    assert len(list(drawn(found).iter("path"))) == 2


@pytest.mark.parametrize("name", [name for name in HOSTILE if "\x00" not in name])
def test_texts_stay_as_they_are(name: str) -> None:
    found, axes = figure()
    axes.text(100, 50, name, rotation=90)
    (text,) = drawn(found).iter("text")
    assert text.text == name
    assert text.get("transform", "").startswith("rotate(-90")


def test_every_style_is_a_class_of_the_sheet() -> None:
    data = TrajectoryDocument.model_validate(reports.trajectory("best", 'style="x"'))
    svg = to_svg(trajectory_plot(data).figure, key="k", label="")
    page = share_styles(f"<style>\n</style><body>{svg}</body>")
    sheet, _, body = page.partition("</style>")
    rules = dict(re.findall(r"\.plot \.(s\d+) \{(.*?)\}", sheet))
    before = re.findall(r'<\w+[^>]* style="([^"]*)"', svg)
    after = re.findall(r'<\w+[^>]* class="(s\d+)"', body)
    assert [rules[name] for name in after] == before
    assert len(set(rules.values())) == len(rules)
    assert " style=" not in re.sub(r">[^<]*<", "><", body).replace('aria-label=""', "")


def test_the_first_table_counts_verdicts_and_finds_the_worst_deviation(tmp_path: Any) -> None:
    body = full_body()
    problems = body["problems"]
    for problem in problems:
        problem["comparisons"] = [reports.comparison(problem["name"], "a mean")]
    problems[1]["comparisons"] += [
        reports.comparison("x", "far", measured=0.1035, standard_error=0.001),
        reports.comparison("x", "no theorem", measured=0.9, holds=False, is_theorem=False),
        reports.comparison("x", "below its bound", measured=0.01, kind="bound"),
        reports.comparison("x", "a limit", measured=0.2, kind="asymptotic"),
        reports.comparison("x", "not random", standard_error=None),
    ]
    problems[2]["comparisons"] += [
        reports.comparison("y", "above", measured=0.098, kind="bound", side="lower"),
    ]
    page, text = page_of(tmp_path, body)
    table = re.search(r'aria-label="Families of problems">.*?</table>', text, re.DOTALL)
    assert table is not None
    rows = [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[dh].*?</t[dh]>", row)]
        for row in re.findall(r"<tr>.*?</tr>", table[0], re.DOTALL)
    ]
    sweeps = sum(len(sweep["comparisons"]) for sweep in body["sweeps"] if "p2" in sweep["name"])
    named = {row[1]: row[2:] for row in rows}
    assert [row[0] for row in rows[1:]] == ["✓ holds", "△ fails (not a theorem)", "✓ holds", ""]
    assert named["two-coins"] == ["1", "1", "1", "0", "0", "1.0", "two-coins"]
    counts = [str(8 + sweeps), str(7 + sweeps), "1", "0"]
    assert named["p2-star"] == ["2", *counts, "3.5", "p2-star a=0.1"]
    assert named["all"][-2:] == ["3.5", "p2-star a=0.1"]
    ids = page.values("id")
    links = re.findall(r'href="#([^"]+)"', table[0])
    assert len(links) >= 2 * (len(rows) - 2)
    assert all(link in ids for link in links)
    # Where there is one family there is nothing to sum up.
    (tmp_path / "one").mkdir()
    _, alone = page_of(tmp_path / "one", reports.verify_body(problems[0]))
    assert "Families of problems" not in alone


def torus(rows: int, columns: int, kind: str) -> GraphDocument:
    """The drawing of a torus or grid of equal weights, from the library's own topology."""
    network = Network.from_topology(kind, shape=[rows, columns])
    weights = np.asarray(network.weights)
    pairs = [(int(i), int(j)) for i, j in zip(*np.nonzero(weights), strict=True) if i != j]
    assert network.layout is not None
    return GraphDocument(
        edges=pairs,
        weights=[float(weights[pair]) for pair in pairs],
        positions=np.asarray(network.layout).tolist(),
        stationary_distribution=network.stationary_distribution.tolist(),
    )


@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (3, 4), (10, 10)])
def test_edges_around_a_torus_are_drawn_outside(rows: int, columns: int) -> None:
    """Every edge around is two lines that leave the drawing; no line passes behind an agent."""
    graph = torus(rows, columns, "torus")
    plot = network_plot(graph)
    assert plot is not None
    assert "come in again on the other side" in plot.finding
    lines, nodes = plot.figure.axes[0].collections
    boxes = [path.get_extents() for path in nodes.get_paths()]
    centres = np.array([np.mean(box.get_points(), 0) for box in boxes])
    low, high = centres.min(0), centres.max(0)
    outside = 0
    for line in lines.get_segments():
        start, end = np.array(line)
        length = np.hypot(*(end - start))
        for centre in centres:
            along = (centre - start) @ (end - start) / length
            aside = np.hypot(*(centre - start - along * (end - start) / length))
            assert not (1e-6 < along < length - 1e-6 and aside < 1e-6)
        out = [((p < low - 1e-6) | (p > high + 1e-6)).any() for p in (start, end)]
        outside += sum(out)
        # A line that leaves ends outside its agent, where it can be seen.
        assert not any(out) or length > boxes[0].width / 2 + 0.02
    assert outside == 2 * (rows + columns)
    inside = rows * (columns - 1) + columns * (rows - 1)
    assert len(lines.get_segments()) == inside + 2 * (rows + columns)
    axes = plot.figure.axes[0]
    (bottom, top), (left, right) = axes.get_ylim(), axes.get_xlim()
    ends = np.concatenate(lines.get_segments())
    assert (ends >= [left, bottom]).all()
    assert (ends <= [right, top]).all()


def test_a_grid_has_no_edges_around() -> None:
    plot = network_plot(torus(3, 3, "grid"))
    assert plot is not None
    assert "other side" not in plot.finding
    assert len(plot.figure.axes[0].collections[0].get_segments()) == 12


def test_figures_fill_their_columns() -> None:
    """Columns and not rows: figures of different heights leave no holes between them."""
    _, text = full_page()
    sheet = text.partition("</style>")[0]
    assert re.search(r"\.figures \{ columns: 22rem;", sheet)
    assert "break-inside: avoid" in sheet
    assert Page(text).tags["figure"] == text.count("<figure>")


def test_the_centres_weight_is_set_in_one_way() -> None:
    page, _ = full_page()
    assert "v₁" in page.text
    assert not re.search(r"\bv_?1\b", page.text)
