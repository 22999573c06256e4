"""The files that data come from: read whole, and known again by their SHA-256.

What is parsed is the very content whose checksum is kept, so that a run that is resumed can tell
whether its data are still those that it began with.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.data import CHECKSUMS, SPLITS, Images, load_digits, load_images, read_idx
from empirical.train.data.examples import as_finite, listed
from theory.validation import IntArray, fail, read_only

# The files that data come from -------------------------------------------------------------------


# How files begin, what they then are, and what to do where another kind is wanted.
PARQUET, GZIP, ZIP = b"PAR1\x15", b"\x1f\x8b", b"PK\x03\x04"
_UNPACK, _AS_TABLE = "unpack it", "save it as CSV, or as Parquet"
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer in its place", "fetch it by: git lfs pull"),
    (GZIP, "one packed by gzip", _UNPACK),
    (b"BZh91AY", "one packed by bzip2", _UNPACK),
    (b"\xfd7zXZ", "one packed by xz", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "one packed by zstd", _UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", _UNPACK),
    (ZIP, "a ZIP archive, as NPZ files and Excel workbooks are", _AS_TABLE),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", _AS_TABLE),
    (PARQUET, "a Parquet file", "let its name end in .parquet"),
    (b"ARROW1\0", "an Arrow file", _AS_TABLE),
    (b"\x93NUMPY", "a single NumPy array", "save it with numpy.savez(file, inputs=…, labels=…)"),
    (b"\x89HDF", "an HDF5 file", _AS_TABLE),
    (b"SQLite format 3", "an SQLite database", _AS_TABLE),
    (b"%PDF-", "a PDF document", _AS_TABLE),
    (b"{\\rtf", "an RTF document", _AS_TABLE),
    (b"<!DOCTYPE", "an HTML page", "fetch the file itself"),
    (b"<!doctype", "an HTML page", "fetch the file itself"),
    (b"<html", "an HTML page", "fetch the file itself"),
    (b"<?xml", "an XML document", _AS_TABLE),
    (b'{"', "JSON", _AS_TABLE),
    (b"[{", "JSON", _AS_TABLE),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (b"\x89PNG", "a PNG image", "put it into a folder of images"),
    (b"\xff\xd8\xff", "a JPEG image", "put it into a folder of images"),
)

Sources = tuple[tuple[str, str], ...]
"""Pairs of a path and the SHA-256 of what is in the file, in hexadecimal digits."""


@dataclass(frozen=True)
class SourceFile:
    """A file's content; `path` as the user wrote it."""

    path: str
    content: bytes

    @property
    def sources(self) -> Sources:
        """The file and its checksum."""
        return ((self.path, hashlib.sha256(self.content).hexdigest()),)


def read_source(path: str | Path) -> SourceFile:
    """The content of a file.

    Raises
    ------
    ValueError
        If it cannot be read, or is empty.
    """
    try:
        content = Path(path).expanduser().read_bytes()
    except FileNotFoundError:
        raise fail(str(path), "a file", "none of that name", "correct the path") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise fail(str(path), "a readable file", reason, "correct the path") from None
    if not content:
        raise fail(str(path), "a file with data in it", "an empty file", "fill it, or leave it out")
    return SourceFile(str(path), content)


def check_kind(source: SourceFile, wanted: str, *own: bytes) -> None:
    """See that a file does not begin as another kind does; the line says what it is.

    Parameters
    ----------
    wanted
        What it is to be, for the message.
    own
        How its own kind begins.

    Raises
    ------
    ValueError
        If it is of a known kind that begins otherwise.
    """
    for begins, what, remedy in _BEGINNINGS:
        if begins not in own and source.content.startswith(begins):
            raise fail(source.path, wanted, what, remedy)


def check_unchanged(now: Sequence[tuple[str, str]], kept: Sequence[tuple[str, str]]) -> None:
    """See that data are those that a run began with.

    Parameters
    ----------
    now, kept
        Pairs of path and checksum, of the data as read now and as the run's record has them.

    Raises
    ------
    ValueError
        If a file has changed, is new or is gone; the line names the first such file.

    Examples
    --------
    >>> check_unchanged([("a.csv", "22")], [("a.csv", "11")])
    Traceback (most recent call last):
    ...
    ValueError: a.csv: expected the data that the run began with, got another content; ...
    """
    here, then = dict(now), dict(kept)
    for path in sorted(here.keys() | then.keys()):
        if here.get(path) == then.get(path):
            continue
        got = "another content"
        if path not in here or path not in then:
            got = "a file that was not there" if path in here else "no such file"
        remedy = "put the old data back, or begin a new run"
        raise fail(path, "the data that the run began with", got, remedy)


def relative_to(folder: str | Path, sources: Sources) -> Sources:
    """The same sources with paths counted from a folder, so that both may be moved together."""
    start = os.path.abspath(folder)

    def counted(path: str) -> str:
        if "://" in path:  # no file, but a data set that goes by its name
            return path
        return Path(os.path.relpath(os.path.abspath(path), start)).as_posix()

    return tuple((counted(path), digest) for path, digest in sources)


