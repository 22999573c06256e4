"""Sums of Σ_j |[W^k]_ij − v_j| over rounds, bounded on both sides while they run.

The powers are products of doubles, whose rounding is bounded, and every few products a power in
balls takes their place, so that rounding does not build up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import flint
import numpy as np

from theory.certified.eigenbasis import (
    Eigenbasis,
    is_narrow,
    rising_bits,
    stationary_balls,
    stationary_to_bits,
)
from theory.certified.settled import Modes, modes
from theory.numbers import precision
from theory.rational import RationalNetwork
from theory.validation import FloatArray

ROUNDS = "rounds"
SIGNS = "rounds-and-signs"
STRIDES = "strides"

# Products of doubles with up to 50 agents; in proportion fewer with more.
_PRODUCTS = 8_000
_LEAST_PRODUCTS = 200

# At most so many between two powers in balls, or half as many as there are agents, if that is more:
# a power in balls takes as long as some hundred products.
_STRETCH = 16

# W^k is followed to 2^_OCTAVES rounds, or as many octaves more as W is slow; longer sums are not
# doubles. The last octaves are followed more closely.
_OCTAVES = 60
_MOST_OCTAVES = 1000
_LAST_OCTAVES = 16

# The closed form is wanted to so many bits, more than a double has.
_TAIL_BITS = 64
_MOST_TAIL_BITS = 1 << 16

# Eigenvalues that weights of doubles were meant to make equal.
_NEARLY_EQUAL = 2.0**-50

_EPS = 2.0**-52
_TINY = 1e-300

Step = Callable[[float], bool]
"""Told the share of the work that is done; whether to go on."""

Bases = Callable[[int], Iterable[Eigenbasis]]
"""Eigenbases, each more precise than the last, all with so many bits more than is common."""


@dataclass(frozen=True, eq=False)
class CertifiedDeviation:
    """Balls around D_i, shape (N,).

    Attributes
    ----------
    balls
        Each contains D_i; infinite where the work was stopped before anything was known.
    method
        As in `theory.certified.network`; "one-agent" or "equal-rows" where D = 0 at once.
    rounds
        The rounds that were summed one by one.
    bits
        The precision.
    finished
        False if the work was stopped.
    """

    balls: tuple[flint.arb, ...]
    method: str
    rounds: int
    bits: int
    finished: bool = True


@dataclass(frozen=True, eq=False)
class _Checked:
    """What was known after some rounds, when it was asked whether signs have settled.

    Attributes
    ----------
    rounds, power, sums
        How many, W^k − 1vᵀ after them, and balls around the sums over them, one an agent.
    slack
        How much the rest may exceed its closed form, shape (N,), in units of 2^unit.
    is_settled
        Whether that is so little that the sum of both may be narrow enough.
    is_hopeful
        Whether there is use in trying later.
    """

    rounds: int
    power: flint.arb_mat
    sums: list[flint.arb]
    slack: FloatArray
    is_settled: bool
    is_hopeful: bool


class RunningSum:
    """The running sum over rounds; lives within one precision.

    Between two powers in balls lies a stretch of products of doubles. A product of P = W^k − 1vᵀ
    and a stochastic matrix adds to row i at most about N roundings of its norm f_i(k), and passes
    on what was there before without enlarging it.
    """

    def __init__(
        self,
        network: RationalNetwork,
        bits: int,
        relative_width: float,
        slem: float,
        *,
        slow_bits: int = 0,
    ) -> None:
        self.network, self.bits, self.relative_width = network, bits, relative_width
        agents = network.agents
        self.stationary = stationary_to_bits(network, bits)
        self.weights = flint.arb_mat(network.matrix)
        self.limit = flint.arb_mat([self.stationary] * agents)
        self.power = self.weights - self.limit
        self.rounds = 1
        first = _row_sums(self.power)
        self.ceiling = np.array([float(entry.upper()) for entry in first]) * (1 + _EPS)
        floor = np.array([float(entry.lower()) for entry in first]) * (1 - _EPS)
        # Kept apart, so that math.fsum rounds once.
        self.lower, self.upper = [np.maximum(floor, 0.0)], [self.ceiling]
        self.still = [i for i in range(agents) if self._stays(i)]
        self.unit = slow_bits
        slem = min(max(slem, 0.0), 1 - 1e-16)
        fall = math.log(16 / relative_width)
        if slow_bits:
            self.needed = math.ldexp(fall, min(slow_bits, _MOST_OCTAVES))
        else:
            self.needed = -fall / math.log(slem) if slem else 0.0
        self.stride = 1
        self.bases: Iterator[Eigenbasis] | None = None
        self.modes: list[list[Modes]] = []
        self.least: list[flint.arb] | None = None
        self.jump, self.jump_error, self.leap = np.zeros(0), 0.0, self.weights
        self.stretch, self.product_doubt = 1, 0.0
        self._set_stride(self.weights)

    def run(self, bases: Bases, *, reversible: bool, step: Step) -> CertifiedDeviation:
        """D of every agent, certified: intervals as narrow as asked for, or as work allows.

        Parameters
        ----------
        bases
            Called at most where signs might settle.
        reversible
            Whether W is.
        step
            Called with the share of the work done, in [0, 1]; false ends the sum early.
        """
        size = max(1.0, (self.network.agents / 50) ** 3)
        budget = max(_LEAST_PRODUCTS, int(_PRODUCTS / size))
        octaves = max(1.0, math.log2(max(2.0, self.needed / budget)) + 1)
        resolution = max(8, int(budget / octaves / 2))
        # Where there are very many octaves, the last count for most of the sum.
        late, fine = self.needed / 2**_LAST_OCTAVES, int(budget / _LAST_OCTAVES / 2)
        most = 5 * budget + int(2 * _STRETCH * octaves) * (self.unit > 0)
        last = 2 ** min(_OCTAVES + self.unit, _MOST_OCTAVES)
        checked: _Checked | None = None
        next_check, settling, finished, products = 16, True, True, 0
        while True:
            top = float(self.ceiling.max())
            if top < self.relative_width / 4 and self._narrow(self._by_contraction()):
                break
            if top < 1e-3 * self.relative_width or top < 1e-3 * (self.stride - 1) / self.rounds:
                break
            if products >= most or self.rounds >= last:
                break
            if settling and self.stride == 1 and self.rounds >= next_check:
                next_check = 2 * max(next_check, self.rounds // 2)
                if self.needed > 2 * self.rounds:
                    checked = self._check_signs(bases, reversible=reversible)
                    settling = checked.is_hopeful
                    if checked.is_settled:
                        best = self._by_signs(checked)
                        if self._narrow(best):
                            return self._result(best, SIGNS)
            if not step(min(1.0, products / most)):
                finished = False
                break
            # Strides of one to the end if there is the time, or as long as signs may settle.
            hoping = settling and checked is not None and products < 3 * budget
            if self.rounds > late:
                resolution = max(resolution, fine)
            if self.needed > budget and not hoping and self.rounds >= 2 * resolution * self.stride:
                self.stride *= 2
                self._set_stride(self.stride_power * self.stride_power)
            self._next_stretch()
            products += self.stretch
        found = self._by_contraction()
        method = ROUNDS if self.stride == 1 else STRIDES
        if checked is not None:
            best = self._by_signs(checked)
            if all(a.rad() <= b.rad() for a, b in zip(best, found, strict=True)):
                method = SIGNS
            found = [_common(a, b) for a, b in zip(found, best, strict=True)]
        return self._result(found, method, finished=finished)

    def is_rounding_the_limit(self, result: CertifiedDeviation) -> bool:
        """Whether some D_i is too small beside the precision: its first term is not known."""
        return any(
            i not in self.still and low <= 0.5 * high
            for i, (low, high) in enumerate(zip(self.lower[0], self.upper[0], strict=True))
        )

    def _set_stride(self, power: flint.arb_mat) -> None:
        self.stride_power = power
        self.jump = _doubles(power)
        self.jump_error = max(float(radius) for radius in _row_radii(power)) + _EPS
        # Terms that are zero are added without rounding.
        terms = int(np.count_nonzero(self.jump, axis=0).max())
        self.product_doubt = (terms + 8) * _EPS / 2 * 1.01
        # About half the width may be rounding.
        allowed = int(min(self.relative_width / 8 / self.product_doubt, 1 + self.needed / 8))
        self.stretch = max(1, min(max(_STRETCH, self.network.agents // 2), allowed))
        self.leap = power**self.stretch

    def _next_stretch(self) -> None:
        agents = self.network.agents
        here = _doubles(self.power)
        start = np.array([float(radius) for radius in _row_radii(self.power)]) + _TINY
        size = self.ceiling * (1 + _EPS)
        start = 1.01 * (start + _EPS * size)
        each = 1.01 * (self.product_doubt + self.jump_error)
        summing = (agents + 4) * _EPS / 2
        passed = start
        for _ in range(self.stretch):
            here = here @ self.jump
            found = np.abs(here).sum(axis=1)
            previous = self.ceiling
            passed = passed + each * previous
            doubt = passed + summing * found
            # f never increases, so that the least upper end seen so far is one.
            self.ceiling = np.minimum(previous, found + doubt)
            self.lower.append(float(self.stride) * np.maximum(found - doubt, 0.0))
            self.upper.append(float(self.stride - 1) * previous + self.ceiling)
        self.power = self.power * self.leap
        self.rounds += self.stretch * self.stride

    def _sums(self) -> list[flint.arb]:
        """S_m as balls; each term carries a few roundings of its own."""
        agents = self.network.agents
        down, up = 1 - 8 * _EPS, 1 + 8 * _EPS
        below = [math.fsum(column) * down for column in _columns(self.lower, agents)]
        above = [math.fsum(column) * up for column in _columns(self.upper, agents)]
        return [flint.arb(a).union(flint.arb(b)) for a, b in zip(below, above, strict=True)]

    def _by_contraction(self) -> list[flint.arb]:
        """S_m ≤ D ≤ S_m/(1 − τ): ½‖row − row'‖₁ is at most half the sum of their distances."""
        sums = self._sums()
        left = 1 - flint.arb(float(self.ceiling.max()))
        if not left > 0:
            return [entry.lower().union(flint.arb("inf")) for entry in sums]
        return [entry.lower().union((entry / left).upper()) for entry in sums]

    def _check_signs(self, bases: Bases, *, reversible: bool) -> _Checked:
        """What the closed form may lack if it takes the place of all rounds after this one."""
        sums = self._sums()
        if self.least is None:
            tail = self._closed_tail(self.rounds, self.power)
            self.least = [(a + b).lower() for a, b in zip(sums, tail, strict=True)]
        # The closed form never exceeds what it stands for.
        self.least = [a.max(b.lower()) for a, b in zip(self.least, sums, strict=True)]
        unit = flint.arb(2) ** self.unit
        wanted = np.array([float(entry / unit) for entry in self.least]) * self.relative_width / 4
        best = np.full(self.network.agents, np.inf)
        floor = math.inf
        hopeful = False
        for number in itertools.count():
            if number == len(self.modes) and not self._find_modes(bases, reversible=reversible):
                break
            for found in self.modes[number]:
                best = np.minimum(best, found.slack(self.rounds))
                own = float(np.max(2 * found.error / np.maximum(wanted, _TINY)))
                floor = min(floor, own)
                hopeful = hopeful or (own < 1 and found.can_settle)
            # A finer basis helps only where this one's own error is what is left.
            if np.all(best <= wanted) or floor < 0.1:
                break
        allowed = 4 * wanted
        allowed[self.still] = np.inf
        is_settled = bool(np.all(best <= allowed))
        return _Checked(self.rounds, self.power, sums, best, is_settled, hopeful)

    def _by_signs(self, checked: _Checked) -> list[flint.arb]:
        """The sum up to the round that was checked, and the tail by closed form."""
        tail = self._closed_tail(checked.rounds, checked.power)
        base = [a + b for a, b in zip(checked.sums, tail, strict=True)]
        unit = flint.arb(2) ** self.unit
        ends = [
            (entry + unit * float(more)).upper() if math.isfinite(more) else flint.arb("inf")
            for entry, more in zip(base, checked.slack.tolist(), strict=True)
        ]
        return [entry.lower().union(end) for entry, end in zip(base, ends, strict=True)]

    def _find_modes(self, bases: Bases, *, reversible: bool) -> bool:
        """The modes of one more basis, if there is one."""
        if self.bases is None:
            self.bases = iter(bases(self.unit))
        basis = next(self.bases, None)
        if basis is None:
            return False
        v = stationary_to_bits(self.network, basis.bits)
        together = (0.0, math.ldexp(_NEARLY_EQUAL, -self.unit))
        self.modes.append(
            list(modes(basis, v, symmetric=reversible, together=together, unit=self.unit))
        )
        return True

    def _closed_tail(self, rounds: int, power: flint.arb_mat) -> list[flint.arb]:
        """|Σ_{k>m, even} a_k| + |Σ_{k>m, odd} a_k|, summed over j; m rounds, `power` after them.

        At a precision of its own, which rises until I − B² is proved regular and every sum is
        known to a double's accuracy, or is as far as that goes.
        """
        tail = [flint.arb(0).union(flint.arb("inf"))] * self.network.agents
        for bits in rising_bits(self.bits, _MOST_TAIL_BITS):
            try:
                with precision(bits):
                    known = power if bits == self.bits else None
                    tail = _closed_sums(self.network, rounds, known)
            except ZeroDivisionError:
                continue
            if all(one.is_zero() or one.rel_accuracy_bits() >= _TAIL_BITS for one in tail):
                break
        return tail

    def _narrow(self, balls: list[flint.arb]) -> bool:
        return all(
            is_narrow(ball, self.relative_width) or i in self.still for i, ball in enumerate(balls)
        )

    def _stays(self, agent: int) -> bool:
        """Whether the agent's row is v, exactly."""
        size = self.network.agents
        if not all(self.power[agent, j].contains(0) for j in range(size)):
            return False
        row = flint.fmpq_mat([[self.network.matrix[agent, j] for j in range(size)]])
        return bool(row * self.network.matrix == row)

    def _result(
        self, balls: list[flint.arb], method: str, *, finished: bool = True
    ) -> CertifiedDeviation:
        exact = [
            flint.arb(0) if i in self.still else ball.nonnegative_part()
            for i, ball in enumerate(balls)
        ]
        return CertifiedDeviation(tuple(exact), method, self.rounds, self.bits, finished)


