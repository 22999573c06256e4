"""What follows from a network's weights, certified: every number an interval that contains it.

The weights are rationals, or doubles read as the binary fractions they are. Beyond that nothing
is assumed: networks that nearly fall apart, that are nearly periodic, and those whose eigenvalues
no floating-point routine finds, get true intervals like all others. Where an interval is wider
than was asked, `notes` says which, and by how much.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint

from theory.certified.cumulant import extreme
from theory.certified.eigenbasis import (
    MOST_BITS,
    certified_stationary,
    check_relative_width,
    rising_bits,
    stationary_balls,
)
from theory.certified.running_sum import (
    ROUNDS,
    Bases,
    CertifiedDeviation,
    RunningSum,
    Step,
    identity_matrix,
)
from theory.certified.spectrum import certified_spectrum, difference_matrix, refined_bases
from theory.network import Network
from theory.numbers import Enclosure, precision
from theory.rational import RationalNetwork
from theory.showing import Shown
from theory.typed import typed
from theory.validation import fail

# The deviation D_i = Σ_{k≥1} Σ_j |[W^k]_ij − v_j| in intervals that contain it -------------------


_BITS = (128, 512)

# Below this distance of slem from 1 rounds are counted in powers of two.
_SLOW = 2.0**-40
# Bits by which the distance is sought, and for more agents than _MANY: seconds each.
_GAP_BITS = (0, 256, 1024, 3072)
_GAP_BITS_OF_MANY = (0, 256)
_MANY = 60


def deviation_matrix_balls(network: RationalNetwork) -> flint.arb_mat:
    """Z = Σ_{k≥0} (W^k − 1vᵀ) = (I − W + 1vᵀ)⁻¹ − 1vᵀ in balls at the present precision.

    Raises
    ------
    ZeroDivisionError
        If the precision is too low.
    """
    v = stationary_balls(network)
    agents = network.agents
    limit = flint.arb_mat([v] * agents)
    identity = identity_matrix(agents)
    system = identity - flint.arb_mat(network.matrix) + limit
    return system.solve(identity, algorithm="precond") - limit


def certified_deviation(
    network: RationalNetwork,
    bases: Bases,
    *,
    reversible: bool,
    slem: float,
    relative_width: float,
    step: Step = lambda share: True,
) -> CertifiedDeviation:
    """D_i to the relative width asked for, or as narrow as the routes allow.

    Parameters
    ----------
    network
        W.
    bases
        Eigenbases as of `spectrum.refined_bases` with so many extra bits; asked for only if W
        mixes slowly.
    reversible
        Whether W is reversible.
    slem
        An estimate of the subdominant modulus: decides what is tried, not what is found.
    relative_width
        Of each interval.
    step
        Called between matrix products.
    """
    agents = network.agents
    if agents == 1:
        return CertifiedDeviation((flint.arb(0),), "one-agent", 0, 53)
    table = network.matrix.table()
    if all(row == table[0] for row in table):
        return CertifiedDeviation((flint.arb(0),) * agents, "equal-rows", 1, 53)
    result = None
    slow_bits = _slow_bits(network, bases) if slem > 1 - _SLOW else 0
    for bits in (several + slow_bits for several in _BITS):
        with precision(bits):
            work = RunningSum(network, bits, relative_width, slem, slow_bits=slow_bits)
            result = work.run(bases, reversible=reversible, step=step)
        # More bits help only where it is the balls that are wide.
        if not result.finished or not work.is_rounding_the_limit(result):
            break
    assert result is not None
    return result


def _slow_bits(network: RationalNetwork, bases: Bases) -> int:
    """About log2(1/(1 − slem)), by the first discs that are all below 1.

    Where none are, about log2 of the largest entry of Σ_k (W^k − 1vᵀ), which is no smaller than
    that but where the slowest eigenvalues are far from 1.
    """
    for extra in _GAP_BITS if network.agents <= _MANY else _GAP_BITS_OF_MANY:
        for basis in bases(extra):
            with precision(basis.bits):
                gap = 1 - extreme([disc.upper() for disc in basis.moduli()], largest=True)
                if gap > 0:
                    return _exponent(1 / gap)
    for bits in rising_bits(256):
        try:
            with precision(bits):
                entries = deviation_matrix_balls(network).entries()
                return _exponent(extreme([abs(entry).mid() for entry in entries], largest=True))
        except ZeroDivisionError:
            continue
    return MOST_BITS


def _exponent(size: flint.arb) -> int:
    mantissa, exponent = (int(part) for part in size.mid().man_exp())
    return max(0, mantissa.bit_length() + exponent)


# What follows from a network's weights, certified ------------------------------------------------


MOST_CERTIFIED_AGENTS = 300
"""The largest network that is certified: it takes a minute or two."""

Progress = Callable[[int, int], bool | None]
"""Told (done, total); returning False ends the work with what is known."""

# Progress is told in parts of this many.
_TOTAL = 100
_AFTER_STATIONARY = 5
_AFTER_SPECTRUM = 30


@dataclass(frozen=True, eq=False)
class CertifiedNetwork(Shown):
    """Intervals around v, the subdominant modulus, the second eigenvalue and D.

    Attributes
    ----------
    network
        The weights that all of it is about, as rationals.
    relative_width
        The width that was asked for.
    stationary_distribution
        v, length N.
    slem
        The largest modulus among the N − 1 eigenvalues that remain when one 1 is taken away.
    second_eigenvalue
        The largest real part among them; None for a single agent.
    deviation
        D_i = Σ_{k≥1} Σ_j |[W^k]_ij − v_j|, length N, in rounds.
    is_reversible
        Whether v_i W_ij = v_j W_ji for all i and j: decided exactly.
    slem_method, second_eigenvalue_method
        "symmetric-discs", "discs", "characteristic-polynomial" or "trace-and-norm" (see
        `theory.certified.spectrum`); "one-agent".
    deviation_method
        "rounds", "rounds-and-signs" or "strides" (see `theory.certified.deviation`); "equal-rows",
        "one-agent".
    bits
        The precision each quantity needed, by its name.
    reached
        The largest relative width of each quantity, by its name.
    notes
        One line for each quantity that is wider than was asked, and why.
    """

    network: RationalNetwork
    relative_width: float
    stationary_distribution: tuple[Enclosure, ...]
    slem: Enclosure
    second_eigenvalue: Enclosure | None
    deviation: tuple[Enclosure, ...]
    is_reversible: bool
    slem_method: str
    second_eigenvalue_method: str
    deviation_method: str
    bits: dict[str, int]
    reached: dict[str, float]
    notes: tuple[str, ...]

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return self.network.agents

    def as_json(self) -> dict[str, Any]:
        """Plain values; an infinite end is null."""
        second = self.second_eigenvalue
        return {
            "relative_width": self.relative_width,
            "stationary_distribution": [entry.as_json() for entry in self.stationary_distribution],
            "slem": self.slem.as_json(),
            "second_eigenvalue": None if second is None else second.as_json(),
            "deviation": [entry.as_json() for entry in self.deviation],
            "is_reversible": self.is_reversible,
            "methods": {
                "slem": self.slem_method,
                "second_eigenvalue": self.second_eigenvalue_method,
                "deviation": self.deviation_method,
            },
            "bits": dict(self.bits),
            "reached": {
                name: width if math.isfinite(width) else None
                for name, width in self.reached.items()
            },
            "notes": list(self.notes),
        }


@typed
def certify_network(
    network: RationalNetwork | Network,
    *,
    relative_width: float = 1e-12,
    progress: Progress | None = None,
) -> CertifiedNetwork:
    """Certified numbers of a network, as narrow as asked where that can be.

    Parameters
    ----------
    network
        W; doubles are read as the binary fractions they are, see `RationalNetwork.from_network`.
    relative_width
        In [1e-15, 1): each interval's width over its end farther from zero. D is summed in
        doubles in part and does not go below about 1e-13.
    progress
        Called with (done, total) as the work goes on. If it returns False, what is known by then
        is returned, and the notes say that the work was stopped.

    Raises
    ------
    ValueError
        If there are more than 300 agents, or `relative_width` is out of its range.

    Examples
    --------
    >>> from fractions import Fraction
    >>> certified = certify_network(RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]]))
    >>> certified.slem.contains(Fraction(3, 10)), certified.slem.relative_width < 1e-12
    (True, True)
    """
    asked = check_relative_width(relative_width)
    if network.agents > MOST_CERTIFIED_AGENTS:
        raise fail(
            "network",
            f"at most {MOST_CERTIFIED_AGENTS} agents to certify",
            f"{network.agents} (about {_estimated_minutes(network.agents):.0f} minutes)",
            "use the floating-point estimates of Network, or certify a smaller one of its kind",
        )
    exact = RationalNetwork.from_network(network) if isinstance(network, Network) else network

    def told(done: float) -> bool:
        return progress is None or progress(int(done), _TOTAL) is not False

    told(0)
    v = certified_stationary(exact, relative_width=asked)
    going_on = told(_AFTER_STATIONARY)
    reversible = exact.is_reversible
    spectrum = certified_spectrum(exact, reversible=reversible, relative_width=asked)
    going_on = told(_AFTER_SPECTRUM) and going_on
    difference = difference_matrix(exact)
    deviation = certified_deviation(
        exact,
        lambda extra: refined_bases(exact, difference, reversible=reversible, extra_bits=extra),
        reversible=reversible,
        slem=float(spectrum.slem.mid()),
        relative_width=asked,
        step=lambda share: (
            going_on and told(_AFTER_SPECTRUM + (_TOTAL - _AFTER_SPECTRUM) * min(share, 0.99))
        ),
    )
    stationary = tuple(_within(Enclosure.from_ball(ball), 1.0) for ball in v.balls)
    slem = _within(Enclosure.from_ball(spectrum.slem.nonnegative_part()), 1.0)
    second = None if exact.agents == 1 else Enclosure.from_ball(spectrum.second_eigenvalue)
    if second is not None:
        second = Enclosure(max(second.lower, -1.0), min(second.upper, 1.0))
    sums = tuple(_within(Enclosure.from_ball(ball), math.inf) for ball in deviation.balls)
    reached = {
        "stationary_distribution": _widest(stationary),
        "slem": _widest((slem,)),
        "second_eigenvalue": 0.0 if second is None else _widest((second,)),
        "deviation": _widest(sums),
    }
    told(_TOTAL)
    return CertifiedNetwork(
        network=exact,
        relative_width=asked,
        stationary_distribution=stationary,
        slem=slem,
        second_eigenvalue=second,
        deviation=sums,
        is_reversible=reversible,
        slem_method=spectrum.slem_method,
        second_eigenvalue_method=spectrum.second_method,
        deviation_method=deviation.method,
        bits={
            "stationary_distribution": v.bits,
            "slem": spectrum.bits,
            "second_eigenvalue": spectrum.bits,
            "deviation": deviation.bits,
        },
        reached=reached,
        notes=_notes(asked, reached, stationary, second, deviation),
    )


def _notes(
    asked: float,
    reached: dict[str, float],
    stationary: tuple[Enclosure, ...],
    second: Enclosure | None,
    deviation: CertifiedDeviation,
) -> tuple[str, ...]:
    why = dict.fromkeys(reached, "")
    if min(entry.upper for entry in stationary) < 1e-290:
        why["stationary_distribution"] = "; the smallest entries are below what doubles hold"
    if second is not None and second.lower <= 0 <= second.upper:
        why["second_eigenvalue"] = "; it may be zero"
    if any(ball.lower() > sys.float_info.max for ball in deviation.balls):
        why["deviation"] = "; the largest entries are above what doubles hold"
    elif deviation.method != ROUNDS:
        why["deviation"] = "; W mixes slowly, and its signs do not settle in time"
    notes = [
        f"{name}: relative width {width:.2g}, wider than the {asked:.2g} asked for{why[name]}"
        for name, width in reached.items()
        if width > asked
    ]
    if not deviation.finished:
        notes.append(f"deviation: stopped after {deviation.rounds} rounds, as was asked")
    return tuple(notes)


def _within(interval: Enclosure, largest: float) -> Enclosure:
    """The part of the interval in [0, largest], where the number is known to lie."""
    return Enclosure(max(interval.lower, 0.0), min(interval.upper, largest))


def _widest(intervals: tuple[Enclosure, ...]) -> float:
    # An interval without an upper end has no width to speak of.
    return max(
        entry.relative_width if math.isfinite(entry.upper) else math.inf for entry in intervals
    )


def _estimated_minutes(agents: int) -> float:
    return float(2.0 * (agents / MOST_CERTIFIED_AGENTS) ** 3.5)
