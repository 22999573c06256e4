"""How an excess error comes down to its limit: the coefficient of 1/n, whatever the labels follow.

Where labels follow θ*, the error is limit + constant/n with the constants of
:func:`theory.regression.regression_limits`. For labels of a data set those constants are of the
error about what the estimates tend to. Where that is not θ*, scores that go with the precision move
the mean as well, and the whole coefficient may be negative: the error then rises to its limit.
It is read off the first order of the expected error, at a round so late that no more is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerbayes.kinds.regression.learners import Learner
from peerbayes.problem.problems import RegressionProblem
from theory import Network
from theory.regression import (
    RegressionLimits,
    RegressionModel,
    alone_error,
    predicted_error,
    regression_limits,
)
from theory.validation import FloatArray, read_only

# The order 1/n² is down to 1e-7 of 1/n there, and the rounding of the limit has grown to 1e-9.
_LATE = 10**7
# Limits are sums of squares of differences: what rounding leaves of a zero is of this size beside
# the constant, which has the same unit.
_ROUNDING = 1e-12


def coefficient(network: Network, model: RegressionModel, limits: RegressionLimits) -> float:
    """The coefficient of 1/n of a network's excess error: an asymptotic value in doubles.

    Examples
    --------
    >>> from theory.regression import regression_limits
    >>> from theory.regression.rational_model import two_nodes
    >>> case = two_nodes().as_floats()
    >>> limits = regression_limits(case.network, case.model)
    >>> coefficient(case.network, case.model, limits) == limits.excess_error_constant
    True
    """
    if not model.has_targets:
        return limits.excess_error_constant
    late = predicted_error(network, model, [_LATE], order=1)
    return _LATE * (float(late.excess_error[0].mean()) - limits.limit)


def lone_coefficients(problem: RegressionProblem, limits: RegressionLimits) -> FloatArray:
    """The same of each agent without the network; shape (N,)."""
    model = problem.regression
    if not model.has_targets:
        return limits.alone_constants
    late = alone_error(model, [_LATE], order=1)
    return read_only(np.asarray(_LATE * (late.excess_error[0] - limits.alone)))


@dataclass(frozen=True)
class FirstOrderError:
    """Excess error at a round to first order in 1/n, and the size of what is added to its limit."""

    value: float
    correction: float


def first_order_error(learner: Learner, rounds: int) -> FirstOrderError:
    """The limit of a learner's excess error and what it is off by after `rounds`, to first order.

    The correction is the constant over n, and what the prior adds where the limit of the estimates
    is not θ*; its size counts both without regard to sign.
    """
    limits = regression_limits(learner.network, learner.model)
    curve = predicted_error(learner.network, learner.model, [rounds], order=1)
    value = float(curve.excess_error[0].mean())
    size = max(abs(value - limits.limit), limits.excess_error_constant / rounds)
    return FirstOrderError(value, size)


def lasts(limit: float, constant: float) -> bool:
    """Whether a limit is more than rounding leaves of zero; `constant` is that of 1/n beside it.

    >>> lasts(0.684, 7.1), lasts(7e-30, 9.1)
    (True, False)
    """
    return limit > _ROUNDING * abs(constant)