def _common(first: flint.arb, second: flint.arb) -> flint.arb:
    """The common part of two intervals that both contain the truth."""
    lower = first.lower().max(second.lower())
    return lower.lower().union(first.upper().min(second.upper()).upper())


def _columns(terms: list[FloatArray], agents: int) -> list[list[float]]:
    return [list(column) for column in np.array(terms).reshape(-1, agents).T.tolist()]


def _doubles(matrix: flint.arb_mat) -> FloatArray:
    size = matrix.nrows()
    return np.array([float(entry) for entry in matrix.entries()]).reshape(size, size)


def _row_radii(matrix: flint.arb_mat) -> list[flint.arb]:
    """Bounds on the sums of a row's radii: that of the ball around the sum of the row."""
    ones = flint.arb_mat([[1]] * matrix.ncols())
    return [entry.rad() * 1.001 for entry in (matrix * ones).entries()]


def _row_sums(matrix: flint.arb_mat) -> list[flint.arb]:
    """Σ_j |entry| in balls: doubles summed with one rounding, and the radii."""
    sums = [math.fsum(row) for row in np.abs(_doubles(matrix)).tolist()]
    return [
        flint.arb(total, 3 * _EPS * total + _TINY) + flint.arb(0, radius.upper())
        for total, radius in zip(sums, _row_radii(matrix), strict=True)
    ]


def _closed_sums(
    network: RationalNetwork, rounds: int, power: flint.arb_mat | None
) -> list[flint.arb]:
    """Σ_j of |B^k(I − B²)⁻¹| and of |B^{k+1}(I − B²)⁻¹|, k = `rounds` + 1, in present balls.

    `power` is B^`rounds`, found here if None.

    Raises
    ------
    ZeroDivisionError
        If the precision is too low to prove that I − B² is regular.
    """
    agents = network.agents
    weights = flint.arb_mat(network.matrix)
    limit = flint.arb_mat([stationary_balls(network)] * agents)
    deviating = weights - limit
    system = identity_matrix(agents) - deviating * deviating
    later = weights ** (rounds + 1) - limit if power is None else power * deviating
    even = system.solve(later, algorithm="precond")
    odd = even * deviating
    return [
        sum((abs(entry) for entry in (*row, *other)), flint.arb(0))
        for row, other in zip(even.table(), odd.table(), strict=True)
    ]


def identity_matrix(size: int) -> flint.arb_mat:
    """The identity matrix of shape (size, size), exactly, in balls without width."""
    return flint.arb_mat([[int(i == j) for j in range(size)] for i in range(size)])
