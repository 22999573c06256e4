"""The deviation D_i = Σ_{k≥1} Σ_j |[W^k]_ij − v_j| in intervals that contain it.

With f_i(k) = Σ_j |[W^k]_ij − v_j|, S_m the sum of the first m terms, and everything in balls:

``rounds``
    S_m ≤ D_i ≤ S_m/(1 − τ), τ = max_i f_i(m), which bounds the Dobrushin coefficient of W^m.
    Narrow after about 30/(1 − slem) rounds.
``rounds-and-signs``
    S_m plus the later terms in closed form, once their signs are settled
    (theory.certified.settled). Narrow even where W takes 10^12 rounds to mix, if the slowest
    eigenvalues are real.
``strides``
    s f_i(k+s) ≤ f_i(k+1) + … + f_i(k+s) ≤ (s−1) f_i(k) + f_i(k+s), as f_i never increases; the
    strides s double as k does. What remains for a slow W whose slowest eigenvalues are not real:
    a relative width of about 1/1000, or of 10⁻¹¹ if strides of one round get to the end. In
    doubles whose rounding is bounded, each stretch starting from a power of W in balls.

The deviation matrix Σ_{k≥0} (W^k − 1vᵀ) is one linear solve. (docs: mathematics/certified)
"""

from __future__ import annotations

import flint

from theory.certified.cumulant import extreme
from theory.certified.refinement import MOST_BITS, rising_bits
from theory.certified.running_sum import (
    Bases,
    CertifiedDeviation,
    RunningSum,
    Step,
    identity_matrix,
)
from theory.certified.stationary import stationary_balls
from theory.numbers import precision
from theory.rational import RationalNetwork

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
