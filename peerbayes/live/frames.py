"""One message on the wire: the bytes of a safetensors file, sealed by a digest and a signature.

Eight bytes of length, a JSON header, the numbers. The header's ``__metadata__`` says who speaks of
which network, in which round, under which list of members; ``digest`` is SHA-256 of everything
else, ``signature`` the sender's over that digest. Bytes are read in an order in which nothing
costs more than its size allows: the size is checked before anything is parsed, the header before
the numbers, the digest before the signature. What does not pass is *refused* with one of
`REASONS`, which the receiver counts; a frame is never an error of the program.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensors = Mapping[str, NDArray[Any]]
Shapes = Mapping[str, tuple[str, tuple[int, ...]]]
"""What a frame may hold: for each tensor its type, in the words of safetensors, and its shape."""

SCHEMA = "1"
MOST_HEADER = 16 * 1024
"""Bytes that a header may have."""
REASONS = (
    "too-large",
    "not-a-frame",
    "other-schema",
    "other-network",
    "wrong-name",
    "unknown-sender",
    "wrong-epoch",
    "bad-digest",
    "bad-signature",
    "not-finite",
    "wrong-shape",
    "far-ahead",
)
"""Why a frame may be refused."""
TYPES: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("<i1"),
    "U8": np.dtype("<u1"),
    "BOOL": np.dtype("?"),
}
"""Types of numbers by their safetensors names."""
_NAMES = {dtype.str: name for name, dtype in TYPES.items()}
_FIELDS = frozenset(
    ("schema", "network", "from", "epoch", "round", "time", "gap", "kind", "digest", "signature")
)
# The longest number of a round or an epoch, 2**63 - 1, has 19 digits.
_DIGITS = 19


class Refused(Exception):  # noqa: N818 - the field's word; nothing is in error here
    """A frame that is not taken.

    Attributes
    ----------
    reason
        One of `REASONS`.
    detail
        What was found, for the log; possibly empty.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, eq=False)
class Frame:
    """What one agent says in one round.

    Attributes
    ----------
    network
        First 16 hexadecimal digits of the problem's digest.
    sender
        The agent's name.
    epoch
        Number of the list of members by which the sender goes.
    round
        The sender's own count of rounds, at least 0; 0 is its prior.
    time
        The sender's clock when the message was made, seconds since 1970.
    gap
        Seconds from the sender's last pooling to this message.
    kind
        "finite" (log-beliefs over hypotheses) or "net".
    tensors
        The numbers, by name: for "finite" `log_belief` of shape (M,), in nats.
    digest
        SHA-256 of all else, hexadecimal; filled in by `seal` and `unseal`.
    """

    network: str
    sender: str
    epoch: int
    round: int
    time: float
    gap: float
    kind: str
    tensors: Tensors
    digest: str = field(default="")


def seal(frame: Frame, sign: Callable[[bytes], str] | None = None) -> bytes:
    """The bytes of a frame.

    Parameters
    ----------
    frame
        With tensors of a type in `TYPES`.
    sign
        Signs the digest (its 64 hexadecimal digits as bytes) and returns hexadecimal digits;
        without it the signature is empty.
    """
    header: dict[str, Any] = {
        "__metadata__": {
            "schema": SCHEMA,
            "network": frame.network,
            "from": frame.sender,
            "epoch": str(frame.epoch),
            "round": str(frame.round),
            "time": repr(float(frame.time)),
            "gap": repr(float(frame.gap)),
            "kind": frame.kind,
            "digest": "",
            "signature": "",
        }
    }
    parts: list[bytes] = []
    at = 0
    for name, values in frame.tensors.items():
        array = np.ascontiguousarray(values)
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        header[name] = {
            "dtype": _NAMES[array.dtype.newbyteorder("<").str],
            "shape": list(array.shape),
            "data_offsets": [at, at + len(data)],
        }
        parts.append(data)
        at += len(data)
    numbers = b"".join(parts)
    digest = _digest(header, numbers)
    header["__metadata__"]["digest"] = digest
    if sign is not None:
        header["__metadata__"]["signature"] = sign(digest.encode())
    text = _written(header)
    return struct.pack("<Q", len(text)) + text + numbers


