"""Processes that torchrun started share the parts of an experiment.

Parts do not depend on each other, so each process runs every n-th of them, from the first start on
to the last, and the first process writes the record when all are done. A part's numbers do not
depend on who ran it. All processes see one folder of records, which is all that they share but the
word that they are done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

# Parts take hours; who waits is ended by torchrun when another process fails.
PATIENCE = timedelta(days=365)


class PartFailed(ValueError):  # noqa: N818 - as TrainingFailed
    """A part failed in a process that says nothing else; the message is the part's."""


@dataclass(frozen=True, eq=False)
class Team:
    """The processes of a run.

    Attributes
    ----------
    processes, rank
        How many there are, and the number of this one, from 0.
    restarted
        Whether torchrun has started them again: what is on record is then their own.
    store
        By which they tell each other that they are done; None for one process.
    """

    processes: int = 1
    rank: int = 0
    restarted: bool = False
    store: Any = None

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def own(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Those that this process runs.

        Examples
        --------
        >>> Team(processes=2, rank=1).own(["a", "b", "c", "d"])
        ('b', 'd')
        """
        return tuple(parts[self.rank :: self.processes])

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Whatever fails in here is said by this process, though it be not the first."""
        try:
            yield
        except ValueError as error:
            if self.is_first:
                raise
            raise PartFailed(str(error)) from error

    def wait(self, what: str) -> None:
        """Until all processes have come to the same point, which `what` names."""
        if self.store is not None:
            self.store.set(f"{what} {self.rank}", "done")
            self.store.wait([f"{what} {k}" for k in range(self.processes)], PATIENCE)


@contextmanager
def team_of_torchrun() -> Iterator[Team]:
    """The processes that torchrun started, if it started this one."""
    if not is_of_torchrun() or os.environ.get("WORLD_SIZE", "1") == "1":
        yield Team()
        return
    from empirical.meeting import meeting_point

    store, rank, processes = meeting_point("parts")
    again = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    team = Team(processes, rank, again, store)
    yield team
    team.wait("end")  # the store may live in one of them


def is_of_torchrun() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_first_process() -> bool:
    """Whether this process is the only one, or the first of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0" or not is_of_torchrun()
