"""Many hypotheses, few kinds of evidence: carrying fewer columns than hypotheses.

All that a round adds to a row of log-ratios is one of S table rows, and W only averages rows. So
every state lies in the span of those rows and of the prior's, of dimension r at most. If r is
below the number C of columns, rows are written in an orthonormal basis V of that span, shape
(r, C): the run carries r coordinates in place of C log-ratios, and Λ = coordinates · V is formed
at recorded rounds alone. Nothing is approximated: the basis is the Q of a QR decomposition of as
many vectors as there are rows, and no rank is decided. Where one hypothesis is so far off that
its columns' rounding would drown the others', nothing is rewritten.

A thousand hypotheses about a die cost as much as six.
"""

from __future__ import annotations

import numpy as np

from exact.sampling import ObservationTable, kind_rows, ratios
from theory import FiniteModel
from theory.validation import FloatArray

# Below this share of the columns the change of basis pays for itself at the recorded rounds.
WORTHWHILE = 0.75
# Coordinates round as the largest columns do. Columns smaller by this factor would lose so many
# digits to them: they are carried as they are.
_UNEVEN = 1e6


def evidence_basis(model: FiniteModel, *, best: int) -> FloatArray | None:
    """An orthonormal basis, shape (r, M − 1), of all log-ratios against `best`; None if not fewer.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> table = np.log(np.random.default_rng(0).dirichlet([1, 1], size=50))
    >>> coin = FiniteAgent([0.5, 0.5], table)
    >>> model = FiniteModel.from_agents([f"bias {m}" for m in range(50)], [coin])
    >>> evidence_basis(model, best=0).shape
    (2, 49)
    """
    parts = [ratios(model.log_priors, best)]
    for _, offsets, slopes in kind_rows(model):
        parts += [ratios(offsets, best), ratios(slopes, best).reshape(-1, offsets.shape[1] - 1)]
    columns = parts[0].shape[1]
    if sum(len(part) for part in parts[1::2]) > WORTHWHILE * columns:
        return None
    rows = np.concatenate(parts)
    rows = np.unique(rows[rows.any(axis=1)], axis=0)
    if not 0 < len(rows) <= WORTHWHILE * columns:
        return None
    sizes = np.abs(rows).max(axis=0)
    if sizes.max() > _UNEVEN * sizes[sizes > 0].min():
        return None
    return np.ascontiguousarray(np.linalg.qr(rows.T).Q.T)


def round_scale(
    table: ObservationTable, prior: FloatArray, *, best: int, basis: FloatArray | None
) -> FloatArray:
    """The largest size of Λ(best, θ) that a round can add, or the prior holds; shape (M,).

    In the columns of each hypothesis, zero for `best`. Where a basis mixes the columns, so that an
    entry is a sum of r products of coordinates with numbers below one, they share what is largest.

    Parameters
    ----------
    prior
        Log-odds of `best` against the others, shape (K, M − 1).
    """
    sizes = np.abs(prior).max(axis=0)
    if basis is None:
        sizes = sizes + table.largest
    else:
        sizes = np.full(sizes.size, (len(basis) + 1) * float(sizes.max() + table.largest.max()))
    return np.insert(sizes, best, 0.0)
