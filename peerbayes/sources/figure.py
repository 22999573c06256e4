"""What a figure of a source is: its needs, its drawing, its rules, and how a verdict is put."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from peerbayes.figures.wording import number
from peerbayes.sources.checks import outcome
from peerbayes.sources.documents import (
    CheckDocument,
    FigureDocument,
    MissingDocument,
    PanelDocument,
)
from peerbayes.sources.kept import Kept, Need
from peerbayes.sources.measures import AS_PRINTED, Reading

Judge = Callable[[Kept, Reading], list[CheckDocument]]
Draw = Callable[[Kept], list[PanelDocument]]
Missing = Callable[[Kept], list[MissingDocument]]


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
    needs
        The parts that it is drawn from, and what it needs of their records.
    judge
        Everything that is printed, held against the records as read in some way.
    draw
        The panels, of whatever is on record.
    readings
        Other ways to read the numbers, which are tried where something fails.
    silent
        What the source does not say and what may therefore be the reason; a sentence.
    remark
        What else the verdict should say; a sentence.
    missing
        What is not on record, where that does not follow from `needs`.
    """

    name: str
    source: str
    shows: str
    needs: tuple[Need, ...]
    judge: Judge
    draw: Draw
    readings: tuple[Reading, ...] = ()
    silent: str = ""
    remark: str = ""
    missing: Missing | None = None

    def redraw(self, kept: Kept) -> FigureDocument:
        """The figure from what is on record.

        Raises
        ------
        ValueError
            If a record is damaged; in one line.
        """
        missing = self._missing(kept)
        checks = self.judge(kept, AS_PRINTED)
        builds = [run.build for need in self.needs for run in kept.runs(need)]
        return FigureDocument(
            name=self.name,
            source=self.source,
            shows=self.shows,
            verdict=outcome(checks),
            sentence=self._sentence(kept, checks, missing),
            checks=checks,
            panels=self.draw(kept),
            missing=missing,
            builds=list(dict.fromkeys(builds)),
        )

    def _missing(self, kept: Kept) -> list[MissingDocument]:
        if self.missing is not None:
            return self.missing(kept)
        found = [kept.missing(need) for need in self.needs]
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
        """The likeliest reason, tested: whether another reading of the numbers makes all hold."""
        if not self.readings:
            return ""
        for reading in self.readings:
            if outcome(self.judge(kept, reading)) == "reproduced":
                return f"All of it holds when read {reading.words}, which is the likeliest reason."
        tried = "; ".join(reading.words for reading in self.readings)
        return f"No other reading tried makes all of it hold ({tried})."


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
