"""Images of one's own in the IDX format: a file of images beside a file of labels."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

import numpy as np

from empirical.data import read_idx
from empirical.train.data.labelled_rows import LabelledRows
from empirical.train.data.source_files import GZIP, SourceFile, check_kind, read_source
from theory.validation import fail

_IMAGES = re.compile(r"images([-.])idx3")


def is_idx(path: Path) -> bool:
    """Whether a file is called as images in the IDX format are."""
    return _IMAGES.search(path.name) is not None


def read_idx_files(path: str | Path) -> LabelledRows:
    """The images of one IDX file, packed by gzip or not, and the labels beside it.

    Parameters
    ----------
    path
        A file with ``images-idx3`` or ``images.idx3`` in its name; its labels are in the file with
        ``labels-idx1`` or ``labels.idx1`` in that place, as in ``train-images-idx3-ubyte.gz`` and
        ``train-labels-idx1-ubyte.gz``.

    Returns
    -------
    LabelledRows
        Inputs of shape (n, 1, height, width), grey values divided by 255, float32; labels int64.

    Raises
    ------
    ValueError
        If a file is missing or damaged, or there is not one label for each image.
    """
    path = Path(path)
    if not is_idx(path):
        wanted = "a file with images-idx3 in its name"
        raise fail(str(path), wanted, path.name, "name the file as the format's own are")
    images, labels = read_source(path), read_source(path.with_name(_labels_of(path.name)))
    for source in (images, labels):
        check_kind(source, "an IDX file", GZIP)
    pixels = read_idx(_unpacked(images), ndim=3, source=images.path)
    numbers = read_idx(_unpacked(labels), ndim=1, source=labels.path).astype(np.int64)
    inputs = pixels[:, None].astype(np.float32) / np.float32(255)
    return LabelledRows(images.path, inputs, (numbers,), images.sources + labels.sources)


def _labels_of(name: str) -> str:
    return _IMAGES.sub(r"labels\1idx1", name)


def _unpacked(source: SourceFile) -> bytes:
    if not source.content.startswith(b"\x1f\x8b"):
        return source.content
    try:
        return gzip.decompress(source.content)
    except (OSError, EOFError, zlib.error) as error:
        got = f"a damaged one ({error})"
        raise fail(source.path, "a gzip file", got, "fetch the file again") from None
