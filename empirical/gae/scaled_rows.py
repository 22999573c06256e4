"""Backward through the net's second convolution and max-pool: sums of scaled rows.

The gradient of the convolution's output has at most one entry in four that is not zero, that of
the largest of its pool block, and fewer with ReLU and dropout. Both products of the backward pass
are sums over these entries alone,

    gradient of the weights of channel o  =  Σ over entries g of o:      g · (window of the input)
    gradient of a window of the input     =  Σ over entries g of pixel:  g · (weights of channel)

each a sum of scaled rows of 288 = 3 · 96 numbers, three stretches that lie apart in the input
and together in the weights. One loop does both.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.extending import intrinsic

from empirical.gae.vector_code import (
    INDEX,
    POINTER,
    STRETCH,
    VECTOR,
    Writer,
    called,
    index,
    new_function,
)
from empirical.train.kernels.product import LANES

# Summed up over as many stretches at once as registers hold.
_AT_ONCE = 3 if LANES == 16 else 1


def _rows_function(module: ir.Module) -> ir.Function:
    """Adds Σ g · row to a row, each of three stretches; arguments as :func:`add_rows`."""
    name = "gae_add_rows"
    whole = ir.IntType(32).as_pointer()
    kinds = [POINTER, INDEX, whole, POINTER, INDEX, POINTER, INDEX]
    function = new_function(module, name, kinds)
    if function is None:
        return module.globals[name]
    source, step, offsets, factors, count, target, target_step = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = Writer(builder)
    some, none = (builder.append_basic_block() for _ in range(2))
    builder.cbranch(builder.icmp_signed(">", count, index(0)), some, none)
    builder.position_at_end(none)
    builder.ret_void()
    builder.position_at_end(some)
    vectors = STRETCH // LANES
    for begin in range(0, 3, _AT_ONCE):
        rows = range(begin, begin + _AT_ONCE)
        targets = [builder.gep(target, [builder.mul(target_step, index(r))]) for r in rows]
        held = [[code.load(at, v * LANES) for v in range(vectors)] for at in targets]
        entry = builder.block
        loop, done = (builder.append_basic_block() for _ in range(2))
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(INDEX)
        sums = [[builder.phi(VECTOR) for _ in range(vectors)] for _ in rows]
        offset = builder.zext(builder.load(builder.gep(offsets, [k]), align=4), INDEX)
        factor = code.everywhere(factors, k)
        row_at = builder.gep(source, [offset])
        made = []
        for r, line in zip(rows, sums, strict=True):
            at = builder.gep(row_at, [builder.mul(step, index(r))])
            made.append(
                [code.fused(factor, code.load(at, v * LANES), line[v]) for v in range(vectors)]
            )
        following = builder.add(k, index(1))
        k.add_incoming(index(0), entry)
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
    pointers = {0: POINTER, 2: ir.IntType(32).as_pointer(), 3: POINTER, 5: POINTER}
    return called(_rows_function, pointers, 7)


add_rows: Any = intrinsic(_add_rows_in_llvm)
