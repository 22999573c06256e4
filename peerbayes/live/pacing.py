"""When a live agent does what."""

from __future__ import annotations

from dataclasses import dataclass

# By the kind of the shares: a round of a net takes seconds, and so does the start of its process.
_PATIENCE = {"finite": 1.0, "net": 60.0}
_GATHER = {"finite": 10.0, "net": 120.0}


@dataclass(frozen=True)
class Pacing:
    """When an agent does what.

    Attributes
    ----------
    pace
        "lockstep" or "own".
    interval
        Seconds between rounds, at least; None: at once in lock-step, on evidence otherwise.
    patience
        Lock-step: seconds for which a missing message is waited for.
    gather
        Seconds for which neighbours are waited for before the first round.
    linger
        Seconds for which an agent stays after its last round.
    rounds
        After which it is done; None: never.
    batch
        Observations that a round of lock-step takes of those that arrive.
    """

    pace: str = "lockstep"
    interval: float | None = None
    patience: float = 1.0
    gather: float = 10.0
    linger: float = 0.5
    rounds: int | None = None
    batch: int = 1


def pacing_of(
    kind: str,
    *,
    pace: str,
    interval: float | None,
    patience: float | None,
    gather: float | None,
    rounds: int | None,
    batch: int = 1,
) -> Pacing:
    """A pacing in which what is None is as fits shares of a kind, "finite" or "net"."""
    return Pacing(
        pace=pace,
        interval=interval,
        patience=_PATIENCE[kind] if patience is None else patience,
        gather=_GATHER[kind] if gather is None else gather,
        rounds=rounds,
        batch=batch,
    )
