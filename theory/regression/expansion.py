"""What a belief tends to when its precision grows like n·A, and how fast; A may be singular.

A belief of precision n·A + P holds the estimate θ* + (n·A + P)⁻¹(p + noise), where p is what the
prior gets wrong and the noise has the covariance n·B. Where A is singular nobody sees the
directions of its null space; there the estimate follows the prior, correlations included, for ever
(docs: regression). In coordinates x = U a + Z b, with Z spanning the null space,

    estimate − θ* → Z (ZᵀPZ)⁻¹ Zᵀp,        n · covariance → T (UᵀAU)⁻¹ (UᵀBU) (UᵀAU)⁻¹ Tᵀ,

with T = U − Z (ZᵀPZ)⁻¹ ZᵀPU.

Matrices are flint's, all fractions (`fmpq_mat`) or all balls (`arb_mat`), so that one machine
serves exact numbers and doubles: neither a change of units nor a column far from zero costs digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import flint
import numpy as np

from theory.numbers import as_fmpq, as_fraction, precision
from theory.rational import RationalNetwork
from theory.regression.agent import RegressionAgent
from theory.regression.model import RegressionModel
from theory.regression.positive import check_test_digits
from theory.regression.rational_model import RationalRegressionModel, matrix_of
from theory.validation import FloatArray, fail

# What a belief tends to when its precision grows like n·A, and how fast; A may be singular -------


# Bits that a variance must have: the sums it enters may cancel half of them.
_WANTED = 128
Matrix = TypeVar("Matrix", flint.fmpq_mat, flint.arb_mat)


@dataclass(frozen=True, eq=False)
class Directions:
    """A basis of ℝᵈ split into what is seen, d by r, and what is hidden, d by d − r; fractions.

    `seen` has unit vectors as columns.
    """

    seen: flint.fmpq_mat
    hidden: flint.fmpq_mat

    @classmethod
    def of(cls, rows: flint.fmpq_mat) -> Directions:
        """Split ℝᵈ by rows whose null space is what nobody sees: exactly."""
        d = rows.ncols()
        reduced, rank = rows.rref()
        pivots = [next(c for c in range(d) if reduced[r, c] != 0) for r in range(rank)]
        free = [c for c in range(d) if c not in pivots]
        seen, hidden = flint.fmpq_mat(d, rank), flint.fmpq_mat(d, d - rank)
        for r, c in enumerate(pivots):
            seen[c, r] = 1
        for k, c in enumerate(free):
            hidden[c, k] = 1
            for r, pivot in enumerate(pivots):
                hidden[pivot, k] = -reduced[r, c]
        return cls(seen, hidden)


@dataclass(frozen=True, eq=False)
class Expansion(Generic[Matrix]):
    """The limit of a belief and the coefficient of 1/n in what is left; vectors are d by 1.

    Attributes
    ----------
    offset
        The limit of estimate − θ*.
    covariance
        The limit of n times the estimate's covariance.
    drift
        n times the rest of the prior's pull, in the limit.
    reported_limit, reported
        What the belief's covariance tends to, and n times the rest.
    information, noise
        UᵀAU and UᵀBU.
    split
        U and Z.
    """

    offset: Matrix
    covariance: Matrix
    drift: Matrix
    reported_limit: Matrix
    reported: Matrix
    information: Matrix
    noise: Matrix
    split: Directions

    @property
    def is_identified(self) -> bool:
        """Whether nothing is hidden."""
        return not self.split.hidden.ncols()

    def error_limit(self, test: flint.fmpq_mat) -> Any:
        """The limit of the excess error under the second moment `test`."""
        return (self.offset.transpose() * test * self.offset)[0, 0]

    def error_constant(self, test: flint.fmpq_mat) -> Any:
        """The coefficient of 1/n in the excess error under `test`."""
        cross = (self.offset.transpose() * test * self.drift)[0, 0]
        return trace(test, self.covariance) + 2 * cross

    def coordinate_ratios(self) -> Iterator[Any]:
        """True over reported variance of each coefficient; None where nobody sees it."""
        hidden = self.split.hidden.table()
        for k, row in enumerate(hidden):
            kept = any(entry != 0 for entry in row)
            reported = self.reported[k, k]
            yield None if kept or reported == 0 else self.covariance[k, k] / reported


def expand(
    split: Directions,
    information: Matrix,
    noise: Matrix,
    prior: Matrix,
    prior_error: Matrix,
    pull: Matrix | None = None,
) -> Expansion[Matrix]:
    """The expansion for A = `information`, B = `noise`, P = `prior` and p = `prior_error`.

    `pull`, d by 1, is the mean of the noise per round, zero if left out: where labels do not
    follow θ*, the estimate's limit is moved by it, and the expansion is about that limit.

    Raises
    ------
    ZeroDivisionError
        If the matrices are balls of too few digits to be inverted.
    """
    kind = type(information)
    U, Z = kind(split.seen), kind(split.hidden)
    d = information.nrows()
    T, offset, kept = U, kind(d, 1), kind(d, d)
    if Z.ncols():
        inverse = inverse_of(Z.transpose() * prior * Z)
        if U.ncols():
            T = U - Z * (inverse * (Z.transpose() * prior * U))
        offset = Z * (inverse * (Z.transpose() * prior_error))
        kept = Z * inverse * Z.transpose()
    core, inner = U.transpose() * information * U, U.transpose() * noise * U
    if not U.ncols():
        none = kind(d, d)
        return Expansion(offset, none, kind(d, 1), kept, none, core, inner, split)
    left = T * inverse_of(core)
    if pull is not None:
        offset = offset + left * (U.transpose() * pull)
    return Expansion(
        offset,
        left * inner * left.transpose(),
        left * (T.transpose() * prior_error),
        kept,
        left * T.transpose(),
        core,
        inner,
        split,
    )


def inverse_of(matrix: Matrix) -> Matrix:
    """The inverse of a positive definite matrix.

    Raises
    ------
    ZeroDivisionError
        If balls leave a variance fewer than 128 bits.
    """
    inverse = matrix.inv()
    for k in range(inverse.nrows()):
        variance = inverse[k, k]
        if isinstance(variance, flint.arb) and variance.rel_accuracy_bits() < _WANTED:
            raise ZeroDivisionError
    return inverse


def trace(left: Any, right: Any) -> Any:
    """The trace of a product, tr(left · right)."""
    product = left * right
    return sum((product[k, k] for k in range(1, product.nrows())), product[0, 0])


def cholesky_of(matrix: flint.arb_mat) -> flint.arb_mat:
    """The lower triangle L of a positive definite matrix of balls, L Lᵀ.

    Raises
    ------
    ZeroDivisionError
        If the balls have too few digits.
    """
    rows = matrix.table()
    for j, row in enumerate(rows):
        for k, above in enumerate(rows[: j + 1]):
            rest = row[k] - sum((a * b for a, b in zip(row[:k], above, strict=False)), flint.arb())
            row[k] = rest / above[k] if k < j else rest.sqrt()
        row[j + 1 :] = [flint.arb()] * (len(rows) - j - 1)
        if not row[j] > 0:
            raise ZeroDivisionError
    return flint.arb_mat(rows)


def fractions_of(rows: Any) -> flint.fmpq_mat:
    """Nested rows of doubles as the fractions they are."""
    return flint.fmpq_mat([[as_fmpq(x) for x in row] for row in np.asarray(rows).tolist()])


def double_of(ball: flint.arb) -> float:
    """The nearest double; 0 for a ball of hundreds of bits that zero is in."""
    return 0.0 if ball.contains(0) else float(ball)


def doubles_of(matrix: flint.fmpq_mat | flint.arb_mat) -> FloatArray:
    """The nearest doubles, of the same shape."""
    rows = flint.arb_mat(matrix).table()
    numbers = [double_of(x) for row in rows for x in row]
    return np.array(numbers).reshape(matrix.nrows(), matrix.ncols())


# The constants of a regression over a network as fractions, with no rounding anywhere ------------


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

    >>> from theory.regression.rational_model import four_agents, two_nodes
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


# A column far from zero is centred before moments are formed -------------------------------------


# Mean squares of a column that centring leaves less of are those of an offset.
_FAR = 1e-4


def centring(model: RegressionModel) -> tuple[RegressionModel, FloatArray]:
    """The model with x' = L x for x, and L; with L = 1 where no column lies far from zero.

    The prior of the model returned means nothing: precisions are to be changed as they are used.

    Raises
    ------
    ValueError
        If the rounding of `test_second_moment` leaves fewer than three digits of a column's spread.
    """
    d = model.dimension
    L = np.eye(d)
    levels = np.array([_constants(kind) for kind in model.kinds])
    known = np.flatnonzero(~np.isnan(levels).any(axis=0) & (levels != 0).any(axis=0))
    if not known.size or any(kind.law == "normal" for kind in model.kinds):
        return model, L
    base = int(known[0])
    total = np.sum([kind.second_moment for kind in model.kinds], axis=0)
    L[:, base] -= total[:, base] / total[base, base]
    L[base, base] = 1.0
    left = np.sum([_moved(kind, L, base).second_moment for kind in model.kinds], axis=0)
    near = np.diag(left) > _FAR * np.diag(total)
    near[base] = False
    L[near, base] = 0.0
    if np.array_equal(L, np.eye(d)):
        return model, L
    S, turn = fractions_of(model.test_second_moment), fractions_of(L)
    with precision(256):
        test = doubles_of(turn * S * turn.transpose())
        theta = doubles_of(turn.inv().transpose() * fractions_of(model.theta[:, None]))[:, 0]
    check_test_digits(np.diag(test), np.diag(abs(L) @ abs(model.test_second_moment) @ abs(L.T)))
    kinds = tuple(_moved(kind, L, base) for kind in model.kinds)
    return RegressionModel(theta, kinds, np.eye(d), test, None, model.assignment), L


def _constants(kind: RegressionAgent) -> FloatArray:
    """The value of each coordinate that never varies, nan for the others; shape (d,)."""
    ends = kind.ranges
    if ends is None:
        rows = kind.second_moment if kind.inputs is None else kind.inputs
        ends = np.stack([rows.min(axis=0), rows.max(axis=0)], axis=1)
    return np.where(ends[:, 0] == ends[:, 1], ends[:, 0], np.nan)


def _moved(kind: RegressionAgent, L: FloatArray, base: int) -> RegressionAgent:
    """The agent that sees L x, where coordinate `base` is constant."""
    if kind.ranges is not None:
        moved = (
            kind.ranges + (L[:, base] * (np.arange(len(L)) != base))[:, None] * kind.ranges[base]
        )
        return kind.changed(ranges=moved)
    assert kind.inputs is not None
    return kind.changed(inputs=kind.inputs @ L.T)
