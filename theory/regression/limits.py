"""What the excess error of a network tends to, and how fast: the constants of c/n.

With weights c_j = t_j/s_j² and m_j pairs a round, and v the stationary distribution of W,

    A = Σ_j v_j c_j m_j S_j,        B = Σ_j v_j² c_j² m_j α_j² S_j,

every agent's estimate is asymptotically normal about θ* with covariance A⁻¹BA⁻¹/n, while its belief
reports A⁻¹/n (docs: mathematics/regression). Beside it stand three other learners:

central
    All agents' pairs in one place, one posterior that believes the noises the agents claim;
    tempering and v play no part.
central node
    The papers' benchmark: *one* pair a round, its input from the test law, all coordinates seen.
alone
    Each agent without the network. Where it never sees a coordinate it keeps its prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import flint
import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from theory.network import Network
from theory.numbers import as_fraction, precision
from theory.regression.agent import RegressionAgent, uniform_fourth_moment
from theory.regression.expansion import (
    Directions,
    Expansion,
    double_of,
    doubles_of,
    expand,
    fractions_of,
    inverse_of,
    trace,
)
from theory.regression.model import RegressionModel, check_fits
from theory.regression.positive import check_test_digits, rank_of, rank_tolerance, scales
from theory.regression.rational_model import uniform_moment
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_float_array, fail, read_only

# What the excess error of a network tends to, and how fast ---------------------------------------


# Bits of the balls that are tried in turn.
_BITS = (256, 512, 1024, 2048, 4096)
# Bits that a variance must have, and those by which one that is zero lies below its kind.
_WANTED, _NOTHING = 80, 200
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class RegressionLimits(Shown):
    """Excess error = limit + constant/n + o(1/n), in squared units of the label.

    All values are asymptotic formulas, evaluated with as many digits as they need from the doubles
    that network and model hold, and rounded once.

    Attributes
    ----------
    excess_error_constant
        tr(S_test A⁻¹BA⁻¹), the same for every agent.
    reported_error_constant
        tr(S_test A⁻¹): what the beliefs say it is.
    central_constant
        The same for one posterior of all pairs of all agents, which believes the noises they claim.
        At least tr(S_test C⁻¹), C = Σ_j m_j S_j/α_j², the least that any v reaches; equal to it if
        all claims are wrong by one factor, or right. None, with a note, if the pairs of all agents
        together leave something unseen that the test law asks for.
    central_node_constant
        α² rank(S_test), for one pair a round from the test law; None if noises differ.
    limit
        0 unless some direction is seen by nobody, or labels do not follow θ*.
    limit_estimate
        Shape (d,): what every agent's estimate tends to.
    estimator_covariance, reported_covariance
        Shape (d, d): A⁻¹BA⁻¹ and A⁻¹, both to be divided by n; on what is seen.
    reported_limit
        Shape (d, d): the covariance that beliefs keep for ever; zero if all is seen.
    alone, alone_constants
        Shape (N,): limit and constant of each agent without the network.
    is_identified
        Whether the agents together see every direction.
    notes
        What could not be had, and why.
    """

    excess_error_constant: float
    reported_error_constant: float
    central_constant: float | None
    central_node_constant: float | None
    limit: float
    limit_estimate: FloatArray
    estimator_covariance: FloatArray
    reported_covariance: FloatArray
    reported_limit: FloatArray
    alone: FloatArray
    alone_constants: FloatArray
    is_identified: bool
    notes: tuple[str, ...]


@typed
def regression_limits(network: Network | ArrayLike, model: RegressionModel) -> RegressionLimits:
    """The limits and constants of a regression over a network.

    Parameters
    ----------
    network
        A network, or one weight u_j per agent, where every pair of agent j ends with weight u_j in
        all beliefs. For weights that vary at random from round to round, u_j is only their mean,
        and B is larger than this function says.
    model
        The problem.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, a weight is negative or all are
        zero, or the rounding of `test_second_moment` leaves fewer than three digits of an error,
        as where a column lies far from zero.

    Examples
    --------
    P1's two nodes:

    >>> import numpy as np
    >>> from theory.regression import RegressionAgent, RegressionModel
    >>> one = RegressionAgent(ranges=[[1, 1], [-1, 1], [0, 0]], noise_std=0.8)
    >>> two = RegressionAgent(ranges=[[1, 1], [0, 0], [-1.5, 1.5]], noise_std=0.8)
    >>> model = RegressionModel(
    ...     [-0.3, 0.5, 0.8], [one, two], 0.5 * np.eye(3), np.diag([1, 1 / 3, 3 / 4])
    ... )
    >>> limits = regression_limits(Network([["9/10", "1/10"], ["3/5", "2/5"]]), model)
    >>> (limits.estimator_covariance.diagonal() / 0.64).round(9).tolist()
    [0.755102041, 3.0, 1.333333333]
    >>> round(limits.excess_error_constant, 9), round(limits.central_node_constant, 9)
    (1.763265306, 1.92)
    """
    v = influence_of(network, model)
    return with_digits(lambda: _limits(v, model))


def with_digits(compute: Callable[[], _T]) -> _T:
    """What `compute` returns, in balls of as many bits as it needs.

    Raises
    ------
    ValueError
        If thousands of bits are too few.
    """
    for bits in _BITS:
        try:
            with precision(bits):
                return compute()
        except ZeroDivisionError:
            continue
    raise fail(
        "agents",
        f"second moments and priors whose sizes differ by less than {_BITS[-1]} bits can hold",
        "more",
        "choose other units",
    )


def _limits(v: FloatArray, model: RegressionModel) -> RegressionLimits:
    test = model.test_second_moment
    together, pooled = together_of(v, model), pooled_of(model)
    notes = [
        f"agents[{k}].second_moment: singular up to rounding, and taken to be singular"
        for k, kind in enumerate(model.kinds)
        if not is_decided(kind)
    ]
    if model.has_targets:
        notes.append(
            "excess_error_constant: labels of a data set need not follow theta; the constant is"
            " that of the error about limit_estimate"
        )
    if keeps_prior(together, test):
        notes.append(
            "excess_error_constant: no agent sees some direction the test law asks for; there the"
            " prior stays, and the error tends to limit"
        )
    central = None
    if keeps_prior(pooled, test):
        notes.append("central_constant: all agents together leave a tested direction unseen")
    else:
        central = errors_of(pooled, test)[1]
    noise = model.noise_std
    if noise is None:
        notes.append("central_node_constant: the agents' noises differ")
    limit, constant = errors_of(together, test)
    S = fractions_of(test)
    if model.has_targets:
        constant = double_of(trace(S, together.covariance))
    lone = np.array(_alone(model))
    return RegressionLimits(
        excess_error_constant=constant,
        reported_error_constant=double_of(trace(S, together.reported)),
        central_constant=central,
        central_node_constant=None if noise is None else noise**2 * rank_of(test),
        limit=limit,
        limit_estimate=read_only(doubles_of(_column(model.theta) + together.offset)[:, 0]),
        estimator_covariance=read_only(doubles_of(together.covariance)),
        reported_covariance=read_only(doubles_of(together.reported)),
        reported_limit=read_only(doubles_of(together.reported_limit)),
        alone=read_only(lone[:, 0]),
        alone_constants=read_only(lone[:, 1]),
        is_identified=together.is_identified,
        notes=tuple(notes),
    )


def limit_of(weights: ArrayLike, model: RegressionModel) -> float:
    """The limit of the excess error alone, as of `regression_limits`: quicker on a data set."""
    v = influence_of(weights, model)
    test = model.test_second_moment
    return with_digits(lambda: errors_of(together_of(v, model, scores=False), test)[0])


def influence_of(network: Network | ArrayLike, model: RegressionModel) -> FloatArray:
    """The stationary distribution of a network, or the weights given in its place; shape (N,).

    Raises
    ------
    ValueError
        If there is not one per agent, or a weight is negative, or all are zero.
    """
    if isinstance(network, Network):
        check_fits(network, model)
        return network.stationary_distribution
    weights = as_float_array("weights", network, ndim=1)
    if weights.size != model.agents:
        raise fail("weights", f"one for each of {model.agents} agents", weights.size, "match them")
    if (weights < 0).any() or not weights.any():
        raise fail("weights", "numbers of at least 0, some above", weights.min(), "make them so")
    return weights


def keeps_prior(expansion: Expansion[flint.arb_mat], test: FloatArray) -> bool:
    """Whether the belief stays uncertain, beyond rounding, where the test law asks."""
    hidden = doubles_of(expansion.split.hidden)
    unit = np.sqrt(np.diag(test))
    # Each entry of a sum of squares is rounded by less than its coordinates' sizes.
    room = rank_tolerance(len(test)) * unit[:, None] * (unit @ np.abs(hidden))
    return bool((np.abs(test @ hidden) > room).any())


def errors_of(expansion: Expansion[flint.arb_mat], test: FloatArray) -> tuple[float, float]:
    """Limit and constant of the excess error under the second moment `test`.

    Raises
    ------
    ValueError
        If the rounding of `test` leaves too few digits of them.
    """
    S = fractions_of(test)
    limit, constant = double_of(expansion.error_limit(S)), double_of(expansion.error_constant(S))
    offset = doubles_of(expansion.offset)
    terms = test * (doubles_of(expansion.covariance) + offset * offset.T)
    if S.rank() == len(test):
        i, j = sorted(np.unravel_index(int(terms.argmin()), terms.shape))
        where = f", as columns {i} and {j} are so nearly proportional"
        check_test_digits(terms.sum(), np.abs(terms).sum(), where)
    return limit, constant


def together_of(
    v: FloatArray, model: RegressionModel, *, scores: bool = True
) -> Expansion[flint.arb_mat]:
    """The expansion of beliefs in which pairs of agent j end with weight v_j.

    Without `scores` the noise is that of labels which follow θ*, whatever the labels are.
    """
    precisions, errors = _priors(model)
    if len(precisions) == 1:
        prior = precisions[0]
    else:
        prior = _sum(v, precisions) / flint.arb(float(v.sum()))
    error = errors[0] if len(errors) == 1 else _sum(v, errors) / flint.arb(float(v.sum()))
    sums = model.kind_weights(v), model.kind_weights(v**2)
    return _expansion(*sums, model, prior, error, scores=scores)


def pooled_of(model: RegressionModel) -> Expansion[flint.arb_mat]:
    """The expansion of one posterior of all pairs, without tempering."""
    return together_of(np.ones(model.agents), model.tempered(1.0))


def _alone(model: RegressionModel) -> list[tuple[float, float]]:
    """Limit and constant of each agent by itself; agents of one kind and prior share them."""
    precisions, errors = _priors(model)
    found: dict[tuple[int, int], tuple[float, float]] = {}
    result = []
    for i, kind in enumerate(model.assignment.tolist()):
        key = kind, i if len(errors) > 1 else 0
        if key not in found:
            only = np.eye(1, len(model.kinds), kind)[0]
            prior = precisions[i if len(precisions) > 1 else 0]
            expansion = _expansion(only, only, model, prior, errors[key[1]])
            found[key] = errors_of(expansion, model.test_second_moment)
        result.append(found[key])
    return result


def _priors(model: RegressionModel) -> tuple[list[flint.arb_mat], list[flint.arb_mat]]:
    """Precisions P, and what they get wrong, P(m − θ*): one for all agents, or one for each."""
    given, means = model.prior_covariance, np.atleast_2d(model.prior_mean)
    covariances = given if given.ndim == 3 else given[None]
    precisions = [inverse_of(_balls(covariance)) for covariance in covariances]
    gaps = [_column(mean) - _column(model.theta) for mean in means]
    count = max(len(precisions), len(gaps))
    pairs = zip(precisions * count, gaps * count, strict=False)
    return precisions, [P * gap for P, gap in list(pairs)[:count]]


def _expansion(
    first: FloatArray,
    second: FloatArray,
    model: RegressionModel,
    prior: flint.arb_mat,
    prior_error: flint.arb_mat,
    *,
    scores: bool = True,
) -> Expansion[flint.arb_mat]:
    """The expansion for each kind's sum of weights and sum of squared weights.

    Raises
    ------
    ZeroDivisionError
        If the present number of bits is too small.
    """
    present = [(k, a, b) for k, a, b in zip(model.kinds, first, second, strict=True) if a > 0]
    split = directions_seen(tuple(kind for kind, _, _ in present))
    moments = [flint.arb_mat(moment_of(kind)) for kind, _, _ in present]
    A = _sum([a * kind.weight * kind.batch for kind, a, _ in present], moments)
    B = _sum([b * k.weight * k.overweight * k.batch for k, _, b in present], moments)
    found = expand(split, A, B, prior, prior_error)
    if model.has_targets:
        # Labels that need not follow θ*: first where the estimate goes, then the noise about it.
        theta = _column(model.theta)
        weights = [a * kind.weight * kind.batch for kind, a, _ in present]
        pull = _sum(weights, [_pull(kind, theta) for kind, _, _ in present])
        found = expand(split, A, B, prior, prior_error, pull)
    if model.has_targets and scores:
        at = theta + found.offset
        noises = [_score_covariance(kind, theta, at) for kind, _, _ in present]
        B = _sum([b * kind.weight**2 * kind.batch for kind, _, b in present], noises)
        found = expand(split, A, B, prior, prior_error, pull)
    for k in range(model.dimension):
        kept, variance = found.reported_limit[k, k], found.reported[k, k]
        check_bits(variance, kept)
        check_bits(found.covariance[k, k], kept + variance)
    return found


def check_bits(variance: flint.arb, beside: Any) -> None:
    """Check that a variance is known to many bits, or that it is zero beside another.

    Raises
    ------
    ZeroDivisionError
        If not.
    """
    if variance.rel_accuracy_bits() < _WANTED and not variance < beside * flint.arb(2) ** -_NOTHING:
        raise ZeroDivisionError


def _pull(kind: RegressionAgent, theta: flint.arb_mat) -> flint.arb_mat:
    """The mean of x (y − xᵀ`theta`), d by 1; zero where labels follow `theta`."""
    if kind.targets is None:
        return theta * 0
    rows = flint.arb_mat(rows_of(kind))
    return rows.transpose() * (_column(kind.targets) - rows * theta) / rows.nrows()


def _score_covariance(
    kind: RegressionAgent, theta: flint.arb_mat, at: flint.arb_mat
) -> flint.arb_mat:
    """The covariance of x (y − xᵀ`at`), d by d, if labels without targets follow `theta`."""
    S, gap = flint.arb_mat(moment_of(kind)), theta - at
    mean, noise = S * gap, S * flint.arb(kind.noise_std) * flint.arb(kind.noise_std)
    if kind.inputs is not None:
        rows = flint.arb_mat(rows_of(kind))
        rest = rows * gap
        if kind.targets is not None:
            rest, noise = _column(kind.targets) - rows * at, S * 0
        scores = flint.arb_mat(
            [[r * x for x in row] for (r,), row in zip(rest.table(), rows.table(), strict=True)]
        )
        mean = rows.transpose() * rest / rows.nrows()
        square = scores.transpose() * scores / rows.nrows()
    elif kind.ranges is not None:
        g, ranges = np.array(gap.table()), np.array(_balls(kind.ranges).table())
        square = flint.arb_mat(uniform_fourth_moment(ranges, g * g.T).tolist())
    else:
        square = 2 * mean * mean.transpose() + (gap.transpose() * mean)[0, 0] * S
    return noise + square - mean * mean.transpose()


def _sum(weights: Any, matrices: list[flint.arb_mat]) -> flint.arb_mat:
    terms = [M * flint.arb(float(w)) for w, M in zip(weights, matrices, strict=True)]
    return sum(terms[1:], terms[0])


def _balls(matrix: FloatArray) -> flint.arb_mat:
    return flint.arb_mat(fractions_of(matrix))


def _column(vector: FloatArray) -> flint.arb_mat:
    return _balls(vector[:, None])


# What agents see, decided without rounding -------------------------------------------------------


@lru_cache(maxsize=16)
def rows_of(agent: RegressionAgent) -> flint.fmpq_mat:
    """The rows of an agent's data set, exactly; m by d."""
    return fractions_of(agent.inputs)


