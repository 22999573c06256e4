"""One message on the wire: the bytes of a safetensors file, sealed by a digest and a signature.

Eight bytes of length, a JSON header, the numbers. The header has one form (sorted keys, no blanks,
filled up to a multiple of 8), so that the same content is the same bytes, and a header in another
form is refused: two readers of repeated keys could see two contents. States on disk are such files
too.

A frame's header says in ``__metadata__`` who speaks of which network, in which round, under which
list of members; ``digest`` is SHA-256 of everything else, ``signature`` the sender's over that
digest. Bytes are read in an order in which nothing costs more than its size allows: the size is
checked before anything is parsed, the header before the numbers, the digest before the signature.
What does not pass is *refused* with one of `REASONS`, which the receiver counts; a frame is never
an error of the program.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.validation import fail, install_extra

try:
    import orjson
except ModuleNotFoundError:
    raise fail("live peers", "the package orjson", "none", install_extra("live")) from None

Tensors = Mapping[str, NDArray[Any]]
Shapes = Mapping[str, tuple[str, tuple[int, ...]]]
"""What a frame may hold: for each tensor its type, in the words of safetensors, and its shape."""

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
METADATA = "__metadata__"
_NAMES = {dtype.str: name for name, dtype in TYPES.items()}

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
    "second-process",
)
"""Why a frame may be refused."""

_FIELDS = frozenset(
    ("schema", "network", "from", "epoch", "round", "time", "gap", "kind", "digest", "signature")
)
# The longest number of a round or an epoch, 2**63 - 1, has 19 digits.
_DIGITS = 19
_NO_DIGEST, _NO_SIGNATURE = b'"digest":""', b'"signature":""'


# Files ------------------------------------------------------------------------------------------


def header_of(
    metadata: Mapping[str, str], tensors: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Any], bytes]:
    """The header of some arrays, and their numbers one after the other."""
    header: dict[str, Any] = {METADATA: dict(metadata)}
    parts: list[bytes] = []
    at = 0
    for name, values in tensors.items():
        dtype = values.dtype.newbyteorder("<")
        data = values.astype(dtype, copy=False).tobytes()
        header[name] = {
            "dtype": _NAMES[dtype.str],
            "shape": list(values.shape),
            "data_offsets": [at, at + len(data)],
        }
        parts.append(data)
        at += len(data)
    return header, b"".join(parts)


def written(header: Mapping[str, Any]) -> bytes:
    """A header in its one form."""
    return padded(orjson.dumps(header, option=orjson.OPT_SORT_KEYS))


def padded(text: bytes) -> bytes:
    """A header's text with blanks up to a multiple of 8 bytes."""
    return text + b" " * (-len(text) % 8)


def joined(text: bytes, numbers: bytes) -> bytes:
    """The whole file, of a header's text."""
    text = padded(text)
    return struct.pack("<Q", len(text)) + text + numbers


def header_bytes(data: bytes) -> int:
    """How long the header says it is.

    Raises
    ------
    ValueError
        If there are not even eight bytes.
    """
    if len(data) < 8:
        raise ValueError(f"{len(data)} bytes")
    return int(struct.unpack_from("<Q", data)[0])


def split(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and numbers.

    Raises
    ------
    ValueError
        If there is no header, or one in another form.
    """
    length = header_bytes(data)
    if len(data) < 8 + length:
        raise ValueError("shorter than its header")
    text = data[8 : 8 + length]
    try:
        header = orjson.loads(text)
        same = isinstance(header, dict) and written(header) == text
    except (ValueError, TypeError):
        raise ValueError("no JSON") from None
    if not same:
        raise ValueError("a header in another form")
    return header, data[8 + length :]


def arrays(header: Mapping[str, Any], numbers: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file that is known to be whole.

    Raises
    ------
    ValueError
        If it is not.
    """
    try:
        return {
            name: np.frombuffer(
                numbers[slice(*said["data_offsets"])], TYPES[said["dtype"]]
            ).reshape(said["shape"])
            for name, said in header.items()
            if name != METADATA
        }
    except (KeyError, TypeError) as error:
        raise ValueError(repr(error)) from None


def digest_of(text: bytes, numbers: bytes) -> str:
    """SHA-256 of a header's text, in which no digest is filled in, and of the numbers."""
    content = hashlib.sha256(text)
    content.update(numbers)
    return content.hexdigest()


# Frames -----------------------------------------------------------------------------------------


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
    metadata = {
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
    header, numbers = header_of(metadata, frame.tensors)
    text = written(header)
    digest = digest_of(text, numbers).encode()
    signature = b"" if sign is None else sign(digest).encode()
    text = text.rstrip(b" ").replace(_NO_DIGEST, b'"digest":"%s"' % digest, 1)
    return joined(text.replace(_NO_SIGNATURE, b'"signature":"%s"' % signature, 1), numbers)


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
    header, text, numbers = _split(data)
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
    if digest_of(_unsigned(text, digest, signature), numbers) != digest:
        raise Refused("bad-digest", digest[:12])
    if verify is not None and not verify(sender, digest.encode(), signature):
        raise Refused("bad-signature", repr(sender[:60]))
    if said["kind"] != kind:
        raise Refused("wrong-shape", f"kind {said['kind'][:20]!r}")
    tensors = _tensors(header, numbers, shapes)
    return Frame(network, sender, of_epoch, when, made, gap, kind, tensors, digest)


def _unsigned(text: bytes, digest: str, signature: str) -> bytes:
    """A header's bytes with an empty digest and signature.

    Quotation marks within strings are escaped, so that what is replaced are keys and values.
    """
    text = text.rstrip(b" ").replace(b'"digest":"%s"' % digest.encode(), _NO_DIGEST, 1)
    return padded(text.replace(b'"signature":"%s"' % signature.encode(), _NO_SIGNATURE, 1))


def _split(data: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Header, its bytes, and numbers; the header's length is looked at before it is read."""
    try:
        length = header_bytes(data)
        if length > MOST_HEADER:
            raise Refused("too-large", f"a header of {length} bytes")
        header, numbers = split(data)
    except ValueError as error:
        raise Refused("not-a-frame", str(error)) from None
    return header, data[8 : 8 + length], numbers


def _metadata(header: Mapping[str, Any]) -> dict[str, str]:
    found = header.get(METADATA)
    said: dict[str, Any] = found if isinstance(found, dict) else {}
    if said.keys() != _FIELDS or not all(isinstance(text, str) for text in said.values()):
        schema = said.get("schema")
        if isinstance(schema, str) and schema != SCHEMA:
            raise Refused("other-schema", schema[:20])
        raise Refused("not-a-frame", "other fields")
    return said


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
    if header.keys() - {METADATA} != shapes.keys():
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
