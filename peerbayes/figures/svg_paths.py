"""Paths of small SVG: short, relative, rounded to a tenth of a pixel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.path import Path
from matplotlib.transforms import Transform

Point = tuple[float, float]


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


_STEPS = 10  # to a pixel


_COMMANDS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


@dataclass(frozen=True)
class Segment:
    """One command of a path with its points, absolute; "Z" closes it and has none."""

    command: str
    points: tuple[Point, ...] = ()


def _segments(path: Path, transform: Transform, **options: Any) -> list[Segment]:
    """The segments of a path in pixels."""
    options.setdefault("simplify", False)
    return [
        Segment("Z")
        if code == Path.CLOSEPOLY
        else Segment(_COMMANDS[code], tuple(zip(flat[::2], flat[1::2], strict=True)))
        for vertices, code in path.iter_segments(transform, snap=False, **options)
        for flat in [vertices.round(6).tolist()]
    ]


def _once(segments: Sequence[Segment]) -> list[Segment]:
    """Without strokes that are drawn a second time: agents that are alike have the same."""
    strokes: list[list[Segment]] = []
    for segment in segments:
        if segment.command == "M" or not strokes:
            strokes.append([])
        strokes[-1].append(segment)
    return [segment for stroke in dict.fromkeys(map(tuple, strokes)) for segment in stroke]


def _is_inside(segments: Iterable[Segment], box: Box) -> bool:
    left, top, right, bottom = box
    margin = 0.05
    return all(
        left - margin <= x <= right + margin and top - margin <= y <= bottom + margin
        for segment in segments
        for x, y in segment.points
    )


def _circle(segments: Sequence[Segment]) -> tuple[float, float, float] | None:
    """Middle and radius where the path is matplotlib's circle of eight curves."""
    if [s.command for s in segments] != ["M", *"C" * 8, "Z"]:
        return None
    anchors = [segment.points[-1] for segment in segments[:-1]]
    x, y = (sum(point[k] for point in anchors[1:]) / 8 for k in (0, 1))
    radii = [math.hypot(a - x, b - y) for a, b in anchors]
    if max(radii) - min(radii) > 0.02 * max(radii) + 1e-4:
        return None
    return x, y, sum(radii) / len(radii)


def _dot(
    circle: tuple[float, float, float], style: dict[str, str]
) -> tuple[str, dict[str, str]] | None:
    """A circle without an edge of its own, as a stroke of no length with round ends."""
    edge = style.get("stroke", "none")
    if any("opacity" in name for name in style) or edge not in ("none", style["fill"]):
        return None
    x, y, radius = circle
    width = 2 * radius + (float(style.get("stroke-width", 1)) if edge != "none" else 0.0)
    drawn = {"fill": "none", "stroke": style["fill"], "stroke-linecap": "round"}
    d = f"M{_pair(round(x * _STEPS), round(y * _STEPS))}h0"
    return d, drawn | {"stroke-width": f"{width:.2f}".rstrip("0").rstrip(".")}


def _written(segments: Sequence[Segment]) -> str:
    """The path in relative commands, or two arcs for a circle; rounding does not add up."""
    circle = _circle(segments)
    if circle is not None:
        # Hundredths for the radius: small dots are a few pixels wide.
        x, y, size = circle
        radius, across = (
            f"{value:.2f}".rstrip("0").rstrip(".").lstrip("0") or "0"
            for value in (size, 2 * round(size, 2))
        )
        top = _pair(round(x * _STEPS), round((y - round(size, 2)) * _STEPS))
        return f"M{top}a{radius} {radius} 0 1 1 0 {across}a{radius} {radius} 0 1 1 0-{across}z"
    parts: list[str] = []
    last = ""
    here = start = (0, 0)
    for segment in segments:
        if segment.command == "Z":
            parts.append("z")
            last, here = "z", start
            continue
        points = [(round(x * _STEPS), round(y * _STEPS)) for x, y in segment.points]
        steps = [(x - here[0], y - here[1]) for x, y in points]
        here = points[-1]
        if segment.command == "M":
            letter, text, start = "M", _pair(*here), here
        elif segment.command == "L" and 0 in steps[0]:
            right, down = steps[0]
            letter, text = ("v", _number(down)) if down else ("h", _number(right))
        else:
            letter = segment.command.lower()
            text = _chained([_pair(*step) for step in steps])
        if letter != last or letter == "M":
            parts.append(letter)
        elif text[0] != "-":
            parts.append(" ")
        parts.append(text)
        last = letter
    return "".join(parts)


def _frame(box: Box) -> str:
    corners = [(box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])]
    return _written([Segment("ML"[index > 0], (at,)) for index, at in enumerate(corners)]) + "z"


def _number(tenths: int) -> str:
    """Tenths as a decimal, without a nought in front."""
    whole, rest = divmod(abs(tenths), _STEPS)
    text = f"{whole or ''}.{rest}" if rest else str(whole)
    return f"-{text}" if tenths < 0 else text


def _place(x: float, y: float) -> dict[str, str]:
    return {"x": _number(round(x * _STEPS)), "y": _number(round(y * _STEPS))}


def _pair(x: int, y: int) -> str:
    return _chained([_number(x), _number(y)])


def _chained(parts: Iterable[str]) -> str:
    """Numbers one after the other, with a blank where no sign parts them."""
    return "".join(
        part if index == 0 or part[0] == "-" else f" {part}" for index, part in enumerate(parts)
    )
