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

from collections.abc import Callable, Iterable

import flint

from theory.certified.eigenbasis import Eigenbasis
from theory.certified.running_sum import (
    CertifiedDeviation,
    RunningSum,
    Step,
    identity_matrix,
)
from theory.certified.stationary import stationary_balls
from theory.numbers import precision
from theory.rational import RationalNetwork

_BITS = (128, 512)


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
    bases: Callable[[], Iterable[Eigenbasis]],
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
        Eigenbases as of `spectrum.refined_bases`; asked for only if W mixes slowly.
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
    for bits in _BITS:
        with precision(bits):
            work = RunningSum(network, bits, relative_width, slem)
            result = work.run(bases, reversible=reversible, step=step)
        # More bits help only where it is the balls that are wide.
        if not result.finished or not work.is_rounding_the_limit(result):
            break
    assert result is not None
    return result
