"""What a core can do: multiply-adds in its registers, as many and as wide as it has."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from exact.dense_kernel import DOUBLE

LANES = DOUBLE.lanes
# Sums that do not wait for each other: two units of four or five cycles want ten.
CHAINS = 12
# Of a call, and its operations.
STEPS = 200_000
FLOPS = 2 * LANES * CHAINS * STEPS


@intrinsic  # type: ignore[untyped-decorator]
def _sums(typing: Any, steps: Any) -> Any:
    """CHAINS vectors, each multiplied by .5 and added .5 to, `steps` times; the sum of lane 0."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        index, vector = ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{LANES}f64"
        )
        half = ir.Constant(vector, [0.5] * LANES)
        entry, loop = builder.block, builder.append_basic_block()
        done = builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        step = builder.phi(index)
        step.add_incoming(ir.Constant(index, 0), entry)
        begun = [builder.phi(vector) for _ in range(CHAINS)]
        ends = [builder.call(fused, [start, half, half]) for start in begun]
        for chain, (start, end) in enumerate(zip(begun, ends, strict=True)):
            start.add_incoming(ir.Constant(vector, [float(chain)] * LANES), entry)
            start.add_incoming(end, loop)
        after = builder.add(step, ir.Constant(index, 1))
        step.add_incoming(after, loop)
        builder.cbranch(builder.icmp_signed("<", after, args[0]), loop, done)
        builder.position_at_end(done)
        total = ends[0]
        for end in ends[1:]:
            total = builder.fadd(total, end)
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float64(types.int64), generate


@njit(nogil=True)
def multiply_adds(steps: int = STEPS) -> float:
    """2 · LANES · CHAINS · `steps` operations; tends to CHAINS, which every sum's 1 makes."""
    return float(_sums(steps))
