"""C ← A B or C ← C + A B in float32 for matrices of a few hundred rows, with explicit vectors.

What nets of a few hundred units multiply is too small for libraries: dispatching a product and
packing its factors takes them as long as a third of it. Here nothing is packed or copied. C is cut
into tiles that live in registers, ROWS rows of STRIPS vectors, and a tile is summed up over
a stretch of the inner index k that keeps its part of B in the first cache:

    stretch of k → strip of columns → ROWS rows of C → k,

where STRIPS loads of B and ROWS numbers of A serve ROWS · STRIPS multiplications and additions.
Columns that are left over go by single vectors, of which only so many lanes are read and written.

An entry is the sum over k in order, each step rounded once where the processor has fused
multiply-adds; it depends on nothing but its row of A, its column of B and k. Neither the number
of threads nor what is computed beside it changes a bit.

numba has no words for vectors, so that the tiles are written in LLVM's own terms, as in
:mod:`exact.dense_kernel`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import cfunc, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic


class Registers(NamedTuple):
    """What the sums of a tile fill: `rows` · `strips` registers of `lanes` numbers."""

    lanes: int
    rows: int
    strips: int


def registers(features: str) -> Registers:
    """The tile that fills a processor's registers and leaves some for the factors.

    `features` is LLVM's list: 32 registers of 16 numbers with AVX-512, else at least 16, of eight
    numbers with AVX and four without.
    """
    if "+avx512f" in features:
        return Registers(lanes=16, rows=8, strips=3)
    return Registers(lanes=8 if "+avx," in f"{features}," else 4, rows=4, strips=3)


LANES, ROWS, STRIPS = registers(cpu_target.target_context.codegen().magic_tuple()[2])
STRIP = LANES * STRIPS
# k at most in a stretch: B's part, of STRIP columns, then stays in 48 KiB with AVX-512, 24 without.
STRETCH = 256

_INDEX, _NUMBER = ir.IntType(64), ir.FloatType()
_VECTOR, _POINTER = ir.VectorType(_NUMBER, LANES), ir.FloatType().as_pointer()
_MASK = ir.VectorType(ir.IntType(1), LANES)


def _index(value: int) -> ir.Constant:
    return ir.Constant(_INDEX, value)


class _Code:
    """Loads, stores and steps of vectors, added to a function in LLVM's terms."""

    def __init__(self, builder: ir.IRBuilder, mask: ir.Value | None) -> None:
        self.builder, self.mask = builder, mask
        place = _VECTOR.as_pointer()
        self.zero = ir.Constant(_VECTOR, [0.0] * LANES)
        kinds = {
            "llvm.fmuladd": ir.FunctionType(_VECTOR, [_VECTOR] * 3),
            "llvm.masked.load": ir.FunctionType(_VECTOR, [place, ir.IntType(32), _MASK, _VECTOR]),
            "llvm.masked.store": ir.FunctionType(
                ir.VoidType(), [_VECTOR, place, ir.IntType(32), _MASK]
            ),
        }
        self._fused, self._load, self._store = (
            cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module, kind, f"{name}.v{LANES}f32{'.p0' if 'mask' in name else ''}"
            )
            for name, kind in kinds.items()
        )

    def at(self, pointer: ir.Value, *offsets: ir.Value) -> ir.Value:
        """The address so many numbers further on."""
        for offset in offsets:
            pointer = self.builder.gep(pointer, [offset])
        return pointer

    def load(self, pointer: ir.Value, strip: int) -> ir.Value:
        place = self._vector(pointer, strip)
        if self.mask is None:
            return self.builder.load(place, align=4)
        return self.builder.call(self._load, [place, _FOUR, self.mask, self.zero])

    def store(self, vector: ir.Value, pointer: ir.Value, strip: int) -> None:
        place = self._vector(pointer, strip)
        if self.mask is None:
            self.builder.store(vector, place, align=4)
        else:
            self.builder.call(self._store, [vector, place, _FOUR, self.mask])

    def fused(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """A b + c."""
        return self.builder.call(self._fused, [a, b, c])

    def everywhere(self, number: ir.Value, kind: ir.VectorType) -> ir.Value:
        """One number in all lanes."""
        none = ir.Constant(kind, ir.Undefined)
        first = ir.Constant(ir.IntType(32), 0)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(
            self.builder.insert_element(none, number, first), none, lanes
        )

    def _vector(self, pointer: ir.Value, strip: int) -> ir.Value:
        return self.builder.bitcast(self.at(pointer, _index(strip * LANES)), _VECTOR.as_pointer())


_FOUR = ir.Constant(ir.IntType(32), 4)


def _tile_function(module: ir.Module, rows: int, strips: int) -> ir.Function:
    """A function for a tile of `rows` rows and `strips` vectors; one vector is masked.

    Its arguments are addresses of A, B and C with their steps, in numbers: of A from row to row and
    from k to k, of B from k to k, of C from row to row; how many k; how many columns; and whether C
    begins with zeros rather than with what it holds.
    """
    name = f"product_tile_{rows}_by_{strips}"
    if name in module.globals:
        return module.globals[name]
    kind = ir.FunctionType(
        ir.VoidType(),
        [_POINTER, _INDEX, _INDEX, _POINTER, _INDEX, _POINTER, _INDEX, _INDEX, _INDEX, _INDEX],
    )
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    a, a_row, a_step, b, b_step, c, c_row, count, columns, fresh = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = _Code(builder, None)
    if strips == 1:
        numbers = ir.Constant(ir.VectorType(_INDEX, LANES), list(range(LANES)))
        limit = code.everywhere(columns, numbers.type)
        code.mask = builder.icmp_signed("<", numbers, limit)
    a_of, c_of = ([builder.mul(step, _index(r)) for r in range(rows)] for step in (a_row, c_row))
    entry = builder.block
    held, loop, done = (builder.append_basic_block() for _ in range(3))
    builder.cbranch(builder.icmp_signed("!=", fresh, _index(0)), loop, held)
    builder.position_at_end(held)
    begun = [[code.load(code.at(c, row), s) for s in range(strips)] for row in c_of]
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(_INDEX)
    sums = [[builder.phi(_VECTOR) for _ in range(strips)] for _ in range(rows)]
    line = code.at(b, builder.mul(k, b_step))
    right = [code.load(line, s) for s in range(strips)]
    for row in range(rows):
        number = builder.load(code.at(a, a_of[row], builder.mul(k, a_step)))
        left = code.everywhere(number, _VECTOR)
        for s, total in enumerate(sums[row]):
            total.add_incoming(code.zero, entry)
            total.add_incoming(begun[row][s], held)
            begun[row][s] = code.fused(left, right[s], total)
            total.add_incoming(begun[row][s], loop)
    after = builder.add(k, _index(1))
    for value, block in ((_index(0), entry), (_index(0), held), (after, loop)):
        k.add_incoming(value, block)
    builder.cbranch(builder.icmp_signed("<", after, count), loop, done)
    builder.position_at_end(done)
    for row in range(rows):
        for s in range(strips):
            code.store(begun[row][s], code.at(c, c_of[row]), s)
    builder.ret_void()
    return function


def _tile_in_llvm(
    typing: Any,
    rows: Any,
    wide: Any,
    a: Any,
    a_row: Any,
    a_step: Any,
    b: Any,
    b_step: Any,
    c: Any,
    c_row: Any,
    count: Any,
    columns: Any,
    fresh: Any,
) -> Any:
    """A tile of `rows` rows, of STRIPS vectors or, if not `wide`, of one; all are integers."""
    signature = types.void(*[types.int64] * 12)

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        rows, wide, *rest = args
        arguments = [
            builder.inttoptr(value, _POINTER) if place in (0, 3, 5) else value
            for place, value in enumerate(rest)
        ]
        after = builder.append_basic_block()
        chosen = builder.add(rows, builder.mul(wide, _index(ROWS)))
        choice = builder.switch(chosen, after)
        for number in range(2 * ROWS):
            case = builder.append_basic_block()
            choice.add_case(_index(number + 1), case)
            builder.position_at_end(case)
            strips = 1 if number < ROWS else STRIPS
            builder.call(_tile_function(builder.module, number % ROWS + 1, strips), arguments)
            builder.branch(after)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return signature, generate


_tile: Any = intrinsic(_tile_in_llvm)

_SIGNATURE = types.void(*[types.int64] * 11)


@cfunc(_SIGNATURE, cache=True)
def product(
    a: int, a_row: int, a_step: int, b: int, b_row: int, c: int, c_row: int,
    rows: int, columns: int, inner: int, fresh: int,
) -> None:  # fmt: skip
    """C ← A B, or C ← C + A B if not `fresh`; float32. Compiled callers use :func:`multiply`.

    Parameters
    ----------
    a, b, c
        Addresses of the first entries.
    a_row, a_step, b_row, c_row
        Steps, in numbers, from row to row; of A also from column to column, so that A may be
        transposed. Rows of B and C are contiguous.
    rows, columns, inner
        Shapes: A is rows x inner, B inner x columns.
    """
    stretches = (inner + STRETCH - 1) // STRETCH
    blocks = (rows + ROWS - 1) // ROWS
    k = 0
    for stretch in range(stretches):
        # As equal as can be, here and below: a short one costs nearly as much as a full one.
        count = (inner - k + stretches - stretch - 1) // (stretches - stretch)
        begins = np.int64(fresh != 0 and stretch == 0)
        column = 0
        while column < columns:
            wide = np.int64(column + STRIP <= columns)
            row = 0
            for block in range(blocks):
                some = (rows - row + blocks - block - 1) // (blocks - block)
                _tile(
                    some, wide,
                    a + 4 * (row * a_row + k * a_step), a_row, a_step,
                    b + 4 * (k * b_row + column), b_row,
                    c + 4 * (row * c_row + column), c_row,
                    count, min(LANES, columns - column), begins,
                )  # fmt: skip
                row += some
            column += STRIP if wide == 1 else LANES
        k += count


# Where the compiled product stands: an argument of compiled callers, which then need not compile it
# again, and can be kept on disk.
ADDRESS = int(product.address or 0)


def _multiply_in_llvm(
    typing: Any,
    address: Any,
    a: Any,
    a_row: Any,
    a_step: Any,
    b: Any,
    b_row: Any,
    c: Any,
    c_row: Any,
    rows: Any,
    columns: Any,
    inner: Any,
    fresh: Any,
) -> Any:
    """:func:`product` for compiled callers; `address` is ADDRESS."""

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        kind = ir.FunctionType(ir.VoidType(), [_INDEX] * 11).as_pointer()
        builder.call(builder.inttoptr(args[0], kind), args[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 12), generate


multiply: Any = intrinsic(_multiply_in_llvm)
