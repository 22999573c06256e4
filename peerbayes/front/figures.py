"""`peerbayes figures`: figures of the sources from what is on record, with their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.documents import Documented
from peerbayes.records import RecordPlace
from peerbayes.sources.catalogue import chosen_figures
from peerbayes.sources.documents import FigureDocument, FiguresPrinted, FiguresRecord
from peerbayes.sources.kept import Kept
from theory.progress import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType

KIND = "figures"


@dataclass(frozen=True, eq=False)
class Redrawn(Documented):
    """Figures with their verdicts, and where their record and their page are.

    `damage` has a sentence about every short record that cannot be read; the others count.
    """

    figures: tuple[FigureDocument, ...]
    record_path: Path
    report_path: Path
    damage: tuple[str, ...] = ()

    def _facts(self) -> Iterator[tuple[str, object]]:
        for figure in self.figures:
            yield figure.name, figure.verdict

    def document(self) -> FiguresPrinted:
        """What `figures` prints."""
        return FiguresPrinted(
            figures=list(self.figures), record=str(self.record_path), report=str(self.report_path)
        )

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.sources.catalogue import figures_table

        return figures_table(self.document())


def redrawn(
    names: Sequence[str], kept: Kept, *, progress: Progress | None = None
) -> tuple[FigureDocument, ...]:
    """The figures of these names, or all of them, from what is on record.

    Raises
    ------
    ValueError
        If there is no figure of a name, or a record is damaged; in one line.
    """
    figures = []
    chosen = chosen_figures(names)
    for done, figure in enumerate(chosen, 1):
        figures.append(figure.redraw(kept))
        if progress is not None:
            progress(done, len(chosen))
    return tuple(figures)


def redraw(
    names: Sequence[str],
    *,
    records: Path,
    out: Path,
    force: bool = False,
    progress: Callable[[str], Progress] | None = None,
) -> Redrawn:
    """Redraw figures of the sources, and leave a record and a page.

    Parameters
    ----------
    names
        Such as ``p2-5b``; none: every figure.
    records
        Folder of short records.
    out
        Folder of records of `run`, which are looked at too, and where record and page go.
    force
        Whether a record of figures that are not among these may be replaced.
    progress
        Maps a name of the work to a callable of (done, total).

    Raises
    ------
    ValueError
        If there is no figure of a name, a record of `run` is damaged, or the record cannot be
        written to `out` or would replace another one; in one line. Damage in short records is
        part of the result.
    """
    from peerbayes.report import write_report

    of = {"records": str(records), "parts": [one.name for one in chosen_figures(names)]}
    place = RecordPlace(out / "figures.json", KIND, of, force)
    place.check()
    report = None if progress is None else progress("figures")
    kept = Kept(records, out)
    figures = redrawn(names, kept, progress=report)
    body = FiguresRecord(figures=list(figures)).as_json()
    path = place.write(body)
    page = write_report([path], out / "figures.html")
    return Redrawn(figures, path, page, kept.damage)
