"""How messages reach agents that are spread over processes.

An :class:`Exchange` says which agents this process holds and brings it the messages of others that
its own agents listen to. What is pooled is the same however they are spread: bit for bit on the
CPU, to the last digit of float32 on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from theory.validation import fail

Heard = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Message:
    """What one agent says, as it is sent.

    Attributes
    ----------
    payload
        Named tensors: what the receiver gets, and all it gets.
    bytes
        What sending it once costs.
    """

    payload: Mapping[str, Tensor]
    bytes: int


class Exchange(Protocol):
    """How the processes of a run reach each other."""

    @property
    def processes(self) -> int:
        """How many there are."""
        ...

    @property
    def rank(self) -> int:
        """The number of this one, from 0."""
        ...

    def gather(self, messages: Mapping[int, Message], heard: Heard) -> Mapping[int, Message]:
        """Messages of other processes' agents, by sender, for those of this one.

        Parameters
        ----------
        messages
            Of the agents of this process, by sender.
        heard
            Whom each of the N agents listens to this round; the same in every process.
        """
        ...

    def collect(self, rows: Tensor, agents: int) -> Tensor:
        """Rows of all N agents, on every process, from a row for each agent of this one."""
        ...


@dataclass(frozen=True)
class OneProcess:
    """All agents in this process: nothing travels."""

    processes: int = 1
    rank: int = 0

    def gather(self, messages: Mapping[int, Message], heard: Heard) -> Mapping[int, Message]:
        """Nobody is elsewhere."""
        return {}

    def collect(self, rows: Tensor, agents: int) -> Tensor:
        """The rows themselves."""
        return rows


def block_of(agents: int, *, processes: int, rank: int) -> range:
    """Which agents a process holds: neighbours in number, blocks equal in size up to one.

    Raises
    ------
    ValueError
        If a process would hold nobody.

    Examples
    --------
    >>> [block_of(9, processes=2, rank=rank) for rank in range(2)]
    [range(0, 5), range(5, 9)]
    """
    if processes > agents:
        raise fail(
            "processes",
            f"at most {agents}, one for each agent",
            processes,
            "start fewer processes",
        )
    share, rest = divmod(agents, processes)
    first = rank * share + min(rank, rest)
    return range(first, first + share + (rank < rest))
