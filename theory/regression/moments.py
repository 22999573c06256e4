"""Second and fourth moments of an agent's inputs, under the three laws an agent may have.

========================  =====================================================================
uniform                   independent coordinates, each uniform on its range; a range of width
                          zero is a constant (a bias of 1, or 0 for what the agent never sees)
normal                    mean zero, any second moment
data                      rows of a table, drawn with replacement
========================  =====================================================================

The fourth moment is used as the linear map M ↦ E x xᵀ M x xᵀ on symmetric matrices, so that no
array with four axes is ever built; M may be a stack of them, shape (..., d, d).
"""

from __future__ import annotations

import numpy as np

from theory.validation import FloatArray


def symmetric(matrix: FloatArray) -> FloatArray:
    """The symmetric part over the last two axes."""
    return np.asarray((matrix + matrix.swapaxes(-1, -2)) / 2)


def root_of(moment: FloatArray) -> FloatArray:
    """A root R of a positive semidefinite matrix, R Rᵀ, that turns white noise into inputs.

    Where coordinates have units beyond a million apart they are scaled first, by powers of two:
    rounding of the large ones would drown the small ones.
    """
    diagonal = np.diagonal(moment)
    unit = np.ldexp(1.0, np.frexp(np.where(diagonal > 0, diagonal, 1.0))[1] // 2)
    if unit.max() <= 2.0**20 * unit.min():
        unit = np.ones_like(unit)
    values, vectors = np.linalg.eigh(moment / unit / unit[:, None])
    return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def uniform_second_moment(ranges: FloatArray) -> FloatArray:
    """E x xᵀ, shape (d, d), of independent coordinates uniform on `ranges`, shape (d, 2).

    Examples
    --------
    >>> uniform_second_moment(np.array([[1.0, 1.0], [-1.5, 1.5]])).tolist()
    [[1.0, 0.0], [0.0, 0.75]]
    """
    low, high = np.asarray(ranges, dtype=np.float64).T
    centre = (low + high) / 2
    return np.asarray(np.outer(centre, centre) + np.diag((high - low) ** 2 / 12))


def uniform_fourth_moment(ranges: FloatArray, matrix: FloatArray) -> FloatArray:
    """E x xᵀ M x xᵀ for independent uniform coordinates and symmetric M (docs: regression).

    With x = c + u, where u has variances w and fourth moments q, this is
    (cᵀMc + τ)(c cᵀ + diag w) + 2(c gᵀ + g cᵀ) + 2 (w wᵀ) ∘ M + diag(M_aa (q_a − 3w_a²))
    with g = w ∘ Mc and τ = Σ_a M_aa w_a.
    """
    low, high = ranges.T
    c, half = (low + high) / 2, (high - low) / 2
    w = half**2 / 3
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    image = matrix @ c
    level = np.asarray(image @ c + diagonal @ w)
    cross = c[:, None] * (w * image)[..., None, :]
    result = level[..., None, None] * (np.outer(c, c) + np.diag(w))
    result = result + 2 * (cross + cross.swapaxes(-1, -2)) + 2 * np.outer(w, w) * matrix
    here = np.arange(w.size)
    # q − 3w² = h⁴/5 − h⁴/3.
    result[..., here, here] -= diagonal * half**4 * 2 / 15
    return symmetric(result)


def normal_fourth_moment(second_moment: FloatArray, matrix: FloatArray) -> FloatArray:
    """E x xᵀ M x xᵀ = 2 S M S + tr(S M) S for normal x of mean zero and symmetric M."""
    S = second_moment
    trace = (S * matrix).sum(axis=(-2, -1))
    return symmetric(2 * S @ matrix @ S + trace[..., None, None] * S)


def data_fourth_moment(inputs: FloatArray, matrix: FloatArray) -> FloatArray:
    """The average of x xᵀ M x xᵀ over the rows x of `inputs`, shape (m, d)."""
    lengths = ((inputs @ matrix) * inputs).sum(axis=-1)
    return symmetric((inputs.T * lengths[..., None, :]) @ inputs / len(inputs))
