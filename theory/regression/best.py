"""The stationary distribution with the least excess error, whatever the test law.

A⁻¹BA⁻¹ depends on v only through λ_j = v_j t_j α_j²/s_j², and is least in the order of Loewner, so
for every S_test at once, where all λ_j are equal (Gauss and Markov; docs: mathematics/regression).
With claims that are right that is the uniform v, and the error is that of all pairs in one place.
Compare finitely many hypotheses, where the best v depends on which hypothesis binds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.network import Network
from theory.regression.limits import (
    errors_of,
    influence_of,
    keeps_prior,
    pooled_of,
    together_of,
    with_digits,
)
from theory.regression.model import RegressionModel
from theory.regression.predicted import refuse_targets
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, fail, read_only


@dataclass(frozen=True, eq=False)
class BestStationary(Shown):
    """The best stationary distribution, and what the present one costs.

    Attributes
    ----------
    distribution
        Shape (N,), positive, sums to one. It is unique up to agents that share no direction with
        the others.
    constant, present_constant
        n times the excess error, in the limit, with the best and with the present v.
    price
        Their quotient, at least 1 up to rounding: how many times more rounds the present v needs.
    """

    distribution: FloatArray
    constant: float
    present_constant: float
    price: float


@typed
def best_stationary_distribution(
    network: Network | ArrayLike, model: RegressionModel
) -> BestStationary:
    """The v that minimises the asymptotic excess error for every test law.

    v_j is proportional to s_j²/(t_j α_j²). Batches play no part: they are in the information, where
    they belong.

    Parameters
    ----------
    network
        The present network, or its weights; it sets the price only.

    Raises
    ------
    ValueError
        If network and model do not fit, agents have targets, or the agents together leave a
        direction unseen that the test law asks for.

    Examples
    --------
    >>> from theory.regression.papers import two_nodes
    >>> case = two_nodes().as_floats()
    >>> best = best_stationary_distribution(case.network, case.model)
    >>> best.distribution.tolist(), round(best.constant, 9), round(best.price, 6)
    ([0.5, 0.5], 1.6, 1.102041)
    """
    refuse_targets(model)
    present = influence_of(network, model)
    S = model.test_second_moment
    if with_digits(lambda: keeps_prior(pooled_of(model), S)):
        raise fail(
            "test_second_moment",
            "one that asks only for what some agent sees",
            "one that asks for more",
            "leave the unseen direction out of the test law, or let an agent see it",
        )
    over = np.array([kind.overweight for kind in model.kinds])[model.assignment]
    v = 1 / over
    v = v / v.sum()
    constant, now = with_digits(
        lambda: [errors_of(together_of(u, model), S)[1] for u in (v, present)]
    )
    return BestStationary(read_only(v), constant, now, now / constant if constant else 1.0)
