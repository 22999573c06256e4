"""The stationary distribution in balls.

v solves v(I − W) = 0 and Σ v = 1. The equations sum to zero, so the first gives way to Σ v = 1;
what remains is regular for every irreducible W. The solver computes an approximate inverse R in
plain arithmetic, encloses RA in balls, and succeeds only if ‖I − RA‖ < 1, which proves that A is
regular and bounds the error. W enters as exact rationals, so that a weak coupling costs bits of
the solution but not the truth of its interval. (docs: mathematics/certified)
"""

from __future__ import annotations

import flint

from theory.certified.refinement import Refined, refine, rising_bits
from theory.numbers import precision
from theory.rational import RationalNetwork
from theory.rational.stationary import stationary_equations


def stationary_balls(network: RationalNetwork) -> list[flint.arb]:
    """V in balls at the present precision; each contains the true v_j, and is above zero.

    Raises
    ------
    ZeroDivisionError
        If the present precision is too low to prove that the equations have one solution.
    """
    if network.agents == 1:
        return [flint.arb(1)]
    equations = stationary_equations(network.matrix)
    system, right = flint.arb_mat(equations.system), flint.arb_mat(equations.right)
    solution = system.solve(right, algorithm="precond")
    # v > 0 is a theorem: what a ball holds below zero may be cut off.
    return [entry.nonnegative_part() for entry in solution.entries()]


def certified_stationary(network: RationalNetwork, *, relative_width: float) -> Refined:
    """V in balls of the relative width asked for, entry by entry, if 4096 bits reach it."""
    return refine(lambda: stationary_balls(network), relative_width=relative_width)


def stationary_to_bits(network: RationalNetwork, bits: int) -> list[flint.arb]:
    """V in balls of relative radius 2^-bits at most, however small the entry.

    Computed at a precision that exceeds `bits` by what the smallest entry and the conditioning
    of the equations cost.

    Raises
    ------
    ZeroDivisionError
        If 64 times as many bits are not enough.
    """
    narrow = flint.arb(2) ** -bits
    for working in rising_bits(bits + 32, 64 * (bits + 32)):
        try:
            with precision(working):
                balls = stationary_balls(network)
                if all(ball.rad() <= narrow * abs(ball.mid()) for ball in balls):
                    return balls
        except ZeroDivisionError:
            continue
    raise ZeroDivisionError("the stationary distribution needs more bits")
