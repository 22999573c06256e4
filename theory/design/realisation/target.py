"""The influence v that a network is to have, checked: it is typed by hand or comes from a solver.

Every agent of a connected network is heard, if only a little: v > 0. A solver that maximises the
rate alone answers with zeros, which no network attains; it has to be told a smallest influence.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from theory.numbers import exact_distribution
from theory.numbers.rational import Exact
from theory.validation import FloatArray, as_distribution, as_float_array, fail

LEAST_INFLUENCE = 1e-280
"""Weights are quotients of influences over degrees: above this they are normal doubles."""

_REMEDY = "give each agent a positive share, such as 1/(10 N), and rescale the sum to 1"


def as_influence(v: ArrayLike, *, agents: int) -> FloatArray:
    """The stationary distribution asked for, shape (N,), as read-only doubles.

    Raises
    ------
    ValueError
        If `v` is not a distribution over the N agents, or an entry is zero or below 1e-280.
    """
    values = as_float_array("v", v, ndim=1)
    _check_length(len(values), agents)
    if values.min() < LEAST_INFLUENCE:
        where = int(np.argmin(values))
        raise _not_positive(f"{values[where]:g}", where)
    return as_distribution("v", values)


def as_exact_influence(v: Sequence[Exact | float | str], *, agents: int) -> tuple[Fraction, ...]:
    """The stationary distribution asked for, length N, as fractions that sum to exactly one.

    Raises
    ------
    ValueError
        If an entry is no fraction, or `v` is not a positive distribution over the N agents.
    """
    values = list(v)
    _check_length(len(values), agents)
    exact = exact_distribution(values, argument="v")
    if min(exact) == 0:
        raise _not_positive("0", exact.index(min(exact)))
    return exact


def _check_length(found: int, agents: int) -> None:
    if found != agents:
        raise fail(
            "v",
            f"one influence for each of {agents} agents",
            found,
            "use a graph with as many agents as influences",
        )


def _not_positive(got: str, where: int) -> ValueError:
    return fail(
        "v", "positive influences, since every agent is heard", f"{got} at [{where}]", _REMEDY
    )
