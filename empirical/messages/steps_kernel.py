"""What codecs do with every number of a message, compiled: one sweep each, integers or doubles.

All of it is exact or one rounding of a double, in the order in which it is written, so that both
ends of a stream, and every machine, get the same bits.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# Zigzag numbers below this have a symbol each; above, four symbols for each power of two.
DIRECT, _LEAD = 64, 7
_MOST = 2**31 - 1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def folded(values: Any, symbols: Any) -> Any:
    """Symbols of integers of either sign; how many are not the integer alone, -1: one is too large.

    Zigzag: 0, −1, 1, −2, …; of what is 64 or more a symbol says the leading three bits and length.
    """
    large = 0
    for i in range(len(values)):
        value = values[i]
        if value > _MOST or value < -_MOST:
            return -1
        number = 2 * value if value >= 0 else -2 * value - 1
        if number >= DIRECT:
            large += 1
            bits, top = 0, number
            while top >= 8:
                top >>= 1
                bits += 1
            number = DIRECT + 4 * (bits + 3 - _LEAD) + top - 4
        symbols[i] = number
    return large


@numba.njit(cache=True, nogil=True, error_model="numpy")
def unfolded(symbols: Any, values: Any) -> Any:
    """The integers of symbols that are all there is; how many are not, and get 0."""
    large = 0
    for i in range(len(symbols)):
        number: Any = np.int64(symbols[i])
        if number >= DIRECT:
            large += 1
            number = 0
        values[i] = -((number + 1) >> 1) if number & 1 else number >> 1
    return large


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sums(values: Any, most: int, across: Any, down: Any) -> None:
    """Of sizes, none counted as more than `most`, into those of rows and of columns."""
    columns = len(down)
    for row in range(len(across)):
        for column in range(columns):
            size = min(abs(values[row * columns + column]), most)
            across[row] += size
            down[column] += size


@numba.njit(cache=True, nogil=True, error_model="numpy")
def contexts(across: Any, down: Any, lowest: int, highest: int, found: Any) -> None:
    """Row class plus column class plus `lowest`, from 1 to `highest`; 0 where either class is 0."""
    columns = len(down)
    for row in range(len(across)):
        for column in range(columns):
            place = row * columns + column
            if across[row] == 0 or down[column] == 0:
                found[place] = 0
            else:
                found[place] = min(max(across[row] + down[column] + lowest, 1), highest)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def counted(contexts: Any, steps: Any, table: Any) -> None:
    """How often each size from 0 to 3, and more, is in each context: shape (kinds, 4)."""
    for i in range(len(steps)):
        table[contexts[i], min(steps[i], 3)] += 1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def decided(steps: Any, contexts: Any, edges: Any, taken: Any) -> None:
    """Numbers of steps: the larger of two beyond `edges`, shape (2, kinds): from 0, and others."""
    for i in range(len(steps)):
        size = abs(steps[i])
        low = np.floor(size)
        edge = edges[0 if low < 1 else 1, contexts[i]]
        number = np.int64(low) + (1 if size - low > edge else 0)
        taken[i] = -number if steps[i] < 0 else number
