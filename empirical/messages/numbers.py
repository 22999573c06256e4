"""Tensors as bytes in little-endian order, and back."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

# Formats of real numbers, by the names that settings use.
KINDS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def to_bytes(values: Tensor) -> bytes:
    """The elements in C order, each in little-endian order."""
    return _little(values).tobytes()


def from_bytes(body: bytes, kind: torch.dtype) -> Tensor:
    """A vector of its own memory, shape (len(body) / itemsize,); no more is checked than that.

    >>> from_bytes(to_bytes(torch.tensor([1.5, -2.0])), torch.float32).tolist()
    [1.5, -2.0]
    """
    raw = np.frombuffer(body, dtype=np.uint8).reshape(-1, kind.itemsize)
    if sys.byteorder == "big":
        raw = raw[:, ::-1]
    return torch.from_numpy(raw.copy().reshape(-1)).view(kind)


def digest(tensors: Mapping[str, Tensor]) -> int:
    """CRC-32 of all elements, in the order of the names; 0 of nothing."""
    found = 0
    for name in sorted(tensors):
        found = zlib.crc32(_little(tensors[name]).data, found)
    return found


def _little(values: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Bytes of the elements; a view where nothing has to be moved."""
    flat = values.detach().cpu().contiguous().reshape(-1)
    raw = flat.view(torch.uint8).numpy()
    if sys.byteorder == "big":
        raw = np.ascontiguousarray(raw.reshape(-1, values.dtype.itemsize)[:, ::-1]).reshape(-1)
    return raw
