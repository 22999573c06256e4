"""The compiled product against numpy in float64, at every remainder of its tiles."""

import numpy as np
import pytest

from empirical.kernels.product import ROWS, STRETCH, STRIP, product
from exact.dense_kernel import SINGLE

RNG = np.random.default_rng(0)
PADDING = 3


def multiplied(rows: int, columns: int, inner: int, *, turned: bool, fresh: bool):
    """What the product makes of random factors, and what it should; rows of C are padded."""
    a = RNG.standard_normal((inner, rows) if turned else (rows, inner)).astype(np.float32)
    b = RNG.standard_normal((inner, columns)).astype(np.float32)
    c = np.full((rows, columns + PADDING), 7.0, dtype=np.float32)
    steps = (1, rows) if turned else (inner, 1)
    product.ctypes(
        a.ctypes.data, *steps, b.ctypes.data, columns, c.ctypes.data, columns + PADDING,
        rows, columns, inner, int(fresh),
    )  # fmt: skip
    assert (c[:, columns:] == 7.0).all()  # nothing is written beside it
    left = (a.T if turned else a).astype(np.float64)
    size = np.abs(left) @ np.abs(b)
    return c[:, :columns], left @ b + (0.0 if fresh else 7.0), size


SHAPES = [
    (rows, columns, inner)
    for rows in (1, ROWS - 1, ROWS, ROWS + 1, 50)
    for columns in (1, SINGLE.lanes - 1, SINGLE.lanes, STRIP, STRIP + 1, STRIP + SINGLE.lanes + 2)
    for inner in (1, 7)
]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("fresh", [False, True])
def test_against_numpy(turned: bool, fresh: bool) -> None:
    for shape in [*SHAPES, (9, 10, STRETCH), (50, 200, STRETCH + 1), (11, 20, 3 * STRETCH + 5)]:
        found, expected, size = multiplied(*shape, turned=turned, fresh=fresh)
        # One rounding of 6e-8 for each term, of what was added up so far.
        assert (np.abs(found - expected) <= 6e-8 * (shape[2] + 1) * (size + 7)).all(), shape


def test_an_entry_depends_on_its_row_and_column_alone() -> None:
    a = RNG.standard_normal((50, 300)).astype(np.float32)
    b = RNG.standard_normal((300, 200)).astype(np.float32)
    whole, part = np.empty((50, 200), np.float32), np.empty((3, 5), np.float32)
    product.ctypes(
        a.ctypes.data, 300, 1, b.ctypes.data, 200, whole.ctypes.data, 200, 50, 200, 300, 1
    )
    product.ctypes(
        a[4:].ctypes.data, 300, 1, b[:, 7:].ctypes.data, 200, part.ctypes.data, 5, 3, 5, 300, 1
    )
    assert (part == whole[4:7, 7:12]).all()
