"""Networks with rational weights, and what the trial needs to know of them.

A network is a `fmpq_mat` here. Everything is exact, or a ball that contains the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat, fmpz_poly

Rational = int | Fraction
_STRIDES = 48  # steps before the stride doubles: the bracket is then about 1/48 wide


def rational(value: Rational | fmpq) -> fmpq:
    """A `fmpq` from an int or a Fraction."""
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    return fmpq(value)


def network(rows: Sequence[Sequence[Rational]], denominator: int = 1) -> fmpq_mat:
    """Weights from rows of ints or Fractions, divided by `denominator`."""
    size = len(rows)
    return fmpq_mat(size, size, [rational(x) / denominator for row in rows for x in row])


def stationary(weights: fmpq_mat) -> list[fmpq]:
    """V with vW = v and sum 1, exactly; W irreducible."""
    size = weights.nrows()
    table = [[weights[j, i] - (i == j) for j in range(size)] for i in range(size - 1)]
    table.append([fmpq(1)] * size)
    right = fmpq_mat(size, 1, [0] * (size - 1) + [1])
    matrix = fmpq_mat(size, size, [x for row in table for x in row])
    v = matrix.solve(right)
    return [v[i, 0] for i in range(size)]


def is_primitive(weights: fmpq_mat) -> bool:
    """Whether W is irreducible and aperiodic: some power is positive, by Wielandt the N²-2N+2nd."""
    size = weights.nrows()
    reach = np.array([[bool(weights[i, j] != 0) for j in range(size)] for i in range(size)])
    power = 1
    while power < size * size - 2 * size + 2:
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
        power *= 2
    return bool(reach.all())


def is_reversible(weights: fmpq_mat, v: Sequence[fmpq]) -> bool:
    """Detailed balance, decided exactly."""
    size = weights.nrows()
    return all(v[i] * weights[i, j] == v[j] * weights[j, i] for i in range(size) for j in range(i))


def eigenvalues(weights: fmpq_mat) -> list[tuple[arb, arb]]:
    """Real part and modulus of every eigenvalue but one 1, with multiplicity, as balls.

    From the exact characteristic polynomial: multiple and zero eigenvalues are decided.
    """
    polynomial = weights.charpoly()
    one = fmpz_poly([-1, 1])
    quotient, _ = divmod(polynomial.numer(), one)
    roots: Any = quotient.complex_roots()
    return [(root.real, abs(root)) for root, count in roots for _ in range(int(count))]


def largest(balls: Sequence[arb]) -> arb:
    """A ball that contains the largest of several numbers."""
    result = balls[0]
    for ball in balls[1:]:
        result = result.max(ball)
    return result


def modulus(weights: fmpq_mat) -> arb:
    """The largest modulus of an eigenvalue but the first; 0 for one agent."""
    return largest([size for _, size in eigenvalues(weights)] or [arb(0)])


def signed(weights: fmpq_mat) -> arb:
    """The largest real part of an eigenvalue but the first."""
    return largest([real for real, _ in eigenvalues(weights)])


def powers(weights: fmpq_mat, rounds: int) -> list[arb_mat]:
    """W, W², … W^rounds as balls."""
    step = arb_mat(weights)
    result = [step]
    for _ in range(rounds - 1):
        result.append(result[-1] * step)
    return result


def distances(power: arb_mat, v: Sequence[fmpq]) -> list[arb]:
    """Σ_j |[W^k]_ij - v_j| for each agent i."""
    size = power.nrows()
    total = []
    for i in range(size):
        a = arb(0)
        for j in range(size):
            a += abs(power[i, j] - v[j])
        total.append(a)
    return total


def dobrushin(power: arb_mat) -> arb:
    """½ max over pairs of rows of their L1 distance."""
    size = power.nrows()
    best = arb(0)
    for i in range(size):
        for k in range(i):
            a = arb(0)
            for j in range(size):
                a += abs(power[i, j] - power[k, j])
            best = best.max(a / 2)
    return best


def partial_deviation(weights: fmpq_mat, rounds: int) -> list[arb]:
    """Σ_{k ≤ rounds} Σ_j |[W^k]_ij - v_j| for each agent: a lower bound on D_i."""
    v = stationary(weights)
    total = [arb(0)] * weights.nrows()
    for power in powers(weights, rounds):
        total = [s + a for s, a in zip(total, distances(power, v), strict=True)]
    return total


def deviation(weights: fmpq_mat, *, levels: int = 40) -> tuple[list[arb], list[arb]]:
    """D_i for each agent, from below and from above; the two differ by about 2 %.

    Sums in strides that double, between whose ends the distance cannot rise, until the Dobrushin
    coefficient is below 1e-12; the rest is a geometric series.

    Raises
    ------
    ArithmeticError
        If W mixes too slowly for `levels` doublings.
    """
    v = stationary(weights)
    size = weights.nrows()
    power = step = arb_mat(weights)
    before = distances(power, v)
    lower, upper = list(before), list(before)
    stride = 1
    for _ in range(levels):
        for _ in range(_STRIDES):
            power = power * step
            after = distances(power, v)
            for i in range(size):
                lower[i] += stride * after[i]
                upper[i] += (stride - 1) * before[i] + after[i]
            before = after
        coefficient = dobrushin(power)
        if coefficient < arb("1e-12"):
            return lower, [bound / (1 - coefficient) for bound in upper]
        step = step * step
        stride *= 2
    raise ArithmeticError("the network mixes too slowly to sum its deviation")


# Random networks of every nasty kind.

KINDS = (
    "positive", "directed", "nearly-decomposable", "nearly-periodic", "tiny-stationary",
    "restart", "drift", "reversible", "symmetric", "star",
)  # fmt: skip


def random_network(
    rng: np.random.Generator, *, most: int = 6, kinds: Sequence[str] = KINDS
) -> fmpq_mat:
    """A primitive network with 2 to `most` agents of a random kind."""
    while True:
        kind = str(rng.choice(list(kinds)))
        weights = _normalised(_table(kind, int(rng.integers(2, most + 1)), rng), kind)
        if is_primitive(weights):
            return weights


def _table(kind: str, size: int, rng: np.random.Generator) -> list[list[int]]:
    table = rng.integers(0, 10, size=(size, size)).astype(object)
    here = range(size)
    scale = int(10 ** rng.integers(1, 7))
    if kind == "positive":
        table += 1
    elif kind == "directed":
        table *= rng.integers(0, 2, size=(size, size))
        for i in here:
            table[i, (i + 1) % size] += 1
        table[0, 0] += 1
    elif kind == "nearly-decomposable":
        for i in here:
            for j in here:
                table[i, j] = (table[i, j] + 1) * (scale if i % 2 == j % 2 else 1)
    elif kind == "nearly-periodic":
        table *= 0
        for i in here:
            table[i, (i + 1) % size] = scale
            table[i, i] = int(rng.integers(0, 2))
        table[0, 0] = 1
    elif kind == "tiny-stationary":
        table *= 0
        for i in here:
            table[i, min(i + 1, size - 1)] += scale
            table[i, max(i - 1, 0)] += 1
            table[i, i] += int(rng.integers(0, 10)) * scale // 3
    elif kind == "restart":
        stay = int(rng.integers(0, 10)) * scale // 3
        table *= 0
        for i in here:
            table[i, min(i + 1, size - 1)] += scale
            table[i, i] += stay
            # Every row restarts with the same share, so that the eigenvalues are multiples.
            table[i, 0] += 1
    elif kind == "drift":
        forward, back, stay = (int(x) for x in rng.integers(1, 10, size=3))
        table *= 0
        for i in here:
            table[i, min(i + 1, size - 1)] += forward
            table[i, max(i - 1, 0)] += back
            table[i, i] += stay * int(rng.integers(0, 2))
    elif kind in {"reversible", "symmetric"}:
        spread = rng.integers(0, 5 if kind == "reversible" else 2, size=(size, size))
        for i in here:
            for j in range(i):
                table[i, j] = table[j, i] = int(table[i, j]) * 10 ** int(spread[i, j])
            k = (i + 1) % size
            table[i, k] = table[k, i] = max(1, int(table[i, k]))
        table[0, 0] += 1
    elif kind == "star":
        table *= 0
        confidence = int(rng.integers(1, scale))
        for i in range(1, size):
            table[i, 0], table[i, i] = confidence, scale - confidence
        table[0, :] = 1
    else:
        raise ValueError(f"no kind of network is called {kind!r}")
    return [[int(x) for x in row] for row in table]


def _normalised(table: list[list[int]], kind: str) -> fmpq_mat:
    sums = [sum(row) for row in table]
    size = len(table)
    if min(sums) == 0:
        return network([[0] * size for _ in range(size)])
    if kind == "symmetric":
        # Equal row sums keep the symmetry: what is missing stays on the diagonal.
        most = max(sums)
        return network(
            [
                [Fraction(x + (most - sums[i]) * (i == j), most) for j, x in enumerate(row)]
                for i, row in enumerate(table)
            ]
        )
    return network([[Fraction(x, sums[i]) for x in row] for i, row in enumerate(table)])
