"""What a run may use of the machine, what it says about it beforehand, and where it can go on from.

The same for every command that simulates. None of it changes a number of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

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


def announce_analysis(name: str, agents: int, notice: Callable[[str], None]) -> None:
    """Say what an analysis of very many agents is expected to take."""
    seconds = agents * _ANALYSIS_SECONDS
    if seconds >= ANNOUNCED_SECONDS:
        notice(f"{name}: {agents} agents, about {duration(seconds)} (an estimate)")


def check_hours(cost: Predicted, *, hours: float = MOST_HOURS, remedy: str = "") -> None:
    """Refuse a run that is expected to take more than so many hours.

    Raises
    ------
    ValueError
        If it is; `remedy` is another one than smaller sizes.
    """
    if cost.seconds > 3600 * hours:
        from theory.validation import fail

        raise fail(
            "rounds × replicates",
            f"a run of at most about {duration(3600 * hours)}",
            f"one of about {duration(cost.seconds)} (an estimate)",
            "ask for fewer rounds or replicates" + (f", or {remedy}" if remedy else ""),
        )


def duration(seconds: float) -> str:
    """A time to two digits or so, in the unit that suits it.

    >>> [duration(s) for s in (12.3, 200, 9000, 400_000)]
    ['12 s', '3.3 min', '2.5 h', '4.6 days']
    """
    for unit, length, most in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds < most * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds / 86400:.2g} days"
