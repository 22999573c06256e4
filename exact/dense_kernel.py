"""Several rounds B ← z + W B of a small dense W in one sweep, compiled with explicit vectors.

The columns of B do not meet in a product with W. A band of them is therefore carried through all
rounds of a block while it stays in the core's first cache, and only the observations z stream in:

    band of columns → round → four rows of W at a time → strip of columns → neighbour j,

where the sums of four rows and one strip live in registers: four loads of B and four of W serve
sixteen multiplications and additions. Libraries of linear algebra reach their best rates at
hundreds of rows; this does from four agents on, and on some processors it takes wider vectors than
they do (docs: benchmarks).

An entry is z_i + W_i0 B_0 + W_i1 B_1 + ..., added in this order, each step rounded once where the
processor has fused multiply-adds. It does not depend on the other columns, on how they are cut up
or on the width of the vectors.

numba has no words for vectors, and what LLVM makes of plain loops here takes half of the widest
ones. The inner loops are hence written in LLVM's own terms. Imported only where they run.
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


# Several rounds B ← z + W B of a small dense W in one sweep, compiled with explicit vectors ------


class Registers(NamedTuple):
    """What the sums of one step fill: `rows` · `strips` registers of `lanes` numbers each."""

    lanes: int
    rows: int
    strips: int


def registers(features: str) -> Registers:
    """The sums that a processor keeps in registers, leaving some for the factors.

    `features` is LLVM's list: 32 registers of eight numbers with AVX-512, else at least 16, of four
    numbers with AVX.
    """
    if "+avx512f" in features:
        return Registers(lanes=8, rows=4, strips=4)
    return Registers(lanes=4 if "+avx" in features else 2, rows=4, strips=3)


_NUMBER_BYTES, _CACHE_LINE = 8, 8
LANES, ROWS, STRIPS = registers(cpu_target.target_context.codegen().magic_tuple()[2])
STRIP = LANES * STRIPS
# Strips of a band are unrolled. Bands of up to 16 agents, old and new, stay in 32 KiB.
BAND = 4 * STRIP

_INDEX, _NUMBER = ir.IntType(64), ir.DoubleType()
_VECTOR, _POINTER = ir.VectorType(_NUMBER, LANES), ir.DoubleType().as_pointer()


def _index(value: int) -> ir.Constant:
    return ir.Constant(_INDEX, value)


class _Code:
    """Loads, stores and steps of vectors, added to a function in LLVM's terms."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.fused = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(_VECTOR, [_VECTOR] * 3),
            f"llvm.fmuladd.v{LANES}f64",
        )

    def at(self, pointer: ir.Value, *offsets: ir.Value) -> ir.Value:
        """The address so many numbers further on."""
        for offset in offsets:
            pointer = self.builder.gep(pointer, [offset])
        return pointer

    def strip(self, pointer: ir.Value) -> list[ir.Value]:
        """The vectors of a strip."""
        return [
            self.builder.load(self._vector(pointer, s), align=_NUMBER_BYTES) for s in range(STRIPS)
        ]

    def keep(self, vectors: list[ir.Value], pointer: ir.Value) -> None:
        """Store the vectors of a strip."""
        for s, vector in enumerate(vectors):
            self.builder.store(vector, self._vector(pointer, s), align=_NUMBER_BYTES)

    def everywhere(self, pointer: ir.Value) -> ir.Value:
        """One number in all lanes."""
        none = ir.Constant(_VECTOR, ir.Undefined)
        first = ir.Constant(ir.IntType(32), 0)
        number = self.builder.insert_element(none, self.builder.load(pointer), first)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(number, none, lanes)

    def _vector(self, pointer: ir.Value, s: int) -> ir.Value:
        place = self.at(pointer, _index(s * LANES))
        return self.builder.bitcast(place, _VECTOR.as_pointer())


