"""How messages reach agents that are spread over processes.

An :class:`Exchange` says which agents this process holds and brings it the messages of others that
its own agents listen to. What is pooled is the same however they are spread: bit for bit on the
CPU, to the last digit of float32 on a GPU.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from theory.validation import fail

# How messages reach agents that are spread over processes ----------------------------------------


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


# Agents spread over processes and machines, by torch.distributed ---------------------------------


@dataclass(frozen=True)
class Route:
    """What goes between this process and another one, by senders' numbers.

    Attributes
    ----------
    process
        The other one.
    outgoing, incoming
        Own agents whom agents over there listen to, and the other way; ascending.
    """

    process: int
    outgoing: tuple[int, ...]
    incoming: tuple[int, ...]


@lru_cache(maxsize=1024)
def routes(heard: Heard, *, processes: int, rank: int) -> tuple[Route, ...]:
    """The other processes with which this one exchanges, in their order.

    Examples
    --------
    Agent 0 is heard by all and hears agents 1 and 3; processes hold agents 0, 1 and 2, 3.

    >>> routes(((1, 3), (0,), (0,), (0,)), processes=2, rank=1)
    (Route(process=0, outgoing=(3,), incoming=(0,)),)
    """
    blocks = [block_of(len(heard), processes=processes, rank=k) for k in range(processes)]

    def spoken(speakers: range, listeners: range) -> tuple[int, ...]:
        return tuple(sorted({j for i in listeners for j in heard[i] if j in speakers}))

    found = (
        Route(k, spoken(blocks[rank], blocks[k]), spoken(blocks[k], blocks[rank]))
        for k in range(processes)
        if k != rank
    )
    return tuple(route for route in found if route.outgoing or route.incoming)


@dataclass(frozen=True)
class Processes:
    """The processes of an initialised torch.distributed group.

    Parameters
    ----------
    processes, rank
        How many, and which one this is.
    device
        Where tensors are: ``"cpu"``, or a CUDA device.
    """

    processes: int
    rank: int
    device: str = "cpu"

    def gather(self, messages: Mapping[int, Message], heard: Heard) -> Mapping[int, Message]:
        """Exchange messages with the processes of neighbours.

        Raises
        ------
        RuntimeError
            By torch, if another process is gone or does not answer in time.
        """
        ways = routes(heard, processes=self.processes, rank=self.rank)
        letters = {way.process: _pack([messages[j] for j in way.outgoing]) for way in ways}
        sizes = self._swap(
            [
                (
                    way.process,
                    torch.tensor([part.numel() for part in letters[way.process]]),
                    torch.empty(2, dtype=torch.int64),
                )
                for way in ways
            ]
        )
        received = []
        for part in range(2):
            parcels = [
                (way.process, letters[way.process][part], _bytes(int(size[part])))
                for way, size in zip(ways, sizes, strict=True)
            ]
            received.append(self._swap(parcels))
        found: dict[int, Message] = {}
        for way, head, body in zip(ways, *received, strict=True):
            found.update(zip(way.incoming, _unpack(head, body), strict=True))
        return found

    def collect(self, rows: Tensor, agents: int) -> Tensor:
        """Rows of all N agents on every process."""
        blocks = [block_of(agents, processes=self.processes, rank=k) for k in range(self.processes)]
        most = max(map(len, blocks))
        padded = rows.new_zeros(most, *rows.shape[1:], device=self.device)
        padded[: len(rows)] = rows
        everything = [torch.empty_like(padded) for _ in blocks]
        dist.all_gather(everything, padded)
        whole = [got[: len(block)] for got, block in zip(everything, blocks, strict=True)]
        return torch.cat(whole).to(rows.device)

    def _swap(self, parcels: Sequence[tuple[int, Tensor, Tensor]]) -> list[Tensor]:
        """Send to and receive from other processes at once: (process, what to send, room)."""
        operations, rooms = [], []
        for process, outgoing, room in parcels:
            there = room.to(self.device)
            rooms.append(there)
            if outgoing.numel():
                operations.append(dist.P2POp(dist.isend, outgoing.to(self.device), process))
            if there.numel():
                operations.append(dist.P2POp(dist.irecv, there, process))
        for request in dist.batch_isend_irecv(operations) if operations else ():
            request.wait()
        return rooms


def _bytes(size: int) -> Tensor:
    return torch.empty(size, dtype=torch.uint8)


def _pack(messages: Sequence[Message]) -> tuple[Tensor, Tensor]:
    """What messages look like, and what is in them, as bytes."""
    if not messages:
        return _bytes(0), _bytes(0)
    head = [
        [
            message.bytes,
            [
                [name, str(values.dtype).removeprefix("torch."), list(values.shape)]
                for name, values in message.payload.items()
            ],
        ]
        for message in messages
    ]
    text = json.dumps(head).encode("ascii")
    body = [
        values.contiguous().reshape(-1).view(torch.uint8)
        for message in messages
        for values in message.payload.values()
    ]
    return torch.frombuffer(bytearray(text), dtype=torch.uint8), torch.cat(body)


def _unpack(head: Tensor, body: Tensor) -> list[Message]:
    """The messages that :func:`_pack` packed."""
    if not head.numel():
        return []
    messages, start = [], 0
    for size, entries in json.loads(head.cpu().numpy().tobytes()):
        payload = {}
        for name, kind, shape in entries:
            values = torch.empty(shape, dtype=getattr(torch, kind), device=body.device)
            flat = values.reshape(-1).view(torch.uint8)
            flat.copy_(body[start : start + flat.numel()])
            start += flat.numel()
            payload[name] = values
        messages.append(Message(payload, size))
    return messages


@contextmanager
def connect(device: str = "cpu") -> Iterator[Exchange]:
    """The exchange of this process: with the others that torchrun started, if it did.

    Parameters
    ----------
    device
        ``"cpu"`` (gloo carries the messages) or ``"cuda"`` (nccl does, one GPU a process).

    Raises
    ------
    ValueError
        If CUDA is asked for and this machine has fewer GPUs than processes.
    """
    if not dist.is_available() or not dist.is_torchelastic_launched():
        yield OneProcess()
        return
    local = int(os.environ["LOCAL_RANK"])
    if device == "cuda":
        if torch.cuda.device_count() <= local:
            raise fail(
                "device",
                "a GPU for each process of this machine",
                f"{torch.cuda.device_count()} GPUs",
                "start fewer processes, or use the device 'cpu'",
            )
        torch.cuda.set_device(local)
    store, rank, processes = meeting_point("agents")
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=processes)
    # nccl wants everybody at its first call; later calls are between neighbours.
    dist.barrier()
    try:
        yield Processes(dist.get_world_size(), dist.get_rank(), device)
    finally:
        dist.destroy_process_group()


# Where the processes that torchrun started leave word for each other -----------------------------


def meeting_point(name: str) -> tuple[Any, int, int]:
    """A store that all processes of this run share, this process's number, and how many there are.

    Words left under another `name` are others', and so are those of processes that were started
    again: the store may outlive them, and so do addresses that are gone.
    """
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    store, rank, processes = next(rendezvous("env://"))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"{name}, attempt {attempt}", store), rank, processes
