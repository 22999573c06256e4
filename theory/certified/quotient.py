"""W without its eigenvalue 1, exactly: what it does to differences.

Rows of W − 1·e_0W sum to zero, so (Wf)_i − (Wf)_0 = Σ_{j≥1} (W_ij − W_0j)(f_j − f_0): the
differences to agent 0 are mapped by the (N−1)×(N−1) matrix C_ij = W_ij − W_0j. Its eigenvalues
are those of W with one 1 taken away, with multiplicities and Jordan blocks, and C is as rational
as W is: nothing is rounded, whatever v is. (docs: mathematics/certified)
"""

from __future__ import annotations

import flint

from theory.rational import RationalNetwork


def difference_matrix(network: RationalNetwork) -> flint.fmpq_mat:
    """C, shape (N−1, N−1)."""
    table = network.matrix.table()
    first = table[0][1:]
    size = len(first)
    matrix = flint.fmpq_mat(size, size)
    for i in range(size):
        row = table[i + 1]
        for j in range(size):
            matrix[i, j] = row[j + 1] - first[j]
    return matrix
