"""The frame on the wire: what stands before a message's body, and what is checked before a decoder.

In little-endian order, 40 bytes:

    magic 2, version 1, kind 1, fingerprint of codec and layout 8, sender 4, listener 4, epoch 4,
    sequence number 4, CRC-32 of the memory before this message 4, length of the body 4,
    CRC-32 of all before it and of the body 4,

then the body. What a message costs, wherever it is counted, is the length of its frame.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

from theory.validation import fail

MAGIC, VERSION = b"pb", 1
_HEADER = struct.Struct("<2sBB8sIIIIII")
_CHECKSUM = struct.Struct("<I")
HEADER_BYTES = _HEADER.size + _CHECKSUM.size
MOST = 2**32 - 1
# In place of a listener's number: whoever listens.
ALL = MOST
_AGAIN = "ask for a key frame"


class FrameError(ValueError):
    """What came is no frame that this listener can use; nothing may be pooled from it."""


class DamagedFrameError(FrameError):
    """Not the bytes that were sent, or none of a frame at all."""


class ForeignFrameError(FrameError):
    """A whole frame of another sender, another codec, other nets, or for somebody else."""


class OutOfStepError(FrameError):
    """A whole frame that starts from another memory than the listener has."""


def refused(kind: type[FrameError], sender: int, expected: str, got: object) -> FrameError:
    """A refusal in one line."""
    return kind(str(fail(f"frame of agent {sender}", expected, got, _AGAIN)))


class Kind(IntEnum):
    """What a frame is for."""

    MESSAGE = 0  # a body that starts from the memory that both ends have
    KEY = 1  # the sender's memory, then such a body
    REQUEST = 2  # of a listener: the next message shall be a key frame


@dataclass(frozen=True)
class Address:
    """Whose messages these are, for whom, and what they can be decoded with.

    Attributes
    ----------
    fingerprint
        Of codec and layout, 8 bytes.
    sender, listener
        Agents' numbers; :data:`ALL` where everybody who listens gets the same.
    """

    fingerprint: bytes
    sender: int
    listener: int = ALL


@dataclass(frozen=True)
class Frame:
    """A message as it travels.

    Attributes
    ----------
    address
        From whom, for whom, in which codec.
    kind
        What it is for.
    epoch
        How often the sender has begun anew, without the memory that it had.
    sequence
        Which message of the epoch this is, from 0.
    memory
        CRC-32 of the memory that the body starts from.
    body
        What the codec wrote.
    """

    address: Address
    kind: Kind
    epoch: int
    sequence: int
    memory: int
    body: bytes

    def __bytes__(self) -> bytes:
        """The whole frame."""
        where = self.address
        if max(self.epoch, self.sequence, len(self.body)) > MOST:
            raise fail("frame", "numbers and a body below 2**32", "larger ones", "begin an epoch")
        head = _HEADER.pack(
            MAGIC, VERSION, self.kind, where.fingerprint, where.sender, where.listener,
            self.epoch, self.sequence, self.memory, len(self.body),
        )  # fmt: skip
        return b"".join((head, _CHECKSUM.pack(zlib.crc32(self.body, zlib.crc32(head))), self.body))


def parse(data: bytes, address: Address) -> Frame:
    """A frame that is whole, and is of this sender, codec and listener.

    Whether it starts from the memory that the listener has is for :mod:`empirical.messages.streams`
    to say.

    Raises
    ------
    DamagedFrameError
        If it is cut short, too long, of another format, or not what was sent.
    ForeignFrameError
        If it is somebody else's, for somebody else, or of another codec or other nets.
    """
    sender = address.sender
    if len(data) < HEADER_BYTES:
        wanted = f"at least {HEADER_BYTES} bytes"
        raise refused(DamagedFrameError, sender, wanted, f"{len(data)}")
    magic, version, kind, found, speaker, listener, *numbers = _HEADER.unpack_from(data)
    epoch, sequence, memory, length = numbers
    if magic != MAGIC or version != VERSION or kind not in tuple(Kind):
        wanted = f"one that begins with {MAGIC!r}, version {VERSION} and a kind of 0 to 2"
        raise refused(DamagedFrameError, sender, wanted, f"{magic!r}, {version} and {kind}")
    if len(data) != HEADER_BYTES + length:
        wanted = f"{HEADER_BYTES + length} bytes, as its header says"
        raise refused(DamagedFrameError, sender, wanted, f"{len(data)}")
    (said,) = _CHECKSUM.unpack_from(data, _HEADER.size)
    body = data[HEADER_BYTES:]
    checksum = zlib.crc32(body, zlib.crc32(data[: _HEADER.size]))
    if checksum != said:
        raise refused(DamagedFrameError, sender, f"checksum {said:08x}", f"{checksum:08x}")
    if speaker != sender:
        raise refused(ForeignFrameError, sender, f"sender {sender}", speaker)
    if listener != address.listener:
        names = ("everybody" if x == ALL else f"agent {x}" for x in (address.listener, listener))
        raise refused(ForeignFrameError, sender, *(f"one for {name}" for name in names))
    if found != address.fingerprint:
        wanted = f"codec and nets {address.fingerprint.hex()}"
        raise refused(ForeignFrameError, sender, wanted, found.hex())
    return Frame(address, Kind(kind), epoch, sequence, memory, body)