def _rows_function(module: ir.Module, rows: int, width: int) -> ir.Function:
    """A function for `rows` rows of W and `width` columns, a multiple of a strip.

    Its arguments are addresses, of the first of these rows in W, z and the new B and of agent 0's
    row in the old B; and how many numbers lie between two rows of each of them.
    """
    name = f"pool_{rows}_rows_of_{width}"
    if name in module.globals:
        return module.globals[name]
    kind = ir.FunctionType(ir.VoidType(), [_POINTER] * 4 + [_INDEX] * 4)
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    weights, seen, new, old, agents, seen_step, new_step, old_step = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = _Code(builder)
    row_of, seen_of, new_of = (
        [builder.mul(step, _index(row)) for row in range(rows)]
        for step in (agents, seen_step, new_step)
    )
    for first in range(0, width, STRIP):
        begun = [code.strip(code.at(seen, row, _index(first))) for row in seen_of]
        entry = builder.block
        loop, done = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        j = builder.phi(_INDEX)
        j.add_incoming(_index(0), entry)
        sums = [[builder.phi(_VECTOR) for _ in range(STRIPS)] for _ in range(rows)]
        heard = code.strip(code.at(old, builder.mul(j, old_step), _index(first)))
        for row in range(rows):
            weight = code.everywhere(code.at(weights, row_of[row], j))
            for s, total in enumerate(sums[row]):
                total.add_incoming(begun[row][s], entry)
                begun[row][s] = builder.call(code.fused, [weight, heard[s], total])
                total.add_incoming(begun[row][s], loop)
        after = builder.add(j, _index(1))
        j.add_incoming(after, loop)
        builder.cbranch(builder.icmp_signed("<", after, agents), loop, done)
        builder.position_at_end(done)
        for row in range(rows):
            code.keep(begun[row], code.at(new, new_of[row], _index(first)))
    builder.ret_void()
    return function


def _pool_rows_in_llvm(
    typing: Any,
    wide: Any,
    count: Any,
    weights: Any,
    first: Any,
    rows: Any,
    seen: Any,
    memory: Any,
    new: Any,
    old: Any,
    seen_step: Any,
    new_step: Any,
    old_step: Any,
) -> Any:
    """Agents first, ..., first + count − 1 in one round, for a band or, if not `wide`, a strip.

    `count` is at most ROWS. `seen` is the place in `rows`, `new` that in `memory`, where the first
    of these agents' rows begin, `old` where agent 0's row of the old B does; the steps are those
    from agent to agent. All arrays are contiguous.
    """
    signature = types.void(
        *(wide, count, weights, first, rows, seen, memory, new, old),
        *(seen_step, new_step, old_step),
    )

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        wide, count, _, first, _, seen, _, new, old, *steps = args
        matrix, observed, work = (
            context.make_array(sig.args[k])(context, builder, args[k]) for k in (2, 4, 6)
        )
        agents = builder.extract_value(matrix.shape, 0)
        arguments = [
            builder.gep(matrix.data, [builder.mul(first, agents)]),
            builder.gep(observed.data, [seen]),
            builder.gep(work.data, [new]),
            builder.gep(work.data, [old]),
            *(agents, *steps),
        ]
        after = builder.append_basic_block()
        # A case for each number of rows, once for a strip and once for a band.
        chosen = builder.add(count, builder.mul(builder.zext(wide, _INDEX), _index(ROWS)))
        choice = builder.switch(chosen, after)
        for number in range(2 * ROWS):
            case = builder.append_basic_block()
            choice.add_case(_index(number + 1), case)
            builder.position_at_end(case)
            width = STRIP if number < ROWS else BAND
            builder.call(_rows_function(builder.module, number % ROWS + 1, width), arguments)
            builder.branch(after)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return signature, generate


_pool_rows: Any = intrinsic(_pool_rows_in_llvm)


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
        z of the rounds, shape (T, N, K), with K of at least STRIP.
    memory
        :func:`work_space` numbers, of which two copies of B come first.
    at
        Which copy is B, 0 or 1. The other is written.
    """
    rounds, agents, columns = rows.shape
    blocks = (agents + ROWS - 1) // ROWS
    size, bands = agents * columns, memory.size - 2 * agents * BAND
    column = 0
    while column < columns:
        wide = column + BAND <= columns
        # The last strip goes back over columns that are done already: they come out the same.
        column = min(column, columns - STRIP)
        old, old_step = at * size + column, columns
        for t in range(rounds):
            new, new_step = (1 - at) * size + column, columns
            if t + 1 < rounds:
                new, new_step = bands + t % 2 * agents * BAND, BAND
            first = 0
            for block in range(blocks):
                # Blocks as equal as can be: short of rows, sums wait for each other.
                count = (agents - first + blocks - block - 1) // (blocks - block)
                _pool_rows(
                    *(wide, count, weights, first, rows),
                    *((t * agents + first) * columns + column, memory),
                    *(new + first * new_step, old, columns, new_step, old_step),
                )
                first += count
            old, old_step = new, new_step
        column += BAND if wide else STRIP