def unseal(
    data: bytes,
    *,
    limit: int,
    network: str,
    shapes: Shapes,
    kind: str,
    name: str | None = None,
    members: Mapping[str, object] | frozenset[str] | None = None,
    epoch: Callable[[int], bool] | None = None,
    verify: Callable[[str, bytes, str], bool] | None = None,
) -> Frame:
    """The frame that bytes hold.

    Parameters
    ----------
    data
        What arrived.
    limit
        Bytes that it may have.
    network, kind, shapes
        What this network's frames say and hold.
    name
        The name under which it arrived; a frame that says another one is refused.
    members
        Whose frames are taken; anybody's if left out.
    epoch
        Whether a frame of this epoch is taken; any if left out.
    verify
        Takes the sender, the digest as bytes and the signature, and says whether they fit.

    Raises
    ------
    Refused
        With the reason.
    """
    if len(data) > limit:
        raise Refused("too-large", f"{len(data)} bytes where {limit} are allowed")
    header, numbers = _split(data)
    said = _metadata(header)
    if said["schema"] != SCHEMA:
        raise Refused("other-schema", said["schema"][:20])
    if said["network"] != network:
        raise Refused("other-network", said["network"][:20])
    sender = said["from"]
    if name is not None and sender != name:
        raise Refused("wrong-name", f"{sender[:60]!r} under the name of {name!r}")
    if members is not None and sender not in members:
        raise Refused("unknown-sender", repr(sender[:60]))
    when, of_epoch = _whole(said["round"]), _whole(said["epoch"])
    if epoch is not None and not epoch(of_epoch):
        raise Refused("wrong-epoch", str(of_epoch))
    made, gap = _real(said["time"]), _real(said["gap"])
    digest, signature = said["digest"], said["signature"]
    said["digest"] = said["signature"] = ""
    if _digest(header, numbers) != digest:
        raise Refused("bad-digest", digest[:12])
    if verify is not None and not verify(sender, digest.encode(), signature):
        raise Refused("bad-signature", repr(sender[:60]))
    if said["kind"] != kind:
        raise Refused("wrong-shape", f"kind {said['kind'][:20]!r}")
    tensors = _tensors(header, numbers, shapes)
    return Frame(network, sender, of_epoch, when, made, gap, kind, tensors, digest)


def _written(header: Mapping[str, Any]) -> bytes:
    """A header's one form: sorted keys, no blanks, filled up with blanks to a multiple of 8."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def _digest(header: Mapping[str, Any], numbers: bytes) -> str:
    """SHA-256 of a frame whose digest and signature are empty."""
    content = hashlib.sha256(_written(header))
    content.update(numbers)
    return content.hexdigest()


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and numbers; a header that is not written in its one form is none."""
    if len(data) < 8:
        raise Refused("not-a-frame", f"{len(data)} bytes")
    (length,) = struct.unpack_from("<Q", data)
    if length > MOST_HEADER:
        raise Refused("too-large", f"a header of {length} bytes")
    if len(data) < 8 + length:
        raise Refused("not-a-frame", "shorter than its header")
    text = data[8 : 8 + length]
    try:
        header = json.loads(text)
        same = isinstance(header, dict) and _written(header) == text
    except (ValueError, RecursionError, TypeError):
        raise Refused("not-a-frame", "no JSON") from None
    if not same:  # repeated keys among others: two readers could see two frames
        raise Refused("not-a-frame", "a header in another form")
    return header, data[8 + length :]


def _metadata(header: Mapping[str, Any]) -> dict[str, str]:
    said = header.get("__metadata__")
    fits = isinstance(said, dict) and said.keys() == _FIELDS
    if not fits or not all(isinstance(text, str) for text in said.values()):
        schema = said.get("schema") if isinstance(said, dict) else None
        if isinstance(schema, str) and schema != SCHEMA:
            raise Refused("other-schema", schema[:20])
        raise Refused("not-a-frame", "other fields")
    return said  # type: ignore[no-any-return]


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS) or int(text) >= 2**63:
        raise Refused("not-a-frame", f"the number {text[:30]!r}")
    return int(text)


def _real(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or len(text) > 30:
        raise Refused("not-a-frame", f"the time {text[:30]!r}")
    return value


def _tensors(header: Mapping[str, Any], numbers: bytes, shapes: Shapes) -> dict[str, NDArray[Any]]:
    """The numbers, each tensor of the expected type and shape, one after the other, finite."""
    if header.keys() - {"__metadata__"} != shapes.keys():
        raise Refused("wrong-shape", f"tensors {sorted(header)[:8]}")
    tensors = {}
    total = 0
    for name, (dtype, shape) in shapes.items():
        size = TYPES[dtype].itemsize * math.prod(shape)
        said = header[name]
        begin = said["data_offsets"][0] if _is_tensor(said) else -1
        wanted = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, begin + size]}
        if said != wanted or not 0 <= begin <= len(numbers) - size:
            raise Refused("wrong-shape", name)
        values = np.frombuffer(numbers, TYPES[dtype], math.prod(shape), begin).reshape(shape)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise Refused("not-finite", name)
        tensors[name] = values
        total += size
    if total != len(numbers):
        raise Refused("wrong-shape", f"{len(numbers)} bytes of numbers, not {total}")
    return tensors


def _is_tensor(said: object) -> bool:
    if not isinstance(said, dict):
        return False
    offsets = said.get("data_offsets")
    return isinstance(offsets, list) and len(offsets) == 2 and type(offsets[0]) is int
