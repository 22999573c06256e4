"""Messages between the server and its workers: a kind, a length, bytes."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["ready", "job", "progress", "result", "refusal", "fault", "cancelled"]
_KINDS = get_args(Kind)
_HEAD = struct.Struct("<BI")


@dataclass(frozen=True)
class Frame:
    """One message.

    Attributes
    ----------
    kind
        ``ready``: the worker lives. ``job``: the name of the work, a line feed, and JSON.
        ``progress``: ``[done, total]``. One of the others ends a job: ``result`` (JSON),
        ``refusal`` (one line about the input), ``fault`` (one line about this program),
        ``cancelled``.
    body
        At most 4 GiB.
    """

    kind: Kind
    body: bytes = b""

    @property
    def is_last(self) -> bool:
        """Whether nothing more comes of this job."""
        return self.kind not in ("ready", "progress")

    def packed(self) -> bytes:
        """The bytes that are sent."""
        return _HEAD.pack(_KINDS.index(self.kind), len(self.body)) + self.body


def receive(channel: socket.socket) -> Frame | None:
    """The next message on a blocking socket; None at its end."""
    head = _exactly(channel, _HEAD.size)
    if head is None:
        return None
    kind, length = _HEAD.unpack(head)
    body = _exactly(channel, length)
    return None if body is None else Frame(_KINDS[kind], body)


def _exactly(channel: socket.socket, length: int) -> bytes | None:
    parts = bytearray(length)
    view = memoryview(parts)
    while view:
        got = channel.recv_into(view)
        if got == 0:
            return None
        view = view[got:]
    return bytes(parts)


async def next_frame(channel: socket.socket) -> Frame | None:
    """The next message on a socket that does not block; None at its end."""
    head = await _all_of(channel, _HEAD.size)
    if head is None:
        return None
    kind, length = _HEAD.unpack(head)
    body = await _all_of(channel, length)
    return None if body is None else Frame(_KINDS[kind], body)


async def _all_of(channel: socket.socket, length: int) -> bytes | None:
    loop = asyncio.get_running_loop()
    parts = bytearray(length)
    view = memoryview(parts)
    while view:
        try:
            got = await loop.sock_recv_into(channel, view)
        except ConnectionError:
            return None
        if got == 0:
            return None
        view = view[got:]
    return bytes(parts)
