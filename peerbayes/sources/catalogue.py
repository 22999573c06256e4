"""Every figure of the sources: its needs, its drawing, its rules, and how a verdict is put.

The figures stand in `empirical/papers/figures.toml`, in the order of the sources; the rules and
drawings that they name are functions of `accuracies`, `confidences` and `regressions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from empirical import papers
from peerbayes.figures.wording import number
from peerbayes.messages import choose
from peerbayes.sources import drawings, rules
from peerbayes.sources.documents import (
    CheckDocument,
    FigureDocument,
    FiguresPrinted,
    MissingDocument,
    Outcome,
    PanelDocument,
    outcome,
)
from peerbayes.sources.kept import Kept, Need
from peerbayes.sources.reading import AS_PRINTED, Reading, pairs
from peerbayes.sources.rules import missing_of_gae

if TYPE_CHECKING:
    from rich.console import RenderableType

RULES: Mapping[str, Callable[..., list[CheckDocument]]] = MappingProxyType(
    {
        one.__name__: one
        for one in (
            rules.measured, rules.printed, rules.right, rules.loses_apart, rules.table_1,
            rules.stays_high, rules.matches,
        )
    }
)  # fmt: skip
"""What holds something printed against the records as read in some way, by name."""

DRAWINGS: Mapping[str, Callable[..., list[PanelDocument]]] = MappingProxyType(
    {
        one.__name__: one
        for one in (
            drawings.courses, drawings.servers, drawings.apart, drawings.ends, drawings.table,
            drawings.sides, drawings.labels, drawings.errors,
        )
    }
)  # fmt: skip
"""What draws the panels of whatever is on record, by name."""

# What is missing of figures that are not of rows of nets.
_MISSING: Mapping[str, Callable[[Kept], list[MissingDocument]]] = {"gae-4": missing_of_gae}


@dataclass(frozen=True)
class SourceFigure:
    """One figure, or one statement that only an experiment can decide.

    Attributes
    ----------
    name
        By which it is redrawn, such as ``p2-5b``.
    source
        Such as ``P2 Fig. 5b``.
    shows
        What it shows, by its caption and the text; with all numbers that can be read.
    rules, draw
        Names of rules and of the drawing, with their arguments.
    needs
        The parts that it is drawn from, and what it needs of their records.
    readings, pairs
        Other ways to read the numbers, which are tried where something fails: a name of `READINGS`;
        labels of the edges and of the centre, of which one each may be meant.
    silent
        What the source does not say and what may therefore be the reason; a sentence.
    remark
        What else the verdict should say; a sentence.
    elsewhere
        What the other readings need that the figure as printed does not.
    """

    name: str
    source: str
    shows: str
    rules: tuple[Mapping[str, Any], ...]
    draw: Mapping[str, Any]
    needs: tuple[Need, ...] = ()
    readings: str = ""
    pairs: tuple[tuple[int, ...], ...] = ()
    silent: str = ""
    remark: str = ""
    elsewhere: tuple[Need, ...] = ()

    def judge(self, kept: Kept, reading: Reading) -> list[CheckDocument]:
        """Everything that is printed, held against the records as read in some way."""
        return [
            check
            for rule in self.rules
            for check in RULES[rule.get("rule", "measured")](kept, reading, **_arguments(rule))
        ]

    def redraw(self, kept: Kept) -> FigureDocument:
        """The figure from what is on record.

        Raises
        ------
        ValueError
            If a record is damaged; in one line.
        """
        checks = self.judge(kept, AS_PRINTED)
        missing = self._missing(kept, outcome(checks))
        marks = [run.code_mark for need in self.needs for run in kept.runs(need)]
        return FigureDocument(
            name=self.name,
            source=self.source,
            shows=self.shows,
            verdict=outcome(checks),
            sentence=self._sentence(kept, checks, missing),
            checks=checks,
            panels=DRAWINGS[self.draw["drawing"]](kept, **_arguments(self.draw)),
            missing=missing,
            marks=list(dict.fromkeys(marks)),
        )

    def _missing(self, kept: Kept, verdict: Outcome) -> list[MissingDocument]:
        if self.name in _MISSING:
            return _MISSING[self.name](kept)
        more = self.elsewhere if verdict == "not reproduced" else ()
        found = [kept.missing(need) for need in (*self.needs, *more)]
        return [one for one in found if one is not None]

    def _sentence(
        self, kept: Kept, checks: Sequence[CheckDocument], missing: Sequence[MissingDocument]
    ) -> str:
        """The verdict with its reason."""
        verdict = outcome(checks)
        if verdict == "reproduced":
            words = f"Reproduced: {_all(len(checks))}."
        elif verdict == "not reproduced":
            words = f"Not reproduced: {_failures(checks)}. {self._other_readings(kept)}".strip()
            words += f" Beyond that {_lacking(missing)}." if missing else ""
        elif missing:
            held = sum(check.holds is True for check in checks)
            known = f"{held} of {len(checks)} things printed hold so far; " if held else ""
            words = f"Undecidable here: {known}{_lacking(missing)}."
        else:
            words = "Undecidable here."
        silent = self.silent if verdict != "reproduced" and not missing else ""
        return " ".join(part for part in (words.strip(), silent, self.remark) if part)

    def _other_readings(self, kept: Kept) -> str:
        """Which other readings of the numbers make all hold: possible reasons, not found ones."""
        found = dict[str, list[tuple[Reading, Outcome]]]()
        for reading in pairs(self.readings, self.pairs) if self.readings else ():
            told = outcome(self.judge(kept, reading))
            found.setdefault(reading.words, []).append((reading, told))
        holding = []
        for words, ones in found.items():
            good = [reading for reading, verdict in ones if verdict == "reproduced"]
            if good:
                which = f", with {_of_pairs(good)} of {len(ones)} pairs" if good[0].labels else ""
                holding.append(f"{words}{which}")
        if holding:
            return f"All of it holds when read {'; or '.join(holding)}."
        tried = [w for w, ones in found.items() if all(v == "not reproduced" for _, v in ones)]
        if not tried:
            return ""
        return f"No other reading tried makes all of it hold ({'; '.join(tried)})."


def _of_pairs(readings: Sequence[Reading]) -> str:
    """Which pairs of labels, or how many if they are more than three."""
    pairs = [f"{a} and {b}" for a, b in (one.labels for one in readings if one.labels)]
    return ", ".join(pairs) if len(pairs) <= 3 else str(len(pairs))


def _lacking(missing: Sequence[MissingDocument]) -> str:
    """What is missing, how much of each experiment."""
    lacks = Counter((one.part.partition(":")[0], one.lacks) for one in missing)
    return ", ".join(
        f"{count} part{'s' * (count != 1)} of {row} {'lack' if count != 1 else 'lacks'} {what}"
        for (row, what), count in lacks.items()
    )


def _all(count: int) -> str:
    return "the one thing printed holds" if count == 1 else f"all {count} things printed hold"


def _failures(checks: Sequence[CheckDocument]) -> str:
    """What fails, each with its number."""
    failed = [check for check in checks if check.holds is False]
    told = "; ".join(
        f"{check.what} is {number(check.measured, 4)}, wanted {check.wanted}" for check in failed
    )
    return f"{len(failed)} of {len(checks)} things printed fail ({told})"


def _arguments(named: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in named.items() if key not in ("rule", "drawing")}


def _figure(table: Mapping[str, Any]) -> SourceFigure:
    silent = table.get("silent", "")
    words = papers.tables("figures")["silent"].get(silent, silent)
    return papers.built(SourceFigure, {**table, "silent": words})


FIGURES: Mapping[str, SourceFigure] = MappingProxyType(
    {one["name"]: _figure(one) for one in papers.tables("figures")["figures"]}
)
"""The figures by name, in the order of the sources."""


def chosen_figures(names: Sequence[str]) -> tuple[SourceFigure, ...]:
    """The figures of these names, all if none is named.

    Raises
    ------
    ValueError
        If there is none of that name; in one line.

    Examples
    --------
    >>> [figure.source for figure in chosen_figures(["p2-5b"])]
    ['P2 Fig. 5b']
    """
    if not names:
        return tuple(FIGURES.values())
    return tuple(FIGURES[choose("FIGURE", name, FIGURES)] for name in names)


# For people ---------------------------------------------------------------------------------------

_STYLES = {"reproduced": "green", "not reproduced": "red", "undecidable here": ""}


def figures_table(result: FiguresPrinted) -> list[RenderableType]:
    """One line a figure, then what has to be run for those that are undecidable."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("figure", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("what it shows, and why", overflow="fold")
    for one in result.figures:
        words = Text(f"{one.source}: {one.shows}\n  {one.sentence}")
        table.add_row(one.name, Text(one.verdict, style=_STYLES[one.verdict]), words)
    counts = Counter(one.verdict for one in result.figures)
    told = [f"{counts[verdict]} {verdict}" for verdict in get_args(Outcome) if counts[verdict]]
    shown: list[RenderableType] = [table, Text(", ".join(told))]
    commands = dict.fromkeys(lack.command for one in result.figures for lack in one.missing)
    if commands:
        shown.append(Text("\n".join(("What is missing is made by", *commands))))
    return shown
