"""The eigenvalues of W next to 1: how fast the network forgets who said what.

The *subdominant modulus* (slem) is the largest modulus among the eigenvalues that remain when one
eigenvalue 1 is taken away; [W^k]_ij − v_j shrinks like slem^k in the long run. The *second
eigenvalue* is the largest real part among them, which is what the papers call λ_max.

Both are floating-point estimates. For reversible W they are good to a few rounding errors,
because W is similar to a symmetric matrix. For a W that is far from normal they can be wrong in
every digit: the chain that goes from i to i + 1 or back to 0 has no eigenvalue but 1 and 0, and
with N = 100 agents the computed modulus is .68. A k-fold defective eigenvalue keeps one k-th of
the digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from theory.network.stationary import DENSE_AGENTS, factorise
from theory.network.structure import EPS, Weights, as_dense, breadth_first_depth, off_diagonal
from theory.validation import FloatArray, fail

# Where the gap is known to be smaller, I − S is factorised; Lanczos on S would need thousands
# of steps. Otherwise it needs hundreds, and S may be a graph whose factors would fill memory.
_SLOW_GAP = 1e-2
_FACTOR_AGENTS = 20_000
_RESTARTS = 100
_VECTORS = 60

# Of the residual. The error of an eigenvalue of a symmetric matrix is of its square.
_TOLERANCE = 1e-9

# Of an eigenvalue of a symmetric matrix of norm 1, by LAPACK or from the factors of I − S.
_ROUNDING = 64 * EPS

# Where ARPACK starts; fixed, so that the same network always gives the same digits.
_START_SEED = 20


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The two numbers of this module; 0 and nan for a single agent.

    Attributes
    ----------
    slem, second_eigenvalue
        Floating-point estimates.
    slem_error
        How far the computed slem of a reversible W may be off; nan for other W.
    slow_mode
        Shape (N,): an eigenvector Wh = λh to the second eigenvalue, found along the way if W is
        sparse and reversible; else None.
    """

    slem: float
    second_eigenvalue: float
    slem_error: float = float("nan")
    slow_mode: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class _Eigenpair:
    value: float
    vector: FloatArray


def spectrum(weights: Weights, stationary: FloatArray, *, reversible: bool) -> Spectrum:
    """The subdominant modulus and the second eigenvalue; floating-point estimates.

    Parameters
    ----------
    weights
        W, shape (N, N), stochastic, irreducible and aperiodic.
    stationary
        v, shape (N,).
    reversible
        Whether W is reversible.

    Raises
    ------
    ValueError
        If W has more than 2000 agents and the iteration for its eigenvalues does not converge.
    """
    agents = weights.shape[0]
    if agents == 1:
        return Spectrum(0.0, float("nan"), slem_error=0.0)
    if agents > DENSE_AGENTS:
        matrix = sparse.csr_array(weights)
        try:
            if reversible:
                return _sparse_reversible(symmetrised(matrix), matrix, stationary)
            return _sparse_general(matrix, stationary)
        except sparse_linalg.ArpackNoConvergence as error:
            raise fail(
                "weights",
                "a network whose second eigenvalue can be found by iteration",
                f"no convergence for {agents} agents ({str(error).splitlines()[0]})",
                "use a smaller network of the same kind, or one that mixes faster",
            ) from None
    dense = as_dense(weights)
    if reversible:
        others = np.linalg.eigvalsh(symmetrised(sparse.csr_array(dense)).toarray())[:-1]
    else:
        values = np.linalg.eigvals(dense)
        # Exactly one eigenvalue is 1. Others may be as near as 1e-12 and must stay.
        others = np.delete(values, np.argmin(np.abs(values - 1.0)))
    slem_error = _ROUNDING if reversible else float("nan")
    return Spectrum(float(np.abs(others).max()), float(others.real.max()), slem_error)


def symmetrised(weights: sparse.csr_array[np.float64]) -> sparse.csr_array[np.float64]:
    """D^½ W D^−½ of a reversible W, D = diag(v): entries √(W_ij W_ji), so that v is not needed."""
    root = weights.sqrt()
    return sparse.csr_array(root.multiply(root.T))


