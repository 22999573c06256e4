"""Results as pandas tables, where pandas is installed: no package here needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from theory.validation import FloatArray, fail

if TYPE_CHECKING:
    import pandas as pd


def frame(columns: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """A table with these columns, all of one length.

    Raises
    ------
    ValueError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise fail(
            "to_frame", "pandas, which makes the table", "none installed", "pip install pandas"
        ) from None
    return pd.DataFrame(dict(columns))


def long_columns(
    axes: Mapping[str, Iterable[object]], **values: FloatArray
) -> dict[str, ArrayLike]:
    """Columns of a long table: one row for each entry of the `values`, which share one shape.

    `axes` gives the labels along each axis of that shape, in order.

    Examples
    --------
    >>> long_columns({"agent": [0, 1], "hypothesis": ["a"]}, rate=np.array([[0.5], [0.25]]))["rate"]
    array([0.5 , 0.25])
    """
    labels = [np.asarray(list(axis)) for axis in axes.values()]
    places = np.indices([len(axis) for axis in labels]).reshape(len(labels), -1)
    found: dict[str, ArrayLike] = {
        name: axis[place] for name, axis, place in zip(axes, labels, places, strict=True)
    }
    return found | {name: np.asarray(value).reshape(-1) for name, value in values.items()}
