"""The eigenvalues of a rational W, decided: through the exact characteristic polynomial.

Floating-point eigenvalues of a W that is far from normal are wrong in every digit. Here the
characteristic polynomial is computed over the rationals and split into irreducible factors; an
eigenvalue is a root of one of them, and its multiplicity is the factor's exponent. So zero
eigenvalues, multiplicities, and whether 1 is simple are decided. Whether W is diagonalisable is
decided by its minimal polynomial: it is, exactly if that one is squarefree.

The largest modulus among the eigenvalues but one 1 (*slem*) and their largest real part (*second
eigenvalue*) are exact numbers with enclosures. (docs: mathematics/exact)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import gcd

import flint
import numpy as np

from theory.network.structure import communicating_classes
from theory.numbers import Enclosure, as_fmpq, as_fraction, precision
from theory.rational.algebraic import (
    START_BITS,
    AlgebraicNumber,
    IrreducibleFactor,
    Part,
    Root,
    equal,
)
from theory.showing import Shown
from theory.validation import fail

# Reversibility, classes and periods of a rational W ----------------------------------------------


@dataclass(frozen=True)
class Balance(Shown):
    """Whether an irreducible W is reversible: decided.

    Attributes
    ----------
    cycle
        If it is not: agents i₀, i₁, …, i_k of a closed walk (i₀ follows i_k) whose product of
        weights W_{i₀i₁} W_{i₁i₂} … W_{i_ki₀} differs from the one of the reverse walk.
    """

    cycle: tuple[int, ...] | None = None

    @property
    def is_reversible(self) -> bool:
        """Whether v_i W_ij = v_j W_ji for all i and j."""
        return self.cycle is None


@dataclass(frozen=True)
class CommunicatingClass:
    """Agents that all reach each other.

    Attributes
    ----------
    agents
        In increasing order.
    is_closed
        Whether they give no weight to anybody else.
    period
        The common divisor of the lengths of all closed walks; 0 if there is none.
    """

    agents: tuple[int, ...]
    is_closed: bool
    period: int


def balance(matrix: flint.fmpq_mat) -> Balance:
    """Whether an irreducible W is reversible, with a closed walk that is out of balance if not."""
    links = _links(matrix)
    for i, row in enumerate(links):
        for j in row:
            if matrix[j, i] == 0:
                return Balance((*_walk(links, j, i)[:-1], i))
    ratio = [flint.fmpq(1)] + [flint.fmpq(0)] * (len(links) - 1)
    parent = [0] * len(links)
    order = deque([0])
    while order:
        i = order.popleft()
        for j in links[i]:
            if ratio[j] == 0:
                ratio[j] = ratio[i] * matrix[i, j] / matrix[j, i]
                parent[j] = i
                order.append(j)
    for i, row in enumerate(links):
        for j in row:
            if i < j and ratio[i] * matrix[i, j] != ratio[j] * matrix[j, i]:
                return Balance(_closed(parent, i, j))
    return Balance()


def flow(matrix: flint.fmpq_mat, stationary: Sequence[Fraction]) -> flint.fmpq_mat:
    """F_ij = v_i W_ij, whose rows and columns both sum to v; symmetric exactly if W is reversible.

    Parameters
    ----------
    matrix
        W, shape (N, N).
    stationary
        v, length N.
    """
    rows = zip(stationary, matrix.table(), strict=True)
    return flint.fmpq_mat([[as_fmpq(v) * weight for weight in row] for v, row in rows])


def classes(matrix: flint.fmpq_mat) -> tuple[CommunicatingClass, ...]:
    """The communicating classes of any square matrix of weights, by their first agents.

    Examples
    --------
    >>> found = classes(flint.fmpq_mat([[0, 1, 0], [1, 0, 0], [1, 0, 0]]))
    >>> [(c.agents, c.is_closed, c.period) for c in found]
    [((0, 1), True, 2), ((2,), False, 0)]
    """
    links = _links(matrix, own=True)
    pattern = np.zeros((len(links), len(links)))
    for i, row in enumerate(links):
        pattern[i, row] = 1.0
    labels = communicating_classes(pattern).tolist()
    members: dict[int, list[int]] = {}
    for agent, label in enumerate(labels):
        members.setdefault(label, []).append(agent)
    return tuple(
        CommunicatingClass(
            tuple(agents),
            all(labels[j] == label for i in agents for j in links[i]),
            _period([[j for j in row if labels[j] == label] for row in links], agents[0]),
        )
        for label, agents in sorted(members.items(), key=lambda item: item[1][0])
    )


def is_reversible_flow(flows: flint.fmpq_mat) -> bool:
    """Whether a flow matrix is symmetric: the second test of reversibility, through v."""
    return bool(flows == flows.transpose())


def unbalanced_products(matrix: flint.fmpq_mat, cycle: Sequence[int]) -> tuple[Fraction, Fraction]:
    """The products of weights along a closed walk, forwards and backwards."""
    forwards, backwards = flint.fmpq(1), flint.fmpq(1)
    for i, j in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        forwards *= matrix[i, j]
        backwards *= matrix[j, i]
    return as_fraction(forwards), as_fraction(backwards)


def _links(matrix: flint.fmpq_mat, *, own: bool = False) -> list[list[int]]:
    return [
        [j for j, weight in enumerate(row) if weight != 0 and (own or i != j)]
        for i, row in enumerate(matrix.table())
    ]


def _depths(links: Sequence[Sequence[int]], start: int) -> dict[int, int]:
    depth, order = {start: 0}, deque([start])
    while order:
        i = order.popleft()
        for j in links[i]:
            if j not in depth:
                depth[j] = depth[i] + 1
                order.append(j)
    return depth


def _period(links: Sequence[Sequence[int]], start: int) -> int:
    """The common divisor of the lengths of closed walks among what `start` reaches."""
    depth = _depths(links, start)
    return gcd(*(depth[i] + 1 - depth[j] for i in depth for j in links[i]))


def _walk(links: Sequence[Sequence[int]], start: int, end: int) -> list[int]:
    """A shortest walk, both ends included."""
    before, order = {start: start}, deque([start])
    while end not in before:
        i = order.popleft()
        for j in links[i]:
            if j not in before:
                before[j] = i
                order.append(j)
    walk = [end]
    while walk[-1] != start:
        walk.append(before[walk[-1]])
    return walk[::-1]


def _closed(parent: Sequence[int], i: int, j: int) -> tuple[int, ...]:
    """The closed walk of the link from i to j and the tree."""
    up = [i]
    while up[-1] != 0:
        up.append(parent[up[-1]])
    down = [j]
    while down[-1] not in up:
        down.append(parent[down[-1]])
    return tuple(reversed(up[: up.index(down[-1]) + 1])) + tuple(down[:-1])


# The eigenvalues of a rational W, decided --------------------------------------------------------


MOST_SECONDS = 60.0
"""Matrices whose characteristic polynomial is expected to take longer are refused."""

# Seconds a bit of the largest coefficient, for each N³: measured on one core (docs: benchmarks).
_SECONDS = 6e-11


@dataclass(frozen=True, eq=False)
class Eigenvalue(Shown):
    """One eigenvalue; its numbers are certified enclosures.

    Attributes
    ----------
    root
        The root that it is, exactly.
    multiplicity
        How often it is a root of the characteristic polynomial: decided.
    """

    root: Root
    multiplicity: int

    @property
    def rational(self) -> Fraction | None:
        """Its value if it is rational, else None: decided."""
        return self.root.rational

    @property
    def is_real(self) -> bool:
        """Whether the eigenvalue is real: decided."""
        return self.root.is_real

    @property
    def real(self) -> Enclosure:
        """Its real part."""
        return AlgebraicNumber(self.root, "real part").enclosure()

    @property
    def imaginary(self) -> Enclosure:
        """Its imaginary part."""
        return Enclosure.from_ball(self.root.ball().imag)

    @property
    def modulus(self) -> Enclosure:
        """Its modulus."""
        return AlgebraicNumber(self.root, "modulus").enclosure()


@dataclass(frozen=True, eq=False)
class RationalSpectrum(Shown):
    """All eigenvalues of a square rational matrix that has the eigenvalue 1.

    Attributes
    ----------
    matrix
        W.
    factors
        The irreducible factors of the characteristic polynomial, with multiplicities.
    """

    matrix: flint.fmpq_mat
    factors: tuple[IrreducibleFactor, ...]

    @cached_property
    def eigenvalues(self) -> tuple[Eigenvalue, ...]:
        """The distinct eigenvalues by decreasing modulus; 1 is the first."""
        found = [Eigenvalue(r, f.multiplicity) for f in self.factors for r in f.roots]
        return tuple(
            sorted(found, key=lambda e: (e.rational != 1, -abs(complex(e.root.ball().mid()))))
        )

    def multiplicity(self, value: Fraction | int) -> int:
        """How often a rational number is an eigenvalue: decided."""
        wanted = Fraction(value)
        return next((f.multiplicity for f in self.factors if f.roots[0].rational == wanted), 0)

    @property
    def is_one_simple(self) -> bool:
        """Whether 1 is a simple eigenvalue: decided. It is if W is irreducible."""
        return self.multiplicity(1) == 1

    @property
    def zeros(self) -> int:
        """The multiplicity of the eigenvalue 0: decided."""
        return self.multiplicity(0)

    @cached_property
    def slem(self) -> AlgebraicNumber:
        """The largest modulus but one 1; 0 for one agent."""
        return self._largest("modulus")

    @cached_property
    def slem_eigenvalues(self) -> tuple[Root, ...]:
        """The eigenvalues that attain it, as far as that is decided; conjugates are listed too."""
        top = self.slem.ball()
        return tuple(
            number.root
            for number in (AlgebraicNumber(root, "modulus") for root in self._others)
            if number.ball().overlaps(top) and equal(number, self.slem)
        )

    @cached_property
    def second_eigenvalue(self) -> AlgebraicNumber | None:
        """The largest real part but that of one 1; None for one agent."""
        return self._largest("real part") if self._others else None

    @cached_property
    def is_diagonalisable(self) -> bool:
        """Whether W has N independent eigenvectors: decided."""
        return all(size == 1 for size in self.largest_blocks)

    @cached_property
    def largest_blocks(self) -> tuple[int, ...]:
        """The size of the largest Jordan block of each factor's eigenvalues: decided."""
        if all(factor.multiplicity == 1 for factor in self.factors):
            return (1,) * len(self.factors)
        minimal = self.matrix.minpoly()
        sizes = []
        for factor in self.factors:
            size, divisor = 0, flint.fmpq_poly(factor.polynomial)
            while not minimal % divisor:
                minimal, size = minimal // divisor, size + 1
            sizes.append(size)
        return tuple(sizes)

    @cached_property
    def _others(self) -> tuple[Root, ...]:
        """The distinct eigenvalues that remain when one 1 is taken away."""
        return tuple(
            root
            for factor in self.factors
            for root in factor.roots
            if root.rational != 1 or factor.multiplicity > 1
        )

    def _largest(self, part: Part) -> AlgebraicNumber:
        # Of a pair of conjugates one is enough.
        upper = [root for root in self._others if not root.ball().imag < 0]
        numbers = [AlgebraicNumber(root, part) for root in upper]
        if not numbers:
            return AlgebraicNumber(IrreducibleFactor(flint.fmpz_poly([0, 1]), 1).roots[0], part)
        for bits in (START_BITS, 4 * START_BITS):
            with precision(bits):
                balls = [number.ball(bits) for number in numbers]
                highest = reduce(flint.arb.max, (ball.lower() for ball in balls))
                top = [
                    number
                    for number, ball in zip(numbers, balls, strict=True)
                    if not ball.upper() < highest
                ]
            # The simplest of equal numbers speaks for them.
            top.sort(key=lambda one: (one.rational is None, one.root.factor.degree, -_is_real(one)))
            rivals = [one for one in top[1:] if not equal(top[0], one)]
            numbers = [top[0], *rivals]
            if not rivals:
                return top[0]
        return AlgebraicNumber(top[0].root, part, tuple(rivals))


