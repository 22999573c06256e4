"""The subdominant modulus and the second eigenvalue, in intervals that contain them.

Both are of the N−1 eigenvalues that remain when one eigenvalue 1 is taken away: the largest
modulus (slem) and the largest real part. Four routes, each true for what it is applied to; the
first that is as narrow as asked is taken, and the narrowest if none is.

``symmetric-discs``
    Reversible W: A = D^½WD^−½ − √v√vᵀ, D = diag(v), is symmetric, and has eigenvalue 0 where W
    has 1. Discs of A in a basis of its eigenvectors; no condition enters.
``discs``
    Any W: discs of the difference matrix C (theory.certified.quotient) in a basis of its
    eigenvectors. Narrow if C is diagonalisable with eigenvectors that are not too oblique.
``characteristic-polynomial``
    Any W: the polynomial of C in whole numbers, and its roots, isolated with multiplicities.
    Zero eigenvalues and Jordan blocks are decided. The cost grows with N, with the digits of the
    weights, and where many roots almost coincide.
``trace-and-norm``
    Any W, wide: |tr C^k|/(N−1) ≤ slem^k ≤ ‖C^k‖_∞, k = 2^m, by repeated squaring.

(docs: mathematics/certified)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from theory.certified.eigenbasis import (
    Eigenbasis,
    eigenbasis,
    first_basis,
    improved_vectors,
    is_narrow,
    stationary_to_bits,
)
from theory.numbers import precision
from theory.rational import RationalNetwork

# W without its eigenvalue 1, exactly -------------------------------------------------------------


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


# The subdominant modulus and the second eigenvalue, in intervals that contain them ---------------


SYMMETRIC_DISCS = "symmetric-discs"
DISCS = "discs"
POLYNOMIAL = "characteristic-polynomial"
TRACE_AND_NORM = "trace-and-norm"

# Precisions at which discs are tried, each with a better basis.
_DISC_BITS = (128, 128, 128, 256, 256, 512)
# And more steps where eigenvalues nearly meet: each step takes one scale of them apart.
_MORE_STEPS = 5

# Bits of an exact polynomial's coefficients, N times those of the common denominator: 20 000
# take seconds; a cluster of a hundred roots then takes a minute.
_POLYNOMIAL_BITS = 30_000
_ROOT_BITS = (64, 256, 1024)

# C^k is followed to k = 2^40, and given up when squaring no longer narrows the bracket.
_SQUARINGS = 40
_SQUARING_BITS = 512


@dataclass(frozen=True, eq=False)
class CertifiedSpectrum:
    """Balls around the two numbers.

    Attributes
    ----------
    slem, second_eigenvalue
        Each contains the truth.
    slem_method, second_method
        The route, as in the module's list; "one-agent" if there are no other eigenvalues.
    bits
        The highest precision used.
    """

    slem: flint.arb
    second_eigenvalue: flint.arb
    slem_method: str
    second_method: str
    bits: int


@dataclass(frozen=True, eq=False)
class _Found:
    slem: flint.arb
    second: flint.arb
    method: str
    bits: int


def certified_spectrum(
    network: RationalNetwork, *, reversible: bool, relative_width: float
) -> CertifiedSpectrum:
    """Both numbers to the relative width asked for, or as narrow as the routes allow.

    Parameters
    ----------
    network
        W.
    reversible
        Whether W is reversible, as `RationalNetwork.is_reversible` decides it.
    relative_width
        Of the intervals; a second eigenvalue of exactly zero has it only if zero is decided.
    """
    if network.agents == 1:
        return CertifiedSpectrum(flint.arb(0), flint.arb("nan"), "one-agent", "one-agent", 53)
    best: list[_Found] = []
    for found in _routes(network, reversible=reversible):
        best.append(found)
        slem = min(best, key=lambda f: _spread(f.slem))
        second = min(best, key=lambda f: _spread(f.second))
        if is_narrow(slem.slem, relative_width) and is_narrow(second.second, relative_width):
            break
    return CertifiedSpectrum(
        slem.slem, second.second, slem.method, second.method, max(f.bits for f in best)
    )


def _spread(ball: flint.arb) -> float:
    radius = float(ball.rad())
    return math.inf if math.isnan(radius) or not ball.is_finite() else radius


def _routes(network: RationalNetwork, *, reversible: bool) -> Iterator[_Found]:
    difference = difference_matrix(network)
    if all(entry == 0 for entry in difference.entries()):
        # Every row of W is v.
        yield _Found(flint.arb(0), flint.arb(0), POLYNOMIAL, 53)
        return
    known_zeros = 1 if reversible else 0
    method = SYMMETRIC_DISCS if reversible else DISCS
    for basis in refined_bases(network, difference, reversible=reversible):
        yield disc_bounds(basis, known_zeros=known_zeros, method=method)
    _, denominator = difference.numer_denom()
    if network.agents * max(int(denominator).bit_length(), 8) <= _POLYNOMIAL_BITS:
        yield from polynomial_bounds(difference)
    yield trace_and_norm(difference)


def refined_bases(
    network: RationalNetwork, difference: flint.fmpq_mat, *, reversible: bool, extra_bits: int = 0
) -> Iterator[Eigenbasis]:
    """Eigenbases with smaller and smaller discs; ends when they stop shrinking.

    Of D^½WD^−½ − √v√vᵀ if W is reversible, else of the difference matrix. Eigenvalues within
    2^-extra_bits of one another, or of 1, want as many bits more.
    """
    basis: Eigenbasis | None = None
    matrix: Any = None
    before = flint.arb("inf")
    last_bits = 0
    first = _DISC_BITS[:1] * _MORE_STEPS if extra_bits else ()
    for bits in (several + extra_bits for several in first + _DISC_BITS):
        try:
            if bits != last_bits:
                if reversible:
                    matrix = symmetrised(network, bits)
                else:
                    with precision(bits):
                        matrix = flint.acb_mat(flint.arb_mat(difference))
            if basis is None:
                vectors = first_basis(matrix, symmetric=reversible)
            else:
                vectors = improved_vectors(basis, bits=bits, symmetric=reversible)
            basis = eigenbasis(matrix, vectors, bits=bits)
        except (ZeroDivisionError, np.linalg.LinAlgError):
            return
        widest = _greatest(list(basis.radii))
        if not widest.is_finite() or (bits == last_bits and not widest < before):
            return
        before, last_bits = widest, bits
        yield basis


def symmetrised(network: RationalNetwork, bits: int) -> flint.arb_mat:
    """D^½WD^−½ − √v√vᵀ of a reversible W, D = diag(v), shape (N, N); entries √(W_ij W_ji) − ….

    The eigenvalue 1 of W becomes 0, and the others stay.
    """
    stationary = stationary_to_bits(network, bits)
    table = network.matrix.table()
    size = len(table)
    with precision(bits):
        root = [entry.sqrt() for entry in stationary]
        rows = [[flint.arb(0)] * size for _ in range(size)]
        for i in range(size):
            for j in range(i, size):
                entry = flint.arb(table[i][j] * table[j][i]).sqrt() - root[i] * root[j]
                rows[i][j] = rows[j][i] = entry
        return flint.arb_mat(rows)


def disc_bounds(basis: Eigenbasis, *, known_zeros: int, method: str) -> _Found:
    """Largest modulus and largest real part over the discs, without `known_zeros` zeros.

    Upper ends: the discs hold every eigenvalue. Lower ends: a connected set of k discs holds k
    eigenvalues; at least one of them is no known zero if the set does not contain zero, or if
    k exceeds the known zeros.
    """
    with precision(basis.bits):
        moduli, reals = basis.moduli(), basis.real_parts()
        labels = basis.components().tolist()
        sets: dict[int, list[int]] = {}
        for index, label in enumerate(labels):
            sets.setdefault(label, []).append(index)
        low_modulus: list[flint.arb] = []
        low_real: list[flint.arb] = []
        high_modulus: list[flint.arb] = []
        high_real: list[flint.arb] = []
        for members in sets.values():
            has_zero = any(moduli[i].contains(0) for i in members)
            if known_zeros and has_zero and len(members) <= known_zeros:
                continue
            low_modulus.append(_least([moduli[i] for i in members]))
            low_real.append(_least([reals[i] for i in members]))
            high_modulus.append(_greatest([moduli[i] for i in members]))
            high_real.append(_greatest([reals[i] for i in members]))
        return _Found(
            _between(_greatest(low_modulus, lower=True), _greatest(high_modulus)),
            _between(_greatest(low_real, lower=True), _greatest(high_real)),
            method,
            basis.bits,
        )


def polynomial_bounds(difference: flint.fmpq_mat) -> Iterator[_Found]:
    """From the exact characteristic polynomial of C; zeros are taken out exactly."""
    coefficients = difference.charpoly().numer().coeffs()
    zeros = next(index for index, value in enumerate(coefficients) if value != 0)
    polynomial = flint.fmpz_poly(coefficients[zeros:])
    for bits in _ROOT_BITS:
        with precision(bits):
            found: Any = polynomial.complex_roots()
            roots = [root for root, _ in found]
            moduli = [abs(root) for root in roots]
            reals = [root.real for root in roots]
            if zeros:
                moduli.append(flint.arb(0))
                reals.append(flint.arb(0))
            result = _Found(
                _between(_greatest(moduli, lower=True), _greatest(moduli)),
                _between(_greatest(reals, lower=True), _greatest(reals)),
                POLYNOMIAL,
                bits,
            )
        # Outside: whoever asked for it goes on at a precision of its own.
        yield result


def trace_and_norm(difference: flint.fmpq_mat) -> _Found:
    """The bracket |tr C^k|/(N−1) ≤ slem^k ≤ ‖C^k‖_∞; Re is at least tr C/(N−1), the mean."""
    size = difference.nrows()
    with precision(_SQUARING_BITS):
        power = flint.arb_mat(difference)
        trace = sum((power[i, i] for i in range(size)), flint.arb(0))
        lower, upper = flint.arb(0), _norm(power).upper()
        scale = flint.arb(0)  # log of what was divided out of C^k
        exponent = flint.fmpz(1)
        for step in range(_SQUARINGS + 1):
            norm = _norm(power).upper()
            if not norm > 0 or not norm.is_finite():
                break
            high = ((norm.log() + scale) / exponent).exp().upper()
            size_of_trace = abs(sum((power[i, i] for i in range(size)), flint.arb(0))).lower()
            if size_of_trace > 0:
                low = (((size_of_trace / size).log() + scale) / exponent).exp().lower()
                lower = lower.max(low)
            upper = upper.min(high)
            if step == _SQUARINGS:
                break
            # Division by a power of two is exact.
            shift = int(float(norm.log() / flint.arb(2).log()))
            power = power * (flint.arb(2) ** -shift)
            scale = (scale + shift * flint.arb(2).log()) * 2
            exponent = exponent * 2
            power = power * power
        mean = (trace / size).lower()
        return _Found(_between(lower, upper), _between(mean, upper), TRACE_AND_NORM, _SQUARING_BITS)


def _norm(matrix: Any) -> flint.arb:
    rows = (sum((abs(entry) for entry in row), flint.arb(0)) for row in matrix.table())
    return _greatest([row.upper() for row in rows])


def _least(balls: list[flint.arb]) -> flint.arb:
    least = balls[0].lower()
    for ball in balls[1:]:
        least = least.min(ball.lower())
    return least.lower()


def _greatest(balls: list[flint.arb], *, lower: bool = False) -> flint.arb:
    """The greatest upper end, or the greatest lower end."""
    ends = [ball.lower() if lower else ball.upper() for ball in balls]
    greatest = ends[0]
    for end in ends[1:]:
        greatest = greatest.max(end)
    return greatest


def _between(lower: flint.arb, upper: flint.arb) -> flint.arb:
    return lower.union(upper)
