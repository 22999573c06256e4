"""The constants of a regression over a network as fractions, with no rounding anywhere.

The formulas are those of :mod:`theory.regression.limits`. What is seen and what is hidden is
decided, and a condition number of 1e100 does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from theory.numbers import as_fmpq, as_fraction
from theory.rational import RationalNetwork
from theory.regression.expansion import Directions, Expansion, expand, trace
from theory.regression.rational_model import RationalRegressionModel, matrix_of
from theory.validation import fail

Table = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, eq=False)
class RationalRegression:
    """Excess error = limit + constant/n + o(1/n); every number is an exact fraction.

    The attributes are those of :class:`~theory.regression.RegressionLimits`, as fractions and
    tuples of them, and

    Attributes
    ----------
    stationary_distribution
        v.
    coordinate_ratios
        Length d: true over reported variance of each coefficient, in the limit; None where nobody
        sees it.
    """

    stationary_distribution: tuple[Fraction, ...]
    excess_error_constant: Fraction
    reported_error_constant: Fraction
    central_constant: Fraction | None
    central_node_constant: Fraction | None
    limit: Fraction
    limit_estimate: tuple[Fraction, ...]
    estimator_covariance: Table
    reported_covariance: Table
    alone: tuple[Fraction, ...]
    alone_constants: tuple[Fraction, ...]
    coordinate_ratios: tuple[Fraction | None, ...]
    is_identified: bool


def rational_regression(
    network: RationalNetwork, model: RationalRegressionModel
) -> RationalRegression:
    """The limits and constants of a regression whose numbers are fractions, exactly.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.

    Examples
    --------
    The papers' two cases:

    >>> from theory.regression.papers import four_agents, two_nodes
    >>> for case in (two_nodes(), four_agents()):
    ...     exact = rational_regression(case.network, case.model)
    ...     print(*exact.stationary_distribution)
    ...     print(*(str(exact.estimator_covariance[k][k]) for k in range(case.model.dimension)))
    ...     print(exact.excess_error_constant, exact.central_constant, exact.central_node_constant)
    6/7 1/7
    592/1225 48/25 64/75
    432/245 8/5 48/25
    3/14 5/14 3/14 3/14
    208/1225 48/25 64/75 768/625 256/75
    3344/1225 68/25 16/5
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"as many agents as the network, {network.agents}",
            model.agents,
            "change the agents' counts or the network's size",
        )
    v = network.stationary_distribution
    return rational_limits(v, model)


def rational_limits(
    weights: Sequence[Fraction], model: RationalRegressionModel
) -> RationalRegression:
    """The same for one positive weight per agent in place of a network; they sum to one.

    Raises
    ------
    ValueError
        If there is not one positive weight per agent, or they do not sum to one.
    """
    if len(weights) != model.agents or min(weights) <= 0 or sum(weights) != 1:
        raise fail(
            "weights", f"{model.agents} positive fractions that sum to 1", list(weights), "mend it"
        )
    parts = _Parts(model)
    S = matrix_of("test_second_moment", model.test_second_moment)
    together = parts.expand(parts.kind_sums(weights), parts.kind_sums([v * v for v in weights]))
    ones = parts.kind_sums([Fraction(1)] * model.agents)
    pooled = parts.expand(ones, ones, plain=True)
    noises = {as_fraction(model.kinds[k].noise_std) for k in parts.assignment}
    lone = {}
    for k in set(parts.assignment):
        only = [Fraction(int(k == other)) for other in range(len(model.kinds))]
        lone[k] = parts.expand(only, only)
    return RationalRegression(
        stationary_distribution=tuple(weights),
        excess_error_constant=as_fraction(together.error_constant(S)),
        reported_error_constant=as_fraction(trace(S, together.reported)),
        central_constant=None if keeps_prior(pooled, S) else as_fraction(pooled.error_constant(S)),
        central_node_constant=noises.pop() ** 2 * S.rank() if len(noises) == 1 else None,
        limit=as_fraction(together.error_limit(S)),
        limit_estimate=tuple(
            as_fraction(x) + as_fraction(together.offset[k, 0]) for k, x in enumerate(model.theta)
        ),
        estimator_covariance=_table(together.covariance),
        reported_covariance=_table(together.reported),
        alone=tuple(as_fraction(lone[k].error_limit(S)) for k in parts.assignment),
        alone_constants=tuple(as_fraction(lone[k].error_constant(S)) for k in parts.assignment),
        coordinate_ratios=tuple(
            None if ratio is None else as_fraction(ratio) for ratio in together.coordinate_ratios()
        ),
        is_identified=together.is_identified,
    )


class _Parts:
    """What the expansions of one model share."""

    def __init__(self, model: RationalRegressionModel) -> None:
        assert model.assignment is not None
        assert model.prior_mean is not None
        self.model = model
        self.assignment = tuple(model.assignment)
        self.moments = [kind.moment for kind in model.kinds]
        self.prior = matrix_of("prior_covariance", model.prior_covariance).inv()
        gap = [
            [as_fmpq(as_fraction(m) - as_fraction(x))]
            for m, x in zip(model.prior_mean, model.theta, strict=True)
        ]
        self.prior_error = self.prior * flint.fmpq_mat(gap)

    def kind_sums(self, weights: Sequence[Fraction]) -> list[Fraction]:
        totals = [Fraction(0)] * len(self.model.kinds)
        for k, weight in zip(self.assignment, weights, strict=True):
            totals[k] += weight
        return totals

    def expand(
        self, first: list[Fraction], second: list[Fraction], *, plain: bool = False
    ) -> Expansion[flint.fmpq_mat]:
        d = self.model.dimension
        A, B = flint.fmpq_mat(d, d), flint.fmpq_mat(d, d)
        for kind, S, a, b in zip(self.model.kinds, self.moments, first, second, strict=True):
            tempering = as_fraction(kind.tempering) if plain else Fraction(1)
            weight, over = kind.weight / tempering, kind.overweight / tempering
            A += S * as_fmpq(a * weight * kind.batch)
            B += S * as_fmpq(b * weight * over * kind.batch)
        return expand(Directions.of(A), A, B, self.prior, self.prior_error)


def keeps_prior(expansion: Expansion[flint.fmpq_mat], test: flint.fmpq_mat) -> bool:
    """Whether the belief stays uncertain where the test law asks."""
    return bool(expansion.reported_limit * test != flint.fmpq_mat(test.nrows(), test.nrows()))


def _table(matrix: flint.fmpq_mat) -> Table:
    return tuple(tuple(as_fraction(x) for x in row) for row in matrix.table())
