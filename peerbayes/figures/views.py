"""What a page shows of anything, as text: a section has an answer, figures, tables and notes.

Everything that a report shows is a `Section`, whatever it is of: a verified problem, a family of
problems, a design, a training, a record. Its parts stand in this order: title, answer with its
figure and key numbers, tables, other figures, sections within it, notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from peerbayes.comparison import Comparison
from peerbayes.figures.chart import LegendEntry, Plot, to_svg
from peerbayes.figures.wording import Fact as Fact
from peerbayes.figures.wording import number


@dataclass(frozen=True)
class Verdict:
    """A statement's verdict: its style, its mark, its words."""

    style: str
    mark: str
    words: str


HOLDS = Verdict("good", "✓", "holds")
BROKEN = Verdict("bad", "✗", "BROKEN")
REFUTED = Verdict("news", "△", "fails (not a theorem)")
NOT_RUN = Verdict("quiet", "○", "not run")
NOTHING = Verdict("quiet", "○", "measured only: nothing is claimed")


def verdict(statement: Comparison) -> Verdict:
    """The verdict on one statement."""
    if statement.holds is None:
        return NOT_RUN
    if statement.holds:
        return HOLDS
    return BROKEN if statement.is_theorem else REFUTED


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a group: broken if one is, else refuted if one is, else holds if one does."""
    return next((v for v in (BROKEN, REFUTED, HOLDS, NOT_RUN) if v in verdicts), NOTHING)


@dataclass(frozen=True)
class Picture:
    """A figure as the page takes it."""

    svg: str
    title: str
    finding: str
    legend: tuple[LegendEntry, ...]


@dataclass(frozen=True)
class Text:
    """A text with smaller words below it, or one that leads to the section with the id `link`."""

    text: str
    small: str = ""
    link: str = ""


Cell = str | Text
Rows = Iterable[tuple[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Attributes
    ----------
    name
        What it is of.
    cells
        One for each column behind the name.
    verdict
        In front of the name, where the lines are claims.
    deviation
        How far a measured mean lies from its exact prediction, or beyond its bound, in standard
        errors; None where the line is no theorem, or a limit, or nothing was random.
    details
        Terms and what is said of each, in a last column.
    key
        The line's own id.
    """

    name: Cell
    cells: tuple[Cell, ...]
    verdict: Verdict | None = None
    deviation: float | None = None
    details: tuple[tuple[str, str], ...] = ()
    key: str = ""


@dataclass(frozen=True)
class Table:
    """Rows with names.

    Attributes
    ----------
    label
        What it holds, for those who do not see it.
    head
        What the rows are.
    columns
        Heads of the cells.
    styles
        Of each column: "n" for numbers, "words" and "note" for short and long texts; empty: all
        hold numbers.
    is_wide
        Whether it keeps its columns on a phone, and is moved sideways there; other tables become
        lists.
    remark
        Words below it.
    folded
        What stands in its place until it is opened; empty: it is in sight.
    names
        The style of the rows' names: "statement" for long ones, "agent" for short ones.
    """

    label: str
    head: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    styles: tuple[str, ...] = ()
    is_wide: bool = False
    remark: str = ""
    folded: str = ""
    names: str = "statement"

    @classmethod
    def of(cls, label: str, head: str, columns: Sequence[str], rows: Rows) -> Table:
        """Names with numbers alone."""
        return cls(label, head, tuple(columns), tuple(Row(*row) for row in rows))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_verdicts(self) -> bool:
        """Whether something is claimed in some row."""
        return any(row.verdict is not None and row.verdict.words for row in self.rows)


_COLUMNS = ("predicted", "measured", "± s.e.", "kind", "note")
_STYLES = ("n", "n", "n", "", "note")
NO_STATEMENTS = Table("Statements", "statement", _COLUMNS, (), _STYLES)


@dataclass(frozen=True)
class Remarks:
    """What readers are to know before they go on.

    Attributes
    ----------
    verdict
        What is said, with its mark.
    lines
        Of what: id and name of a section that has it, if one has, and words.
    """

    verdict: Verdict
    lines: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Section:
    """One thing that the page speaks of.

    Attributes
    ----------
    key, name
        The section's id, and what it is called where others refer to it.
    heading
        What was asked of which problem; empty: the name.
    title
        The problem's own words on what it is.
    family
        Problems of one family differ in their parameters alone.
    judged
        Its verdict, where another rule than that of its statements gives it.
    claim
        The verdict that begins the answer, as a sentence.
    finding
        The answer, in a sentence or two.
    facts, pictures
        Key numbers, and figures; the first figure stands beside the answer.
    remarks
        What readers are to know before they go on.
    statements, tables
        Claims with their verdicts, and whatever else is listed.
    setting
        How it was made, and what the numbers mean.
    sections
        Parts of it.
    notes
        What is folded away at the end.
    record
        The record as it was written, where nothing else is known of its kind.
    fold
        Whether it is itself folded away, and "open" or "closed" at first.
    """

    key: str
    name: str
    heading: str = ""
    title: str = ""
    family: str = ""
    judged: Verdict | None = None
    claim: Verdict | None = None
    finding: str = ""
    facts: tuple[Fact, ...] = ()
    pictures: tuple[Picture, ...] = ()
    remarks: tuple[Remarks, ...] = ()
    statements: Table = NO_STATEMENTS
    tables: tuple[Table, ...] = ()
    setting: str = ""
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    record: str = ""
    fold: Literal["", "open", "closed"] = ""

    def claims(self) -> Iterator[tuple[Section, Row]]:
        """Every statement of this section and of those within it, and where it stands."""
        for row in self.statements.rows:
            yield self, row
        for section in self.sections:
            yield from section.claims()

    def with_verdict(self, wanted: Verdict) -> list[tuple[Section, Row]]:
        """Those of them with this verdict."""
        return [(section, row) for section, row in self.claims() if row.verdict == wanted]

    @property
    def verdict(self) -> Verdict:
        """The worst of its statements' verdicts, if nothing else judges it."""
        return self.judged or worst(
            [row.verdict for _, row in self.claims() if row.verdict is not None]
        )


def statements(comparisons: Sequence[Comparison]) -> Table:
    """Comparisons as rows of a table."""
    rows = tuple(
        Row(
            c.statement,
            (
                c.sign + number(c.predicted, 5),
                number(c.measured, 5),
                number(c.standard_error, 2),
                c.kind,
                c.note,
            ),
            verdict(c),
            _deviation(c),
        )
        for c in comparisons
    )
    return Table("Statements", "statement", _COLUMNS, rows, _STYLES)


def _deviation(comparison: Comparison) -> float | None:
    """Standard errors between an exact mean and its measurement, or from a bound that is passed."""
    predicted, measured = comparison.predicted, comparison.measured
    if not comparison.is_theorem or comparison.kind == "asymptotic":
        return None
    if predicted is None or measured is None or not comparison.standard_error:
        return None
    score = (measured - predicted) / comparison.standard_error
    if comparison.kind == "exact":
        return abs(score)
    return max(0.0, -score if comparison.side == "lower" else score)


def pictures(plots: Sequence[Plot | None], key: str) -> tuple[Picture, ...]:
    """Draw what there is of the plots; each keeps its number, whatever is left out."""
    return tuple(
        Picture(
            to_svg(plot.figure, key=f"{key}-{index}", label=f"{plot.title}. {plot.finding}"),
            plot.title,
            plot.finding,
            plot.legend,
        )
        for index, plot in enumerate(plots)
        if plot is not None
    )
