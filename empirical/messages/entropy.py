"""Integers as few bytes: range coding with models that are integers, the same on every machine.

The range coder is that of `constriction`, with probabilities in units of 2⁻²⁴. It never sees a
probability that was computed in floating point: every model is a table of integers of at least 1
that sum to 2²⁴, built from integer weights by integer arithmetic, and given in the one form that
`constriction` takes over as it stands (weights less one, whose scale is then 1 exactly).

What a body holds is written down once, for both directions: a :class:`Writer` is given values and
returns them, a :class:`Reader` returns what a writer was given. Models are learnt on the way, from
the values that both ends know already: a context's table holds for a few values, then the counts
of these join it, and the next stretch is as long as all before. That costs about log₂(n / 8) bits
for each entry that matters, and nothing is sent ahead.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.validation import IntArray, fail, install_extra

PRECISION = 24
TOTAL = 1 << PRECISION
# Values of a context before its table is made anew for the first time.
FIRST = 8
# A value seen weighs as much as this many units of a prior's weights.
UNIT = 32
# In values seen: what the counts of the context before are worth as a prior.
BORROWED = 64
# Zigzag numbers below this have a symbol each; above, four symbols for each power of two.
DIRECT = 64
_SYMBOLS = DIRECT + 4 * (32 - DIRECT.bit_length() + 1)
LARGEST = 2**31 - 1


def table(weights: ArrayLike) -> IntArray:
    """Probabilities in units of 2⁻²⁴: integers of at least 1 that sum to 2²⁴ exactly.

    Parameters
    ----------
    weights
        Integers of at least 0, not all 0, shape (m,), m from 2 to 65 536; their sum is below 2³⁸.

    Returns
    -------
    IntArray
        Each entry is within 1 of its share of 2²⁴ − m, plus 1; the largest takes what is left.
    """
    given = np.asarray(weights, dtype=np.int64)
    free = TOTAL - len(given)
    found: IntArray = 1 + given * free // given.sum()
    found[np.argmax(found)] += TOTAL - found.sum()
    return found


class Tape(Protocol):
    """One direction of coding; the other gives back what this one was given."""

    def coded(self, values: IntArray | None, count: int, probabilities: IntArray) -> IntArray:
        """Symbols 0 to m − 1 by a :func:`table` of m entries."""
        ...

    def plain(self, values: IntArray | None, count: int, *, bits: int) -> IntArray:
        """Numbers from 0 to 2^bits − 1 in `bits` bits each, 0 to 32."""
        ...


class Writer:
    """Turns symbols into bytes."""

    def __init__(self) -> None:
        self._encoder = _stream().queue.RangeEncoder()

    def coded(self, values: IntArray | None, count: int, probabilities: IntArray) -> IntArray:
        """See :class:`Tape`; `values` has shape (count,)."""
        assert values is not None
        assert len(values) == count
        self._encoder.encode(values.astype(np.int32), _model(probabilities))
        return values

    def plain(self, values: IntArray | None, count: int, *, bits: int) -> IntArray:
        """See :class:`Tape`."""
        assert values is not None
        assert len(values) == count
        for shift, size in _halves(bits):
            part = (values >> shift) & ((1 << size) - 1)
            self._encoder.encode(part.astype(np.int32), _uniform(size))
        return values

    def done(self) -> bytes:
        """All that was written."""
        words: NDArray[np.uint32] = self._encoder.get_compressed()
        return words.astype("<u4").tobytes().rstrip(b"\0")


class Reader:
    """Turns bytes into the symbols that were written.

    Parameters
    ----------
    data
        From :meth:`Writer.done`. Of any other bytes some symbols are read, or ``ValueError`` is
        raised: which, nobody can say; only as many symbols as are asked for are ever made.
    """

    def __init__(self, data: bytes) -> None:
        padded = data + bytes(-len(data) % 4)
        words = np.frombuffer(padded, dtype="<u4").astype(np.uint32)
        self._decoder = _stream().queue.RangeDecoder(words)
        self._ended = not data.endswith(b"\0")

    def coded(self, values: IntArray | None, count: int, probabilities: IntArray) -> IntArray:
        """See :class:`Tape`; `values` is not looked at."""
        return self._read(_model(probabilities), count)

    def plain(self, values: IntArray | None, count: int, *, bits: int) -> IntArray:
        """See :class:`Tape`."""
        found = np.zeros(count, dtype=np.int64)
        for shift, size in _halves(bits):
            found |= self._read(_uniform(size), count) << shift
        return found

    def end(self) -> None:
        """Check that everything was read.

        Raises
        ------
        ValueError
            If bytes are left over.
        """
        if not (self._ended and self._decoder.maybe_exhausted()):
            raise fail("body", "nothing after the last symbol", "more bytes", "send it again")

    def _read(self, model: Any, count: int) -> IntArray:
        try:
            found: IntArray = self._decoder.decode(model, count).astype(np.int64)
        except AssertionError:
            raise fail("body", "symbols of its models", "others", "send it again") from None
        return found


def _stream() -> Any:
    """The range coder, loaded when first used."""
    try:
        import constriction
    except ModuleNotFoundError:
        raise ImportError(
            f"entropy-coded messages need constriction; {install_extra('messages')}"
        ) from None
    return constriction.stream


def _model(probabilities: IntArray) -> Any:
    return _stream().model.Categorical((probabilities - 1).astype(np.float64), perfect=False)


@functools.lru_cache(maxsize=32)
def _uniform(bits: int) -> Any:
    return _stream().model.Uniform(1 << bits)


def _halves(bits: int) -> list[tuple[int, int]]:
    """Shifts and widths of parts of at most 16 bits."""
    return [(shift, min(16, bits - shift)) for shift in range(0, bits, 16)]


# Symbols by contexts --------------------------------------------------------------------------


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
    weights = np.asarray(prior, dtype=np.int64)
    if contexts is None:
        ends, order = np.array([count]), None
    else:
        keys = np.asarray(contexts)
        # Sorting by radix, which numpy does for numbers of at most 16 bits.
        keys = keys.astype(np.uint8 if keys.max(initial=0) < 256 else np.uint16)
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(np.bincount(keys))
    given = values if values is None or order is None else values[order]
    found = np.empty(count, dtype=np.int64)
    start, base = 0, weights
    for end in ends[np.diff(ends, prepend=0) > 0].tolist():
        seen, part = base.copy(), FIRST
        first = start
        while start < end:
            stop = min(end, start + part)
            own = None if given is None else given[start:stop]
            found[start:stop] = tape.coded(own, stop - start, table(seen))
            seen += UNIT * np.bincount(found[start:stop], minlength=len(seen))
            part, start = stop - first, stop
        gained = seen - weights
        base = weights + gained * (BORROWED * UNIT) // max(int(gained.sum()), BORROWED * UNIT)
    if order is None:
        return found
    placed = np.empty_like(found)
    placed[order] = found
    return placed


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
    symbols = rest = None
    if values is not None:
        if count and int(np.abs(values).max()) > LARGEST:
            raise fail("values", f"at most {LARGEST} in size", "larger ones", "take a wider step")
        symbols, rest = _split(2 * np.abs(values) - (values < 0))
    symbols = adaptive(tape, symbols, count=count, prior=_PRIOR, contexts=contexts)
    folded, large = symbols.copy(), np.flatnonzero(symbols >= DIRECT)
    bits = (symbols[large] - DIRECT) // 4 + DIRECT.bit_length() - 3
    for size in np.unique(bits).tolist():
        some = large[bits == size]
        own = None if rest is None else rest[some]
        top = 4 + (symbols[some] - DIRECT) % 4
        folded[some] = (top << size) | tape.plain(own, len(some), bits=size)
    found = (folded + 1) >> 1
    if (found > LARGEST).any():
        raise fail("body", f"numbers of at most {LARGEST}", "larger ones", "send it again")
    return np.where(folded & 1, -found, found)


def naturals(tape: Tape, values: IntArray | None, *, count: int) -> IntArray:
    """Integers of at least 0 and at most 2³¹ − 1, as :func:`integers`."""
    given = None if values is None else np.where(values & 1, -((values + 1) >> 1), values >> 1)
    found = integers(tape, given, count=count)
    return np.where(found < 0, -2 * found - 1, 2 * found)


def _split(folded: IntArray) -> tuple[IntArray, IntArray]:
    """Symbols, and what is written beside them."""
    symbols, rest = folded.copy(), np.zeros_like(folded)
    large = np.flatnonzero(folded >= DIRECT)
    some = folded[large]
    # Exact: numbers below 2³³ are floats of their own.
    length = np.frexp(some.astype(np.float64))[1].astype(np.int64)
    bits = length - 3
    symbols[large] = DIRECT + 4 * (length - DIRECT.bit_length()) + (some >> bits) - 4
    rest[large] = some & ((1 << bits) - 1)
    return symbols, rest


# Floating point -------------------------------------------------------------------------------


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
