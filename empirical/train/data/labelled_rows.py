"""What one file holds: inputs, and for each the labels as the file has them.

Numbers of classes are given out later, when the names of all agents' classes are known
(:mod:`empirical.train.data.preparing`); until then every row remembers where it stood, for
messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.train.data.examples import as_finite
from empirical.train.data.source_files import Sources
from theory.validation import IntArray, fail, read_only


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
                raise fail(
                    self.where,
                    f"one label for each of {len(inputs)} inputs",
                    f"labels of shape {labels.shape}",
                    "match them",
                )
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
        shown = ", ".join(given[:12]) + (", …" if len(given) > 12 else "")
        expected = f"the columns {', '.join(wanted[:12])}{', …' if len(wanted) > 12 else ''}"
        remedy = f"add or leave out {odd!r}" if odd else "name each column once"
        raise fail(where, expected, shown, remedy)
    return [given.index(name) for name in wanted]
