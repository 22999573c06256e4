"""Small SVG: what matplotlib writes, drawn alike in a fraction of the characters.

Groups that say nothing go, paths become relative and are rounded to a tenth of a pixel (a figure is
302 pixels wide), circles become arcs, neighbours that are drawn alike become one path, repeated
strokes of one path are drawn once, and what lies inside its clipping rectangle needs none. Styles
that recur are stated once for the whole page (`share_styles`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from xml.etree import ElementTree

Element = ElementTree.Element
Point = tuple[float, float]

_ARGUMENTS = {"M": 1, "L": 1, "Q": 2, "C": 3, "Z": 0}
_STEPS = 10  # to a pixel
_LONGEST_INLINE = 30  # characters of a mark that is cheaper copied than referred to


@dataclass(frozen=True)
class Segment:
    """One command of a path with its points, absolute."""

    command: str
    points: tuple[Point, ...]


def compact(svg: str, *, key: str) -> str:
    """The content of matplotlib's ``<svg>``, without its outermost tags.

    Parameters
    ----------
    svg
        An ``<svg>`` element as matplotlib writes it.
    key
        Put before every id, which is distinct for each figure of a page.
    """
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    root = ElementTree.fromstring(svg)
    marks, clips = _definitions(root)
    shapes: list[Element] = []
    _flatten(root, {}, shapes, marks, clips)
    shapes = _joined(shapes)
    return _written(shapes, marks, clips, key)


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


def _definitions(root: Element) -> tuple[dict[str, Element], dict[str, tuple[float, ...]]]:
    """Marks that are referred to, and clipping rectangles as (left, top, right, bottom)."""
    marks: dict[str, Element] = {}
    clips: dict[str, tuple[float, ...]] = {}
    for defs in root.iter("defs"):
        for entry in defs:
            name = entry.get("id", "")
            if entry.tag == "clipPath":
                box = next(iter(entry))
                x, y, width, height = (float(box.get(n, 0)) for n in ("x", "y", "width", "height"))
                clips[name] = (x, y, x + width, y + height)
            else:
                marks[name] = entry
    return marks, clips


def _style(text: str) -> dict[str, str]:
    """Declarations by name, without those that say what is so anyway."""
    entries = (part.partition(":") for part in text.split(";") if part.strip())
    style = {name.strip(): value.strip() for name, _, value in entries}
    style.pop("stroke-linejoin", None)  # the page's sheet has it
    if style.get("stroke-linecap") == "butt":
        del style["stroke-linecap"]
    if "font" in style:
        # The family is the page's.
        size = re.search(r"([\d.]+px)", style.pop("font"))
        style["font-size"] = size[1] if size else "10px"
    style.pop("font-family", None)
    if "stroke-width" in style:
        style["stroke-width"] = f"{float(style['stroke-width']):.3g}"
    return style


def _flatten(
    element: Element,
    inherited: dict[str, str],
    shapes: list[Element],
    marks: dict[str, Element],
    clips: dict[str, tuple[float, ...]],
) -> None:
    """Everything that is drawn, in order; an axis's lines first, then its ticks and numbers."""
    own = dict(inherited)
    clip = re.search(r"#([^)]+)", element.get("clip-path", ""))
    if clip:
        own["clip"] = clip[1]
    found: list[Element] = []
    for child in element:
        if child.tag in {"defs", "metadata", "style", "title"}:
            continue
        if child.tag in {"g", "svg"}:
            _flatten(child, own, found, marks, clips)
        else:
            found.append(_shape(child, own, marks, clips))
    if (element.get("id") or "").startswith("matplotlib.axis"):
        found.sort(key=lambda shape: (shape.tag == "text", shape.get("kind") == "mark"))
    shapes += found


def _shape(
    element: Element,
    inherited: dict[str, str],
    marks: dict[str, Element],
    clips: dict[str, tuple[float, ...]],
) -> Element:
    """A path, a text or a reference of its own, with its style in order."""
    clip = re.search(r"#([^)]+)", element.get("clip-path", ""))
    box = clip[1] if clip else inherited.get("clip")
    style = _style(element.get("style", ""))
    if element.tag == "text":
        return _text(element, style)
    shape = Element(element.tag)
    if element.tag == "use":
        name = element.get("href", "").lstrip("#")
        style = _style(marks[name].get("style", "")) | style
        segments = _shifted(_parsed(marks[name].get("d", "")), *_place(element))
        inline = _circled(segments) or _relative(segments)
        if len(inline) <= _LONGEST_INLINE or "C" not in marks[name].get("d", ""):
            shape = Element("path", {"kind": "mark"})
        else:
            shape.set("href", name)
            x, y = _place(element)
            shape.set("x", _number(round(x * _STEPS)))
            shape.set("y", _number(round(y * _STEPS)))
    else:
        segments = _parsed(element.get("d", ""))
    if shape.tag == "path":
        segments = _once(segments)
        shape.set("d", _circled(segments) or _relative(segments))
        if not any(segment.command in "CQZ" for segment in segments) and "fill" not in style:
            style["fill"] = "none"
    if shape.tag == "use":
        dot = _dot(segments, style)
        if dot:
            shape = Element("path", {"d": dot[0]})
            style = dot[1]
    if box and not _is_inside(segments, clips[box]):
        shape.set("clip-path", box)
    shape.set("style", "; ".join(f"{name}: {value}" for name, value in sorted(style.items())))
    return shape


