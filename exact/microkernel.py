"""D ← C + A B for a few rows of A, with explicit vectors: the inner loop of all compiled products.

The sums of some rows and columns fill registers and are added up over the inner index k, where a
few loads of B and numbers of A serve rows · strips multiplications and additions. An entry is
C + A₀ B₀ + A₁ B₁ + ..., added in this order, each step rounded once where the processor has fused
multiply-adds. It does not depend on other rows and columns, on how they are cut up or on the width
of the vectors.

Numba has no words for vectors, and what LLVM makes of plain loops takes half of the widest ones:
hence one function for each number of rows, generated in LLVM's own terms. In one run on a core with
AVX-512 it was 2 to 4 times as fast as plain loops; beside numba's ``np.dot`` 1.5 to 2.2 times in
rounds of up to 16 agents, .9 to 1.4 times in a step of nets. Imported only where it runs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic


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
_INDEX, _FLAG = ir.IntType(64), ir.IntType(1)
# Of the arguments below: the places of addresses.
_ADDRESSES = (0, 3, 5, 7)


class _Tile:
    """A stretch of columns of some rows, of `strips` vectors or of one under a mask."""

    def __init__(self, builder: ir.IRBuilder, bits: int, lanes: int, mask: ir.Value | None) -> None:
        number = ir.FloatType() if bits == 32 else ir.DoubleType()
        self.builder, self.lanes, self.mask = builder, lanes, mask
        self.vector = ir.VectorType(number, lanes)
        self.zero = ir.Constant(self.vector, [0.0] * lanes)
        self._align, self._kind = bits // 8, f"v{lanes}f{bits}"

    def load(self, pointer: ir.Value) -> ir.Value:
        """The vector that begins at an address."""
        place = self.builder.bitcast(pointer, self.vector.as_pointer())
        if self.mask is None:
            return self.builder.load(place, align=self._align)
        align = ir.Constant(ir.IntType(32), self._align)
        values = [place, align, self.mask, self.zero]
        return self._call("masked.load", self.vector, values, ".p0")

    def store(self, vector: ir.Value, pointer: ir.Value) -> None:
        """Write it there."""
        place = self.builder.bitcast(pointer, self.vector.as_pointer())
        if self.mask is None:
            self.builder.store(vector, place, align=self._align)
        else:
            align = ir.Constant(ir.IntType(32), self._align)
            self._call("masked.store", ir.VoidType(), [vector, place, align, self.mask], ".p0")

    def fused(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """A b + c."""
        return self._call("fmuladd", self.vector, [a, b, c])

    def _call(self, name: str, result: ir.Type, values: list[ir.Value], end: str = "") -> ir.Value:
        kind = ir.FunctionType(result, [value.type for value in values])
        function = cgutils.get_or_insert_function(
            self.builder.module, kind, f"llvm.{name}.{self._kind}{end}"
        )
        return self.builder.call(function, values)


def _everywhere(builder: ir.IRBuilder, number: ir.Value, lanes: int) -> ir.Value:
    """One number in all lanes."""
    none = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(none, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        first, none, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    )


def _function(module: ir.Module, bits: int, rows: int, shape: Registers) -> ir.Function:
    """The function for so many rows; arguments as of :func:`add_single`, less their number."""
    name = f"add_product_of_{rows}_rows_{bits}"
    if name in module.globals:
        return module.globals[name]
    pointer = (ir.FloatType() if bits == 32 else ir.DoubleType()).as_pointer()
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
            pointer = (ir.FloatType() if bits == 32 else ir.DoubleType()).as_pointer()
            for place in _ADDRESSES:
                values[place] = builder.inttoptr(values[place], pointer)
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
