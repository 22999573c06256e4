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

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from theory.network.stationary import (
    DENSE_AGENTS,
    MOST_WORK,
    QUICK_WORK,
    elimination_work,
    factorise,
)
from theory.network.structure import EPS, Weights, as_dense, breadth_first_depth, off_diagonal
from theory.progress import Progress, part_of
from theory.scientific import sparse, sparse_linalg
from theory.validation import FloatArray

# Where the gap is known to be smaller, I − S is factorised if its factors are small; Lanczos on S
# would need thousands of steps. Otherwise it needs hundreds.
_SLOW_GAP = 1e-2
# Operations of Lanczos iteration for each agent, times the root of the gap; generous, as factors
# mostly take less than they are bounded by.
_LANCZOS_WORK = 6e4
# So many agents are iterated where they may be, although all eigenvalues could be computed.
_ITERATED = 1000
_MOST_STEPS = 6000
# Steps between two looks at what was found; later an eighth of all.
_CHECKED = 8
# Of a W that is not reversible: vectors, restarts, and agents times vectors and times restarts,
# which take some seconds and a second.
_VECTORS, _RESTARTS = 60, 100
_FEWEST_VECTORS, _FEWEST_RESTARTS = 20, 3
_MOST_HELD, _MOST_RESTARTED = 20_000_000, 500_000

# Of the residual. The error of an eigenvalue of a symmetric matrix is of its square.
_TOLERANCE = 1e-9

# Of an eigenvalue of a symmetric matrix of norm 1, by LAPACK or from the factors of I − S.
ROUNDING = 64 * EPS

_NAN = float("nan")

