"""Arrays of one's own, also in NPZ files as ``numpy.savez`` writes them; nothing is unpickled."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.train.data.agents_data import AgentsData
from empirical.train.data.examples import as_finite, plain
from empirical.train.data.preparing import Preparation, prepare
from empirical.train.data.source_files import (
    ZIP,
    LabelledRows,
    SourceFile,
    Sources,
    check_kind,
    column_order,
    names_of_columns,
    read_source,
)
from theory.validation import fail

INPUTS, LABELS = "inputs", "labels"


def read_npz(path: str | Path, *, labelled: bool = True, missing: bool = False) -> LabelledRows:
    """The arrays ``inputs`` (n, …) and ``labels`` (n,) or (n, k) of an NPZ file.

    Whole-number inputs are numbers like any others here; labels may be texts, names of classes.

    Parameters
    ----------
    labelled
        Whether labels are needed.
    missing
        Whether NaN may stand for missing inputs.

    Raises
    ------
    ValueError
        If the file is damaged, holds pickled objects, or lacks an array; if an array is empty or
        has an entry that is no finite number.
    """
    source = read_source(path)
    check_kind(source, "an NPZ file", ZIP)
    arrays = _arrays(source, (INPUTS, LABELS) if labelled else (INPUTS,))
    inputs, labels = arrays[INPUTS], arrays.get(LABELS)
    return rows_of_arrays(source.path, inputs, labels, sources=source.sources, missing=missing)


def rows_of_arrays(
    where: str,
    inputs: ArrayLike,
    labels: ArrayLike | None,
    *,
    sources: Sources = (),
    missing: bool = False,
    targets: Sequence[str] | None = None,
) -> LabelledRows:
    """Arrays or frames as labelled rows, or as rows without labels; `where` is for messages.

    A frame's columns keep their names; with `missing`, NaN may stand for missing inputs. Columns
    of labels that have names are put into the order of `targets`.

    Raises
    ------
    ValueError
        If inputs are no finite numbers, or labels are not of shape (n,) or (n, k).
    """
    columns: tuple[NDArray[Any], ...] = ()
    if labels is not None:
        array = as_labels(f"{where}, labels", labels)
        names = names_of_columns(labels)
        order: Sequence[int] = range(array.shape[-1])
        if targets is not None and names is not None and len(names) > 1:
            order = column_order(f"{where}, labels", names, targets)
        columns = (array,) if array.ndim == 1 else tuple(array.T[k] for k in order)
    return LabelledRows(
        where,
        as_finite(f"{where}, inputs", inputs, missing=missing),
        columns,
        sources,
        features=names_of_columns(inputs),
        missing=missing,
    )


def as_labels(argument: str, labels: Any) -> NDArray[Any]:
    """Labels of shape (n,) or (n, k): of a numeric type, or texts.

    Raises
    ------
    ValueError
        If they are ragged or of another shape.
    """
    wanted, remedy = "shape (n,) or (n, k)", "give one label an input"
    try:
        array = plain(labels)
    except (TypeError, ValueError, OverflowError):
        raise fail(argument, wanted, "ragged ones", remedy) from None
    if array.ndim not in (1, 2):
        raise fail(argument, wanted, f"shape {array.shape}", remedy)
    return array


def are_classes(labels: NDArray[Any]) -> bool:
    """Whether labels, as :func:`as_labels` gives them, are one class each: whole numbers or texts.

    >>> are_classes(np.array(["no", "yes"])), are_classes(np.array([0.5, 1.0]))
    (True, False)
    """
    single = labels.ndim == 1 or labels.shape[1] == 1
    texts = labels.dtype == object and any(isinstance(one, str) for one in labels.ravel())
    return single and (labels.dtype.kind in "iubUT" or texts)


def are_one_hot(labels: NDArray[Any]) -> bool:
    """Whether each row of labels has a single 1 among zeros: a class, written as numbers."""
    if labels.ndim != 2 or labels.shape[1] < 2 or labels.dtype.kind not in "fiub":
        return False
    return bool(np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all())


def _arrays(source: SourceFile, wanted: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    with _explained(source.path):
        file = np.load(io.BytesIO(source.content), allow_pickle=False)
    names = getattr(file, "files", [])  # a file in the format NPY is one array without a name
    absent = [name for name in wanted if name not in names]
    if absent:
        got = f"arrays {', '.join(names)}" if names else "no named arrays"
        remedy = "save it with numpy.savez(file, inputs=…, labels=…)"
        raise fail(source.path, f"an array {absent[0]!r}", got, remedy)
    with _explained(source.path), file:
        return {name: file[name] for name in wanted}


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Say in one line what is wrong with a file that cannot be read."""
    remedy = "save plain arrays of numbers or texts with numpy.savez"
    try:
        yield
    # The last three: a header that asks for too much, a zip file that is encrypted or of a kind
    # that Python does not read.
    except (
        zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError,
        MemoryError, RuntimeError, NotImplementedError,
    ) as error:  # fmt: skip
        raise fail(path, "an NPZ file", f"a damaged one ({error})", remedy) from None
    except ValueError as error:
        pickled = "pickle" in str(error).lower()
        got = "pickled objects, or no arrays" if pickled else f"a damaged one ({error})"
        raise fail(path, "an NPZ file of plain arrays", got, remedy) from None


def data_of_arrays(
    data: Sequence[tuple[ArrayLike, ArrayLike]],
    how: Preparation,
    *,
    names: Sequence[str] | None = None,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    other: ArrayLike | None = None,
) -> AgentsData:
    """The agents' data from arrays: one pair of inputs (n, …) and labels (n,) or (n, k) an agent.

    Frames whose columns have names are put into the order of the first agent's.

    Parameters
    ----------
    names
        The agents' names; left out: ``"0"``, ``"1"``, …

    Raises
    ------
    ValueError
        If an entry is no pair of arrays that fit each other, or as for :func:`prepare`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pairs = [(rng.normal(size=(n, 4)), np.arange(n) % 3) for n in (10, 20)]
    >>> data = data_of_arrays(pairs, Preparation(validation=0.2))
    >>> [len(part) for part in data.train], data.classes
    ([8, 16], ('0', '1', '2'))
    """
    if not len(data):
        raise fail("data", "inputs and labels of at least one agent", "none", "give some")
    first = data[0]
    targets = names_of_columns(first[1]) if isinstance(first, tuple | list) else None

    def rows(where: str, pair: object) -> LabelledRows:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            remedy = "give one pair for each agent"
            raise fail(where, "a pair of inputs and labels", type(pair).__name__, remedy)
        return rows_of_arrays(where, *pair, missing=how.fills, targets=targets)

    parts = [rows(f"data[{agent}]", pair) for agent, pair in enumerate(data)]
    return prepare(
        [str(agent) for agent in range(len(parts))] if names is None else names,
        parts,
        how,
        test=None if test is None else rows("test", test),
        other=None if other is None else rows_of_arrays("other", other, None, missing=how.fills),
    )
