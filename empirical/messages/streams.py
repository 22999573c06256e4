"""The two ends of a stream of messages, and the memory that they share.

Both ends begin with the codec's memory, and every message changes it alike. A message therefore
says which one it is, and the checksum of the memory that it starts from. A listener that has missed
one, or has another memory, refuses what follows until it gets a key frame: the sender's memory,
number by number, then a message. It asks for one by a frame without a body, and loses what is said
meanwhile. A codec without memory needs none of this: what is lost is lost, and the next is heard.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import torch
from torch import Tensor

from empirical.messages.codec import Codec, Coder, Heard, Layout, Memory, Said, TwoWay
from empirical.messages.selected import PRECISION, digest, from_bytes, to_bytes
from theory.validation import fail

# The frame on the wire ---------------------------------------------------------------------------


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


# The two ends of a stream of messages, and the memory that they share ----------------------------


# What both ends keep beside the memory: epoch, next sequence number, a flag, messages missed.
_NUMBERS = "numbers"


def fingerprint(codec: Codec, layout: Layout) -> bytes:
    """Eight bytes that tell codecs, their settings, nets and first messages apart."""
    blocks = [[block.name, block.start, list(block.shape)] for block in layout.blocks]
    text = json.dumps([codec.words(), blocks], sort_keys=True, default=str)
    found = hashlib.sha256(text.encode())
    for name, values in layout.begin.items():
        found.update(name.encode() + to_bytes(values))
    return found.digest()[:8]


class _End:
    """What both ends have."""

    def __init__(self, coder: Coder, address: Address, *, seed: int) -> None:
        self.coder, self.address, self._seed = coder, address, seed
        self.memory: Memory = coder.memory()
        self.epoch, self.sequence, self.missed = 0, 0, 0
        self._flag = False

    def _seed_of(self, frame: Frame) -> int:
        """Of one message: known at both ends, another one for every other message."""
        where = self.address
        key = self._seed, where.sender, where.listener, frame.epoch, frame.sequence
        return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> np.uint64(1))

    def state_dict(self) -> dict[str, Tensor]:
        """All that the rest of the stream depends on; views, not copies."""
        numbers = [self.epoch, self.sequence, int(self._flag), self.missed]
        return {
            _NUMBERS: torch.tensor(numbers, dtype=torch.int64),
            **{f"memory.{name}": values for name, values in self.memory.items()},
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state_dict`, bit for bit.

        Raises
        ------
        ValueError
            If it is of another codec, or of other nets.
        """
        mine = self.state_dict()
        for name in sorted(mine.keys() | state.keys()):
            shapes = [
                None if name not in part else (part[name].dtype, tuple(part[name].shape))
                for part in (mine, state)
            ]
            if shapes[0] != shapes[1]:
                remedy = "give the state of a run with the same codec and nets"
                raise fail(f"state of a stream, {name}", str(shapes[0]), str(shapes[1]), remedy)
        self.epoch, self.sequence, flag, self.missed = state[_NUMBERS].tolist()
        self._flag = bool(flag)
        self.memory = {name: state[f"memory.{name}"].clone() for name in self.memory}


class Sender(_End):
    """Where a stream begins.

    Parameters
    ----------
    coder
        Of the run; it keeps nothing of a stream.
    address
        Whose messages, and for whom.
    seed
        Of the run, and the same at both ends.
    """

    def send(self, said: Said, *, pace: float = 1.0) -> bytes:
        """The frame of the next message: vectors of shape (d,), float32, on the CPU.

        `pace`: as of :meth:`~empirical.messages.codec.TwoWay.write`, for coders that are of it.

        Raises
        ------
        ValueError
            If the codec cannot write it.
        """
        key = self._flag
        frame = Frame(
            self.address, Kind.KEY if key else Kind.MESSAGE, self.epoch, self.sequence,
            digest(self.memory), b"",
        )  # fmt: skip
        # Where an epoch begins, both ends know the memory.
        before = _packed(self.memory) if key and self.sequence else b""
        coder, seed = self.coder, self._seed_of(frame)
        if isinstance(coder, TwoWay):
            body = coder.write(said, self.memory, seed=seed, pace=pace).body
        else:
            body = coder.encode(said, self.memory, seed=seed)
        self.sequence, self._flag = self.sequence + 1, False
        return bytes(replace(frame, body=before + body))

    def hear(self, request: bytes) -> None:
        """Take in a listener's request: the next message will be a key frame.

        Raises
        ------
        FrameError
            If it is damaged, or of another stream; nothing changes then.
        """
        frame = parse(request, self.address)
        if frame.kind is not Kind.REQUEST:
            raise refused(
                ForeignFrameError, self.address.sender, "a request", frame.kind.name.lower()
            )
        self.resynchronise()

    def resynchronise(self) -> None:
        """The next message will be a key frame, if there is a memory to send."""
        self._flag = bool(self.memory)

    def begin_anew(self) -> None:
        """Go on without the memory that the stream had: a new epoch, which a key frame begins."""
        self.memory = self.coder.memory()
        self.epoch, self.sequence, self._flag = self.epoch + 1, 0, True