# What one file holds -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Inputs and labels of a source.

    Parameters
    ----------
    where
        The file or folder, for messages.
    inputs
        Shape (n, …), n ≥ 1: numbers as the source has them.
    labels
        One array of shape (n,) for each target: float64 numbers, int64, or texts.
    sources
        The files and their checksums.
    names
        What each row is called in messages; left out: by its number, ``row 1`` the first.
    numbers
        Numbers of the rows, from 0; left out: 0 to n − 1.
    class_names
        What the classes 0, 1, … are called, where a source says so.
    features
        The names of the inputs' columns, where they have names.
    missing
        Whether inputs may be missing: NaN stands for them.

    Raises
    ------
    ValueError
        If there are no rows, or not one label for each.
    """

    where: str
    inputs: NDArray[Any]
    labels: tuple[NDArray[Any], ...]
    sources: Sources = ()
    names: Sequence[str] | None = None
    numbers: IntArray | None = None
    class_names: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        inputs = as_finite(self.where, self.inputs, missing=self.missing)
        if not len(inputs):
            raise fail(self.where, "at least one example", "none", "add examples, or leave it out")
        for labels in self.labels:
            if labels.shape != (len(inputs),):
                wanted = f"one label for each of {len(inputs)} inputs"
                raise fail(self.where, wanted, f"labels of shape {labels.shape}", "match them")
        if self.numbers is None:
            object.__setattr__(self, "numbers", np.arange(len(inputs)))
        object.__setattr__(self, "inputs", read_only(inputs.view()))

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    def place(self, row: int) -> str:
        """How messages call a row, counted among those that are here."""
        assert self.numbers is not None
        number = int(self.numbers[row])
        return f"row {number + 1}" if self.names is None else self.names[number]

    def in_order_of(self, other: LabelledRows) -> LabelledRows:
        """The same with the columns of the inputs in another's order, where both have names.

        Raises
        ------
        ValueError
            If they have other names, or two have one.
        """
        if self.features is None or other.features is None or self.features == other.features:
            return self
        order = column_order(f"{self.where}, inputs", self.features, other.features)
        return replace(self, inputs=self.inputs[:, order], features=other.features)

    def take(self, rows: ArrayLike) -> LabelledRows:
        """Some of the rows, which keep their names."""
        assert self.numbers is not None
        kept = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            inputs=self.inputs[kept],
            labels=tuple(labels[kept] for labels in self.labels),
            numbers=self.numbers[kept],
        )


def names_of_columns(values: object) -> tuple[str, ...] | None:
    """What the columns of a frame are called (pandas, polars, pyarrow); None of other inputs."""
    names = getattr(values, "column_names", getattr(values, "columns", None))
    return None if names is None else tuple(map(str, names))


def column_order(where: str, given: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where each of the wanted columns stands among the given ones.

    Raises
    ------
    ValueError
        If they are other columns, or two have one name.
    """
    if sorted(given) != sorted(wanted) or len(set(given)) < len(given):
        odd = next(iter([*(n for n in given if n not in wanted), *(set(wanted) - set(given))]), "")
        remedy = f"add or leave out {odd!r}" if odd else "name each column once"
        raise fail(where, f"the columns {listed(wanted, 12)}", listed(given, 12), remedy)
    return [given.index(name) for name in wanted]


# Images of one's own in the IDX format -----------------------------------------------------------


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


# The data sets that go by name -------------------------------------------------------------------


BUILTINS = ("mnist", "fashion-mnist", "fmnist", "digits", "diabetes")


@dataclass(frozen=True, eq=False)
class Builtin:
    """A data set that goes by its name.

    Attributes
    ----------
    train
        Images of shape (n, 1, height, width) in [0, 1], or rows of features.
    test
        The published test images; None where none are published.
    target
        What its labels are.
    is_regression
        Whether labels are numbers.
    """

    train: LabelledRows
    test: LabelledRows | None
    target: str
    is_regression: bool = False


def read_builtin(name: str, *, directory: Path | None = None) -> Builtin:
    """A data set by its name: ``fmnist`` is ``fashion-mnist``.

    ``diabetes`` has 442 patients with ten features in their own units, and the progression of the
    disease a year later.

    Parameters
    ----------
    directory
        Of the files of MNIST and Fashion-MNIST; left out: the usual places
        (:func:`empirical.locate`).

    Raises
    ------
    ValueError
        If there is no such data set, or its files are not found or damaged.
    """
    if name not in BUILTINS:
        raise fail("builtin", f"one of {', '.join(BUILTINS)}", repr(name), "choose one of them")
    if name == "diabetes":
        return _diabetes()
    if name == "digits":
        return Builtin(_images(load_digits()), None, "digit")
    dataset = "fashion-mnist" if name == "fmnist" else name
    train, test = (
        _images(load_images(dataset, split, directory=directory), SPLITS[split]) for split in SPLITS
    )
    return Builtin(train, test, "class")


def _images(images: Images, begins: str = "") -> LabelledRows:
    """Images with their own checksum, or those of published files, verified on loading."""
    published = tuple(
        (f"builtin://{images.name}/{file}", digest)
        for file, digest in CHECKSUMS.get(images.name, {}).items()
        if file.startswith(begins)
    )
    inputs = np.asarray(images.pixels[:, None], dtype=np.float32) / np.float32(images.white)
    sources = published or _own(images.name, images.pixels.tobytes(), images.labels.tobytes())
    labels = (images.labels,)
    return LabelledRows(images.name, inputs, labels, sources, class_names=images.classes)


def _diabetes() -> Builtin:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    inputs, labels = (np.asarray(x, dtype=np.float64) for x in (bunch.data, bunch.target))
    rows = LabelledRows(
        "diabetes",
        inputs,
        (labels,),
        _own("diabetes", inputs.tobytes(), labels.tobytes()),
        features=tuple(bunch.feature_names),
    )
    return Builtin(rows, None, "progression", is_regression=True)


def _own(name: str, *contents: bytes) -> tuple[tuple[str, str], ...]:
    return ((f"builtin://{name}", hashlib.sha256(b"".join(contents)).hexdigest()),)
