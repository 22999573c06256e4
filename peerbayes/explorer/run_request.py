"""What is asked of a run, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from peerbayes.explorer.documents import Table
from peerbayes.messages import describe
from peerbayes.terminal import duration
from theory.validation import as_integer, as_probability, fail

MOST_SECONDS = 300.0
"""The longest run that a page waits for."""
_MOST_ROUNDS = 1_000_000
_MOST_REPLICATES = 100_000


@dataclass(frozen=True)
class RunRequest:
    """How long, how often, from which seed, and with which truth.

    Parameters
    ----------
    rounds, replicates, seed
        n ≥ 1, R ≥ 1 and a whole number of at least 0.
    delta
        Probability of error that bounds are computed for, in (0, 1).
    truth
        What an edit ``set-truth`` takes: ``agent``, and ``of`` or ``mixture``; empty for the
        problem's own.

    Raises
    ------
    ValueError
        If one is out of range.
    """

    rounds: int = 200
    replicates: int = 200
    seed: int = 0
    delta: float = 0.05
    truth: Table = field(default_factory=dict)

    def __post_init__(self) -> None:
        as_integer("rounds", self.rounds, minimum=1, maximum=_MOST_ROUNDS)
        as_integer("replicates", self.replicates, minimum=1, maximum=_MOST_REPLICATES)
        as_integer("seed", self.seed, minimum=0)
        as_probability("delta", self.delta)

    @classmethod
    def of(cls, request: Table) -> RunRequest:
        """What a page sends; null stands for what is left out."""
        truth = request.get("truth")
        if truth is not None and not isinstance(truth, dict):
            wanted = "a table with of or mixture"
            raise fail("truth", wanted, describe(truth), "leave it out for the problem's own")
        known = ("rounds", "replicates", "seed", "delta", "truth")
        given: dict[str, Any] = {key: request[key] for key in known if request.get(key) is not None}
        return cls(**given)


def check_seconds(seconds: float) -> None:
    """Refuse a run that takes longer than a page waits.

    Raises
    ------
    ValueError
        If it is expected to.
    """
    if seconds > MOST_SECONDS:
        wanted = f"a run of at most about {duration(MOST_SECONDS)}"
        got = f"one of about {duration(seconds)} (an estimate)"
        raise fail("rounds × replicates", wanted, got, "ask for fewer rounds or replicates")
