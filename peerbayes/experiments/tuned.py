"""`tuned`: on a row with neural nets, methods that get the same search and are tested once.

Each method's settings are chosen by trials with seed 0 on images held out of the training images;
then the chosen setting is run with several seeds, and those runs alone look at the test images. A
part is one training, so that a record grows training by training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from peerbayes.experiments.behaviour_marks import behaviour_mark, tuned_recipe
from peerbayes.experiments.experiment import Line, PartsBySeed, parts_named
from peerbayes.experiments.net_problem import weights_mark
from peerbayes.experiments.net_rows import ROWS, Row
from peerbayes.experiments.net_run import Setting, alone, check_setting
from peerbayes.experiments.short_rows import read_row
from peerbayes.experiments.tuned_documents import TunedTraining
from peerbayes.experiments.tuned_plan import (
    COURSES,
    TunedPart,
    has_tuned,
    search_of,
    tuned_parts,
)
from peerbayes.records import checksum, file_name, plain, read_record
from theory.progress import Progress
from theory.validation import as_integer, fail

FORM, RECIPE = "tuned", "tuned"


@dataclass(frozen=True)
class TunedExperiment(PartsBySeed):
    """The comparison of all methods on one row.

    Attributes
    ----------
    row
        What is run: data, dealing, network and net.
    seeds
        How many tests of each method.
    is_quick
        A look of a minute: few images, short courses, three trials, one seed.
    setting
        Where and how it runs.
    records
        Folder of short records in which trials are looked for too; None: there is none.

    Raises
    ------
    ValueError
        If the row has no network of several agents.
    """

    row: Row
    seeds: int = 3
    is_quick: bool = False
    setting: Setting = field(default_factory=Setting)
    records: Path | None = None

    def __post_init__(self) -> None:
        as_integer("seeds", self.seeds, minimum=1)
        if not has_tuned(self.row):
            raise fail(
                "--recipe", f"tuned for a row with a network: {', '.join(COURSES)}",
                self.row.name, "choose another recipe, or one of these rows",
            )  # fmt: skip

    @property
    def name(self) -> str:
        """That of the row, with ``-tuned`` behind it: it has records of its own."""
        return tuned_name(self.row.name) + ("-quick" if self.is_quick else "")

    @property
    def title(self) -> str:
        """One line that says what it is about."""
        return f"{self.row.title}; all methods tuned alike"

    @property
    def source(self) -> str:
        """Paper and section that the row is from."""
        return self.row.source

    @property
    def parts(self) -> tuple[str, ...]:
        """Of each method its trials in turn, then its tests."""
        return tuple(self._parts)

    def parts_with(self, words: str, *, seeds: int | None = None) -> tuple[str, ...]:
        """The parts of the first seeds whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        first = self.seeds if seeds is None else seeds
        own = [name for name, part in self._parts.items() if part.seed < first]
        return parts_named(own, words, shown=own[::17][:6])

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If torch, the data or the device are missing; in one line that says how to get them.
        """
        check_setting(self.row, self.setting)

    def settings(self) -> dict[str, Any]:
        """What all parts have in common."""
        return {
            "form": FORM,
            "dataset": self.row.dataset,
            "hidden": list(self.row.hidden),
            "quick": self.is_quick,
            "device": self.setting.device,
        }

    def part_settings(self, name: str) -> dict[str, Any]:
        """What the numbers of one part depend on; a test's on how its settings are searched."""
        from empirical.data import CHECKSUMS

        variant = self.row.variant(self.row.main)
        return {
            **self.settings(),
            **self._parts[name].settings,
            "search": search_of(is_quick=self.is_quick).as_json(),
            "data": dict(CHECKSUMS[self.row.dataset]),
            "dealing": variant.dealing,
            "network": dict(variant.network),
            "weights": _mark_of_weights(self.row.name),
            "behaviour": behaviour_mark(tuned_recipe(self._parts[name].method)),
        }

    def stream(self, name: str) -> int:
        """The number of its seed: methods are compared on the same draws."""
        return self._parts[name].seed

    def run_part(
        self, name: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> TunedTraining:
        """A trial, or a test of what the trials on record choose.

        Raises
        ------
        ValueError
            If something is missing, such as earlier trials.
        """
        self.check()  # before torch is asked for
        from empirical.nets.threads import one_thread
        from peerbayes.experiments.tuned_runs import run_tuned

        part = self._parts[name]
        with one_thread(), alone(part, self.setting):
            return run_tuned(
                self.row,
                part,
                tuple(self._trials_before(part)),
                search_of(is_quick=self.is_quick),
                is_quick=self.is_quick,
                setting=self.setting,
                seed=seed,
                mark=self._mark(name),
                progress=progress,
            )

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """One line a method and course, and what separates the best of both kinds."""
        from peerbayes.experiments.tuned_lines import tuned_lines

        return tuned_lines(parts)

    def with_setting(self, setting: Setting) -> TunedExperiment:
        """The same, to be run elsewhere."""
        return replace(self, setting=setting)

    # Trials on record -------------------------------------------------------------------------

    def _trials_before(self, part: TunedPart) -> Iterator[TunedTraining]:
        """The trials that a part builds upon, in turn."""
        search = search_of(is_quick=self.is_quick)
        ahead = search.trials if part.purpose == "seed" else part.number - 1
        if ahead < search.first:
            return  # settings of the grid depend on no other
        for number in range(1, ahead + 1):
            yield self._trial(replace(part, purpose="search", number=number))

    def _trial(self, part: TunedPart) -> TunedTraining:
        """A trial on record.

        Raises
        ------
        ValueError
            If it is not there, or of other settings.
        """
        for content in self._records_of(part.name):
            found = TunedTraining.model_validate(content)
            if found.mark == self._mark(part.name):
                return found
        raise fail(
            self.name, f"the trial {part.name} on record", "none of these settings",
            f"run it first, with --part {part.method}-search",
        )  # fmt: skip

    def _records_of(self, name: str) -> Iterator[Any]:
        """What a part found, by its full record and by its short one, if they are there."""
        full = None if self.setting.folder is None else self.setting.folder / file_name(name)
        if full is not None and full.exists():
            yield read_record(full).body["content"]
        if self.records is not None:
            short = read_row(self.records, self.name).parts.get(name)
            if short is not None:
                yield short.content

    def _mark(self, name: str) -> str:
        """The checksum of everything but code and seed that a part's numbers depend on."""
        settings = {k: v for k, v in self.part_settings(name).items() if k != "behaviour"}
        return checksum({"experiment": self.name, "part": name, "settings": plain(settings)})

    @property
    def _parts(self) -> dict[str, TunedPart]:
        parts = tuned_parts(self.row, seeds=self.seeds, is_quick=self.is_quick)
        return {part.name: part for part in parts}


def tuned_name(row: str) -> str:
    """The name of the records of a row's comparison."""
    return f"{row}-tuned"


@cache
def _mark_of_weights(row: str) -> str | None:
    return weights_mark(ROWS[row].variant(ROWS[row].main).network)
