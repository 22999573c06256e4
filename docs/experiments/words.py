"""Numbers in the words of pages about experiments are those of the records.

Tables and figures are made from records when a page is built; sentences are written by hand. Each
decimal number in them has to be one that the records give, rounded to as many digits; with a
standard error, both have to be of one estimate. A page that asks for its own check here is refused
by the build when a number has no source, and so it is by the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
# A number with a point, and its standard error; not part of a name, a formula or a section.
_NUMBER = re.compile(r"(?<![\w.$=/·−-])(\d*\.\d+)(?: ± (\d*\.\d+))?(?![\w·])(?!\.\d)")
_NO_WORDS = re.compile(
    r"```.*?```|^---.*?^---|\$[^$]*\$|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE
)
Found = tuple[float | None, float | None]
"""An estimate and its standard error."""


def numbers(text: str) -> Iterator[tuple[str, str | None]]:
    """Every decimal number of a text, and the error that stands with it."""
    for match in _NUMBER.finditer(_NO_WORDS.sub(" ", text)):
        yield match[1], match[2]


def is_rounded(shown: str | None, value: float | None) -> bool:
    """Whether a number is what is shown, to as many digits; an error may be left out."""
    if shown is None:
        return True
    half = 0.5 * 10.0 ** -len(shown.partition(".")[2])
    # Means of floats: a tie may be rounded to either side.
    return value is not None and abs(float(shown) - abs(value)) <= half * (1 + 1e-6)


def without_source(text: str, found: Iterable[Found], others: Iterable[str] = ()) -> list[str]:
    """The numbers of a text that the records do not give; `others` come from elsewhere."""
    known = list(found)
    return [
        number
        for number, error in numbers(text)
        if number not in others
        and not any(is_rounded(number, one) and is_rounded(error, other) for one, other in known)
    ]


def words_of(page: str, begin: str, end: str = "") -> str:
    """A page from one piece of text to another, a paragraph a line."""
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", (DOCS / page).read_text(encoding="utf-8"))
    if text.count(begin) != 1:
        raise ValueError(f"{page}: expected {begin!r} once, got {text.count(begin)} times")
    rest = text[text.index(begin) :]
    return rest[: rest.index(end)] if end else rest


def sections(page: str, begin: str) -> list[str]:
    """The sections of a page from one on: each is held to what it is about."""
    return words_of(page, begin).split("\n## ")


def of_lines(lines: Iterable[Any]) -> Iterator[Found]:
    """What is measured and predicted, by how much one number is missed, and what remarks say."""
    for line in lines:
        yield line["measured"], line["standard_error"]
        yield line["predicted"], None
        if re.fullmatch(r"\d*\.\d+", line["printed"]) and line["measured"] is not None:
            yield line["measured"] - float(line["printed"]), None
        yield from ((float(one), None) for one in re.findall(r"\d*\.\d+", line["remark"]))


def _hold(page: str, text: str, found: Iterable[Found], others: Iterable[str] = ()) -> None:
    """Refuse a text with a number that has no source."""
    if missing := without_source(text, found, others):
        raise ValueError(f"{page}: expected numbers that the records give, got {missing}")


# Pages, each by what it is about ----------------------------------------------------------------


def rows() -> None:
    """Check the page on experiments with neural nets.

    Raises
    ------
    ValueError
        If a number in its words is in no record; in one line, as of the other pages.
    """
    import show

    page = "reference/net-experiments.md"
    for section in sections(page, "## Two nodes, Fashion-MNIST"):
        own = [row for row in show.ROWS if row in section]
        # The widths that nets begin with are settings.
        others = [".03", ".05"] if section.startswith("Did σ learn?") else []
        lines = of_lines(line for row in own for line, _ in show.lines_of(row))
        _hold(page, section, lines, others)


def figures() -> None:
    """Check what is said of figures that could not be reproduced."""
    import show
    import source_figures

    page = "reference/source-figures.md"
    text = words_of(page, "## What could not", "## P1\n")
    checks = [one for name in source_figures.FIGURES for one in source_figures.redrawn(name).checks]
    lines = of_lines(line for row in show.ROWS for line, _ in show.lines_of(row))
    _hold(page, text, [*((c.measured, None) for c in checks), *lines], ["69.7"])  # as printed


def rates() -> None:
    """Check the page on predicted rates and measured speed, section by section."""
    import link

    page = "reference/rate-link.md"
    fashion, mnist = sections(page, "## Fashion-MNIST")
    for section, is_fashion in ((fashion, True), (mnist, False)):
        own = [row for row in link.ROWS if ("fashion" in row) == is_fashion]
        found = list(of_lines(line for row in own for line in link.lines_of(row)))
        table = link.orders(*(row for row in own if is_fashion))
        found += [(float(one), None) for one in re.findall(r"\d\.\d+", table)]
        _hold(page, section, found)


def methods() -> None:
    """Check the page on methods tuned alike."""
    import tuned

    page = "reference/tuned-alike.md"
    found = list(_comparisons(one for _, one in tuned._results()))
    _hold(page, words_of(page, "## Where Bayes wins"), found, [".01"])  # Adam's ε


def _comparisons(results: Iterable[Any]) -> Iterator[Found]:
    """Each method's measures, and the gaps between any two of one course."""
    from peerbayes.experiments.tuned import MEASURES, difference

    own = list(results)
    for one in own:
        yield from ((e.mean, e.error) for m in MEASURES if (e := one.estimate(m)) is not None)
    for one, other in combinations(own, 2):
        if one.course == other.course:
            gaps = (difference(one, other, measure) for measure in MEASURES)
            yield from ((gap.mean, gap.error) for gap in gaps if gap is not None)
