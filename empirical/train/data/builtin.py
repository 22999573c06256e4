"""The data sets that go by name: MNIST and Fashion-MNIST, and two that come with scikit-learn."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from empirical.data import CHECKSUMS, SPLITS, Images, load_digits, load_images
from empirical.train.data.labelled_rows import LabelledRows
from theory.validation import fail

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
        return Builtin(_images(load_digits(), "digits", ()), None, "digit")
    dataset = "fashion-mnist" if name == "fmnist" else name
    train, test = (
        _images(
            load_images(dataset, split, directory=directory), dataset, _checksums(dataset, split)
        )
        for split in SPLITS
    )
    return Builtin(train, test, "class")


def _images(images: Images, name: str, sources: tuple[tuple[str, str], ...]) -> LabelledRows:
    inputs = np.asarray(images.pixels[:, None], dtype=np.float32) / np.float32(images.white)
    return LabelledRows(
        name,
        inputs,
        (images.labels,),
        sources or _own(name, images.pixels.tobytes(), images.labels.tobytes()),
        class_names=images.classes,
    )


def _diabetes() -> Builtin:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    inputs = np.asarray(bunch.data, dtype=np.float64)
    labels = np.asarray(bunch.target, dtype=np.float64)
    rows = LabelledRows(
        "diabetes",
        inputs,
        (labels,),
        _own("diabetes", inputs.tobytes(), labels.tobytes()),
        features=tuple(bunch.feature_names),
    )
    return Builtin(rows, None, "progression", is_regression=True)


def _checksums(dataset: str, split: str) -> tuple[tuple[str, str], ...]:
    """The published files of a split, whose checksums were verified on loading."""
    return tuple(
        (f"builtin://{dataset}/{file}", digest)
        for file, digest in CHECKSUMS[dataset].items()
        if file.startswith(SPLITS[split])
    )


def _own(name: str, *contents: bytes) -> tuple[tuple[str, str], ...]:
    return ((f"builtin://{name}", hashlib.sha256(b"".join(contents)).hexdigest()),)
