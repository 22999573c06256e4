"""What is taken out of outputs, since it cannot be the same twice, and pages as text and numbers.

`KEYS` and `TEXTS` are all rules there are. Each is as narrow as it can be: a key of a document, or
a pattern in a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any


@dataclass(frozen=True)
class KeyRule:
    """What stands in place of the value of a key.

    Attributes
    ----------
    placeholder
        It stands for every text or number, and for a list of them; null stays null.
    but_in
        Keys right above this one under which the value is kept.
    texts_only
        Whether numbers are kept.
    """

    placeholder: str
    but_in: tuple[str, ...] = ()
    texts_only: bool = False


# By the key of a document, wherever it stands.
KEYS: Mapping[str, KeyRule] = {
    "build": KeyRule("(build)"),  # a mark of the code that made a part
    "builds": KeyRule("(builds)"),
    "expires": KeyRule("(day)"),  # of certificates
    "sha256": KeyRule("(checksum)"),  # of a record: follows from what else is in it
    # Of a record's `of` it is a setting, of a campaign's parts an estimate from records.
    "seconds": KeyRule("(seconds)", but_in=("of", "parts")),
    "version": KeyRule("(version)", texts_only=True),  # of the program; a number is of a form
}
# Columns of tables on pages, by their heads.
COLUMNS: Mapping[str, str] = {"build": "(build)", "seconds": "(seconds)"}
# Pattern in a text: what stands in its place. Folders are replaced before.
TEXTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bdone \(\d+\.\d s\)"), "done (S s)"),
    (re.compile(r"\bpeerbayes \d+\.\d+\.\d+\b"), "peerbayes VERSION"),
    (re.compile(r"\bthis build: [0-9a-f]{12}\b"), "this build: BUILD"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "YYYY-MM-DD"),  # when a certificate expires
)
# A value, or a line, that is there only where a machine was slow: it counts as null, or as no line.
# `analyse --exact` and `--certify` keep parts that took longer than a second.
SOMETIMES = re.compile(
    r"(record\s+)?\S*certificate-\S+\.json|note: parts that took long are kept in"
)

Replacements = tuple[tuple[str, str], ...]


def normal(value: Any, places: Replacements = (), *, above: str = "") -> Any:
    """Return a document, or text, without what passes.

    Parameters
    ----------
    value
        As JSON has it: nested dictionaries, lists, texts and numbers.
    places
        Folders of this machine, and what stands in their place; longer ones first.
    above
        The key under which the value stands.
    """
    if isinstance(value, dict):
        return {
            key: KEYS[key].placeholder
            if passes(key, entry, above)
            else normal(entry, places, above=key)
            for key, entry in value.items()
        }
    if isinstance(value, list):
        kept = (e for e in value if not (isinstance(e, str) and SOMETIMES.fullmatch(e)))
        return [normal(entry, places, above=above) for entry in kept]
    if isinstance(value, str):
        if SOMETIMES.fullmatch(value):
            return None
        for folder, placeholder in places:
            value = value.replace(folder, placeholder)
        for pattern, placeholder in TEXTS:
            value = pattern.sub(placeholder, value)
    return value


def passes(key: str, value: Any, above: str) -> bool:
    """Whether a rule of `KEYS` replaces what stands under a key."""
    rule = KEYS.get(key)
    if rule is None or above in rule.but_in:
        return False
    entries = value if isinstance(value, list) else [value]
    kinds: tuple[type, ...] = (str,) if rule.texts_only else (str, int, float)
    return all(isinstance(entry, kinds) for entry in entries)


def lines_of(text: str, places: Replacements = ()) -> list[str]:
    """Return the lines of a text, without what passes."""
    found: list[str] = normal(text.splitlines(), places)
    return found


# Pages ------------------------------------------------------------------------------------------

_SILENT = {"script", "style"}
_INLINE = {"a", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup"}
# Attributes of drawings that hold positions and sizes.
_GEOMETRY = {
    *("d", "points", "transform", "viewbox", "width", "height"),
    *("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry"),
}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Page(HTMLParser):
    """The text of a page, line by line, and its drawings: elements, words, sums of coordinates."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.drawings: list[dict[str, Any]] = []
        self._line: list[str] = []
        self._silent = self._svg = 0
        self.feed(text)
        self.close()
        self._end_line()

    def _end_line(self) -> None:
        line = " ".join("".join(self._line).split())
        if line:
            self.lines.append(line)
        self._line = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in _SILENT
        if tag == "svg":
            if not self._svg:
                self._end_line()
                self.drawings.append({"elements": {}, "words": [], "coordinates": 0.0})
            self._svg += 1
        if self._svg:
            self._draw(tag, attrs)
        elif tag in ("td", "th"):
            self._line.append(" | ")
        elif tag not in _INLINE:
            self._end_line()
        self._line += [f" [{value}] " for name, value in attrs if name in ("aria-label", "alt")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._svg and tag != "svg":
            self._draw(tag, attrs)
        else:
            self.handle_starttag(tag, attrs)
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in _SILENT
        self._svg -= tag == "svg"
        if not self._svg and tag not in _INLINE and tag not in ("td", "th"):
            self._end_line()

    def handle_data(self, data: str) -> None:
        if self._silent or not data.strip():
            return
        if self._svg:
            self.drawings[-1]["words"].append(" ".join(data.split()))
        else:
            self._line.append(data)

    def _draw(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        drawing = self.drawings[-1]
        drawing["elements"][tag] = drawing["elements"].get(tag, 0) + 1
        for name, value in attrs:
            if name in _GEOMETRY and value:
                drawing["coordinates"] += sum(abs(float(x)) for x in _NUMBER.findall(value))


def without_columns(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines of a page, in which cells of `COLUMNS` are replaced.

    The rows of a table are lines that begin with its sign for a cell, the first of them its head.
    """
    head: list[str] = []
    for line in lines:
        cells = line.split(" | ") if line.startswith("| ") else []
        if not cells:
            head = []
        elif len(cells) != len(head):
            head = [cell.removeprefix("| ") for cell in cells]
        else:
            cells = [COLUMNS.get(name, cell) for name, cell in zip(head, cells, strict=True)]
        yield " | ".join(cells) if cells else line


def page_of(text: str, places: Replacements = ()) -> dict[str, Any]:
    """Return the lines of an HTML page, and its drawings; scripts and styles are left out."""
    page = Page(text)
    for drawing in page.drawings:
        drawing["coordinates"] = round(drawing["coordinates"], 6)
    lines = list(without_columns(page.lines))
    return {"lines": normal(lines, places), "drawings": normal(page.drawings, places)}
