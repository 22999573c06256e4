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
from empirical.train.data.examples import as_finite
from empirical.train.data.labelled_rows import LabelledRows
from empirical.train.data.preparing import Preparation, prepare
from empirical.train.data.source_files import SourceFile, Sources, read_source
from theory.validation import fail

INPUTS, LABELS = "inputs", "labels"


def read_npz(path: str | Path, *, labelled: bool = True) -> LabelledRows:
    """The arrays ``inputs`` (n, …) and ``labels`` (n,) or (n, k) of an NPZ file.

    Whole-number inputs are numbers like any others here; labels may be texts, names of classes.

    Parameters
    ----------
    labelled
        Whether labels are needed.

    Raises
    ------
    ValueError
        If the file is damaged, holds pickled objects, or lacks an array; if an array is empty or
        has an entry that is no finite number.
    """
    source = read_source(path)
    arrays = _arrays(source, (INPUTS, LABELS) if labelled else (INPUTS,))
    if not labelled:
        return LabelledRows(source.path, arrays[INPUTS], (), source.sources)
    return rows_of_arrays(source.path, arrays[INPUTS], arrays[LABELS], sources=source.sources)


def rows_of_arrays(
    where: str, inputs: ArrayLike, labels: ArrayLike, *, sources: Sources = ()
) -> LabelledRows:
    """Arrays as labelled rows; `where` is for messages.

    Raises
    ------
    ValueError
        If inputs are no finite numbers, or labels are not of shape (n,) or (n, k).
    """
    if hasattr(labels, "detach"):  # a tensor
        labels = labels.detach().cpu().numpy()
    try:
        array = np.asarray(labels)
    except ValueError:
        remedy = "give one label an input"
        raise fail(f"{where}, labels", "shape (n,) or (n, k)", "ragged ones", remedy) from None
    if array.ndim not in (1, 2):
        wanted = "shape (n,) or (n, k)"
        raise fail(f"{where}, labels", wanted, f"shape {array.shape}", "give one label an input")
    columns = (array,) if array.ndim == 1 else tuple(array.T)
    return LabelledRows(where, as_finite(f"{where}, inputs", inputs), columns, sources)


def rows_of_pair(where: str, pair: object) -> LabelledRows:
    """A pair of inputs and labels as labelled rows.

    Raises
    ------
    ValueError
        If it is no pair, or as for :func:`rows_of_arrays`.
    """
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        remedy = "give one pair for each agent"
        raise fail(where, "a pair of inputs and labels", type(pair).__name__, remedy)
    return rows_of_arrays(where, *pair)


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
    parts = [rows_of_pair(f"data[{agent}]", pair) for agent, pair in enumerate(data)]
    return prepare(
        [str(agent) for agent in range(len(parts))] if names is None else names,
        parts,
        how,
        test=None if test is None else rows_of_pair("test", test),
        other=None if other is None else LabelledRows("other", as_finite("other", other), ()),
    )
