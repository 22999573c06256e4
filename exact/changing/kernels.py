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
    total = np.empty(replicates)
    for i in range(agents):
        for r in range(replicates):
            total[r] = own[i]
            for m in range(columns):
                out[i, r, m] = own[i] * public[i, r, m]
        for e in range(indptr[i], indptr[i + 1]):
            weight, j = data[e], indices[e]
            for r in range(replicates):
                works = up[draw[e], r]
                if works or not renormalise:
                    total[r] += weight
                    source = j if works else i
                    for m in range(columns):
                        out[i, r, m] += weight * public[source, r, m]
        if renormalise:
            for r in range(replicates):
                for m in range(columns):
                    if total[r] > 0.0:
                        out[i, r, m] /= total[r]
                    else:
                        out[i, r, m] = public[i, r, m]


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
            for m in range(columns):
                out[i, r, m] = own[i] * public[i, r, m]
        for e in range(indptr[i], indptr[i + 1]):
            weight, j = data[e], indices[e]
            for r in range(replicates):
                if up[draw[e], r]:
                    for m in range(columns):
                        memory[e, r, m] = public[j, r, m]
                for m in range(columns):
                    out[i, r, m] += weight * memory[e, r, m]


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
            weight = own[i] if present[i, r] else 1.0
            for m in range(columns):
                out[i, r, m] = weight * public[i, r, m]
        for e in range(indptr[i], indptr[i + 1]):
            weight, j = data[e], indices[e]
            for r in range(replicates):
                if present[i, r]:
                    source = j if present[j, r] else i
                    for m in range(columns):
                        out[i, r, m] += weight * public[source, r, m]


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
