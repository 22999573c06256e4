"""Arrays as the bytes of a safetensors file: eight bytes of length, a JSON header, the numbers.

The header has one form (sorted keys, no blanks, filled up to a multiple of 8), so that the same
content is the same bytes, and a header in another form is refused: two readers of repeated keys
could see two contents.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.validation import fail, install_extra

try:
    import orjson
except ModuleNotFoundError:
    raise fail("live peers", "the package orjson", "none", install_extra("live")) from None

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
