"""C ← A B or C ← C + A B in float32 for matrices of a few hundred rows.

What nets of a few hundred units multiply is too small for libraries: dispatching a product and
packing its factors takes them as long as a third of it. Here nothing is packed or copied. C is cut
into tiles that live in registers (:mod:`exact.dense_kernel`), and a tile is summed up over a
stretch of the inner index k that keeps its part of B in the first cache:

    stretch of k → strip of columns → some rows of C → k.

An entry depends on nothing but its row of A, its column of B and k: neither the number of threads
nor what is computed beside it changes a bit.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from exact.dense_kernel import SINGLE, add_single

ROWS, STRIP = SINGLE.rows, SINGLE.strip
# k at most in a stretch: B's part, a strip wide, then stays in 48 KiB with AVX-512, 24 without.
STRETCH = 256


@cfunc(types.void(*[types.int64] * 11), cache=True)
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
        for column in range(0, columns, STRIP):
            row = 0
            for block in range(blocks):
                some = (rows - row + blocks - block - 1) // (blocks - block)
                out = c + 4 * (row * c_row + column)
                add_single((
                    some, a + 4 * (row * a_row + k * a_step), a_row, a_step,
                    b + 4 * (k * b_row + column), b_row,
                    0 if fresh != 0 and stretch == 0 else out, c_row, out, c_row,
                    count, min(STRIP, columns - column),
                ))  # fmt: skip
                row += some
        k += count


# Where the compiled product stands: an argument of compiled callers, which then need not compile it
# again, and can be kept on disk.
ADDRESS = int(product.address or 0)


def _call_in_llvm(typing: Any, address: Any, numbers: Any) -> Any:
    """A call of the function at an address, whose arguments are the integers of a tuple."""

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * sig.args[1].count).as_pointer()
        values = cgutils.unpack_tuple(builder, args[1])
        builder.call(builder.inttoptr(args[0], kind), values)
        return context.get_dummy_value()

    return types.void(types.int64, types.UniTuple(types.int64, numbers.count)), generate


_call: Any = intrinsic(_call_in_llvm)


@njit(inline="always")
def multiply(
    address: int, a: int, a_row: int, a_step: int, b: int, b_row: int, c: int, c_row: int,
    rows: int, columns: int, inner: int, fresh: int,
) -> None:  # fmt: skip
    """:func:`product` for compiled callers; `address` is ADDRESS."""
    _call(address, (a, a_row, a_step, b, b_row, c, c_row, rows, columns, inner, fresh))