def _place(element: Element) -> Point:
    return float(element.get("x", 0)), float(element.get("y", 0))


def _text(element: Element, style: dict[str, str]) -> Element:
    """A line of text; turned only where it is turned."""
    shape = Element("text")
    shape.text = "".join(element.itertext())
    x, y = _place(element)
    turn = re.search(r"rotate\((-?[\d.]+)", element.get("transform", ""))
    shift = re.search(r"translate\((-?[\d.]+) (-?[\d.]+)\)", element.get("transform", ""))
    if shift:
        x, y = x + float(shift[1]), y + float(shift[2])
    place = [_number(round(value * _STEPS)) for value in (x, y)]
    shape.set("x", place[0])
    shape.set("y", place[1])
    if turn and float(turn[1]):
        shape.set("transform", f"rotate({float(turn[1]):g} {place[0]} {place[1]})")
    shape.set("style", "; ".join(f"{name}: {value}" for name, value in sorted(style.items())))
    return shape


def _parsed(path: str) -> list[Segment]:
    """The segments of a path of absolute commands M, L, Q, C and z, as matplotlib writes them."""
    tokens = re.findall(r"[A-Za-z]|-?[\d.]+(?:e-?\d+)?", path)
    segments, at = [], 0
    while at < len(tokens):
        command = tokens[at].upper()
        count = 2 * _ARGUMENTS[command]
        values = [float(token) for token in tokens[at + 1 : at + 1 + count]]
        segments.append(Segment(command, tuple(zip(values[::2], values[1::2], strict=True))))
        at += 1 + count
    return segments


def _shifted(segments: list[Segment], x: float, y: float) -> list[Segment]:
    return [
        Segment(segment.command, tuple((a + x, b + y) for a, b in segment.points))
        for segment in segments
    ]


def _once(segments: list[Segment]) -> list[Segment]:
    """Without strokes that are drawn a second time: agents that are alike have the same."""
    strokes: list[list[Segment]] = []
    for segment in segments:
        if segment.command == "M" or not strokes:
            strokes.append([])
        strokes[-1].append(segment)
    return [segment for stroke in dict.fromkeys(map(tuple, strokes)) for segment in stroke]


def _is_inside(segments: list[Segment], box: tuple[float, ...]) -> bool:
    left, top, right, bottom = box
    margin = 0.05
    return all(
        left - margin <= x <= right + margin and top - margin <= y <= bottom + margin
        for segment in segments
        for x, y in segment.points
    )


def _circled(segments: list[Segment]) -> str:
    """Two arcs where the path is matplotlib's circle of eight curves; else nothing."""
    if [s.command for s in segments] != ["M", *"C" * 8, "Z"]:
        return ""
    anchors = [segment.points[-1] for segment in segments[:-1]]
    x, y = (sum(point[k] for point in anchors[1:]) / 8 for k in (0, 1))
    radii = [math.hypot(a - x, b - y) for a, b in anchors]
    if max(radii) - min(radii) > 0.02 * max(radii) + 1e-4:
        return ""
    # Hundredths for the radius: small dots are a few pixels wide.
    radius = f"{sum(radii) / len(radii):.2f}".rstrip("0").rstrip(".").lstrip("0") or "0"
    across = f"{2 * float(radius):.2f}".rstrip("0").rstrip(".").lstrip("0")
    top = _pair(round(x * _STEPS), round((y - float(radius)) * _STEPS))
    return f"M{top}a{radius} {radius} 0 1 1 0 {across}a{radius} {radius} 0 1 1 0-{across}z"


def _dot(segments: list[Segment], style: dict[str, str]) -> tuple[str, dict[str, str]] | None:
    """A circle without an edge of its own, as a stroke of no length with round ends."""
    is_plain = not any("opacity" in name for name in style)
    if not (
        _circled(segments) and is_plain and style.get("stroke", "none") in ("none", style["fill"])
    ):
        return None
    points = [point for segment in segments for point in segment.points]
    left, right = (pick(x for x, _ in points) for pick in (min, max))
    top, bottom = (pick(y for _, y in points) for pick in (min, max))
    x, y = (round(value * _STEPS) for value in ((left + right) / 2, (top + bottom) / 2))
    edge = float(style.get("stroke-width", 1)) if style.get("stroke", "none") != "none" else 0.0
    width = f"{right - left + edge:.2f}".rstrip("0").rstrip(".")
    drawn = {"fill": "none", "stroke": style["fill"], "stroke-linecap": "round"}
    return f"M{_pair(x, y)}h0", drawn | {"stroke-width": width}


