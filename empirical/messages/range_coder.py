"""A range coder and its models, compiled: the one of `constriction`, bit for bit.

A library's coder is called once for every table; models that are learnt on the way change their
table some thousand times a message, and the calls take longer than the coding. Here a whole message
is one call. Numbers are integers from first to last: 64 bits of state, words of 32, probabilities
in units of 2⁻²⁴ (:func:`cumulate`). `constriction` is what tests compare it
with.

The state of an encoder: ``low`` and ``range``, of the interval that remains; how many words wait
for a carry, and the first of them; how many words were written. That of a decoder: ``low`` and
``range``; the point that the data name; how many words were read; 1 once a symbol was impossible.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

PRECISION = 24
TOTAL = 1 << PRECISION
# Values of a context before its table is made anew for the first time.
FIRST = 8
# A value seen weighs as much as this many units of a prior's weights.
UNIT = 32
# In values seen: what the counts of the context before are worth as a prior.
BORROWED = 64
# Places in a table of where to begin to look for a symbol.
_SLOTS, _SLOT_BITS = 256, 16

_U = np.uint64
_WORD, _FULL = _U(32), _U(0xFFFFFFFF)
_ALL = _U(0xFFFFFFFFFFFFFFFF)
_SHORT = _U(1 << 32)
_BITS = _U(PRECISION)

State = NDArray[np.uint64]


def start() -> State:
    """The state of an encoder that has written nothing."""
    return np.array([0, _ALL, 0, 0, 0], dtype=np.uint64)


def opened(words: NDArray[np.uint32]) -> State:
    """The state of a decoder that has read nothing."""
    first = [int(word) for word in words[:2]] + [0, 0]
    return np.array([0, _ALL, first[0] << 32 | first[1], 2, 0], dtype=np.uint64)


@numba.njit(forceinline=True)
def _put(low: Any, rest: Any, state: Any, out: Any, left: Any, share: Any) -> Any:
    """The interval of a symbol; only carries and words are of the state."""
    scale = rest >> _BITS
    rest = scale * share
    new = low + scale * left
    if state[2] and new + rest > new:
        _flush(state, out, new < low)
    low = new
    if rest < _SHORT:
        word = low >> _WORD
        low, rest = low << _WORD, rest << _WORD
        if state[2]:
            state[2] += _U(1)
        elif low + rest > low:
            out[state[4]] = word
            state[4] += _U(1)
        else:
            state[2], state[3] = _U(1), word
    return low, rest


@numba.njit(cache=True, nogil=True)
def _flush(state: Any, out: Any, carried: bool) -> None:
    """Write the words that waited for a carry."""
    out[state[4]] = (state[3] + _U(carried)) & _FULL
    state[4] += _U(1)
    for _ in range(1, np.int64(state[2])):
        out[state[4]] = _U(0) if carried else _FULL
        state[4] += _U(1)
    state[2] = _U(0)


@numba.njit(cache=True, nogil=True)
def finish(state: Any, out: Any) -> None:
    """Write what names the interval; `out` has room for all that waits and two words."""
    if state[1] == _ALL:
        return
    low = state[0]
    point = low + _FULL
    if state[2]:
        _flush(state, out, point < low)
    out[state[4]] = point >> _WORD
    state[4] += _U(1)
    if (low + state[1]) >> _WORD == point >> _WORD:
        out[state[4]] = _U(0)
        state[4] += _U(1)


@numba.njit(forceinline=True)
def _quantile(low: Any, rest: Any, point: Any) -> Any:
    """Where in the table the point is; from 2²⁴ on: nowhere."""
    return (point - low) // (rest >> _BITS)


@numba.njit(forceinline=True)
def _took(low: Any, rest: Any, point: Any, state: Any, data: Any, left: Any, share: Any) -> Any:
    scale = rest >> _BITS
    low, rest = low + scale * left, scale * share
    if rest < _SHORT:
        low, rest = low << _WORD, rest << _WORD
        word = _U(data[state[3]]) if state[3] < _U(len(data)) else _U(0)
        point = point << _WORD | word
        state[3] += _U(1)
    return low, rest, point


def exhausted(state: State, words: NDArray[np.uint32]) -> bool:
    """Whether a decoder that reads on may find nothing."""
    if state[3] < len(words):
        return False
    return bool(state[1] == _ALL or (int(state[2]) - int(state[0])) % 2**64 < 2**33 - 1)


# Plain numbers ---------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True, error_model="numpy")
def plain(state: Any, stream: Any, values: Any, shift: int, bits: int, reads: bool) -> None:
    """Write `bits` bits of each value, from the one at `shift` on; or read them into the values."""
    low, rest, point = state[0], state[1], state[2]
    share, mask = _U(1 << (PRECISION - bits)), (1 << bits) - 1
    for i in range(len(values)):
        if not reads:
            part = _U((values[i] >> shift) & mask)
            low, rest = _put(low, rest, state, stream, part * share, share)
            continue
        quantile = _quantile(low, rest, point)
        if quantile >= _U(TOTAL):
            state[4] = _U(1)
            return
        part = quantile // share
        low, rest, point = _took(low, rest, point, state, stream, part * share, share)
        values[i] |= np.int64(part) << shift
    state[0], state[1] = low, rest
    if reads:
        state[2] = point


# Symbols of tables that are learnt --------------------------------------------------------------


@numba.njit(cache=True, nogil=True, error_model="numpy")
def cumulate(weights: Any, edges: Any) -> None:
    """Running sums of probabilities in units of 2⁻²⁴, from 0 to 2²⁴, into `edges`, shape (m + 1,).

    A probability is within 1 of its weight's share of 2²⁴ − m, plus 1, so that none is 0; the one
    of the largest weight takes what is left. Weights are integers of at least 0, not all 0, with a
    sum below 2³⁸; m is from 2 to 65 536.
    """
    total, most = np.int64(0), 0
    for symbol in range(len(weights)):
        total += weights[symbol]
        if weights[symbol] > weights[most]:
            most = symbol
    free = np.int64(TOTAL - len(weights))
    spent = np.int64(0)
    for symbol in range(len(weights)):
        edges[symbol + 1] = 1 + weights[symbol] * free // total
        spent += edges[symbol + 1]
    edges[most + 1] += TOTAL - spent
    edges[0] = 0
    for symbol in range(len(weights)):
        edges[symbol + 1] += edges[symbol]


@numba.njit(cache=True, nogil=True)
def _slots(edges: Any, slots: Any) -> None:
    """The symbol in which each of 256 equal parts of the table begins."""
    symbol = 0
    for slot in range(_SLOTS):
        while edges[symbol + 1] <= slot << _SLOT_BITS:
            symbol += 1
        slots[slot] = symbol


@numba.njit(cache=True, nogil=True)
def grouped(keys: Any, kinds: int) -> Any:
    """Places in the order of their keys, equal ones in their own order; and the ends of groups."""
    ends = np.zeros(kinds + 1, dtype=np.int64)
    for key in keys:
        ends[key + 1] += 1
    for kind in range(kinds):
        ends[kind + 1] += ends[kind]
    order, next_one = np.empty(len(keys), dtype=np.int32), ends.copy()
    for place in range(len(keys)):
        key = keys[place]
        order[next_one[key]] = place
        next_one[key] += 1
    return order, ends[1:]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def learnt(
    state: Any, stream: Any, values: Any, order: Any, ends: Any, prior: Any, reads: bool
) -> None:
    """Write or read symbols by tables that are made of those before them, group by group.

    Parameters
    ----------
    state, stream
        Of the encoder and what it writes to, or of the decoder and what it reads.
    values
        All symbols, shape (n,): those to write, or those read.
    order, ends
        From :func:`grouped`.
    prior
        Weights of the m symbols before any was seen, at least 1, shape (m,).
    reads
        Which of both.
    """
    base, seen = prior.copy(), prior.copy()
    edges = np.empty(len(prior) + 1, dtype=np.int64)
    slots = np.empty(_SLOTS, dtype=np.int64)
    begin = 0
    for end in ends:
        if end == begin:
            continue
        seen[:] = base
        first, part = begin, FIRST
        while begin < end:
            stop = min(end, begin + part)
            cumulate(seen, edges)
            if reads:
                _slots(edges, slots)
            if not _coded(state, stream, values, order[begin:stop], edges, slots, reads):
                return
            for place in order[begin:stop]:
                seen[values[place]] += UNIT
            part, begin = stop - first, stop
        gained = seen - prior
        most = max(gained.sum(), BORROWED * UNIT)
        base = prior + gained * (BORROWED * UNIT) // most


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _coded(
    state: Any, stream: Any, values: Any, places: Any, edges: Any, slots: Any, reads: bool
) -> bool:
    """Symbols of one table; False once one was impossible."""
    low, rest, point = state[0], state[1], state[2]
    for place in places:
        if not reads:
            left = edges[values[place]]
            share = edges[values[place] + 1] - left
            low, rest = _put(low, rest, state, stream, _U(left), _U(share))
            continue
        found = _quantile(low, rest, point)
        if found >= _U(TOTAL):
            state[4] = _U(1)
            return False
        quantile = np.int64(found)
        symbol = slots[quantile >> _SLOT_BITS]
        while edges[symbol + 1] <= quantile:
            symbol += 1
        left = edges[symbol]
        share = edges[symbol + 1] - left
        low, rest, point = _took(low, rest, point, state, stream, _U(left), _U(share))
        values[place] = symbol
    state[0], state[1] = low, rest
    if reads:
        state[2] = point
    return True


# What codecs do with every number of a message, compiled -----------------------------------------


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