# Where iteration starts; fixed, so that the same network always gives the same digits.
_START_SEED = 20


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The two numbers of this module; 0 and nan for a single agent, nan where `note` says so.

    Attributes
    ----------
    slem, second_eigenvalue
        Floating-point estimates.
    slem_error
        How far the computed slem of a reversible W may be off; nan for other W.
    slow_mode
        Shape (N,): an eigenvector Wh = λh to the second eigenvalue, found along the way if W is
        sparse and reversible; else None.
    note
        Which of the two is nan because the iteration for it did not converge, above 2000 agents;
        else empty.
    """

    slem: float
    second_eigenvalue: float
    slem_error: float = float("nan")
    slow_mode: FloatArray | None = None
    note: str = ""


@dataclass(frozen=True, eq=False)
class _Eigenpair:
    value: float
    vector: FloatArray


def spectrum(
    weights: Weights, stationary: FloatArray, *, reversible: bool, progress: Progress | None = None
) -> Spectrum:
    """The subdominant modulus and the second eigenvalue; floating-point estimates.

    Parameters
    ----------
    weights
        W, shape (N, N), stochastic, irreducible and aperiodic.
    stationary
        v, shape (N,).
    reversible
        Whether W is reversible.
    progress
        Called with (done, total) while eigenvalues are iterated.
    """
    agents = weights.shape[0]
    if agents == 1:
        return Spectrum(0.0, float("nan"), slem_error=0.0)
    if reversible and _ITERATED < agents <= DENSE_AGENTS and not isinstance(weights, np.ndarray):
        found = _sparse_reversible(weights, stationary, progress)
        if not found.note:
            return found
    if agents > DENSE_AGENTS:
        matrix = sparse.csr_array(weights)
        if reversible:
            return _sparse_reversible(matrix, stationary, progress)
        return _sparse_general(matrix, stationary, progress)
    dense = as_dense(weights)
    if reversible:
        root = np.sqrt(dense)
        others = np.linalg.eigvalsh(root * root.T)[:-1]
    else:
        values = np.linalg.eigvals(dense)
        # Exactly one eigenvalue is 1. Others may be as near as 1e-12 and must stay.
        others = np.delete(values, np.argmin(np.abs(values - 1.0)))
    slem_error = ROUNDING if reversible else float("nan")
    return Spectrum(float(np.abs(others).max()), float(others.real.max()), slem_error)


def symmetrised(weights: sparse.csr_array[np.float64]) -> sparse.csr_array[np.float64]:
    """D^½ W D^−½ of a reversible W, D = diag(v): entries √(W_ij W_ji), so that v is not needed."""
    root = weights.sqrt()
    return sparse.csr_array(root.multiply(root.T))


def _sparse_reversible(
    weights: sparse.csr_array[np.float64], stationary: FloatArray, progress: Progress | None
) -> Spectrum:
    S = symmetrised(weights)
    perron = np.sqrt(stationary)
    gap, work = _gap_bound(weights, stationary), elimination_work(S)
    worth = max(QUICK_WORK, _LANCZOS_WORK * len(perron) / max(math.sqrt(gap), EPS))
    top = inverted = None
    if gap < _SLOW_GAP and work <= min(worth, MOST_WORK):
        top = inverted = _by_inversion(S, perron)
    else:
        top = _largest_but_perron(S, perron, part_of(progress, 0, 2))
        if top is None and work <= MOST_WORK:
            top = inverted = _by_inversion(S, perron)
    if top is None:
        return Spectrum(_NAN, _NAN, note=_unconverged("the second eigenvalue and the modulus"))
    mode = top.vector / perron
    slem = abs(top.value)
    # Gershgorin: no eigenvalue lies below 2 min W_ii − 1.
    if 2.0 * weights.diagonal().min() - 1.0 < -slem:
        bottom = _largest_but_perron(-S, perron, part_of(progress, 1, 2))
        if bottom is None:
            note = _unconverged("the subdominant modulus")
            return Spectrum(_NAN, top.value, slow_mode=mode, note=note)
        slem = max(slem, abs(bottom.value))
    # Factors give the gap to a relative tolerance, plain iteration to an absolute one.
    of_gap = inverted is not None and slem == top.value
    error = ROUNDING + 2 * _TOLERANCE * (1.0 - slem if of_gap else 1.0)
    return Spectrum(slem, top.value, slem_error=error, slow_mode=mode)


def _unconverged(what: str) -> str:
    return f"{what}: iteration does not converge for so many agents"


def _gap_bound(weights: sparse.csr_array[np.float64], stationary: FloatArray) -> float:
    """An upper bound on 1 − λ₂: the Rayleigh quotient of the distance from agent 0."""
    distance = breadth_first_depth(weights).astype(np.float64)
    links = off_diagonal(weights)
    flow = stationary[links.row] * links.weight
    energy = 0.5 * flow @ (distance[links.row] - distance[links.column]) ** 2
    return float(energy / (stationary @ (distance - stationary @ distance) ** 2))


def _largest_but_perron(
    S: sparse.csr_array[np.float64], perron: FloatArray, progress: Progress | None
) -> _Eigenpair | None:
    """The largest eigenvalue of the symmetric S on the complement of its Perron vector.

    None if the iteration does not converge.
    """
    # Shifted by one, so that the deflated direction, eigenvalue 0, lies below the rest.
    found = _largest(lambda x: x + S @ x, perron, progress)
    return None if found is None else _Eigenpair(found.value - 1.0, found.vector)


def _by_inversion(S: sparse.csr_array[np.float64], perron: FloatArray) -> _Eigenpair | None:
    """The same from the factors of I − S, to a relative tolerance of its distance from 1."""
    # 1 − S is singular along the Perron vector alone, which is projected out; the shift keeps
    # the factors finite and is far below any gap that float64 resolves.
    shift = 1e-13
    factors = factorise(sparse.csc_array((1.0 + shift) * sparse.eye_array(len(perron)) - S))
    found = _largest(factors.solve, perron, None)
    return None if found is None else _Eigenpair(1.0 + shift - 1.0 / found.value, found.vector)


def _largest(
    product: Callable[[FloatArray], FloatArray], perron: FloatArray, progress: Progress | None
) -> _Eigenpair | None:
    """The largest eigenvalue of a symmetric operator but for a vector, by Lanczos iteration.

    Three vectors are held at a time, and none made orthogonal again: what is largest is then found
    more than once, and no less accurately (Paige, 1980).
    """

    def vectors(diagonal: list[float], beside: list[float]) -> Iterator[FloatArray]:
        """The Lanczos vectors, and the entries of the tridiagonal matrix on the way."""
        new, before, norm = _start(len(perron)), perron, 0.0
        while True:
            new -= perron * (perron @ new)
            vector = new / (np.linalg.norm(new) or 1.0)
            yield vector
            new = product(vector) - norm * before
            new -= perron * (perron @ new)
            diagonal.append(float(vector @ new))
            new -= diagonal[-1] * vector
            norm, before = float(np.linalg.norm(new)), vector
            beside.append(norm)

    from scipy.linalg import eigh_tridiagonal

    diagonal: list[float] = []
    beside: list[float] = []
    look = _CHECKED
    for _ in islice(vectors(diagonal, beside), _MOST_STEPS + 1):
        steps = len(diagonal)
        if steps < look and (not steps or beside[-1] > EPS):
            continue
        look = steps + max(_CHECKED, steps // _CHECKED)
        if progress is not None:
            progress(steps, _MOST_STEPS)
        values, shares = eigh_tridiagonal(
            diagonal, beside[:-1], select="i", select_range=(steps - 1, steps - 1)
        )
        value, share = float(values[0]), shares[:, 0]
        if abs(beside[-1] * share[-1]) <= _TOLERANCE * max(1.0, abs(value)):
            found = np.zeros(len(perron))
            for part, vector in zip(share.tolist(), vectors([], []), strict=False):
                found += part * vector
            return _Eigenpair(value, found / np.linalg.norm(found))
    return None


def _sparse_general(
    weights: sparse.csr_array[np.float64], stationary: FloatArray, progress: Progress | None
) -> Spectrum:
    agents = weights.shape[0]
    restarts = min(_RESTARTS, max(_FEWEST_RESTARTS, _MOST_RESTARTED // agents))
    vectors = min(_VECTORS, max(_FEWEST_VECTORS, _MOST_HELD // agents))

    def extreme(which: Literal["LM", "LR"], progress: Progress | None) -> NDArray[np.complex128]:
        counter = count(1)

        def deflated(vector: FloatArray) -> FloatArray:
            # W − 1vᵀ has the eigenvalues of W, with 0 in place of one eigenvalue 1.
            if progress is not None:
                progress(min(next(counter), restarts * vectors), restarts * vectors)
            return np.asarray(weights @ vector - stationary @ vector)

        try:
            # Two, because complex eigenvalues come in pairs.
            return sparse_linalg.eigs(
                sparse_linalg.LinearOperator(weights.shape, matvec=deflated, dtype=np.float64),
                k=2,
                which=which,
                v0=_start(agents),
                ncv=vectors,
                maxiter=restarts,
                tol=_TOLERANCE,
                return_eigenvectors=False,
            )
        except sparse_linalg.ArpackNoConvergence:
            return np.array([_NAN + 0j])

    slem = float(np.abs(extreme("LM", part_of(progress, 0, 2))).max())
    second = float(extreme("LR", part_of(progress, 1, 2)).real.max())
    missing = [
        name
        for name, value in (("the subdominant modulus", slem), ("the second eigenvalue", second))
        if np.isnan(value)
    ]
    note = _unconverged(" and ".join(missing)) if missing else ""
    return Spectrum(slem, second, note=note)


def _start(agents: int) -> FloatArray:
    return np.random.default_rng(_START_SEED).standard_normal(agents)
