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

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.network import Network
from theory.regression.expansion import Expansion, directions, expand
from theory.regression.model import RegressionModel, check_fits
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_float_array, fail, read_only


@dataclass(frozen=True, eq=False)
class RegressionLimits(Shown):
    """Excess error = limit + constant/n + o(1/n), in squared units of the label.

    All values are floating-point evaluations of asymptotic formulas.

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
        zero, or a direction that is seen is lost to rounding.

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
    test = model.test_second_moment
    together = expansion_of(network, model)
    notes = []
    if model.has_targets:
        notes.append(
            "excess_error_constant: labels of a data set need not follow theta; the constant is"
            " that of the error about limit_estimate"
        )
    if _keeps_prior(together, test):
        notes.append(
            "excess_error_constant: no agent sees some direction the test law asks for; there the"
            " prior stays, and the error tends to limit"
        )
    pooled = _pooled(model)
    if _keeps_prior(pooled, test):
        notes.append("central_constant: all agents together leave a tested direction unseen")
        central = None
    else:
        central = pooled.error_constant(test)
    noise = model.noise_std
    if noise is None:
        notes.append("central_node_constant: the agents' noises differ")
    node = None if noise is None else noise**2 * directions(test).seen.shape[1]
    lone = _alone(model)
    constant = (
        float((test * together.covariance).sum())
        if model.has_targets
        else together.error_constant(test)
    )
    return RegressionLimits(
        excess_error_constant=constant,
        reported_error_constant=together.reported_constant(test),
        central_constant=central,
        central_node_constant=node,
        limit=together.error_limit(test),
        limit_estimate=read_only(model.theta + together.offset),
        estimator_covariance=read_only(together.covariance),
        reported_covariance=read_only(together.reported),
        reported_limit=read_only(together.reported_limit),
        alone=read_only(np.array([one.error_limit(test) for one in lone])),
        alone_constants=read_only(np.array([one.error_constant(test) for one in lone])),
        is_identified=together.is_identified,
        notes=tuple(notes),
    )


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


def _information_and_noise(
    first: FloatArray, second: FloatArray, model: RegressionModel
) -> tuple[FloatArray, FloatArray]:
    """A and B of labels that follow θ*, for each kind's sums of weights; shape (d, d) each."""
    A, B = np.zeros((2, model.dimension, model.dimension))
    for kind, a, b in zip(model.kinds, first, second, strict=True):
        if a == 0:
            continue
        A += a * kind.weight * kind.batch * kind.second_moment
        B += b * kind.weight * kind.overweight * kind.batch * kind.second_moment
    return A, B


def _keeps_prior(expansion: Expansion, test: FloatArray) -> bool:
    """Whether the belief stays uncertain, beyond rounding, where the test law asks."""
    kept = expansion.reported_limit
    size = np.linalg.norm(kept) * np.linalg.norm(test)
    return bool(np.linalg.norm(kept @ test) > 1e-12 * size)


def expansion_of(network: Network | ArrayLike, model: RegressionModel) -> Expansion:
    """The expansion that every agent's belief has in common.

    Raises
    ------
    ValueError
        As for `regression_limits`.
    """
    return _together(influence_of(network, model), model)


def _together(v: FloatArray, model: RegressionModel) -> Expansion:
    prior = model.prior_precision
    if prior.ndim == 3:
        prior = np.tensordot(v, prior, axes=1) / v.sum()
    sums = model.kind_weights(v), model.kind_weights(v**2)
    return _expansion(*sums, model, prior, v @ model.prior_errors / v.sum())


def _pooled(model: RegressionModel) -> Expansion:
    return _together(np.ones(model.agents), model.tempered(1.0))


def _alone(model: RegressionModel) -> list[Expansion]:
    """One expansion an agent; agents of one kind and prior share it."""
    shared = model.prior_covariance.ndim == 2 and model.prior_mean.ndim == 1
    precisions, errors = model.prior_precisions, model.prior_errors
    found: dict[int, Expansion] = {}
    result = []
    for i, kind in enumerate(model.assignment.tolist()):
        key = kind if shared else i
        if key not in found:
            only = np.eye(1, len(model.kinds), kind)[0]
            found[key] = _expansion(only, only, model, precisions[i], errors[i])
        result.append(found[key])
    return result


def _expansion(
    first: FloatArray,
    second: FloatArray,
    model: RegressionModel,
    prior: FloatArray,
    prior_error: FloatArray,
) -> Expansion:
    """The expansion for each kind's sum of weights and sum of squared weights."""
    A, B = _information_and_noise(first, second, model)
    present = [(k, a, b) for k, a, b in zip(model.kinds, first, second, strict=True) if a > 0]
    split = directions(np.sum([kind.second_moment for kind, _, _ in present], axis=0))
    if not model.has_targets:
        return expand(split, A, B, prior, prior_error)
    # Labels that need not follow θ*: first where the estimate goes, then the noise about it.
    pull = np.zeros(model.dimension)
    for kind, a, _ in present:
        gap = kind.correlation(model.theta) - kind.second_moment @ model.theta
        pull += a * kind.weight * kind.batch * gap
    at = model.theta + expand(split, A, B, prior, prior_error, pull).offset
    noise = np.zeros_like(B)
    for kind, _, b in present:
        noise += b * kind.weight**2 * kind.batch * kind.score_covariance(model.theta, at)
    return expand(split, A, noise, prior, prior_error, pull)
