"""Labelled images, found on disk and checked before they are used.

Two data sets come as four gzip files in the IDX format (a magic number, the sizes of the axes,
then bytes): ``fashion-mnist`` and ``mnist``, 60 000 training and 10 000 test images of 28 x 28
grey values in ten classes. They are looked for in this order:

1. the directory given by the caller;
2. the directory in the environment variable ``PEERBAYES_DATA``;
3. the folder of the Debian package ``dataset-fashion-mnist``;
4. this package's download cache, which is filled only on request.

A directory may hold the files themselves or a folder named after the data set. The checksums
are those of the *decompressed* content: the same images compressed by another tool, as a
distribution may ship them, are the same data.

Scikit-learn's 8 x 8 digits come with the installation: :func:`load_digits` needs no file.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theory.validation import IntArray, fail, read_only

DATA_VARIABLE = "PEERBAYES_DATA"
DEBIAN_FOLDERS = {"fashion-mnist": Path("/usr/share/datasets/fashion-mnist")}
DEBIAN_PACKAGES = {"fashion-mnist": "dataset-fashion-mnist"}
DOWNLOADS = {
    "fashion-mnist": "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist/",
}
# Seconds to connect, and seconds without a byte: without the internet the answer comes at once.
TIMEOUT = (4.0, 15.0)
# The largest genuine file has 47 040 016 bytes; reading no more than this, a file that unpacks
# without end fails its checksum instead of filling the memory.
MOST_BYTES = 1 << 26

SPLITS = {"train": "train", "test": "t10k"}
_KINDS = ("images-idx3", "labels-idx1")
_FILES = tuple(f"{split}-{kind}-ubyte.gz" for split in SPLITS.values() for kind in _KINDS)
# SHA-256 of the decompressed files: images and labels for training, then for the test.
CHECKSUMS: dict[str, dict[str, str]] = {
    name: dict(zip(_FILES, sums.split(), strict=True))
    for name, sums in {
        "fashion-mnist": """
        c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888
        bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9
        5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b
        0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34""",
        "mnist": """
        ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
        65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5
        0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7
        ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2""",
    }.items()
}
# fmt: off
CLASSES: dict[str, tuple[str, ...]] = {
    "fashion-mnist": (
        "T-shirt/top", "trouser", "pullover", "dress", "coat",
        "sandal", "shirt", "sneaker", "bag", "ankle boot",
    ),
    "mnist": tuple("0123456789"),
    "digits": tuple("0123456789"),
}
# fmt: on


class DataNotFound(ValueError):  # noqa: N818  # it names what is missing, as FileNotFound does
    """The data set is in none of the usual places; the message says where it was looked for."""


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled grey images.

    Parameters
    ----------
    pixels
        Shape (n, height, width), uint8, read-only.
    labels
        Shape (n,), int64, read-only: indices into `classes`.
    name
        What they are, for titles.
    classes
        The name of each class.
    white
        The largest grey value of the scale: 255, or 16 for the 8 x 8 digits.

    Raises
    ------
    ValueError
        If there are no images, not one label per image, or a label without a class.
    """

    pixels: NDArray[np.uint8]
    labels: IntArray
    name: str
    classes: tuple[str, ...]
    white: int = 255

    def __post_init__(self) -> None:
        pixels = np.array(self.pixels, dtype=np.uint8)
        labels = np.array(self.labels, dtype=np.int64)
        if pixels.ndim != 3 or pixels.shape[0] == 0:
            wanted = "shape (images, height, width) with at least one image"
            remedy = "stack the images along the first axis"
            raise fail("pixels", wanted, f"shape {pixels.shape}", remedy)
        if labels.shape != pixels.shape[:1]:
            wanted, got = f"shape {pixels.shape[:1]}", f"shape {labels.shape}"
            raise fail("labels", wanted, got, "give one label per image")
        if labels.min() < 0 or labels.max() >= len(self.classes):
            wanted, got = (
                f"classes from 0 to {len(self.classes) - 1}",
                f"{labels.min()} to {labels.max()}",
            )
            raise fail("labels", wanted, got, "use the indices of classes")
        object.__setattr__(self, "pixels", read_only(pixels))
        object.__setattr__(self, "labels", read_only(labels))

    def at(self, places: IntArray) -> Images:
        """Some of them, by their places."""
        return replace(self, pixels=self.pixels[places], labels=self.labels[places])

    def __len__(self) -> int:
        return int(self.labels.size)


