"""Small SVG: figures of matplotlib drawn straight into few and short elements.

Paths are relative and rounded to a tenth of a pixel (a figure is 302 pixels wide), circles become
arcs, dots without an edge become strokes of no length with round ends, neighbours that are drawn
alike become one path, repeated strokes of one path are drawn once, and what lies inside its
clipping rectangle needs none. Text stays text. Styles that recur are stated once for the whole page
(`share_styles`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.colors import rgb2hex
from matplotlib.figure import Figure
from matplotlib.font_manager import weight_dict
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D, Transform

# Paths: short, relative, rounded to a tenth of a pixel -------------------------------------------

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


# Figures -----------------------------------------------------------------------------------------

_ANCHORS = {"left": "start", "right": "end", "center": "middle"}


@dataclass
class Shape:
    """An element that is drawn: a path, a text, or a mark that stands elsewhere too (``use``)."""

    tag: str
    style: dict[str, str]
    attributes: dict[str, str]
    text: str = ""
    box: Box | None = None
    mark: str = ""
    is_tick: bool = False

    def joins(self, other: Shape) -> bool:
        """Whether both may be one path: where covering one another changes nothing.

        Filled shapes keep their edges where they overlap; strokes of one colour have none.
        """
        return (
            self.tag == other.tag == "path"
            and not any("opacity" in name for name in self.style)
            and "none" in (self.style.get("fill"), self.style.get("stroke", "none"))
            and (self.style, self.box) == (other.style, other.box)
        )


def svg_of(figure: Figure, *, key: str) -> str:
    """The content of an ``<svg>`` element as wide and high as the figure, in pixels.

    Parameters
    ----------
    figure
        Of 72 dots an inch.
    key
        Put before every id, which is distinct for each figure of a page.
    """
    width, height = figure.get_size_inches() * figure.dpi
    renderer = Renderer(float(width), float(height))
    figure.draw(renderer)
    return renderer.written(key)


def share_styles(page: str) -> str:
    """The page with a class for each ``style`` of its figures, all of them in its sheet."""
    start = page.index("</style>")
    head, body = page[:start], page[start:]
    tags = re.compile(r'<(?:path|text|use|g)\b[^>]* style="([^"]*)"[^>]*>')
    counts = Counter(match[1] for match in tags.finditer(body))
    names = {style: f"s{i}" for i, (style, _) in enumerate(counts.most_common())}

    def named(match: re.Match[str]) -> str:
        return match[0].replace(f'style="{match[1]}"', f'class="{names[match[1]]}"')

    rules = "".join(f".plot .{name} {{{style}}}\n" for style, name in names.items())
    return head + rules + tags.sub(named, body)


def escaped(text: str) -> str:
    """Fit for an attribute or for text."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text


