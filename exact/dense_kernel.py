"""Compiled inner loops: draws of outcomes, sparse and dense rounds, and the product under these.

Several rounds B ← z + W B of a small dense W go in one sweep. The columns of B do not meet in a
product with W: a band of them is carried through all rounds of a block while it stays in the core's
first cache, and only the observations z stream in:

    band of columns → round → some rows of W at a time → strip of columns → neighbour j.

The last two are generated code, which nets share (:mod:`empirical.kernels.product`): D ← C + A B
for a few rows of A. The sums of some rows and columns fill registers and are added up over k, where
a few loads of B and numbers of A serve rows · strips multiplications and additions. An entry is
C + A₀ B₀ + A₁ B₁ + ..., added in this order, each step rounded once where the processor has fused
multiply-adds. It does not depend on other rows and columns, on how they are cut up or on the width
of the vectors.

Numba has no words for vectors, and what LLVM makes of plain loops takes half of the widest ones:
hence a function for each number of rows, in LLVM's own terms. In one run on a core with AVX-512 it
was 2 to 4 times as fast as plain loops; beside numba's ``np.dot`` 1.5 to 2.2 times in rounds of up
to 16 agents, .9 to 1.4 times in a step of nets. Imported only where it runs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

from theory.validation import FloatArray, IntArray

# D ← C + A B for a few rows of A, with explicit vectors ------------------------------------------


class Registers(NamedTuple):
    """What the sums of a tile fill: `rows` · `strips` registers of `lanes` numbers each."""

    lanes: int
    rows: int
    strips: int

    @property
    def strip(self) -> int:
        """Columns of a tile."""
        return self.lanes * self.strips


def registers(features: str, bits: int) -> Registers:
    """The tile that fills a processor's registers and leaves some for the factors.

    `features` is LLVM's list: 32 registers of 512 bits with AVX-512, else at least 16, of 256 bits
    with AVX and 128 without. A number has `bits`.
    """
    if "+avx512f" in features:
        rows, strips = (8, 3) if bits == 32 else (4, 4)
        return Registers(512 // bits, rows, strips)
    wide = "+avx," in f"{features},"
    return Registers((256 if wide else 128) // bits, rows=4, strips=3)


_FEATURES = cpu_target.target_context.codegen().magic_tuple()[2]
SINGLE, DOUBLE = registers(_FEATURES, 32), registers(_FEATURES, 64)
_INDEX, _PLACE = ir.IntType(64), ir.IntType(32)
_NUMBERS = {32: ir.FloatType(), 64: ir.DoubleType()}
# Of the arguments below: the places of addresses.
_ADDRESSES = (0, 3, 5, 7)


class _Tile:
    """Some rows of a strip of columns, or of one vector under a mask."""

    def __init__(self, builder: ir.IRBuilder, bits: int, lanes: int, mask: ir.Value | None) -> None:
        self.builder, self.lanes, self.mask = builder, lanes, mask
        self.vector = ir.VectorType(_NUMBERS[bits], lanes)
        self.zero = ir.Constant(self.vector, [0.0] * lanes)
        self._align, self._kind = bits // 8, f"v{lanes}f{bits}"

    def load(self, pointer: ir.Value) -> ir.Value:
        """The vector that begins at an address."""
        place = self.builder.bitcast(pointer, self.vector.as_pointer())
        if self.mask is None:
            return self.builder.load(place, align=self._align)
        return self._call("masked.load", place, _PLACE(self._align), self.mask, self.zero)

    def store(self, vector: ir.Value, pointer: ir.Value) -> None:
        """Write it there."""
        place = self.builder.bitcast(pointer, self.vector.as_pointer())
        if self.mask is None:
            self.builder.store(vector, place, align=self._align)
        else:
            self._call("masked.store", vector, place, _PLACE(self._align), self.mask)

    def fused(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """A b + c."""
        return self._call("fmuladd", a, b, c)

    def _call(self, name: str, *values: ir.Value) -> ir.Value:
        result = ir.VoidType() if name == "masked.store" else self.vector
        kind = ir.FunctionType(result, [value.type for value in values])
        full = f"llvm.{name}.{self._kind}{'.p0' if 'masked' in name else ''}"
        function = cgutils.get_or_insert_function(self.builder.module, kind, full)
        return self.builder.call(function, values)


def _everywhere(builder: ir.IRBuilder, number: ir.Value, lanes: int) -> ir.Value:
    """One number in all lanes."""
    none = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(none, number, _PLACE(0))
    return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(_PLACE, lanes), None))


def _function(module: ir.Module, bits: int, rows: int, shape: Registers) -> ir.Function:
    """The function for so many rows; arguments as of :func:`add_single`, less their number."""
    name = f"add_product_of_{rows}_rows_{bits}"
    if name in module.globals:
        return module.globals[name]
    pointer = _NUMBERS[bits].as_pointer()
    kinds = [pointer if place in _ADDRESSES else _INDEX for place in range(11)]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    columns = function.args[-1]
    whole = builder.sub(columns, builder.urem(columns, _INDEX(shape.strip)))
    with cgutils.for_range_slice(builder, _INDEX(0), whole, _INDEX(shape.strip)) as (column, _):
        tile = _Tile(builder, bits, shape.lanes, None)
        _add(tile, function.args, column, rows, shape.strips)
    with cgutils.for_range_slice(builder, whole, columns, _INDEX(shape.lanes)) as (column, _):
        lanes = ir.Constant(ir.VectorType(_INDEX, shape.lanes), list(range(shape.lanes)))
        left = _everywhere(builder, builder.sub(columns, column), shape.lanes)
        tile = _Tile(builder, bits, shape.lanes, builder.icmp_signed("<", lanes, left))
        _add(tile, function.args, column, rows, 1)
    builder.ret_void()
    return function


def _add(tile: _Tile, values: Any, column: ir.Value, rows: int, strips: int) -> None:
    """Add the code of one tile, which begins at a column."""
    a, a_row, a_step, b, b_step, c, c_row, d, d_row, count, _ = values
    builder = tile.builder

    def at(pointer: ir.Value, step: ir.Value, number: ir.Value, strip: int = 0) -> ir.Value:
        place = builder.gep(pointer, [builder.mul(step, number)])
        return builder.gep(place, [builder.add(column, _INDEX(strip * tile.lanes))])

    # Places in memory, which LLVM makes registers.
    sums = {
        (row, strip): cgutils.alloca_once(builder, tile.vector)
        for row in range(rows)
        for strip in range(strips)
    }
    with builder.if_else(cgutils.is_null(builder, c)) as (fresh, held):
        with fresh:
            for total in sums.values():
                builder.store(tile.zero, total)
        with held:
            for (row, strip), total in sums.items():
                builder.store(tile.load(at(c, c_row, _INDEX(row), strip)), total)
    with cgutils.for_range(builder, count) as loop:
        right = [tile.load(at(b, b_step, loop.index, strip)) for strip in range(strips)]
        for row in range(rows):
            place = builder.gep(a, [builder.mul(a_row, _INDEX(row))])
            place = builder.gep(place, [builder.mul(a_step, loop.index)])
            left = _everywhere(builder, builder.load(place), tile.lanes)
            for strip in range(strips):
                total = sums[row, strip]
                builder.store(tile.fused(left, right[strip], builder.load(total)), total)
    for (row, strip), total in sums.items():
        tile.store(builder.load(total), at(d, d_row, _INDEX(row), strip))


def _generated(bits: int, shape: Registers) -> Any:
    def add_product(typing: Any, numbers: Any) -> Any:
        signature = types.void(types.UniTuple(types.int64, 12))

        def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
            rows, *values = cgutils.unpack_tuple(builder, args[0])
            for place in _ADDRESSES:
                values[place] = builder.inttoptr(values[place], _NUMBERS[bits].as_pointer())
            after = builder.append_basic_block()
            choice = builder.switch(rows, after)
            for count in range(1, shape.rows + 1):
                case = builder.append_basic_block()
                choice.add_case(_INDEX(count), case)
                builder.position_at_end(case)
                builder.call(_function(builder.module, bits, count, shape), values)
                builder.branch(after)
            builder.position_at_end(after)
            return context.get_dummy_value()

        return signature, generate

    return intrinsic(add_product)


add_single = _generated(32, SINGLE)
"""D ← C + A B of float32 for compiled callers, whose one argument is a tuple of integers: how many
rows, at most those of SINGLE; the address of A, its steps from row to row and from k to k; the
address of B and its step from k to k; the address of C, 0 for zeros, and its step from row to row;
the same of D; how many k; how many columns. Steps are in numbers; columns are contiguous.
"""

add_double = _generated(64, DOUBLE)
"""The same of float64, with the rows of DOUBLE."""


# The two inner loops that numpy has no words for, compiled by numba ------------------------------

Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def alias_symbols(
    words: Words,
    bits: Words,
    columns: Words,
    thresholds: Words,
    choices: IntArray,
    symbols: IntArray,
) -> None:
    """Turn uniform 64-bit words, shape (T, N, R), into outcomes by Walker's alias method.

    Agent i has 2**bits[i] columns from columns[i] on: the high bits of a word choose one, the
    others, against its threshold, one of the column's two choices.
    """
    for t in range(words.shape[0]):
        for i in range(words.shape[1]):
            low, first = bits[i], columns[i]
            high = np.uint64(64) - low
            for r in range(words.shape[2]):
                word = words[t, i, r]
                column = first + (word >> high)
                # The comparison is an index: a branch would be mispredicted half the time.
                below = np.uint64((word << low) < thresholds[column])
                symbols[t, i, r] = choices[column, below]


@njit(cache=True, nogil=True)
def sparse_rounds(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    data: FloatArray,
    lag: int,
    tile: int,
    symbols: IntArray,
    offsets: FloatArray,
    slopes: FloatArray,
    noise: FloatArray,
    state: FloatArray,
    first: int,
) -> None:
    """Several rounds B ← L + W B for sparse W in one sweep through memory.

    `state` holds two copies of B, shape (2, N, R·M); the current one is state[first], and round k
    reads one copy and writes the other. Round k follows `lag` ≥ max |i − j| agents behind round
    k − 1: whatever it reads is then complete, whatever it overwrites no longer needed, and both
    are still in cache.
    """
    rounds, agents, replicates = symbols.shape
    width = offsets.shape[1]
    noisy = noise.size > 0
    channels = noise.shape[2] // replicates if noisy else 0
    for front in range(0, agents + (rounds - 1) * lag, tile):
        for k in range(rounds):
            old = state[(first + k) % 2]
            new = state[(first + k + 1) % 2]
            for i in range(max(0, front - k * lag), min(agents, front - k * lag + tile)):
                out = new[i]
                e, end = indptr[i], indptr[i + 1]
                # Passes over a row take longer than operations: three neighbours share one, and
                # a lone replicate's observation goes with them.
                if replicates == 1 and not noisy and e + 2 < end:
                    row = offsets[symbols[k, i, 0]]
                    a, b, c = data[e], data[e + 1], data[e + 2]
                    u, v, w = old[indices[e]], old[indices[e + 1]], old[indices[e + 2]]
                    for m in range(width):
                        out[m] = row[m] + a * u[m] + b * v[m] + c * w[m]
                    e += 3
                else:
                    for r in range(replicates):
                        row = offsets[symbols[k, i, r]]
                        for m in range(width):
                            out[r * width + m] = row[m]
                        if noisy:
                            slope = slopes[symbols[k, i, r]]
                            for c in range(channels):
                                n = noise[k, i, r * channels + c]
                                for m in range(width):
                                    out[r * width + m] += n * slope[c * width + m]
                while e + 2 < end:
                    a, b, c = data[e], data[e + 1], data[e + 2]
                    u, v, w = old[indices[e]], old[indices[e + 1]], old[indices[e + 2]]
                    for m in range(out.size):
                        out[m] = out[m] + a * u[m] + b * v[m] + c * w[m]
                    e += 3
                if e + 1 < end:
                    a, b = data[e], data[e + 1]
                    u, v = old[indices[e]], old[indices[e + 1]]
                    for m in range(out.size):
                        out[m] = out[m] + a * u[m] + b * v[m]
                elif e < end:
                    a, u = data[e], old[indices[e]]
                    for m in range(out.size):
                        out[m] += a * u[m]


# Several rounds B ← z + W B of a small dense W in one sweep --------------------------------------

_CACHE_LINE = 8
ROWS, STRIP = DOUBLE.rows, DOUBLE.strip
# Bands of up to 16 agents, old and new, stay in 32 KiB.
BAND = 4 * STRIP


def work_space(agents: int, columns: int) -> int:
    """How many numbers :func:`dense_rounds` needs as `memory`: its bands begin a cache line."""
    copies = -(-2 * agents * columns // _CACHE_LINE) * _CACHE_LINE
    return copies + 2 * agents * BAND


@njit(cache=True, nogil=True)
def dense_rounds(weights: FloatArray, rows: FloatArray, memory: FloatArray, at: int) -> None:
    """Carry B, shape (N, K), through T ≥ 1 rounds.

    Parameters
    ----------
    weights
        W, shape (N, N).
    rows
        z of the rounds, shape (T, N, K).
    memory
        :func:`work_space` numbers, of which two copies of B come first.
    at
        Which copy is B, 0 or 1. The other is written.
    """
    rounds, agents, columns = rows.shape
    blocks = (agents + ROWS - 1) // ROWS
    size, bands = agents * columns, memory.size - 2 * agents * BAND
    w, z, b = weights.ctypes.data, rows.ctypes.data, memory.ctypes.data
    for column in range(0, columns, BAND):
        old, old_step = at * size + column, columns
        for t in range(rounds):
            new, new_step = (1 - at) * size + column, columns
            if t + 1 < rounds:
                new, new_step = bands + t % 2 * agents * BAND, BAND
            first = 0
            for block in range(blocks):
                # Blocks as equal as can be: short of rows, sums wait for each other.
                count = (agents - first + blocks - block - 1) // (blocks - block)
                add_double((
                    count, w + 8 * first * agents, agents, 1, b + 8 * old, old_step,
                    z + 8 * ((t * agents + first) * columns + column), columns,
                    b + 8 * (new + first * new_step), new_step,
                    agents, min(BAND, columns - column),
                ))  # fmt: skip
                first += count
            old, old_step = new, new_step