@lru_cache(maxsize=256)
def moment_of(agent: RegressionAgent) -> flint.fmpq_mat:
    """E x xᵀ of an agent's inputs, exactly; d by d."""
    if agent.ranges is not None:
        return uniform_moment([[as_fraction(x) for x in row] for row in agent.ranges.tolist()])
    if agent.inputs is None:
        return fractions_of(agent.second_moment)
    rows = rows_of(agent)
    return rows.transpose() * rows / rows.nrows()


@lru_cache(maxsize=256)
def is_decided(agent: RegressionAgent) -> bool:
    """Whether rounding leaves no doubt about what an agent sees."""
    return agent.law != "normal" or moment_of(agent).rank() == rank_of(agent.second_moment)


@lru_cache(maxsize=256)
def directions_seen(kinds: tuple[RegressionAgent, ...]) -> Directions:
    """Split ℝᵈ into what some of the agents see and what none does."""
    nothing = flint.fmpq_mat(kinds[0].dimension, kinds[0].dimension)
    sure = Directions.of(sum((moment_of(k) for k in kinds if is_decided(k)), nothing))
    doubtful = [moment_of(kind) for kind in kinds if not is_decided(kind)]
    Z = sure.hidden
    if not doubtful or not Z.ncols():
        return sure
    # Of what is left, in the same units for all, and with the same say for all.
    left = np.array([_floats(Z.transpose() * moment * Z) for moment in doubtful])
    unit = scales(left.max(axis=0))
    scaled = unit[:, None] * left * unit
    size = np.abs(scaled).max(axis=(1, 2), keepdims=True)
    total = (scaled / np.where(size > 0, size, 1.0)).sum(axis=0)
    values, vectors = np.linalg.eigh(total)
    tolerance = rank_tolerance(nothing.nrows())
    seen = vectors[:, values > tolerance].T
    # Coordinates on which these are regular, and the null space in terms of the others.
    order = qr(seen, mode="r", pivoting=True)[1]
    regular, free = order[: len(seen)], np.sort(order[len(seen) :])
    null = np.zeros((len(order), free.size))
    null[free, np.arange(free.size)] = 1.0
    inner = -np.linalg.solve(seen[:, regular], seen[:, free])
    null[regular] = np.where(np.abs(inner) > tolerance, inner, 0.0)
    null *= unit[:, None] / unit[free]
    hidden = Z * fractions_of(null) if free.size else flint.fmpq_mat(Z.nrows(), 0)
    # Columns of Z end in a 1, at a coordinate of their own.
    ends = [max(c for c in range(Z.nrows()) if Z[c, k] != 0) for k in free]
    rest = [c for c in range(Z.nrows()) if c not in ends]
    return Directions(fractions_of(np.eye(Z.nrows())[:, rest]), hidden)


def _floats(matrix: flint.fmpq_mat) -> FloatArray:
    return np.array([[float(as_fraction(x)) for x in row] for row in matrix.table()])
