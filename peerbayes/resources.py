"""What a run may use of the machine, what it says about it beforehand, and where it can go on from.

The same for every command that simulates. None of it changes a number of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from exact.limits import gibibytes
from peerbayes.terminal import say
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from exact.run import Run

# A run is announced if it is expected to take longer, or more memory.
ANNOUNCED_SECONDS = 10.0
ANNOUNCED_BYTES = 1 << 30
# Of an analysis beyond a million agents, for each of them.
_ANALYSIS_SECONDS = 5e-6
# A run that is expected to take longer is not begun unless it was asked for: its sizes are more
# likely to be typing errors.
MOST_HOURS = 24.0


class Predicted(Protocol):
    """What a run is expected to take."""

    @property
    def bytes(self) -> int:
        """Peak memory in bytes."""
        ...

    @property
    def seconds(self) -> float:
        """Wall time in seconds."""
        ...


def to_standard_error(text: str) -> None:
    """Say something beside the result."""
    say(text)


@dataclass(frozen=True)
class Resources:
    """What a run may use.

    Attributes
    ----------
    workers, backend, memory
        As for :class:`exact.Run`.
    resume
        Go on from the checkpoint that a killed run left, if there is one.
    hours
        How long a run may be expected to take.
    notice
        Called with a line that is worth saying before a run; None says nothing.
    """

    workers: int = 1
    backend: str | None = None
    memory: int | str | None = None
    resume: bool = False
    hours: float = MOST_HOURS
    notice: Callable[[str], None] | None = None

    def run(
        self,
        *,
        rounds: int,
        replicates: int,
        seed: int,
        out: Path | None,
        progress: Progress | None,
    ) -> Run:
        """A run with these resources, its checkpoint beside the record-to-be `out`.

        Raises
        ------
        ValueError
            If a number is out of range.
        """
        from exact.run import Run

        checkpoint = None if out is None else out.with_suffix(".checkpoint")
        return Run(
            rounds=rounds,
            replicates=replicates,
            seed=seed,
            workers=self.workers,
            backend=self.backend,
            memory=self.memory,
            checkpoint=checkpoint,
            resume=self.resume and checkpoint is not None,
            progress=progress,
        )

    def begin(self, name: str, cost: Predicted, run: Run) -> None:
        """Announce a run, and say whether it goes on from what a killed one left.

        Raises
        ------
        ValueError
            If the run is expected to take more than `hours`.
        """
        self.announce(name, cost)
        left = None if run.checkpoint is None else Path(run.checkpoint)
        if left is not None and left.exists() and not self.resume:
            self._say(f"{left}: left by a killed run; starting afresh (--resume goes on)")
        if self.resume and (left is None or not left.exists()):
            self._say("nothing to resume: starting from the beginning")

    def announce(self, name: str, cost: Predicted) -> None:
        """Say what a long or large run is expected to take; refuse one that is too long.

        Raises
        ------
        ValueError
            If the run is expected to take more than `hours`.
        """
        check_hours(cost, hours=self.hours, remedy=f"allow it with --hours {_hours(cost)}")
        if cost.seconds >= ANNOUNCED_SECONDS or cost.bytes >= ANNOUNCED_BYTES:
            memory = f"{gibibytes(cost.bytes)} GiB of memory"
            self._say(f"{name}: about {duration(cost.seconds)}, up to {memory} (estimates)")

    def _say(self, text: str) -> None:
        if self.notice is not None:
            self.notice(text)


def announce_analysis(name: str, agents: int) -> None:
    """Say on standard error what an analysis of very many agents is expected to take."""
    seconds = agents * _ANALYSIS_SECONDS
    if seconds >= ANNOUNCED_SECONDS:
        to_standard_error(f"{name}: {agents} agents, about {duration(seconds)} (an estimate)")


def check_hours(cost: Predicted, *, hours: float = MOST_HOURS, remedy: str = "") -> None:
    """Refuse a run that is expected to take more than so many hours.

    Raises
    ------
    ValueError
        If it is; `remedy` is another one than smaller sizes.
    """
    if cost.seconds > 3600 * hours:
        raise fail(
            "rounds × replicates",
            f"a run of at most about {duration(3600 * hours)}",
            f"one of about {duration(cost.seconds)} (an estimate)",
            "ask for fewer rounds or replicates" + (f", or {remedy}" if remedy else ""),
        )


def _hours(cost: Predicted) -> int:
    """Hours that are enough, rounded up to two digits."""
    hours = math.ceil(cost.seconds / 3600)
    unit = int(10 ** max(0, len(str(hours)) - 2))
    return -(-hours // unit) * unit


def duration(seconds: float) -> str:
    """A time to two digits or so, in the unit that suits it.

    >>> [duration(s) for s in (12.3, 200, 9000, 400_000)]
    ['12 s', '3.3 min', '2.5 h', '4.6 days']
    """
    for unit, length, most in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds < most * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds / 86400:.2g} days"
