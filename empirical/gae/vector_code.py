"""The two inner loops of the net's second convolution, with explicit vectors.

The convolution is 3 x 3 from 32 to 64 channels over images of 26 x 26 pixels, channels last, and
a 2 x 2 max-pool follows. Nearly all of a net's multiplications are in it. Two things are used:

*Forward*, what is not the largest of its pool block is never written: a tile of pool blocks and
channels is summed up in registers, and the largest of each four leaves them with its place.

*Backward*, the gradient of the convolution's output has at most one entry in four that is not
zero, that of the largest, and fewer with ReLU and dropout. Both products of the backward pass are
sums over these entries alone,

    gradient of the weights of channel o  =  Σ over entries g of o:      g · (window of the input)
    gradient of a window of the input     =  Σ over entries g of pixel:  g · (weights of channel)

each a sum of scaled rows of 288 = 3 · 96 numbers, three stretches that lie apart in the input
and together in the weights. One loop does both.

numba has no words for vectors, so that the loops are written in LLVM's own terms, as in
:mod:`empirical.train.kernels.product`, whose width of vectors they share.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from empirical.train.kernels.product import LANES

# Of the convolution: channels in and out, width of its input, of a window's row.
INNER, OUTER, WIDTH = 32, 64, 26
STRETCH = 3 * INNER
# A tile: so many pool blocks of four pixels, and two vectors of channels. With AVX-512 its sums
# fill 24 of 32 registers; else 8 of 16.
BLOCKS = 3 if LANES == 16 else 1
STRIPS = 2
SLAB = STRIPS * LANES
# Sums of scaled rows are summed up over as many stretches at once as registers hold.
_AT_ONCE = 3 if LANES == 16 else 1

_INDEX, _NUMBER, _PLACE = ir.IntType(64), ir.FloatType(), ir.IntType(8)
_VECTOR, _PLACES = ir.VectorType(_NUMBER, LANES), ir.VectorType(_PLACE, LANES)
_POINTER = _NUMBER.as_pointer()
_FIRST = ir.Constant(ir.IntType(32), 0)


def _index(value: int) -> ir.Constant:
    return ir.Constant(_INDEX, value)


class _Writer:
    """Loads, stores and products of vectors, added to a function in LLVM's terms."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        self._fused = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, f"llvm.fmuladd.v{LANES}f32"
        )

    def load(self, base: ir.Value, offset: int) -> ir.Value:
        """The vector that begins so many numbers further on."""
        place = self.builder.gep(base, [_index(offset)])
        return self.builder.load(self.builder.bitcast(place, _VECTOR.as_pointer()), align=4)

    def store(self, vector: ir.Value, base: ir.Value, offset: int) -> None:
        """Write it there."""
        place = self.builder.gep(base, [_index(offset)])
        self.builder.store(vector, self.builder.bitcast(place, _VECTOR.as_pointer()), align=4)

    def everywhere(self, base: ir.Value, offset: ir.Value | int) -> ir.Value:
        """The number that stands there, in all lanes."""
        at = _index(offset) if isinstance(offset, int) else offset
        number = self.builder.load(self.builder.gep(base, [at]), align=4)
        none = ir.Constant(_VECTOR, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(
            self.builder.insert_element(none, number, _FIRST), none, lanes
        )

    def fused(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """A b + c."""
        return self.builder.call(self._fused, [a, b, c])


def _function(module: ir.Module, name: str, kinds: list[ir.Type]) -> ir.Function | None:
    """A new function of the module; None if there is one of this name."""
    if name in module.globals:
        return None
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    return function


def _tile_function(module: ir.Module) -> ir.Function:
    """Convolution, ReLU and max-pool of BLOCKS pool blocks and SLAB channels.

    Its arguments are addresses: of the input at the tile's first pixel; of the weights of these
    channels, (288, SLAB); of their biases; of what leaves, (pool blocks, OUTER); of its places.
    """
    name = "gae_pooled_tile"
    function = _function(module, name, [_POINTER] * 4 + [_PLACE.as_pointer()])
    if function is None:
        return module.globals[name]
    image, weights, biases, pooled, places = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = _Writer(builder)
    # (block, place within the block) → pixel; sums are by pixel and strip.
    pixels = [(2 * b + s % 2, s // 2) for b in range(BLOCKS) for s in range(4)]
    begun = [code.load(biases, strip * LANES) for strip in range(STRIPS)]
    sums = [begun] * len(pixels)
    for row in range(3):  # of the window
        sums = _one_window_row(code, function, image, weights, sums, pixels, row)
    for block in range(BLOCKS):
        four = sums[4 * block : 4 * block + 4]
        for strip in range(STRIPS):
            best, place = _largest(builder, [one[strip] for one in four])
            at = block * OUTER + strip * LANES
            code.store(best, pooled, at)
            where = builder.bitcast(builder.gep(places, [_index(at)]), _PLACES.as_pointer())
            builder.store(place, where, align=1)
    builder.ret_void()
    return function


def _one_window_row(
    code: _Writer,
    function: ir.Function,
    image: ir.Value,
    weights: ir.Value,
    sums: list[list[ir.Value]],
    pixels: list[tuple[int, int]],
    row: int,
) -> list[list[ir.Value]]:
    """A loop over the STRETCH numbers of a row of the window; returns the sums after it."""
    builder = code.builder
    entry = builder.block
    loop, done = (builder.append_basic_block() for _ in range(2))
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(_INDEX)
    running = [[builder.phi(_VECTOR) for _ in range(STRIPS)] for _ in pixels]
    first = builder.add(k, _index(row * STRETCH))
    line = builder.gep(weights, [builder.mul(first, _index(SLAB))])
    right = [code.load(line, strip * LANES) for strip in range(STRIPS)]
    start = builder.gep(image, [k])
    after = []
    for (across, down), held in zip(pixels, running, strict=True):
        left = code.everywhere(start, ((down + row) * WIDTH + across) * INNER)
        after.append([code.fused(left, right[s], held[s]) for s in range(STRIPS)])
    following = builder.add(k, _index(1))
    k.add_incoming(_index(0), entry)
    k.add_incoming(following, loop)
    for held, begun, made in zip(running, sums, after, strict=True):
        for s in range(STRIPS):
            held[s].add_incoming(begun[s], entry)
            held[s].add_incoming(made[s], loop)
    builder.cbranch(builder.icmp_signed("<", following, _index(STRETCH)), loop, done)
    builder.position_at_end(done)
    return after


def _largest(builder: ir.IRBuilder, four: list[ir.Value]) -> tuple[ir.Value, ir.Value]:
    """The largest of four, or 0 if that is larger, and the first place where it stands."""
    best, place = four[0], ir.Constant(_PLACES, [0] * LANES)
    for number, one in enumerate(four[1:], start=1):
        above = builder.fcmp_ordered(">", one, best)
        best = builder.select(above, one, best)
        place = builder.select(above, ir.Constant(_PLACES, [number] * LANES), place)
    zero = ir.Constant(_VECTOR, [0.0] * LANES)
    return builder.select(builder.fcmp_ordered(">", best, zero), best, zero), place


def _rows_function(module: ir.Module) -> ir.Function:
    """Adds Σ g · row to a row, each of three stretches; arguments as :func:`add_rows`."""
    name = "gae_add_rows"
    whole = ir.IntType(32).as_pointer()
    kinds = [_POINTER, _INDEX, whole, _POINTER, _INDEX, _POINTER, _INDEX]
    function = _function(module, name, kinds)
    if function is None:
        return module.globals[name]
    source, step, offsets, factors, count, target, target_step = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = _Writer(builder)
    some, none = (builder.append_basic_block() for _ in range(2))
    builder.cbranch(builder.icmp_signed(">", count, _index(0)), some, none)
    builder.position_at_end(none)
    builder.ret_void()
    builder.position_at_end(some)
    vectors = STRETCH // LANES
    for begin in range(0, 3, _AT_ONCE):
        rows = range(begin, begin + _AT_ONCE)
        targets = [builder.gep(target, [builder.mul(target_step, _index(r))]) for r in rows]
        held = [[code.load(at, v * LANES) for v in range(vectors)] for at in targets]
        entry = builder.block
        loop, done = (builder.append_basic_block() for _ in range(2))
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(_INDEX)
        sums = [[builder.phi(_VECTOR) for _ in range(vectors)] for _ in rows]
        offset = builder.zext(builder.load(builder.gep(offsets, [k]), align=4), _INDEX)
        factor = code.everywhere(factors, k)
        row_at = builder.gep(source, [offset])
        made = []
        for r, line in zip(rows, sums, strict=True):
            at = builder.gep(row_at, [builder.mul(step, _index(r))])
            made.append(
                [code.fused(factor, code.load(at, v * LANES), line[v]) for v in range(vectors)]
            )
        following = builder.add(k, _index(1))
        k.add_incoming(_index(0), entry)
        k.add_incoming(following, loop)
        for line, before, after in zip(sums, held, made, strict=True):
            for v in range(vectors):
                line[v].add_incoming(before[v], entry)
                line[v].add_incoming(after[v], loop)
        builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
        builder.position_at_end(done)
        for at, line in zip(targets, made, strict=True):
            for v in range(vectors):
                code.store(line[v], at, v * LANES)
    builder.ret_void()
    return function


def _called(make: Any, pointers: dict[int, ir.Type], arguments: int) -> Any:
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


def _pooled_tile_in_llvm(
    typing: Any, image: Any, weights: Any, biases: Any, pooled: Any, places: Any
) -> Any:
    """:func:`_tile_function` for compiled callers; all arguments are addresses."""
    pointers = dict.fromkeys(range(4), _POINTER) | {4: _PLACE.as_pointer()}
    return _called(_tile_function, pointers, 5)


def _add_rows_in_llvm(
    typing: Any,
    source: Any,
    step: Any,
    offsets: Any,
    factors: Any,
    count: Any,
    target: Any,
    target_step: Any,
) -> Any:
    """Adds to `target` the sum over k < count of factors[k] · (row of `source` at offsets[k]).

    Addresses of float32, of `offsets` uint32; a row is three stretches of STRETCH numbers, `step`
    numbers apart in the source, `target_step` in the target.
    """
    pointers = {0: _POINTER, 2: ir.IntType(32).as_pointer(), 3: _POINTER, 5: _POINTER}
    return _called(_rows_function, pointers, 7)


pooled_tile: Any = intrinsic(_pooled_tile_in_llvm)
add_rows: Any = intrinsic(_add_rows_in_llvm)
