"""Forward through the net's second convolution and max-pool, by Winograd's minimal filtering.

Four by four pixels of a 3 x 3 convolution need not 144 products a pair of channels but 36. With
d the 6 x 6 pixels of the input under such a tile, and g a filter of 3 x 3,

    convolution = Aᵀ [ (G g Gᵀ) ∘ (Bᵀ d B) ] A,

where ∘ multiplies entry by entry: a polynomial's product by its values at 0, ±1, ±2 and ∞ (A. Lavin
and S. Gray, "Fast algorithms for convolutional neural networks", 2016, section 4.3, which has the
matrices). Summed over channels, the middle is 36 products of matrices, tiles by channels in times
channels in by channels out. The price is rounding, in the mean three to four times that of a sum by
windows: 3e-7 where outputs are about 1.

What is not the largest of its pool block is never written: a tile's last transform ends in
registers, and the largest of each four leaves them with its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from empirical.kernels.product import LANES

# Words for loops with explicit vectors over the net's second convolution -------------------------


# Of the convolution: channels in and out, width of its input, of a window's row.
INNER, OUTER, WIDTH = 32, 64, 26
STRETCH = 3 * INNER
# Bytes of the longest vector, and of a line of the caches.
_LINE = 64

INDEX, NUMBER = ir.IntType(64), ir.FloatType()
VECTOR, POINTER = ir.VectorType(NUMBER, LANES), NUMBER.as_pointer()
_FIRST = ir.Constant(ir.IntType(32), 0)


@njit(cache=True, nogil=True)
def empty(rows: int, columns: int) -> NDArray[np.float32]:
    """An array of float32 with any numbers in it, no vector of which lies across two lines.

    A vector that does takes as long as two, and allocators promise half a line at best.
    """
    found = np.empty(rows * columns + _LINE // 4, np.float32)
    start = (-found.ctypes.data % _LINE) // 4
    return found[start : start + rows * columns].reshape((rows, columns))


def index(value: int) -> ir.Constant:
    return ir.Constant(INDEX, value)


class Writer:
    """Loads, stores and products of vectors, added to a function in LLVM's terms."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
        self._fused = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, f"llvm.fmuladd.v{LANES}f32"
        )

    def load(self, base: ir.Value, offset: int) -> ir.Value:
        """The vector that begins so many numbers further on."""
        place = self.builder.gep(base, [index(offset)])
        return self.builder.load(self.builder.bitcast(place, VECTOR.as_pointer()), align=4)

    def store(self, vector: ir.Value, base: ir.Value, offset: int) -> None:
        """Write it there."""
        place = self.builder.gep(base, [index(offset)])
        self.builder.store(vector, self.builder.bitcast(place, VECTOR.as_pointer()), align=4)

    def everywhere(self, base: ir.Value, offset: ir.Value | int) -> ir.Value:
        """The number that stands there, in all lanes."""
        at = index(offset) if isinstance(offset, int) else offset
        number = self.builder.load(self.builder.gep(base, [at]), align=4)
        none = ir.Constant(VECTOR, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(
            self.builder.insert_element(none, number, _FIRST), none, lanes
        )

    def fused(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """A b + c."""
        return self.builder.call(self._fused, [a, b, c])


def new_function(module: ir.Module, name: str, kinds: list[ir.Type]) -> ir.Function | None:
    """A new function of the module; None if there is one of this name."""
    if name in module.globals:
        return None
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    return function


def called(make: Any, pointers: dict[int, ir.Type], arguments: int) -> Any:
    """What an intrinsic returns: a signature of integers, and a call with addresses."""
    signature = types.void(*[types.int64] * arguments)

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        values = [
            builder.inttoptr(value, pointers[place]) if place in pointers else value
            for place, value in enumerate(args)
        ]
        builder.call(make(builder.module), values)
        return context.get_dummy_value()

    return signature, generate


# Forward through the net's second convolution and max-pool, by Winograd's minimal filtering ------


# Pixels of a tile each way, of the input under it, and of the entries multiplied.
TILE, UNDER = 4, 6
ENTRIES = UNDER * UNDER
# Tiles of an image each way; pool blocks of an image each way, and of a tile.
ACROSS = (WIDTH - 2) // TILE
POOLED, BLOCKS = 2 * ACROSS, 2
# What is multiplied at once, so many tiles and two vectors of channels: its sums fill 24 of 32
# registers with AVX-512, else 12 of 16.
GROUP = 12 if LANES == 16 else 6
STRIPS = 2
SLAB = STRIPS * LANES

_INPUT = (
    (4, 0, -5, 0, 1, 0),
    (0, -4, -4, 1, 1, 0),
    (0, 4, -4, -1, 1, 0),
    (0, -2, -1, 2, 1, 0),
    (0, 2, -1, -2, 1, 0),
    (0, 4, 0, -5, 0, 1),
)
_FILTER = (
    (1 / 4, 0, 0),
    (-1 / 6, -1 / 6, -1 / 6),
    (-1 / 6, 1 / 6, -1 / 6),
    (1 / 24, 1 / 12, 1 / 6),
    (1 / 24, -1 / 12, 1 / 6),
    (0, 0, 1),
)
_OUTPUT = (
    (1, 1, 1, 1, 1, 0),
    (0, 1, -1, 2, -2, 0),
    (0, 1, 1, 4, 4, 0),
    (0, 1, -1, 8, -8, 1),
)
_PLACE = ir.IntType(8)
_PLACES = ir.VectorType(_PLACE, LANES)
Floats = NDArray[np.float32]


def transformed(weights: Floats) -> Floats:
    """G g Gᵀ of all filters, as :func:`largest` takes them.

    `weights` has shape (288, 64), by window and channel; the result (64 / SLAB, 36, 32, SLAB).
    """
    by_place = weights.reshape(3, 3, INNER, OUTER // SLAB, SLAB)
    found = np.einsum("ai,bj,ijcsl->sabcl", _FILTER, _FILTER, by_place, optimize=True)
    filters = empty(ENTRIES, INNER * OUTER).reshape(-1, ENTRIES, INNER, SLAB)
    filters[:] = found.reshape(filters.shape)
    return filters


@njit(cache=True, nogil=True)
def largest(
    inner: Floats, filters: Floats, biases: Floats, pooled: Floats, places: NDArray[np.uint8]
) -> None:
    """Convolution, ReLU and max-pool of one image.

    Parameters
    ----------
    inner
        The input by pixel and channel, shape (676, 32).
    filters
        Of :func:`transformed`.
    biases
        Shape (64,).
    pooled, places
        Filled: the largest of each pool block, or 0 if that is larger, and where in its block it
        stood, 0 to 3, row by row; shape (144, 64).
    """
    entries = empty(ENTRIES, GROUP * INNER).reshape((ENTRIES, GROUP, INNER))
    sums = empty(ENTRIES, GROUP * SLAB).reshape((ENTRIES, GROUP, SLAB))
    for start in range(0, ACROSS * ACROSS, GROUP):
        for tile in range(GROUP):
            y, x = divmod(start + tile, ACROSS)
            under = inner[TILE * (y * WIDTH + x) :]
            spread_tile(under.ctypes.data, entries[0, tile:].ctypes.data)
        for slab in range(OUTER // SLAB):
            for entry in range(ENTRIES):
                multiply(
                    entries[entry].ctypes.data,
                    filters[slab, entry].ctypes.data,
                    sums[entry].ctypes.data,
                )
            for tile in range(GROUP):
                y, x = divmod(start + tile, ACROSS)
                block = BLOCKS * (y * POOLED + x)
                gather_tile(
                    sums[0, tile:].ctypes.data,
                    biases[slab * SLAB :].ctypes.data,
                    pooled[block, slab * SLAB :].ctypes.data,
                    places[block, slab * SLAB :].ctypes.data,
                )


def _spread_function(module: ir.Module) -> ir.Function:
    """Bᵀ d B of a tile, from the address of its first pixel to that of its first entry."""
    name = "gae_spread_tile"
    function = new_function(module, name, [POINTER] * 2)
    if function is None:
        return module.globals[name]
    image, entries = function.args
    code = Writer(ir.IRBuilder(function.append_basic_block()))
    for channel in range(0, INNER, LANES):
        under = [
            [code.load(image, (y * WIDTH + x) * INNER + channel) for x in range(UNDER)]
            for y in range(UNDER)
        ]
        for entry, value in enumerate(_both_ways(code, _INPUT, under)):
            code.store(value, entries, entry * GROUP * INNER + channel)
    code.builder.ret_void()
    return function


def _multiply_function(module: ir.Module) -> ir.Function:
    """One entry of GROUP tiles, (GROUP, INNER), times filters, (INNER, SLAB), all by address."""
    name = "gae_multiply"
    function = new_function(module, name, [POINTER] * 3)
    if function is None:
        return module.globals[name]
    left, right, out = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = Writer(builder)
    entry, none = builder.block, ir.Constant(VECTOR, [0.0] * LANES)
    loop, done = (builder.append_basic_block() for _ in range(2))
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(INDEX)
    sums = [[builder.phi(VECTOR) for _ in range(STRIPS)] for _ in range(GROUP)]
    line = builder.gep(right, [builder.mul(k, index(SLAB))])
    factors = [code.load(line, strip * LANES) for strip in range(STRIPS)]
    column = builder.gep(left, [k])
    following = builder.add(k, index(1))
    k.add_incoming(index(0), entry)
    k.add_incoming(following, loop)
    made = []
    for tile, held in enumerate(sums):
        value = code.everywhere(column, tile * INNER)
        made.append([code.fused(value, factors[s], held[s]) for s in range(STRIPS)])
        for s in range(STRIPS):
            held[s].add_incoming(none, entry)
            held[s].add_incoming(made[tile][s], loop)
    builder.cbranch(builder.icmp_signed("<", following, index(INNER)), loop, done)
    builder.position_at_end(done)
    for tile, values in enumerate(made):
        for s in range(STRIPS):
            code.store(values[s], out, tile * SLAB + s * LANES)
    builder.ret_void()
    return function


def _gather_function(module: ir.Module) -> ir.Function:
    """Aᵀ m A, biases, ReLU and max-pool of a tile and SLAB channels.

    Its arguments are addresses: of the tile's first entry; of the biases of these channels; of what
    leaves at the tile's first pool block; of its places.
    """
    name = "gae_gather_tile"
    function = new_function(module, name, [POINTER] * 3 + [_PLACE.as_pointer()])
    if function is None:
        return module.globals[name]
    entries, biases, pooled, places = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = Writer(builder)
    for channel in range(0, SLAB, LANES):
        held = [
            [code.load(entries, (UNDER * y + x) * GROUP * SLAB + channel) for x in range(UNDER)]
            for y in range(UNDER)
        ]
        pixels = _both_ways(code, _OUTPUT, held)
        bias = code.load(biases, channel)
        for down in range(BLOCKS):
            for across in range(BLOCKS):
                first = 2 * (TILE * down + across)
                four = [pixels[first + step] for step in (0, 1, TILE, TILE + 1)]
                best, place = _largest_of(builder, four, bias)
                at = (down * POOLED + across) * OUTER + channel
                code.store(best, pooled, at)
                where = builder.bitcast(builder.gep(places, [index(at)]), _PLACES.as_pointer())
                builder.store(place, where, align=1)
    builder.ret_void()
    return function


def _both_ways(
    code: Writer, matrix: Sequence[Sequence[float]], square: Sequence[Sequence[ir.Value]]
) -> list[ir.Value]:
    """Matrix · square · matrixᵀ, row by row."""
    columns = [_times(code, matrix, column) for column in zip(*square, strict=True)]
    return [value for row in zip(*columns, strict=True) for value in _times(code, matrix, row)]


def _times(
    code: Writer, matrix: Sequence[Sequence[float]], values: Sequence[ir.Value]
) -> list[ir.Value]:
    """A matrix times a column of vectors; zeros are left out, ones added."""
    found = []
    for row in matrix:
        # Ones first, so that the rest are fused.
        terms = sorted((f != 1, i) for i, f in enumerate(row) if f)
        total = values[terms[0][1]]
        for is_scaled, i in terms[1:]:
            if is_scaled:
                factor = ir.Constant(VECTOR, [float(row[i])] * LANES)
                total = code.fused(factor, values[i], total)
            else:
                total = code.builder.fadd(total, values[i])
        found.append(total)
    return found


def _largest_of(
    builder: ir.IRBuilder, four: Sequence[ir.Value], bias: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The largest of four plus a bias, or 0 if that is larger, and the first place of it."""
    best, place = four[0], ir.Constant(_PLACES, [0] * LANES)
    for number, one in enumerate(four[1:], start=1):
        above = builder.fcmp_ordered(">", one, best)
        best = builder.select(above, one, best)
        place = builder.select(above, ir.Constant(_PLACES, [number] * LANES), place)
    best, zero = builder.fadd(best, bias), ir.Constant(VECTOR, [0.0] * LANES)
    return builder.select(builder.fcmp_ordered(">", best, zero), best, zero), place


def _spread_in_llvm(typing: Any, image: Any, entries: Any) -> Any:
    """:func:`_spread_function` for compiled callers; all arguments are addresses."""
    return called(_spread_function, dict.fromkeys(range(2), POINTER), 2)


def _multiply_in_llvm(typing: Any, left: Any, right: Any, out: Any) -> Any:
    """:func:`_multiply_function` for compiled callers; all arguments are addresses."""
    return called(_multiply_function, dict.fromkeys(range(3), POINTER), 3)


def _gather_in_llvm(typing: Any, entries: Any, biases: Any, pooled: Any, places: Any) -> Any:
    """:func:`_gather_function` for compiled callers; all arguments are addresses."""
    pointers = dict.fromkeys(range(3), POINTER) | {3: _PLACE.as_pointer()}
    return called(_gather_function, pointers, 4)


spread_tile: Any = intrinsic(_spread_in_llvm)
multiply: Any = intrinsic(_multiply_in_llvm)
gather_tile: Any = intrinsic(_gather_in_llvm)