def read_idx(content: bytes, *, ndim: int, source: str = "IDX content") -> NDArray[np.uint8]:
    """The array of unsigned bytes in (decompressed) IDX `content`, with `ndim` axes.

    Raises
    ------
    ValueError
        If the magic number is not that of unsigned bytes with `ndim` axes, or the sizes
        announced do not match the length.

    Examples
    --------
    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]), ndim=1)
    array([7, 8, 9], dtype=uint8)
    """
    magic = bytes([0, 0, 8, ndim])
    if content[:4] != magic:
        wanted = f"an IDX file of bytes with {ndim} axes (magic {magic.hex()})"
        got = f"magic {content[:4].hex() or 'nothing'}"
        raise fail(source, wanted, got, "use the published file")
    start = 4 + 4 * ndim
    shape = tuple(int.from_bytes(content[4 + 4 * k : 8 + 4 * k], "big") for k in range(ndim))
    if len(content) != start + math.prod(shape):
        wanted = f"{start + math.prod(shape)} bytes for the shape {shape} it announces"
        raise fail(source, wanted, f"{len(content)} bytes", "use the published file")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def load_images(
    dataset: str, split: str = "train", *, directory: Path | None = None, download: bool = False
) -> Images:
    """The training or test images of ``fashion-mnist`` or ``mnist``, checksums verified.

    Parameters
    ----------
    dataset
        ``"fashion-mnist"`` or ``"mnist"``.
    split
        ``"train"`` (60 000 images) or ``"test"`` (10 000).
    directory, download
        As for :func:`locate`.

    Raises
    ------
    DataNotFound
        If the files are nowhere.
    ValueError
        If `directory` lacks a file, or a file is damaged or not the published one.
    """
    if split not in SPLITS:
        raise fail("split", " or ".join(map(repr, SPLITS)), repr(split), "choose one of them")
    folder = locate(dataset, directory=directory, download=download)
    images, labels = (
        _verified(folder / f"{SPLITS[split]}-{kind}-ubyte.gz", dataset) for kind in _KINDS
    )
    return Images(
        read_idx(images, ndim=3, source=f"the {split} images in {folder}"),
        read_idx(labels, ndim=1, source=f"the {split} labels in {folder}").astype(np.int64),
        dataset,
        CLASSES[dataset],
    )


def load_digits() -> Images:
    """The 1 797 handwritten digits of 8 x 8 grey values (0 to 16) bundled with scikit-learn.

    Examples
    --------
    >>> load_digits().pixels.shape
    (1797, 8, 8)
    """
    from sklearn import datasets  # heavy: only when digits are wanted

    bunch = datasets.load_digits()
    return Images(bunch.images, bunch.target, "digits", CLASSES["digits"], white=16)


