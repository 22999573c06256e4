"""The expected excess error at every round, in closed form.

After n rounds agent i's precision is Ω = P + Σ_k Σ_j [W^k]_ij c_j x xᵀ, and given the inputs its
estimate has the error Ω⁻¹(p + noise), the noise having covariance V = Σ_k Σ_j ([W^k]_ij c_j α_j)²
x xᵀ. Only the inputs are left to average over. The first order puts the means of Ω and V in place
of both. The second adds what the scatter of Ω and V about their means does, to the order at which
it matters first: the relative error falls from O(1/n) to O(1/n²) (docs: mathematics/regression).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from theory.network import Network
from theory.regression.agent import RegressionAgent
from theory.regression.expansion import centring
from theory.regression.model import RegressionModel, check_fits
from theory.regression.positive import Factor
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

# How much every agent's past pairs weigh in every belief, summed over rounds ---------------------


# Powers of W are products of non-negative numbers, accurate entry by entry; once the entries of
# each column agree to this, relatively, further rounds change nothing but rounding.
MIXED = 1e-13


def as_rounds(rounds: Sequence[int] | IntArray) -> list[int]:
    """Increasing round numbers of at least 1.

    Raises
    ------
    ValueError
        If they are none, or do not increase from 1 or more.
    """
    wanted = [as_integer("rounds", n, minimum=1) for n in rounds]
    if not wanted or any(b <= a for a, b in pairwise(wanted)):
        raise fail("rounds", "increasing round numbers", wanted, "sort them, without repeats")
    return wanted


@dataclass(frozen=True, eq=False)
class InfluenceSums:
    """Sums over k = 1..n of the powers of [W^k]_ij, by kind of agent j, at rounds n.

    Attributes
    ----------
    rounds
        Shape (T,).
    first, second, third
        Shape (T, L, K): Σ_k Σ_{j of the kind} [W^k]_ij to the power 1, 2 and 3, for L listeners.
    prior
        Shape (T, L, d, d), or (d, d) if all agents share it: Σ_j [W^n]_ij Ω_j^0.
    prior_error
        Shape (T, L, d): Σ_j [W^n]_ij Ω_j^0 (m_j − θ*).
    """

    rounds: IntArray
    first: FloatArray
    second: FloatArray
    third: FloatArray
    prior: FloatArray
    prior_error: FloatArray


def influence_sums(
    network: Network, model: RegressionModel, rounds: Sequence[int] | IntArray
) -> InfluenceSums:
    """The sums for every agent of a network: N³ operations a round until W^k is mixed."""
    wanted = as_rounds(rounds)
    N, K = model.agents, len(model.kinds)
    sums = np.zeros((3, N, K))
    result = np.empty((3, len(wanted), N, K))
    shared = model.prior_precision.ndim == 2
    d = model.dimension
    prior = np.empty((0 if shared else len(wanted), N, d, d))
    errors = np.empty((len(wanted), N, d))
    powers = network.powers()
    power = np.eye(N)
    added = np.zeros_like(sums)
    done, mixed = 0, False
    for index, n in enumerate(wanted):
        while done < n and not mixed:
            power = next(powers)
            square = power * power
            added = np.array([model.kind_weights(q) for q in (power, square, square * power)])
            sums = sums + added
            done += 1
            mixed = is_mixed(power)
        if done < n:
            sums = sums + (n - done) * added
            done = n
        result[:, index] = sums
        errors[index] = power @ model.prior_errors
        if not shared:
            prior[index] = np.tensordot(power, model.prior_precision, axes=1)
    return InfluenceSums(
        np.array(wanted, dtype=np.int64),
        result[0],
        result[1],
        result[2],
        model.prior_precision if shared else prior,
        errors,
    )


def lone_sums(
    model: RegressionModel, rounds: Sequence[int] | IntArray, *, pooled: bool
) -> InfluenceSums:
    """The sums for one learner that gets all agents' pairs (`pooled`), or for each agent alone.

    The pooled learner's prior is the agents' average, in precision and information.
    """
    wanted = np.array(as_rounds(rounds), dtype=np.int64)
    if pooled:
        counts = np.bincount(model.assignment, minlength=len(model.kinds))[None].astype(np.float64)
        errors = model.prior_errors.mean(axis=0, keepdims=True)
        prior = model.prior_precision
        if prior.ndim == 3:
            prior = np.broadcast_to(prior.mean(axis=0), (wanted.size, 1, *prior.shape[1:]))
    else:
        counts = np.eye(len(model.kinds))[model.assignment]
        errors = np.asarray(model.prior_errors)
        prior = model.prior_precision
        if prior.ndim == 3:
            prior = np.broadcast_to(prior, (wanted.size, *prior.shape))
    sums = wanted[:, None, None] * counts
    return InfluenceSums(
        wanted, sums, sums, sums, prior, np.broadcast_to(errors, (wanted.size, *errors.shape))
    )


def is_mixed(power: FloatArray) -> bool:
    """Whether the rows of a power of W agree, entry by entry."""
    high = power.max(axis=0)
    return bool((high - power.min(axis=0) <= MIXED * high).all())


# The expected excess error at every round, in closed form ----------------------------------------


@dataclass(frozen=True, eq=False)
class ErrorCurve(Shown):
    """Expected errors round by round: estimates, with relative error O(n^−order).

    Attributes
    ----------
    rounds
        Shape (T,).
    excess_error
        Shape (T, L) for L learners: the expected excess error, in squared units of the label.
    reported_error
        Shape (T, L): what the beliefs report on average, tr(S_test Ω⁻¹).
    order
        1 or 2.
    """

    rounds: IntArray
    excess_error: FloatArray
    reported_error: FloatArray
    order: int


@typed
def predicted_error(
    network: Network, model: RegressionModel, rounds: Sequence[int] | IntArray, *, order: int = 2
) -> ErrorCurve:
    """Every agent's expected excess error over a network, transient and prior included.

    Agents with targets need `order` 1: where their labels do not follow θ*, the estimate's mean and
    the scores' covariance about it take the places of bias and noise, and scores that go with the
    precision move the mean.

    Where some x is random, early rounds (n of the order of d) are beyond the second order;
    :func:`~theory.regression.averaged_error` is right there too. Exact at either order if inputs
    are not random.

    Parameters
    ----------
    rounds
        Increasing round numbers.
    order
        1: cost O(T N (K d² + d³)); 2: O(T N K d³).

    Raises
    ------
    ValueError
        If network and model do not fit, rounds do not increase from 1 or more, `order` is neither
        1 nor 2, or it is 2 and some agent's labels are those of a data set.

    Examples
    --------
    >>> from theory.regression.rational_model import two_nodes
    >>> case = two_nodes().as_floats()
    >>> curve = predicted_error(case.network, case.model, [1000, 100000])
    >>> (curve.rounds[:, None] * curve.excess_error).round(4).tolist()
    [[1.8128, 1.8143], [1.7638, 1.7638]]
    """
    check_fits(network, model)
    check_order(order, model)
    return _curve(model, influence_sums(network, model, rounds), order)


@typed
def central_error(
    model: RegressionModel, rounds: Sequence[int] | IntArray, *, order: int = 2
) -> ErrorCurve:
    """The same for one posterior of all agents' pairs, without tempering; L = 1.

    The learner believes the noises that agents claim. Its prior is the agents' average (in
    precision and information), once.

    Raises
    ------
    ValueError
        As for `predicted_error`.
    """
    check_order(order, model)
    plain = model.tempered(1.0)
    return _curve(plain, lone_sums(plain, rounds, pooled=True), order)


@typed
def alone_error(
    model: RegressionModel, rounds: Sequence[int] | IntArray, *, order: int = 2
) -> ErrorCurve:
    """The same for every agent without the network; L = N.

    Raises
    ------
    ValueError
        As for `predicted_error`.
    """
    check_order(order, model)
    return _curve(model, lone_sums(model, rounds, pooled=False), order)


@typed
def central_node_error(
    model: RegressionModel,
    node: RegressionAgent,
    rounds: Sequence[int] | IntArray,
    *,
    order: int = 2,
) -> ErrorCurve:
    """The same for the papers' central node, which sees what `node` sees; L = 1.

    In the papers: one pair a round, all coordinates, from the test law. Its prior is the agents'
    average.

    Raises
    ------
    ValueError
        As for `predicted_error`, or if `node` has another dimension.
    """
    prior, error = model.prior_precision, model.prior_errors.mean(axis=0)
    prior = prior.mean(axis=0) if prior.ndim == 3 else prior
    factor = Factor.of(prior)
    alone = RegressionModel(
        model.theta,
        (node,),
        factor.inverse(),
        model.test_second_moment,
        model.theta + factor.solve(error[:, None])[:, 0],
    )
    check_order(order, alone)
    return _curve(alone, lone_sums(alone, as_rounds(rounds), pooled=False), order)


def check_order(order: int, model: RegressionModel) -> None:
    """Check the order, and that labels follow θ* if it is 2.

    Raises
    ------
    ValueError
        If not.
    """
    if order not in (1, 2):
        raise fail("order", "1 or 2", order, "choose one")
    if order == 2 and model.has_targets:
        raise fail("order", "1 for agents whose labels are a data set's", 2, "use order=1")


def refuse_targets(model: RegressionModel) -> None:
    """Check that labels are xᵀθ* plus noise.

    Raises
    ------
    ValueError
        If some agent has targets of its own.
    """
    for k, kind in enumerate(model.kinds):
        if kind.targets is not None:
            raise fail(
                f"agents[{k}].targets",
                "none: labels that are xᵀθ* plus noise",
                "a data set's",
                "leave them out, or use regression_limits, which takes them",
            )


def _curve(model: RegressionModel, sums: InfluenceSums, order: int) -> ErrorCurve:
    T, L, _ = sums.first.shape
    errors, reported = np.empty((2, T, L))
    model, turn = centring(model)
    sums = replace(sums, prior=turn @ sums.prior @ turn.T, prior_error=sums.prior_error @ turn.T)
    for t in range(T):
        part = replace(
            sums,
            prior=sums.prior if sums.prior.ndim == 2 else sums.prior[t],
            first=sums.first[t],
            second=sums.second[t],
            third=sums.third[t],
            prior_error=sums.prior_error[t],
        )
        errors[t], reported[t] = _at_round(model, part, order)
    return ErrorCurve(sums.rounds, read_only(errors), read_only(reported), order)


def _scores(model: RegressionModel, shares: FloatArray, at: FloatArray) -> FloatArray:
    """The covariance of Σ x (y − xᵀ`at`) over all kinds, each with its share; shape (d, d)."""
    total = np.zeros((model.dimension, model.dimension))
    for kind, share in zip(model.kinds, shares, strict=True):
        if share > 0:
            total += share * kind.score_covariance(model.theta, at)
    return total


def _at_round(
    model: RegressionModel, sums: InfluenceSums, order: int
) -> tuple[FloatArray, FloatArray]:
    """Expected and reported error of each learner, shape (L,) each."""
    S, d = model.test_second_moment, model.dimension
    moments = np.array([kind.second_moment for kind in model.kinds]).reshape(-1, d * d)
    weight = np.array([kind.weight for kind in model.kinds])
    over = np.array([kind.overweight for kind in model.kinds])
    batch = np.array([kind.batch for kind in model.kinds])
    L = len(sums.first)
    precision = sums.prior + ((sums.first * (weight * batch)) @ moments).reshape(L, d, d)
    factor = Factor.of(precision)
    p = sums.prior_error
    if model.has_targets:
        gaps = [k.correlation(model.theta) - k.second_moment @ model.theta for k in model.kinds]
        p = p + (sums.first * (weight * batch)) @ np.array(gaps)
        means = model.theta + factor.solve(p[..., None])[..., 0]
        noise = np.array(
            [
                _scores(model, row * weight**2 * batch, at)
                for row, at in zip(sums.second, means, strict=True)
            ]
        )
    else:
        noise = ((sums.second * (weight * over * batch)) @ moments).reshape(L, d, d)
    inverse = factor.inverse()
    square = factor.sandwich(noise + p[:, :, None] * p[:, None, :])
    error = (S * square).sum(axis=(1, 2))
    if model.has_targets:
        # A pair that pulls away from the mean weighs in the precision, too: E Ω⁻¹r ≈ −Ω̄⁻¹ E ΔΩ̄⁻¹r,
        # which meets the offset of the mean from θ*.
        shares = sums.second * weight**2 * batch
        drift = np.array(
            [
                sum(
                    share * kind.score_drift(model.theta, at, of)
                    for kind, share in zip(model.kinds, row, strict=True)
                )
                for row, at, of in zip(shares, means, inverse, strict=True)
            ]
        )
        shift = factor.solve(drift[..., None])[..., 0]
        error = error - 2 * ((means - model.theta) @ S * shift).sum(axis=1)
    reported = (S * inverse).sum(axis=(1, 2))
    if order == 1:
        return error, reported
    # Ω = Ω̄ + Δ, V = V̄ + D: E Δ Ω̄⁻¹ Δ, E Δ C Δ with C = Ω̄⁻¹(V̄ + ppᵀ)Ω̄⁻¹, and E Δ Ω̄⁻¹ D.
    scatter, inner, mixed = np.zeros((3, L, d, d))
    for k, kind in enumerate(model.kinds):
        of_inverse, of_square = kind.spread(inverse), kind.spread(square)
        share = sums.second[:, k] * weight[k] ** 2 * batch[k]
        scatter += share[:, None, None] * of_inverse
        inner += share[:, None, None] * of_square
        share = sums.third[:, k] * weight[k] ** 2 * over[k] * batch[k]
        mixed += share[:, None, None] * of_inverse
    # tr S Ω̄⁻¹ M Ω̄⁻¹ = tr (Ω̄⁻¹ S Ω̄⁻¹) M.
    test = factor.sandwich(np.broadcast_to(S, (L, d, d)))
    error = error + (test * (inner - 2 * mixed)).sum(axis=(1, 2))
    bent = scatter @ square
    error = error + 2 * (factor.solve(bent) * S).sum(axis=(1, 2))
    reported = reported + (test * scatter).sum(axis=(1, 2))
    return error, reported
