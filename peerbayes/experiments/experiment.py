"""What an experiment is: a frozen configuration that names its parts, runs one, and concludes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import Field

from peerbayes.documents import Document, Number
from theory.progress import Progress
from theory.validation import fail


@dataclass(frozen=True)
class Line:
    """Printed, measured and predicted, side by side.

    Attributes
    ----------
    what
        The quantity, with its unit.
    printed
        What the paper says, in its words or numbers; empty where it says nothing.
    measured, standard_error
        From the run; None where nothing was measured, or there is no error.
    predicted
        From theory; None where it says nothing.
    holds
        Whether measured and predicted differ by no more than chance allows; None where that is
        not claimed.
    remark
        A word on what the comparison shows, where that is not plain.
    """

    what: str
    printed: Annotated[str, Field(description="in the paper; empty if nothing is")]
    measured: Number
    standard_error: Number
    predicted: Number
    holds: Annotated[
        bool | None, Field(description="within sampling error; null where nothing is claimed")
    ] = None
    remark: str = ""

    def as_json(self) -> dict[str, Any]:
        """The JSON object of one line."""
        return asdict(self)


@runtime_checkable
class Experiment(Protocol):
    """One row of the papers' experiments."""

    @property
    def name(self) -> str:
        """Short name, by which it is run."""
        ...

    @property
    def title(self) -> str:
        """What it is, in one line."""
        ...

    @property
    def source(self) -> str:
        """Paper and section."""
        ...

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its parts, in the order in which they are run."""
        ...

    @property
    def replicates(self) -> int:
        """Independent runs of each part, if not said otherwise."""
        ...

    @property
    def replicates_are_parts(self) -> bool:
        """Whether each replicate is a part of its own, instead of all being run in every part."""
        ...

    def settings(self) -> dict[str, Any]:
        """Everything but seed and replicates that the numbers depend on, in plain values."""
        ...

    def part_settings(self, part: str) -> dict[str, Any]:
        """What of the settings the numbers of one part depend on."""
        ...

    def stream(self, part: str) -> int:
        """Which stream of random numbers a part has; parts with the same stream can be paired."""
        ...

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
        """What one part measures and predicts."""
        ...

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """The lines that all parts together give."""
        ...


class PartsBySeed:
    """What experiments have in common in which each of `seeds` replicates is a part of its own."""

    seeds: int

    @property
    def replicates(self) -> int:
        """How many seeds."""
        return self.seeds

    @property
    def replicates_are_parts(self) -> bool:
        """Each seed is a part."""
        return True


def parts_named(
    own: Iterable[str], words: str, *, shown: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The part of this name, or those whose names contain these words.

    Parameters
    ----------
    own
        The parts that there are.
    words
        Any text; with none, all of them.
    shown
        Names that a refusal tells, where there are many; all of them if left out.

    Raises
    ------
    ValueError
        If there is none.
    """
    names = tuple(own)
    chosen = (words,) if words in names else tuple(name for name in names if words in name)
    if not chosen:
        told = names if shown is None else shown
        few = "names such as " if len(told) < len(names) else ""
        raise fail("--part", f"words of {few}{', '.join(told)}", repr(words), "use such words")
    return chosen