def locate(
    dataset: str,
    *,
    directory: Path | None = None,
    download: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """The folder that holds the four files of a data set; contents are checked on loading.

    Parameters
    ----------
    dataset
        ``"fashion-mnist"`` or ``"mnist"``.
    directory
        Where to look, and nowhere else. Left out: the places in the order of this module's
        introduction.
    download
        Whether to fetch the files (about 30 MB) into the cache if they are nowhere.
    progress
        Called with (files fetched, files in all) during a download.

    Raises
    ------
    DataNotFound
        If the files are nowhere, or could not be fetched.
    ValueError
        If the data set is unknown, or `directory` lacks a file.
    """
    if dataset not in CHECKSUMS:
        raise fail("dataset", " or ".join(CHECKSUMS), repr(dataset), "choose one of them")
    if directory is not None:
        return _given(Path(directory), dataset)
    variable = os.environ.get(DATA_VARIABLE)
    cache = _cache(dataset)
    places = [Path(variable).expanduser()] if variable else []
    places += [DEBIAN_FOLDERS[dataset]] if dataset in DEBIAN_FOLDERS else []
    places.append(cache)
    for place in places:
        for folder in (place / dataset, place):
            if not _missing(folder, dataset) and not _holds_another(folder, dataset):
                return folder
    problem = ""
    if download:
        problem = _download(dataset, cache, progress)
        if not problem:
            return cache
    raise _not_found(dataset, places, problem)


def _given(directory: Path, dataset: str) -> Path:
    directory = directory.expanduser()
    if not directory.is_dir():
        wanted, got = f"a directory with the {dataset} files", f"{directory}, which is no directory"
        raise fail("data directory", wanted, got, "correct the path")
    named = directory / dataset
    folder = named if named.is_dir() else directory
    missing = _missing(folder, dataset)
    if missing:
        remedy = f"put the four {dataset} files there ({DOWNLOADS[dataset]})"
        wanted = f"{missing} in {directory} or in {named}"
        raise fail("data directory", wanted, "no such file", remedy)
    return folder


def _missing(folder: Path, dataset: str) -> str:
    """The first file that is not in `folder`, or nothing."""
    return next((name for name in CHECKSUMS[dataset] if not (folder / name).is_file()), "")


def _holds_another(folder: Path, dataset: str) -> bool:
    """Whether the files are another data set's, which all have the same names."""
    name = "train-labels-idx1-ubyte.gz"
    try:
        checksum = hashlib.sha256(_decompressed(folder / name)).hexdigest()
    except ValueError:  # damaged: reported on loading
        return False
    return any(checksum == CHECKSUMS[other][name] for other in CHECKSUMS if other != dataset)


def _decompressed(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(MOST_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        got = f"{type(error).__name__} ({error})"
        raise fail(str(path), "a readable gzip file", got, "fetch the file again") from None


def _verified(path: Path, dataset: str) -> bytes:
    """The decompressed content of a published file."""
    content = _decompressed(path)
    expected, got = CHECKSUMS[dataset][path.name], hashlib.sha256(content).hexdigest()
    if got != expected:
        known = {value: (s, f) for s, files in CHECKSUMS.items() for f, value in files.items()}
        note = " (that of {1} of {0})".format(*known[got]) if got in known else ""
        remedy = f"fetch the file again from {DOWNLOADS[dataset]}"
        raise fail(str(path), f"{dataset} content with SHA-256 {expected}", f"{got}{note}", remedy)
    return content


def _cache(dataset: str) -> Path:
    import pooch

    return Path(pooch.os_cache("peerbayes")) / dataset


def _download(dataset: str, cache: Path, progress: Callable[[int, int], None] | None = None) -> str:
    """Fetch what the cache lacks; returns what went wrong, in one line, or nothing."""
    import pooch

    files = CHECKSUMS[dataset]
    # The content is verified below, whichever way the server compressed it.
    fetcher = pooch.create(
        path=cache,
        base_url=DOWNLOADS[dataset],
        registry=dict.fromkeys(files),
        retry_if_failed=0,
    )
    downloader = pooch.HTTPDownloader(timeout=TIMEOUT)
    log = pooch.get_logger()
    level = log.level
    log.setLevel("WARNING")  # standard error belongs to the caller
    try:
        for done, name in enumerate(files, start=1):
            fetcher.fetch(name, downloader=downloader)
            try:
                _verified(cache / name, dataset)
            except ValueError:
                (cache / name).unlink()
                raise
            if progress is not None:
                progress(done, len(files))
    except OSError as error:  # every failure of the connection is one
        return f"the download from {DOWNLOADS[dataset]} failed ({type(error).__name__})"
    except ValueError as error:  # not the published file
        return f"the download failed: {error}"
    finally:
        log.setLevel(level)
    return ""


def _not_found(dataset: str, places: list[Path], problem: str) -> DataNotFound:
    looked = ", ".join(map(str, places))
    unset = "" if os.environ.get(DATA_VARIABLE) else f" ({DATA_VARIABLE} is not set)"
    package = DEBIAN_PACKAGES.get(dataset)
    ways = [
        f"give their folder with --data DIR or {DATA_VARIABLE}",
        *([f"install the Debian package {package}"] if package else []),
        f"fetch the four files from {DOWNLOADS[dataset]}",
    ]
    text = (
        f"{dataset}: expected the four IDX files, found them in none of {looked}{unset}"
        f"{'; ' + problem if problem else ''}; {', or '.join(ways)}"
    )
    return DataNotFound(" ".join(text.split()))
