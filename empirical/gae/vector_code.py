"""Words for loops with explicit vectors over the net's second convolution.

The convolution is 3 x 3 from 32 to 64 channels over images of 26 x 26 pixels, channels last, and
a 2 x 2 max-pool follows. Nearly all of a net's multiplications are in it: forward in
:mod:`empirical.gae.winograd`, backward in :mod:`empirical.gae.scaled_rows`.

numba has no words for vectors, so that these loops are written in LLVM's own terms, as in
:mod:`empirical.kernels.product`, whose width of vectors they share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numpy.typing import NDArray

from empirical.kernels.product import LANES

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