def _is_real(number: AlgebraicNumber) -> int:
    return int(number.root.is_real)


def expected_seconds(matrix: flint.fmpq_mat) -> float:
    """About how long the spectrum takes: an estimate from N and the size of the denominators.

    The characteristic polynomial of dW, d the common denominator, has coefficients of up to
    N log₂ d bits and is found modulo one prime for every 60 bits or so, each in about N³ steps.
    """
    agents = matrix.nrows()
    _, denominator = matrix.numer_denom()
    bits = agents * max(int(denominator).bit_length(), 2)
    return _SECONDS * bits * agents**3


def spectrum(
    matrix: flint.fmpq_mat, *, estimates: Sequence[float] | None = None
) -> RationalSpectrum:
    """All eigenvalues of a rational matrix, exactly.

    Parameters
    ----------
    matrix
        Shape (N, N).
    estimates
        Numbers near all eigenvalues, in increasing order, if these are known to be real.

    Raises
    ------
    ValueError
        If this is expected to take more than a minute.
    """
    seconds = expected_seconds(matrix)
    if seconds > MOST_SECONDS:
        raise fail(
            "weights",
            "a matrix whose characteristic polynomial is found within a minute",
            f"{matrix.nrows()} agents and weights that would take about {seconds:.0f} s",
            "use --certify, fewer agents, or weights with smaller denominators",
        )
    _, pairs = matrix.charpoly().numer().factor()
    factors = [IrreducibleFactor(p, int(times), estimates) for p, times in pairs]
    factors.sort(key=lambda factor: factor.degree)
    return RationalSpectrum(matrix, tuple(factors))
