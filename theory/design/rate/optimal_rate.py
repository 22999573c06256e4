"""The stationary distribution with the best learning rate.

    maximise over v   K(v) = min_{θ wrong} Σ_j v_j I_j(target, θ)

is a linear program: K is a minimum of linear functions. Its dual weighs hypotheses,

    K = min_{λ ≥ 0, Σ λ = 1} max_v Σ_j v_j Σ_θ λ_θ I_j(target, θ),

so that any λ proves an upper bound. The hypotheses with λ_θ > 0 bind: they are why K is not larger.
Σ_θ λ_θ I_j is what agent j's influence is worth: agents of less worth than others are kept at the
floor. K alone prefers silence from most agents, at most as many as there are binding hypotheses
being heard above the floor; the exponent does not (docs: mathematics/optimal-rate).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from theory.design.influences.flow_rows import levelled
from theory.design.influences.influence_set import UNIT, InfluenceSet, outward_product
from theory.design.rate.rate_program import (
    Groups,
    RateSolution,
    RateTarget,
    group_agents,
    influences_for,
    named,
    rate_target,
    wins,
)
from theory.design.search import Certificate, DesignFailed
from theory.learning.model import FiniteModel
from theory.numbers import Enclosure
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, fail, read_only

# The learning rate of an influence, and a bound on all of them by weak duality; certified --------


def achieved(payoffs: FloatArray, shares: FloatArray) -> Enclosure:
    """min_θ Σ_g u_g I_gθ / Σ_g u_g, enclosed; payoffs of shape (G, M'), shares of shape (G,)."""
    used = shares != 0  # the fewer terms, the less rounding
    rates = outward_product(shares[used], payoffs[used])
    total = math.fsum(shares.tolist())
    lower, upper = float(rates.lower.min()), float(rates.upper.min())
    return Enclosure(_quotient(lower, total, up=False), _quotient(upper, total, up=True))


def proved_bound(
    influences: InfluenceSet,
    payoffs: FloatArray,
    multipliers: FloatArray,
    *,
    membership: IntArray | None = None,
) -> float:
    """An upper bound on max_v min_θ Σ_j v_j I_jθ, from any multipliers λ ≥ 0 that are not all 0.

    min_θ Σ_j v_j I_jθ ≤ Σ_θ λ_θ Σ_j v_j I_jθ / Σ_θ λ_θ, whose maximum over v is a support function.

    Parameters
    ----------
    payoffs
        I_jθ against every wrong hypothesis, shape (N, M'); of groups of agents, shape (G, M'),
        where `membership`, of shape (N,), says to which group each agent belongs.
    multipliers
        λ, shape (M',).
    """
    used = multipliers != 0
    worth = outward_product(payoffs[:, used], multipliers[used]).upper
    each = worth if membership is None else worth[membership]
    return _quotient(influences.maximise(each).bound, math.fsum(multipliers.tolist()), up=True)


def _quotient(value: float, total: float, *, up: bool) -> float:
    """Value / total, rounded outward, where `total` is right to a unit in its last place."""
    found = value / total
    slack = 4 * UNIT * abs(found)
    return (
        math.nextafter(found + slack, math.inf) if up else math.nextafter(found - slack, -math.inf)
    )


# Among equally good influences, the most even ----------------------------------------------------


# What HiGHS leaves of a zero after its last pivots, in units of the data.
_ZERO = 1e-9
# Slack that rounding may ask for where equations and inequalities are to hold together, in units
# of the data; the least that leaves a solution is used.
_SLACKS = (0.0, 1e-15, 1e-14, 1e-13)

# A residual of so little is one of zero: no point meets all inequalities.
_NONE = 1e-12


@dataclass(frozen=True, eq=False)
class EvenInfluence:
    """A best influence for groups of like agents, shape (G,), and whether it is the only one.

    `is_unique` is None where that was not decided; zeros are judged to 1e-9 of the data.
    """

    shares: FloatArray
    is_unique: bool | None


def most_even(
    payoffs: FloatArray,
    counts: FloatArray,
    *,
    floor: float,
    shares: FloatArray,
    multipliers: FloatArray,
) -> EvenInfluence:
    """The optimal shares u nearest to uniform, Σ_g n_g (u_g/n_g − 1/N)² least.

    Parameters
    ----------
    payoffs
        I_gθ, shape (G, M'): what each agent of a group observes against each wrong hypothesis.
    counts
        n_g, shape (G,): how many agents a group has; they share u_g evenly.
    floor
        v_min: u_g ≥ n_g v_min.
    shares, multipliers
        An optimal basic solution: shapes (G,) and (M',).
    """
    agents = float(counts.sum())
    lowest = counts * floor
    value = float((shares @ payoffs).min())
    # What influence is worth has one size, the hypotheses have others: those that do not bind may
    # be larger by far, and must not blur the comparison.
    scale = float((np.abs(payoffs) @ multipliers).max()) or 1.0
    largest = np.abs(payoffs).max(axis=0)
    largest[largest == 0] = scale
    worth = payoffs @ multipliers
    free = np.flatnonzero(worth >= worth.max() - _ZERO * scale)
    binding = multipliers > _ZERO
    # In y_g = u_g/√n_g − √n_g/N the distance to uniform is the length of y.
    root = np.sqrt(counts[free])
    gain = payoffs[free] * root[:, None] / largest
    offset = lowest.copy()
    offset[free] = counts[free] / agents
    left = np.vstack([gain[:, binding].T, root])
    short = (value - offset @ payoffs) / largest
    right = np.append(short[binding], 1.0 - float(offset.sum()))
    axes, sizes, rest = np.linalg.svd(left, full_matrices=True)
    rank = int(np.count_nonzero(sizes > _ZERO * sizes[0]))
    several = bool(((counts > 1) & (shares > lowest + _ZERO)).any())
    if rank == free.size:
        return EvenInfluence(shares, not several)
    nearest = rest[:rank].T @ ((axes[:, :rank].T @ right) / sizes[:rank])
    plane = rest[rank:].T
    lower = np.vstack([np.diag(root), gain[:, ~binding].T])
    least = np.concatenate([lowest[free] - offset[free], short[~binding]])
    for slack in _SLACKS:
        steps = _least_length(lower @ plane, least - lower @ nearest - slack)
        if steps is None:
            continue
        even = lowest.copy()
        even[free] = counts[free] / agents + root * (nearest + plane @ steps)
        even = np.maximum(even, lowest)
        even /= even.sum()
        # Ten roundings more than the slack itself may cost.
        if float((even @ payoffs).min()) >= value - 10 * (slack + np.finfo(float).eps) * scale:
            moved = bool(np.abs(even - shares).max() > _ZERO)
            return EvenInfluence(even, False if several or moved else None)
    return EvenInfluence(shares, False if several else None)


def _least_length(matrix: FloatArray, right: FloatArray) -> FloatArray | None:
    """The shortest z with matrix @ z ≥ right; None if rounding leaves none."""
    stacked = np.vstack([matrix.T, right])
    unit = np.zeros(len(stacked))
    unit[-1] = 1.0
    try:
        found, _ = nnls(stacked, unit)
    except RuntimeError:  # too many iterations
        return None
    residual = stacked @ found - unit
    if -residual[-1] <= _NONE:
        return None
    return np.asarray(-residual[:-1] / residual[-1])


# The stationary distribution with the best learning rate -----------------------------------------


# Influence this near to the floor, in units of 1/N, is at the floor.
_AT_FLOOR = 1e-9
# Rates that differ by less, in units of what influence is worth, are equal for the choice among
# ties.
_TIED = 1e-13
# A solver's optimum is right to this, in the same units.
_ROUNDED = 1e-12
NOTE = "weak duality, rounding included; the divergences are the doubles stored"


@dataclass(frozen=True, eq=False)
class OptimalRate(Shown):
    """The best K, a v that attains it, and the proof; rates in nats per round.

    Attributes
    ----------
    stationary_distribution
        Shape (N,). Of several best ones that nearest to uniform; with fixed rows, one whose
        largest entry is least.
    rate
        K of this v, in floating point.
    certificate
        K between what this v achieves and what weak duality allows, rounding included but for that
        of the divergences themselves.
    boundary_rate
        The supremum of K if agents may be silenced altogether, v_min = 0.
    price
        boundary_rate − rate: what v_min costs.
    target, reference
        What the network settles on: the hypothesis asked for; Θ*, or it alone if Θ* is empty.
    binding
        The hypotheses with positive multipliers, the largest first.
    multipliers
        λ, shape (M,), at least 0, sums to one: K falls by ε λ_θ if all I_j(target, θ) fall by ε.
    marginal_values
        Σ_θ λ_θ I_j(target, θ), shape (N,): what influence of agent j is worth, in nats per unit.
    floor_costs
        Shape (N,), at least 0: what K loses for each unit by which the least influence of agent j
        alone is raised.
    silent
        The agents at the floor; none if uniform influence is forced.
    is_unique
        Whether no other v is as good; None if that was not decided.
    generated
        How many hypotheses the program had to look at, of all that are wrong.
    """

    stationary_distribution: FloatArray
    rate: float
    certificate: Certificate
    boundary_rate: float
    price: float
    target: int
    reference: tuple[int, ...]
    binding: tuple[int, ...]
    multipliers: FloatArray
    marginal_values: FloatArray
    floor_costs: FloatArray
    silent: tuple[int, ...]
    is_unique: bool | None
    generated: int


@typed
def optimal_rate(
    model: FiniteModel, *, target: int | str | None = None, influences: InfluenceSet | None = None
) -> OptimalRate:
    """The stationary distribution that maximises K(Θ), certified (docs: mathematics/optimal-rate).

    Parameters
    ----------
    target
        The hypothesis to settle on; may be left out if some hypothesis is best for every agent.
    influences
        Where v may be; by default v ≥ 1/(10N).

    Raises
    ------
    ValueError
        If model and influences have different numbers of agents, the target is none (see
        `rate_target`), or no allowed v makes the network settle on it; the message names the
        hypotheses that stand in the way.
    DesignFailed
        If HiGHS fails.

    Examples
    --------
    Two agents, each blind to one wrong hypothesis; the first sees its own twice as well:

    >>> from theory import FiniteModel, GaussianAgent
    >>> first = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0], [0.0]], 1.0)
    >>> second = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.0], [1.0]], 1.0)
    >>> best = optimal_rate(FiniteModel.from_agents(["zero", "a", "b"], [first, second]))
    >>> best.stationary_distribution.round(9).tolist(), round(best.rate, 9)
    ([0.2, 0.8], 0.4)
    >>> best.multipliers.round(9).tolist(), best.is_unique
    ([0.0, 0.2, 0.8], True)
    """
    allowed = influences_for(model, influences)
    aim = rate_target(model, target)
    groups = group_agents(allowed, model, aim)
    program = groups.program()
    solution = program.solve()
    supremum = -np.inf  # that with the floor, where there is none to lower
    if allowed.floor and not allowed.constraints.forces_uniform:
        supremum = program.solve(np.zeros(groups.rows.variables)).value
    chosen = _choose(groups, allowed, solution)
    shares = _at_the_floor(chosen.shares, groups, allowed)
    reached = achieved(groups.payoffs, shares)
    bound = proved_bound(
        allowed, groups.payoffs, solution.multipliers, membership=groups.membership
    )
    certificate = Certificate(reached.lower, max(bound, reached.lower), "maximise", "rounded", NOTE)
    v = np.maximum((shares / groups.counts)[groups.membership], allowed.lowest)
    if not model.optimal_hypotheses and not wins(model, aim, v):
        raise _hopeless(model, aim, groups, solution, certificate, supremum)
    rate = min(max(reached.midpoint, reached.lower), certificate.bound)
    multipliers = np.zeros(len(model.hypotheses))
    multipliers[aim.wrong] = solution.multipliers
    worth = groups.payoffs @ solution.multipliers
    at_floor = v <= allowed.lowest + _AT_FLOOR / allowed.agents
    return OptimalRate(
        stationary_distribution=read_only(v),
        rate=rate,
        certificate=certificate,
        boundary_rate=max(supremum, rate),
        price=max(supremum - rate, 0.0),
        target=aim.target,
        reference=aim.reference,
        binding=tuple(int(m) for m in _largest_first(multipliers)),
        multipliers=read_only(multipliers),
        marginal_values=read_only(worth[groups.membership]),
        floor_costs=read_only(_floor_costs(groups, solution, worth)[groups.membership]),
        silent=() if allowed.is_point else tuple(np.flatnonzero(at_floor).tolist()),
        is_unique=chosen.is_unique,
        generated=int(solution.generated.size),
    )


def _choose(groups: Groups, allowed: InfluenceSet, solution: RateSolution) -> EvenInfluence:
    shares = solution.point[: groups.counts.size]
    if allowed.is_point:
        return EvenInfluence(groups.centre, True)
    if allowed.is_simple:
        return most_even(
            groups.payoffs,
            groups.counts,
            floor=allowed.lowest,
            shares=shares / shares.sum(),
            multipliers=solution.multipliers,
        )
    slack = _TIED * (float((np.abs(groups.payoffs) @ solution.multipliers).max()) or 1.0)
    kept = groups.payoffs[:, solution.generated].T
    least = np.full(len(kept), solution.value - slack)
    found = levelled(groups.rows, extra=(kept, least))
    if found is None or float((found @ groups.payoffs).min()) < solution.value - 2 * slack:
        return EvenInfluence(shares, None)
    moved = bool(np.abs(found - shares).max() > _AT_FLOOR)
    return EvenInfluence(found / found.sum(), False if moved else None)


def _at_the_floor(shares: FloatArray, groups: Groups, allowed: InfluenceSet) -> FloatArray:
    """The shares, with those that a solver's tolerance has left below the floor lifted to it."""
    if not allowed.is_simple or allowed.is_point:
        return shares
    lowest = groups.counts * allowed.lowest
    above = np.maximum(shares - lowest, 0.0)
    return np.asarray(lowest + above * (allowed.spare / above.sum()))


def _largest_first(multipliers: FloatArray) -> IntArray:
    order = np.argsort(-multipliers, kind="stable")
    return np.asarray(order[multipliers[order] > 0], dtype=np.int64)


def _floor_costs(groups: Groups, solution: RateSolution, worth: FloatArray) -> FloatArray:
    """The multipliers of v_j ≥ v_min, from those of the other rows."""
    used = groups.rows.weighed(solution.row_multipliers)
    return np.asarray(np.maximum(used[: worth.size] - worth, 0.0))


def _hopeless(
    model: FiniteModel,
    aim: RateTarget,
    groups: Groups,
    solution: RateSolution,
    certificate: Certificate,
    supremum: float,
) -> Exception:
    names = model.hypotheses
    bind = [int(aim.wrong[m]) for m in _largest_first(solution.multipliers)]
    # Rounding alone does not leave a gap of this size: the binding rates are sums of such terms.
    least = _ROUNDED * float((np.abs(groups.payoffs) @ solution.multipliers).max())
    if min(certificate.bound, certificate.gap) > least:
        return DesignFailed(
            f"the best rate is between {certificate.value:.3g} and {certificate.bound:.3g}",
            tried=("HiGHS dual simplex",),
            best=None,
            remedy="try exact_optimal_rate",
        )
    remedy = f"choose another target, such as {names[bind[0]]!r}"
    if supremum > least:
        remedy = f"lower minimum_influence: with 0 the rate comes up to {supremum:.6g}"
    return fail(
        "target",
        "a hypothesis that some allowed influence makes the network settle on",
        f"{names[aim.target]!r}, whose rate is at most {certificate.bound:.6g} for every v; "
        f"{named(names, bind)} stands in the way",
        remedy,
    )
