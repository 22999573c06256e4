"""Refusals in one line; small stand-ins for the published files, and the real ones if there."""

from __future__ import annotations

import functools
import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from empirical import data


def refused(message: str, call: Callable[..., object], /, *arguments: Any, **options: Any) -> None:
    """Check that a call is refused, in one line that matches."""
    with pytest.raises(ValueError, match=message) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)


def idx(array: NDArray[np.uint8]) -> bytes:
    """Encode an array as the IDX format describes it, independently of the reader."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def tiny_dataset(seed: int = 0) -> dict[str, bytes]:
    """Decompressed content of four files: 12 training and 6 test images of 4 x 4."""
    generator = np.random.default_rng(seed)
    contents = {}
    for split, count in (("train", 12), ("t10k", 6)):
        pixels = generator.integers(0, 256, (count, 4, 4), dtype=np.uint8)
        labels = generator.permutation(np.arange(count, dtype=np.uint8) % 10)
        contents[f"{split}-images-idx3-ubyte.gz"] = idx(pixels)
        contents[f"{split}-labels-idx1-ubyte.gz"] = idx(labels)
    return contents


def checksums(contents: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def write(folder: Path, contents: dict[str, bytes], *, level: int = 9) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(gzip.compress(content, compresslevel=level))
    return folder


@functools.cache
def fashion_mnist() -> data.Images:
    """The training images, or a skipped test that says why."""
    try:
        return data.load_images("fashion-mnist")
    except data.DataNotFound as absent:
        pytest.skip(str(absent))