class Renderer(RendererBase):
    """What matplotlib draws on; pixels are points, and the origin is at the top left."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__()
        self._size = width, height
        self._flip = Affine2D().scale(1, -1).translate(0, height)
        self._shapes: list[Shape] = []
        self._groups: list[tuple[str, int]] = []

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self._size

    def get_text_width_height_descent(
        self, s: str, prop: Any, ismath: Any
    ) -> tuple[float, float, float]:
        return text_to_path.get_text_width_height_descent(s, prop, ismath)

    def open_group(self, s: str, gid: str | None = None) -> None:
        self._groups.append((s, len(self._shapes)))

    def close_group(self, s: str) -> None:
        """Order an axis: its lines first, then its ticks, then its numbers."""
        name, start = self._groups.pop()
        if name.startswith("matplotlib.axis"):
            drawn = self._shapes[start:]
            self._shapes[start:] = sorted(drawn, key=lambda one: (one.tag == "text", one.is_tick))

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None
    ) -> None:
        is_open = rgbFace is None
        clip = (0.0, 0.0, *self._size) if is_open else None
        simplified = path.should_simplify and is_open
        segments = _segments(path, transform + self._flip, clip=clip, simplify=simplified)
        self._add(segments, _style(gc, rgbFace), self._box(gc))

    def draw_markers(
        self,
        gc: GraphicsContextBase,
        marker_path: Path,
        marker_trans: Transform,
        path: Path,
        trans: Transform,
        rgbFace: Any = None,
    ) -> None:
        mark = _segments(marker_path, marker_trans + Affine2D().scale(1, -1))
        style, box = _style(gc, rgbFace), self._box(gc)
        for place, _ in path.iter_segments(trans + self._flip, simplify=False):
            x, y = place[-2:].round(6).tolist()
            moved = [Segment(m.command, tuple((a + x, b + y) for a, b in m.points)) for m in mark]
            self._add(moved, style, box, mark=_written(mark), at=_place(x, y))

    def _add(
        self,
        segments: Sequence[Segment],
        style: dict[str, str],
        box: Box | None,
        *,
        mark: str = "",
        at: dict[str, str] | None = None,
    ) -> None:
        """A path, or one of many marks at its place; circles are referred to, others copied."""
        if box is not None and _is_inside(segments, box):
            box = None
        circle = _circle(segments)
        dot = None if circle is None else _dot(circle, style)
        if dot is not None:
            shape = Shape("path", dot[1], {"d": dot[0]}, box=box)
        elif circle is not None and mark:
            shape = Shape("use", style, at or {}, box=box, mark=mark)
        else:
            d = _written(_once(segments))
            shape = Shape("path", style, {"d": d}, box=box, is_tick=bool(mark))
        self._shapes.append(shape)

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: Any,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        """A line of text, anchored as it was aligned; turned only where it is turned."""
        style = {"fill": rgb2hex(gc.get_rgb()), "font-size": f"{prop.get_size():g}px"}
        weight = weight_dict.get(prop.get_weight(), prop.get_weight())
        if weight != 400:
            style["font-weight"] = f"{weight}"
        if mtext and (angle == 0 or mtext.get_rotation_mode() == "anchor"):
            # Browsers know letters best: they align the line at its anchor, on its own baseline.
            at = mtext.get_transform().transform(mtext.get_unitless_position())
            anchor_x, anchor_y = float(at[0]), self._size[1] - float(at[1])
            across, down = math.sin(math.radians(angle)), math.cos(math.radians(angle))
            offset = across * (x - anchor_x) + down * (y - anchor_y)
            x, y = anchor_x + offset * across, anchor_y + offset * down
            style["text-anchor"] = _ANCHORS[mtext.get_ha()]
        place = _place(x, y)
        if angle:
            place["transform"] = f"rotate({-angle:g} {place['x']} {place['y']})"
        self._shapes.append(Shape("text", style, place, s))

    def _box(self, gc: GraphicsContextBase) -> Box | None:
        """The rectangle to which a drawing is cut."""
        clip: Any = gc.get_clip_rectangle()
        if clip is None:
            return None
        height = self._size[1]
        return clip.x0, height - clip.y1, clip.x1, height - clip.y0

    def written(self, key: str) -> str:
        """Definitions that are referred to, then the shapes; `key` begins every id."""
        shapes: list[Shape] = []
        for shape in self._shapes:
            if shapes and shapes[-1].joins(shape):
                shapes[-1].attributes["d"] += shape.attributes["d"]
            else:
                shapes.append(shape)
        boxes = dict.fromkeys(shape.box for shape in shapes if shape.box)
        marks = dict.fromkeys(shape.mark for shape in shapes if shape.mark)
        names = {one: f"{key}-{index}" for index, one in enumerate([*boxes, *marks])}
        text = [
            f'<clipPath id="{names[box]}"><path d="{_frame(box)}"/></clipPath>' for box in boxes
        ]
        text += [f'<path id="{names[mark]}" d="{mark}"/>' for mark in marks]
        definitions = f"<defs>{''.join(text)}</defs>" if text else ""
        return definitions + "".join(_tag(shape, names) for shape in shapes)


def _tag(shape: Shape, names: dict[Any, str]) -> str:
    """An element as text."""
    attributes = dict(shape.attributes)
    if shape.mark:
        attributes["href"] = f"#{names[shape.mark]}"
    if shape.box:
        attributes["clip-path"] = f"url(#{names[shape.box]})"
    attributes["style"] = "; ".join(
        f"{name}: {value}" for name, value in sorted(shape.style.items())
    )
    head = f"<{shape.tag} " + " ".join(f'{k}="{escaped(v)}"' for k, v in attributes.items())
    return f"{head}>{escaped(shape.text)}</text>" if shape.tag == "text" else f"{head}/>"


def _style(gc: GraphicsContextBase, face: Any) -> dict[str, str]:
    """Declarations of a path, without those that say what is so anyway."""
    style = {"fill": "none" if face is None else rgb2hex(face)}
    forced = gc.get_forced_alpha()
    if forced and gc.get_alpha() != 1:
        style["opacity"] = f"{gc.get_alpha():g}"
    if face is not None and len(face) == 4 and face[3] != 1 and not forced:
        style["fill-opacity"] = f"{face[3]:g}"
    width, rgb = gc.get_linewidth(), gc.get_rgb()
    dashes: Any = gc.get_dashes()[1]
    if dashes is not None:
        style["stroke-dasharray"] = ",".join(f"{length:g}" for length in dashes)
    if width:
        style["stroke"] = rgb2hex(rgb)
        if not forced and rgb[3] != 1:
            style["stroke-opacity"] = f"{rgb[3]:g}"
        if width != 1:
            style["stroke-width"] = f"{width:.3g}"
        cap = {"projecting": "square"}.get(gc.get_capstyle(), gc.get_capstyle())
        if cap != "butt":
            style["stroke-linecap"] = cap
    return style
