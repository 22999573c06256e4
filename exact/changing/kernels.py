"""The inner loops over agents, links and replicates, compiled by numba.

Imported only where they run. Beliefs have shape (N, R, C), or (N, R·C) where all replicates are
treated alike. Weights come as the three arrays of a CSR matrix; `own` holds W_ii, and the links
are the entries off the diagonal.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from theory.validation import FloatArray, IntArray

Mask = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def pool_rows(
    rows: IntArray,
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    public: FloatArray,
    out: FloatArray,
) -> None:
    """out[i] ← Σ_j W_ij public[j] for the agents i in `rows`, all replicates by the same W."""
    for k in range(rows.size):
        target = out[rows[k]]
        target[:] = 0.0
        for e in range(indptr[k], indptr[k + 1]):
            weight = data[e]
            heard = public[indices[e]]
            for m in range(target.size):
                target[m] += weight * heard[m]


@njit(cache=True, nogil=True)
def pool_phases(
    which: IntArray,
    begin: IntArray,
    rows: IntArray,
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    public: FloatArray,
    out: FloatArray,
) -> None:
    """The same with replicate r in phase which[r], whose rows are begin[phase] to the next."""
    columns = public.shape[2]
    for r in range(which.size):
        phase = which[r]
        for k in range(begin[phase], begin[phase + 1]):
            target = out[rows[k], r]
            target[:] = 0.0
            for e in range(indptr[k], indptr[k + 1]):
                weight = data[e]
                heard = public[indices[e], r]
                for m in range(columns):
                    target[m] += weight * heard[m]


@njit(cache=True, nogil=True)
def next_phases(which: IntArray, uniforms: FloatArray, cumulative: FloatArray) -> None:
    """Move each replicate's chain: to the first phase whose cumulative probability exceeds u."""
    for r in range(which.size):
        row = cumulative[which[r]]
        which[r] = min(np.searchsorted(row, uniforms[r], side="right"), row.size - 1)


@njit(cache=True, nogil=True)
def pool_links(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    own: FloatArray,
    draw: IntArray,
    up: Mask,
    renormalise: bool,
    public: FloatArray,
    out: FloatArray,
) -> None:
    """Link e works in replicate r if up[draw[e], r].

    Lost weight stays with the agent itself, or is shared out in proportion over all that it did
    hear, itself included.
    """
    agents, replicates, columns = public.shape
    for i in range(agents):
        for r in range(replicates):
            target = out[i, r]
            mine = public[i, r]
            target[:] = 0.0
            heard_weight = 0.0
            lost_weight = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                if up[draw[e], r]:
                    weight = data[e]
                    heard_weight += weight
                    heard = public[indices[e], r]
                    for m in range(columns):
                        target[m] += weight * heard[m]
                else:
                    lost_weight += data[e]
            if renormalise and heard_weight + own[i] > 0.0:
                total = heard_weight + own[i]
                for m in range(columns):
                    target[m] = (target[m] + own[i] * mine[m]) / total
            else:
                kept = own[i] + lost_weight
                for m in range(columns):
                    target[m] += kept * mine[m]


@njit(cache=True, nogil=True)
def pool_last(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    own: FloatArray,
    draw: IntArray,
    up: Mask,
    memory: FloatArray,
    public: FloatArray,
    out: FloatArray,
) -> None:
    """As `pool_links`, with memory[e], shape (E, R, C): what was last heard over each link."""
    agents, replicates, columns = public.shape
    for i in range(agents):
        for r in range(replicates):
            target = out[i, r]
            mine = public[i, r]
            for m in range(columns):
                target[m] = own[i] * mine[m]
            for e in range(indptr[i], indptr[i + 1]):
                held = memory[e, r]
                if up[draw[e], r]:
                    heard = public[indices[e], r]
                    for m in range(columns):
                        held[m] = heard[m]
                weight = data[e]
                for m in range(columns):
                    target[m] += weight * held[m]


@njit(cache=True, nogil=True)
def pool_present(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    own: FloatArray,
    present: Mask,
    public: FloatArray,
    out: FloatArray,
) -> None:
    """Agent i pools in replicate r if present[i, r]; the weight of absent ones stays with it."""
    agents, replicates, columns = public.shape
    for i in range(agents):
        for r in range(replicates):
            target = out[i, r]
            mine = public[i, r]
            if not present[i, r]:
                for m in range(columns):
                    target[m] = mine[m]
                continue
            target[:] = 0.0
            kept = own[i]
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                if present[j, r]:
                    weight = data[e]
                    heard = public[j, r]
                    for m in range(columns):
                        target[m] += weight * heard[m]
                else:
                    kept += data[e]
            for m in range(columns):
                target[m] += kept * mine[m]


@njit(cache=True, nogil=True)
def pool_delayed(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    delays: IntArray,
    now: int,
    history: FloatArray,
    out: FloatArray,
) -> None:
    """out[i] ← Σ_j W_ij history[now − delay_ij][j]; `history` is a ring, shape (D, N, R·C)."""
    depth = history.shape[0]
    for i in range(out.shape[0]):
        target = out[i]
        target[:] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            weight = data[e]
            heard = history[(now - delays[e]) % depth, indices[e]]
            for m in range(target.size):
                target[m] += weight * heard[m]