def _number(tenths: int) -> str:
    """Tenths as a decimal, without a nought in front."""
    whole, rest = divmod(abs(tenths), _STEPS)
    text = f"{whole or ''}.{rest}" if rest else str(whole)
    return f"-{text}" if tenths < 0 else text


def _pair(x: int, y: int) -> str:
    first, second = _number(x), _number(y)
    return first + second if second.startswith("-") else f"{first} {second}"


def _relative(segments: list[Segment]) -> str:
    """The path in relative commands; rounding does not add up."""
    parts: list[str] = []
    last = ""
    here = start = (0, 0)
    for segment in segments:
        points = [(round(x * _STEPS), round(y * _STEPS)) for x, y in segment.points]
        if segment.command == "Z":
            parts.append("z")
            last, here = "z", start
            continue
        if segment.command == "M":
            parts.append("M" + _pair(*points[0]))
            last, start = "M", points[0]
        else:
            steps = [(x - here[0], y - here[1]) for x, y in points]
            if segment.command == "L" and 0 in steps[0]:
                horizontal = steps[0][1] == 0
                letter, text = ("h", _number(steps[0][0])) if horizontal else (
                    "v", _number(steps[0][1])
                )  # fmt: skip
            else:
                letter = segment.command.lower()
                text = _chained([_pair(*step) for step in steps])
            parts.append(text if letter == last and text[0] == "-" else _next(letter, last, text))
            last = letter
        here = points[-1]
    return "".join(parts)


def _next(letter: str, last: str, text: str) -> str:
    return f" {text}" if letter == last else letter + text


def _chained(pairs: list[str]) -> str:
    return "".join(pair if i == 0 or pair[0] == "-" else f" {pair}" for i, pair in enumerate(pairs))


def _joined(shapes: list[Element]) -> list[Element]:
    """Neighbours that are drawn alike as one path, where covering one another changes nothing."""
    joined: list[Element] = []
    for shape in shapes:
        before = joined[-1] if joined else None
        if before is not None and _are_alike(before, shape):
            before.set("d", before.get("d", "") + shape.get("d", ""))
        else:
            joined.append(shape)
    return joined


def _are_alike(first: Element, second: Element) -> bool:
    style = _style(first.get("style", ""))
    is_plain = not any("opacity" in name for name in style)
    # Filled shapes keep their edges where they overlap; strokes of one colour have none.
    has_one_colour = "none" in (style.get("fill"), style.get("stroke", "none"))
    return (
        first.tag == second.tag == "path"
        and is_plain
        and has_one_colour
        and first.get("style") == second.get("style")
        and first.get("clip-path") == second.get("clip-path")
    )


def _written(
    shapes: list[Element],
    marks: dict[str, Element],
    clips: dict[str, tuple[float, ...]],
    key: str,
) -> str:
    """Tags as text: definitions that are used, then the shapes."""
    boxes = list(dict.fromkeys(s.get("clip-path", "") for s in shapes if s.get("clip-path")))
    used = list(dict.fromkeys(s.get("href", "") for s in shapes if s.get("href")))
    names = {name: f"{key}-{index}" for index, name in enumerate([*boxes, *used])}
    text = []
    for name in boxes:
        left, top, right, bottom = (round(value * _STEPS) for value in clips[name])
        text.append(
            f'<clipPath id="{names[name]}"><path d="M{_pair(left, top)}h{_number(right - left)}'
            f'v{_number(bottom - top)}h{_number(left - right)}z"/></clipPath>'
        )
    for name in used:
        segments = _parsed(marks[name].get("d", ""))
        text.append(f'<path id="{names[name]}" d="{_circled(segments) or _relative(segments)}"/>')
    definitions = f"<defs>{''.join(text)}</defs>" if text else ""
    return definitions + "".join(_tag(shape, names) for shape in shapes)


def _tag(shape: Element, names: dict[str, str]) -> str:
    attributes = []
    for name, value in shape.attrib.items():
        if name == "clip-path":
            attributes.append(f'clip-path="url(#{names[value]})"')
        elif name == "href":
            attributes.append(f'href="#{names[value]}"')
        elif name != "kind" and value:
            attributes.append(f'{name}="{escaped(value)}"')
    head = f"<{shape.tag} {' '.join(attributes)}"
    return f"{head}>{escaped(shape.text or '')}</text>" if shape.tag == "text" else f"{head}/>"


def escaped(text: str) -> str:
    """Fit for an attribute or for text."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text
