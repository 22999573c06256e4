"""What is on record of the parts that figures are drawn from, and what is missing.

Two folders are looked at: short records, as `peerbayes campaign` keeps them and as the
documentation has them, and the records that `peerbayes run` leaves. Where both have a part, that of
`run` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from peerbayes.experiments.gae_rows import GaeContent
from peerbayes.experiments.net_documents import Beliefs, NetPart
from peerbayes.experiments.net_rows import ROWS, Part, Role
from peerbayes.experiments.run import KIND
from peerbayes.experiments.short_records import read_row
from peerbayes.records import file_name, read_record
from peerbayes.sources.documents import MissingDocument
from theory.validation import fail

GAE = "gae"
RECIPE = "paper"


def _at_points(run: NetPart, has: Callable[[Beliefs], bool]) -> bool:
    seen = [point.at("before") for point in run.curve.points]
    return all(one is not None and has(one) for one in seen)


def _at_end(run: NetPart, has: Callable[[Beliefs], bool]) -> bool:
    last = run.last("before")
    return last is not None and has(last)


AFTER, ACCURACIES = "accuracies after consensus", "accuracies before consensus"
CONFIDENCES = "confidence by label, before consensus"
CONFUSION = "tables of confusion before consensus"
KEYS: Mapping[str, Callable[[NetPart], bool]] = MappingProxyType(
    {
        AFTER: lambda run: True,
        ACCURACIES: lambda run: _at_points(run, lambda _: True) and _at_end(run, lambda _: True),
        CONFIDENCES: lambda run: _at_points(run, lambda one: one.way.confidence is not None),
        CONFUSION: lambda run: _at_end(run, lambda one: one.way.confusion is not None),
    }
)
"""What figures need of a part's record: whether it is there, by its name."""


@dataclass(frozen=True)
class Need:
    """A part that a figure is drawn from, with any seed.

    Attributes
    ----------
    row, variant, role
        Which part of the recipe `paper`.
    key
        What the figure needs of its record: a name of `KEYS`.
    """

    row: str
    variant: str = ""
    key: str = ACCURACIES
    role: Role = "cooperating"

    @property
    def part(self) -> str:
        """The part's name, with the first seed."""
        return Part(RECIPE, self.role, self.variant, 0).name

    def missing(self, lacks: str) -> MissingDocument:
        """What to run."""
        return MissingDocument(
            part=f"{self.row}: {self.part}",
            lacks=lacks,
            command=f'peerbayes run {self.row} --recipe {RECIPE} --part "{self.part}"',
        )


@dataclass(frozen=True, eq=False)
class Kept:
    """Records of two folders; either may be absent.

    Raises
    ------
    ValueError
        When a record of `run` is read that is damaged or was edited; in one line. Short ones that
        are (`damage`) are left out.
    """

    short: Path
    full: Path | None = None

    @cached_property
    def _parts(self) -> Mapping[str, Mapping[str, NetPart]]:
        return {row: self._row(row) for row in ROWS}

    def _row(self, row: str) -> Mapping[str, NetPart]:
        found = {name: one.found for name, one in read_row(self.short, row).parts.items()}
        for name, content in self._full(row).items():
            found[name] = NetPart.model_validate(content)
        return found

    def _full(self, name: str) -> Mapping[str, object]:
        path = None if self.full is None else self.full / file_name(KIND, name)
        if path is None or not path.exists():
            return {}
        record = read_record(path)
        if record.kind != KIND or not isinstance(record.body, dict):
            raise fail(str(path), "a record of 'run'", record.kind, "name another folder")
        content: Mapping[str, object] = record.body["content"]
        return content

    @cached_property
    def gae(self) -> GaeContent:
        """The parts of `gae`."""
        parts = {name: one.content for name, one in read_row(self.short, GAE).parts.items()}
        return GaeContent.of({**parts, **self._full(GAE)})

    @property
    def damage(self) -> tuple[str, ...]:
        """A sentence about every line of the short records that cannot be read."""
        return tuple(words for row in (*ROWS, GAE) for words in read_row(self.short, row).damage)

    def runs(self, need: Need) -> tuple[NetPart, ...]:
        """All seeds of one mark, that with most of them, whose records have what is needed."""
        own = [run for run in self._of(need) if KEYS[need.key](run)]
        marks = [run.made_by for run in own]
        best = max(marks, key=marks.count, default="")
        return tuple(run for run in own if run.made_by == best)

    def _of(self, need: Need) -> list[NetPart]:
        wanted = (RECIPE, need.role, need.variant)
        runs = self._parts[need.row].values()
        return [run for run in runs if (run.recipe, run.role, run.variant) == wanted]

    def missing(self, need: Need) -> MissingDocument | None:
        """What has to be run; None if there is nothing to run."""
        if self.runs(need):
            return None
        return need.missing(need.key if self._of(need) else "the record")