class Receiver(_End):
    """Where a stream ends; parameters as of :class:`Sender`.

    Attributes
    ----------
    missed
        Messages that were sent and never heard, as far as sequence numbers tell.
    """

    @property
    def is_in_step(self) -> bool:
        """Whether nothing has gone wrong since the last key frame."""
        return not self._flag

    def receive(self, data: bytes) -> Heard:
        """What a frame says.

        Raises
        ------
        FrameError
            If it cannot be used (:class:`DamagedFrameError`, :class:`ForeignFrameError`,
            :class:`OutOfStepError`): nothing was heard.
        ValueError
            If what was heard is no belief: this codec must not be used for it.
        """
        frame = parse(data, self.address)
        if frame.kind is Kind.REQUEST:
            raise refused(ForeignFrameError, self.address.sender, "a message", "a request")
        self.memory, body = self._in_step(frame)
        was, self._flag = (self.epoch, self.sequence), True  # until all has gone well
        try:
            heard = self.coder.decode(body, self.memory, seed=self._seed_of(frame))
        except ValueError as error:
            raise refused(DamagedFrameError, self.address.sender, "a body", f"({error})") from error
        check_heard(heard, f"agent {self.address.sender}")
        lost = frame.sequence - (was[1] if frame.epoch == was[0] else 0)
        self.missed += lost
        self.epoch, self.sequence, self._flag = frame.epoch, frame.sequence + 1, False
        return heard

    def nothing_came(self) -> None:
        """A message was due, and did not come or could not be used."""
        self._flag = bool(self.memory)

    def request(self) -> bytes:
        """The frame that asks for a key frame."""
        return bytes(Frame(self.address, Kind.REQUEST, self.epoch, self.sequence, 0, b""))

    def _in_step(self, frame: Frame) -> tuple[Memory, bytes]:
        """The memory that a frame starts from, and what the codec wrote."""
        sender, place = self.address.sender, (frame.epoch, frame.sequence)
        next_one = self.epoch, self.sequence
        got = f"message {place[1]} of epoch {place[0]}"
        wanted = f"message {self.sequence} of epoch {self.epoch}"
        if place < next_one:
            raise refused(OutOfStepError, sender, f"{wanted} or a later one", got)
        memory, body = self.memory, frame.body
        if frame.kind is Kind.KEY:
            fresh = self.coder.memory()
            memory, body = _unpacked(body, fresh, sender) if frame.sequence else (fresh, body)
        elif memory and place != next_one:
            self.nothing_came()
            raise refused(OutOfStepError, sender, wanted, got)
        if digest(memory) != frame.memory:
            self.nothing_came()
            wanted = f"{wanted} to start from memory {digest(memory):08x}"
            raise refused(OutOfStepError, sender, wanted, f"{frame.memory:08x}")
        return memory, body


def check_heard(heard: Heard, who: str) -> None:
    """Refuse what cannot be pooled: numbers that are not finite, precisions not above 0.

    Raises
    ------
    ValueError
        In one line; `who` says whose message it was.
    """
    for name, values in heard.vectors.items():
        some = values if heard.sent is None else values[heard.sent]
        if not some.numel():
            continue
        low, high = (float(end) for end in torch.aminmax(some))
        if not (np.isfinite(low) and np.isfinite(high)):
            remedy = "use a codec that holds such numbers"
            raise fail(f"{name} heard of {who}", "finite numbers", "NaN or infinity", remedy)
        if name == PRECISION and low <= 0.0:
            remedy = "use a codec that keeps beliefs beliefs, such as 'difference'"
            raise fail(f"{name} heard of {who}", "numbers above 0", f"{low:g}", remedy)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A codec that fits the messages of a run.

    Attributes
    ----------
    coder
        As the codec made it.
    frame_bytes
        Bytes of the longer frame of the two that were tried: an estimate of what is to come.
    """

    coder: Coder
    frame_bytes: int


def prepared(codec: Codec, layout: Layout) -> Prepared:
    """The coder of a run, tried on two messages like the first one.

    Raises
    ------
    ValueError
        If the codec does not fit, or does not leave a belief a belief.
    """
    coder = codec.coder(layout)
    memories = coder.memory(), coder.memory()
    generator, longest = torch.Generator().manual_seed(0), 0
    for seed in (0, 1):
        # Near what agents begin with: a tenth of each number, in a random direction.
        said = {
            name: values + 0.1 * values.abs() * torch.randn(layout.size, generator=generator).tanh()
            for name, values in layout.begin.items()
        }
        body = coder.encode(said, memories[0], seed=seed)
        heard = coder.decode(body, memories[1], seed=seed)
        longest = max(longest, HEADER_BYTES + len(body))
        try:
            check_heard(heard, f"an agent with codec {codec.name!r}")
        except ValueError as error:
            raise ValueError(f"codec: {error}") from None
    return Prepared(coder, longest)


def _packed(memory: Memory) -> bytes:
    return b"".join(to_bytes(memory[name]) for name in sorted(memory))


def _unpacked(data: bytes, like: Memory, sender: int) -> tuple[Memory, bytes]:
    """The memory that :func:`_packed` wrote, and what follows."""
    found, start = {}, 0
    for name in sorted(like):
        values = like[name]
        end = start + values.numel() * values.itemsize
        if end > len(data):
            raise refused(
                DamagedFrameError, sender, f"a key frame of at least {end} bytes", len(data)
            )
        found[name] = from_bytes(data[start:end], values.dtype).reshape(values.shape)
        start = end
    return {name: found[name] for name in like}, data[start:]
