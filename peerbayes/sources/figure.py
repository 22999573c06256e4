"""TODO"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from peerbayes.figures.wording import number
from peerbayes.sources.documents import (
    CheckDocument,
    FigureDocument,
    MissingDocument,
    Outcome,
    PanelDocument,
    outcome,
)
from peerbayes.sources.kept import AS_PRINTED, Kept, Need, Reading

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
    elsewhere
        What the other readings need that the figure as printed does not.
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
    elsewhere: tuple[Need, ...] = ()

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
            panels=self.draw(kept),
            missing=missing,
            marks=list(dict.fromkeys(marks)),
        )

    def _missing(self, kept: Kept, verdict: Outcome) -> list[MissingDocument]:
        if self.missing is not None:
            return self.missing(kept)
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
        for reading in self.readings:
            told = outcome(self.judge(kept, reading))
            found.setdefault(reading.words, []).append((reading, told))
        holding = []
        for words, ones in found.items():
            good = [reading for reading, verdict in ones if verdict == "reproduced"]
            if good:
                which = f", with {_pairs(good)} of {len(ones)} pairs" if good[0].labels else ""
                holding.append(f"{words}{which}")
        if holding:
            return f"All of it holds when read {'; or '.join(holding)}."
        tried = [w for w, ones in found.items() if all(v == "not reproduced" for _, v in ones)]
        if not tried:
            return ""
        return f"No other reading tried makes all of it hold ({'; '.join(tried)})."


def _pairs(readings: Sequence[Reading]) -> str:
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