def _sparse_reversible(
    S: sparse.csr_array[np.float64],
    weights: sparse.csr_array[np.float64],
    stationary: FloatArray,
) -> Spectrum:
    perron = np.sqrt(stationary)
    slow = _gap_bound(weights, stationary) < _SLOW_GAP
    top = _largest_but_perron(S, perron, invert=slow)
    mode = top.vector / perron
    slem = abs(top.value)
    # Gershgorin: no eigenvalue lies below 2 min W_ii − 1.
    if 2.0 * weights.diagonal().min() - 1.0 < -slem:
        slem = max(slem, abs(_largest_but_perron(-S, perron, invert=False).value))
    # Factors give the gap to a relative tolerance, plain iteration to an absolute one.
    inverted = slow and slem == top.value
    error = _ROUNDING + 2 * _TOLERANCE * (1.0 - slem if inverted else 1.0)
    return Spectrum(slem, top.value, slem_error=error, slow_mode=mode)


def _gap_bound(weights: sparse.csr_array[np.float64], stationary: FloatArray) -> float:
    """An upper bound on 1 − λ₂: the Rayleigh quotient of the distance from agent 0."""
    distance = breadth_first_depth(weights).astype(np.float64)
    links = off_diagonal(weights)
    flow = stationary[links.row] * links.weight
    energy = 0.5 * flow @ (distance[links.row] - distance[links.column]) ** 2
    return float(energy / (stationary @ (distance - stationary @ distance) ** 2))


def _largest_but_perron(
    S: sparse.csr_array[np.float64], perron: FloatArray, *, invert: bool
) -> _Eigenpair:
    """The largest eigenvalue of the symmetric S on the complement of its Perron vector."""

    def deflated(vector: FloatArray) -> FloatArray:
        return np.asarray(vector - perron * (perron @ vector))

    if not invert:
        try:
            # Shifted by one, so that the deflated direction, eigenvalue 0, lies below the rest.
            shifted = _largest(lambda x: deflated(x + S @ x), deflated(_start(len(perron))))
            return _Eigenpair(shifted.value - 1.0, shifted.vector)
        except sparse_linalg.ArpackNoConvergence:
            if len(perron) > _FACTOR_AGENTS:
                raise
    # 1 − S is singular along the Perron vector alone, which is projected out; the shift keeps
    # the factors finite and is far below any gap that float64 resolves.
    shift = 1e-13
    system = sparse.csc_array((1.0 + shift) * sparse.eye_array(len(perron)) - S)
    factors = factorise(system)
    inverse = _largest(lambda x: deflated(factors.solve(x)), deflated(_start(len(perron))))
    return _Eigenpair(1.0 + shift - 1.0 / inverse.value, inverse.vector)


def _largest(product: Callable[[FloatArray], FloatArray], start: FloatArray) -> _Eigenpair:
    """The largest eigenvalue of a symmetric operator, by Lanczos iteration."""
    operator = sparse_linalg.LinearOperator(
        (len(start), len(start)), matvec=product, dtype=np.float64
    )
    found = sparse_linalg.eigsh(
        operator,
        k=1,
        which="LA",
        v0=start,
        maxiter=_RESTARTS,
        tol=_TOLERANCE,
    )
    return _Eigenpair(float(found[0][0]), found[1][:, 0])


def _sparse_general(weights: sparse.csr_array[np.float64], stationary: FloatArray) -> Spectrum:
    # W − 1vᵀ has the eigenvalues of W, with 0 in place of one eigenvalue 1.
    deflated = sparse_linalg.LinearOperator(
        weights.shape, matvec=lambda x: weights @ x - stationary @ x, dtype=np.float64
    )
    start = _start(weights.shape[0])

    def extreme(which: Literal["LM", "LR"]) -> NDArray[np.complex128]:
        # Two, because complex eigenvalues come in pairs.
        return sparse_linalg.eigs(
            deflated,
            k=2,
            which=which,
            v0=start,
            ncv=_VECTORS,
            maxiter=_RESTARTS,
            tol=_TOLERANCE,
            return_eigenvectors=False,
        )

    return Spectrum(float(np.abs(extreme("LM")).max()), float(extreme("LR").real.max()))


def _start(agents: int) -> FloatArray:
    return np.random.default_rng(_START_SEED).standard_normal(agents)
