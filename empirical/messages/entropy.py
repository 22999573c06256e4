"""Integers as few bytes: range coding with models that are integers, the same on every machine.

The range coder (:mod:`empirical.messages.range_coder`) never sees a probability that was computed
in floating point: every model is a table of integers of at least 1 that sum to 2²⁴, built from
integer weights by integer arithmetic.

What a body holds is told once, for both directions, to a :class:`Tape`. Models are learnt on the
way, from the values that both ends know already: a context's table holds for a few values, then the
counts of these join it, and the next stretch is as long as all before. That costs about log₂(n / 8)
bits for each entry that matters, and nothing is sent ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.messages.range_coder import (
    DIRECT,
    UNIT,
    exhausted,
    finish,
    folded,
    grouped,
    learnt,
    opened,
    plain,
    start,
    unfolded,
)
from theory.validation import IntArray, fail

Symbols = NDArray[np.uint16]
# Where the symbols of a context are: what :func:`.range_coder.grouped` gives.
Places = NDArray[np.int32]
_SYMBOLS = DIRECT + 4 * (32 - DIRECT.bit_length() + 1)
LARGEST = 2**31 - 1


class Tape:
    """One body, written or read: a writer gives values, and gets them back; a reader gives None.

    Parameters
    ----------
    data
        What to read, from :meth:`done`; left out: a tape to write. Of any other bytes some symbols
        are read, or ``ValueError`` is raised: which, nobody can say; only as many symbols as are
        asked for are ever made.
    """

    def __init__(self, data: bytes | None = None) -> None:
        self._reads = data is not None
        if data is None:
            self._state, self._words = start(), np.empty(1024, dtype=np.uint32)
            return
        padded = data + bytes(-len(data) % 4)
        self._words = np.frombuffer(padded, dtype="<u4").astype(np.uint32)
        self._state = opened(self._words)
        self._ended = not data.endswith(b"\0")

    def learnt(
        self, values: Symbols | None, order: Places, ends: IntArray, prior: IntArray
    ) -> Symbols:
        """Symbols by tables that are made on the way: see :func:`.range_coder.learnt`.

        A symbol for every place in `order`.
        """
        found: Symbols = self._begun(values, len(order), np.uint16)
        assert self._reads or not len(found) or found.max() < len(prior)
        self._reserve(len(found))
        learnt(self._state, self._words, found, order, ends, prior, self._reads)
        self._check()
        return found

    def plain(self, values: IntArray | None, count: int, *, bits: int) -> IntArray:
        """Numbers from 0 to 2^bits − 1 in `bits` bits each, 0 to 32."""
        found: IntArray = self._begun(values, count, np.int64)
        # Parts of at most 16 bits.
        for shift in range(0, bits, 16):
            self._reserve(count)
            self._reserve(count)
            size = min(16, bits - shift)
            plain(self._state, self._words, found, shift, size, self._reads)
            self._check()
        return found

    def done(self) -> bytes:
        """All that was written."""
        self._reserve(2)
        state = self._state.copy()
        finish(state, self._words)
        return self._words[: int(state[4])].astype("<u4").tobytes().rstrip(b"\0")

    def end(self) -> None:
        """Check that everything was read.

        Raises
        ------
        ValueError
            If bytes are left over.
        """
        if not (self._ended and exhausted(self._state, self._words)):
            raise fail("body", "nothing after the last symbol", "more bytes", "send it again")

    def _begun(self, values: Any, count: int, kind: Any) -> Any:
        """The values to write, or zeros to read into."""
        assert (values is None) == self._reads
        assert values is None or len(values) == count
        return np.zeros(count, dtype=kind) if values is None else values

    def _check(self) -> None:
        if self._reads and self._state[4]:
            raise fail("body", "symbols of its models", "others", "send it again")

    def _reserve(self, symbols: int) -> None:
        """Room for so many more: a symbol makes one word at most, now or when a carry is known."""
        wanted = int(self._state[2] + self._state[4]) + symbols
        if not self._reads and wanted > len(self._words):
            more = np.empty(max(wanted, 2 * len(self._words)), dtype=np.uint32)
            more[: len(self._words)] = self._words
            self._words = more


def adaptive(
    tape: Tape,
    values: IntArray | None,
    *,
    count: int,
    prior: ArrayLike,
    contexts: ArrayLike | None = None,
) -> IntArray:
    """Symbols whose frequencies are learnt on the way, for each context by itself.

    Parameters
    ----------
    tape
        Where they go, or come from.
    values
        Shape (count,), from 0 to m − 1; None for a reader.
    count
        How many.
    prior
        Integer weights of the m symbols before any was seen, at least 1; 32 are worth one symbol.
    contexts
        What both ends know of each symbol beforehand, numbers from 0 to 65 535, shape (count,);
        left out: one context. Neighbouring numbers should mean like frequencies: each context
        begins with a faint memory of the one before.

    Returns
    -------
    IntArray
        The values, shape (count,).
    """
    given = None if values is None else np.asarray(values).astype(np.uint16)
    return _learnt(tape, given, count=count, prior=prior, contexts=contexts).astype(np.int64)


def _learnt(
    tape: Tape,
    values: Symbols | None,
    *,
    count: int,
    prior: ArrayLike,
    contexts: ArrayLike | None,
) -> Symbols:
    """As :func:`adaptive`, in the numbers that the coder takes."""
    if contexts is None:
        order, ends = np.arange(count, dtype=np.int32), np.array([count])
    else:
        keys = np.asarray(contexts)
        order, ends = grouped(keys, int(keys.max(initial=0)) + 1)
    return tape.learnt(values, order, ends, np.asarray(prior, dtype=np.int64))


# Falls as a power, so that no size is dear for long.
_PRIOR = tuple(max(1, UNIT // (2 + symbol)) for symbol in range(_SYMBOLS))


def integers(
    tape: Tape, values: IntArray | None, *, count: int, contexts: ArrayLike | None = None
) -> IntArray:
    """Integers of either sign, small ones most often; sizes of at most 2³¹ − 1.

    A number below 32 in size is a symbol of :func:`adaptive`; of a larger one the leading three
    bits and the length are, and the rest is written plainly.

    Raises
    ------
    ValueError
        If a number to write is too large.
    """
    symbols = given = None
    if values is not None:
        given = np.asarray(values, dtype=np.int64)
        symbols = np.empty(count, dtype=np.uint16)
        if folded(given, symbols) < 0:
            raise fail("values", f"at most {LARGEST} in size", "larger ones", "take a wider step")
    symbols = _learnt(tape, symbols, count=count, prior=_PRIOR, contexts=contexts)
    if given is None:
        found = np.empty(count, dtype=np.int64)
        if unfolded(symbols, found):
            _rest(tape, symbols, found, reads=True)
        return found
    _rest(tape, symbols, given, reads=False)
    return given


def _rest(tape: Tape, symbols: Symbols, values: IntArray, *, reads: bool) -> None:
    """What large numbers have beside their symbols: those of one length at a time."""
    large = np.flatnonzero(symbols >= DIRECT)
    lead = symbols[large].astype(np.int64) - DIRECT
    bits = lead // 4 + DIRECT.bit_length() - 3
    for size in np.unique(bits).tolist():
        some, top = large[bits == size], 4 + lead[bits == size] % 4
        own = None
        if not reads:
            own = 2 * np.abs(values[some]) - (values[some] < 0) & ((1 << size) - 1)
        number = (top << size) | tape.plain(own, len(some), bits=size)
        if reads:
            sizes = (number + 1) >> 1
            if (sizes > LARGEST).any():
                wanted = f"numbers of at most {LARGEST}"
                raise fail("body", wanted, "larger ones", "send it again")
            values[some] = np.where(number & 1, -sizes, sizes)


def naturals(tape: Tape, values: IntArray | None, *, count: int) -> IntArray:
    """Integers of at least 0 and at most 2³¹ − 1, as :func:`integers`."""
    given = None if values is None else np.where(values & 1, -((values + 1) >> 1), values >> 1)
    found = integers(tape, given, count=count)
    return np.where(found < 0, -2 * found - 1, 2 * found)


def floats(
    tape: Tape,
    values: NDArray[np.float32] | NDArray[np.float16] | None,
    *,
    count: int,
    dtype: type[np.float32] | type[np.float16],
) -> NDArray[Any]:
    """Finite numbers to the last bit: signs and exponents by their frequency, the rest plainly.

    Raises
    ------
    ValueError
        If a number that was read is not finite.
    """
    kept, mantissa = (np.uint32, 23) if dtype is np.float32 else (np.uint16, 10)
    lead = 9 if dtype is np.float32 else 6
    raw = None if values is None else values.astype(dtype).view(kept).astype(np.int64)
    top = adaptive(
        tape,
        None if raw is None else raw >> mantissa,
        count=count,
        prior=np.ones(1 << lead, dtype=np.int64),
    )
    own = None if raw is None else raw & ((1 << mantissa) - 1)
    low = tape.plain(own, count, bits=mantissa)
    found = ((top << mantissa) | low).astype(kept).view(dtype)
    if not np.isfinite(found).all():
        raise fail("body", "finite numbers", "others", "send it again")
    return found
