"""The stationary distribution with the largest error exponent.

    maximise over v   E(v) = min_{θ wrong} max_{t ≥ 0} −Σ_j κ_j(−t v_j)

is quasi-concave: each set {v : E(v) ≥ c} is convex, though E need not be concave. What makes it
tractable is that E_θ(v) ≥ c says the same as φ_θ(v, c) ≥ 0, for the concave function

    φ_θ(v, c) = min {Σ_j v_j E_{q_j} z_j :  Σ_j KL(q_j ‖ law of z_j) ≤ c},

the worst mean evidence that data bent by c nats can show; at c = 0 that is the rate of θ. So the
best exponent is the largest c at which some v has a positive rate on all data bent by up to c, and
the dual names the bent data that defeat every v at a larger c: the certificate. Unlike the rate,
the exponent wants every informed agent heard (docs: mathematics/best-exponent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from theory.design.exponent.exponent_search import (
    ExponentBound,
    Optimum,
    check_floor,
    largest_exponent,
)
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.optimal_rate import OptimalRate, optimal_rate
from theory.design.rate.rate_program import influences_for, rate_target
from theory.design.search import Certificate, DesignFailed, why_stopped
from theory.learning.finite_agent import FiniteAgent, input_probabilities
from theory.learning.model import FiniteModel
from theory.learning.tilted import TiltedTable, exponents, least_exponents, shared_slots, tabulate
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_positive, fail, read_only

# The stationary distribution with the largest error exponent -------------------------------------


NOTE = "tilted laws of the binding hypotheses, under which no v has positive evidence on average"


@dataclass(frozen=True, eq=False)
class BindingPair(Shown):
    """A truth and a wrong hypothesis that keep the exponent from being larger.

    Attributes
    ----------
    truth, hypothesis
        θ* and θ.
    multiplier
        λ_θ > 0 of the certificate; they sum to one.
    share
        By how much the largest exponent would rise, to first order, if this pair's exponent alone
        rose by one for every v; they sum to one.
    tilts
        u^θ, shape (N,), at least 0: agent j's observations bent by the density
        e^{−u_j z_j − κ_j(−u_j)} are those that defeat every v; infinite if they are its rarest.
    """

    truth: int
    hypothesis: int
    multiplier: float
    share: float
    tilts: FloatArray


@dataclass(frozen=True, eq=False)
class BestExponent(Shown):
    """The best E, a v that attains it, and the proof; in nats per round.

    Attributes
    ----------
    stationary_distribution
        Shape (N,). Of several best ones (to 1e-9, relatively) one amid them, moved towards the
        centre of the allowed set, uniform if there are no fixed rows, as far as that costs nothing.
    exponent
        E of this v against the target; infinite if no error is possible with it in the long run.
    certificate
        `exponent` and a bound on that of every allowed v; None if it is infinite.
    target, reference
        As for :class:`theory.design.OptimalRate`; None and empty where any hypothesis may be true.
    binding
        The pairs of the certificate, the largest share first; none if the exponent is infinite.
    uniform_exponent
        E of uniform v, for comparison: that of all data in one place.
    rate
        K of the best v: min_θ Σ_j v_j I_j(target, θ); where any hypothesis may be true, the least
        Σ_j v_j KL(ℓ_j(θ*) ‖ ℓ_j(θ)) of all pairs.
    iterations
        Newton steps.

    Notes
    -----
    All exponents compare with the target. If Θ* has further members, these are lower bounds on
    `theory.error_exponent`, and the certificate bounds the exponent against the target.
    """

    stationary_distribution: FloatArray
    exponent: float
    certificate: Certificate | None
    binding: tuple[BindingPair, ...]
    uniform_exponent: float
    rate: float
    iterations: int
    target: int | None = None
    reference: tuple[int, ...] = ()


@typed
def best_exponent(
    model: FiniteModel,
    *,
    target: int | str | None = None,
    influences: InfluenceSet | None = None,
    tolerance: float = 1e-4,
) -> BestExponent:
    """The stationary distribution that maximises E, certified (docs: mathematics/best-exponent).

    Parameters
    ----------
    target
        The hypothesis to settle on; may be left out if some hypothesis is best for every agent.
    influences
        Where v may be; by default v ≥ 1/(10N).
    tolerance
        The largest gap of the certificate that is accepted, relative to the exponent; the search
        aims at 1e-9 whatever it is.

    Raises
    ------
    ValueError
        If model and influences have different numbers of agents, the target is none (see
        `rate_target`), or every allowed v has E = 0: then K is not positive either, and the message
        names the hypotheses that stand in the way. Also if `influences` lets agents be silenced,
        v_min = 0.
    DesignFailed
        If the gap that was reached is larger than `tolerance`, and not for want of time.

    Examples
    --------
    Two normal agents, the second seeing the difference twice as large. The rate would silence the
    first; the exponent wants both, and alike:

    >>> from theory import FiniteModel, GaussianAgent
    >>> first = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> second = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0]], 1.0)
    >>> best = best_exponent(FiniteModel.from_agents(["zero", "other"], [first, second]))
    >>> best.stationary_distribution.round(4).tolist(), round(best.exponent, 9)
    ([0.5, 0.5], 0.625)
    >>> best.certificate.gap < 1e-9
    True
    """
    accepted = as_positive("tolerance", tolerance)
    allowed = influences_for(model, influences)
    check_floor(allowed)
    aim = rate_target(model, target)
    first = np.full(aim.wrong.size, aim.target)
    table = tabulate(model, first, aim.wrong, slots=_slots(model, allowed))
    start = allowed.centre
    if rate_of(table, start) <= 0:
        start = _with_rate(table, optimal_rate(model, target=target, influences=allowed), allowed)
    found = largest_exponent(table, allowed, start)
    return _proved(table, found, accepted, target=aim.target, reference=aim.reference)


def _slots(model: FiniteModel, allowed: InfluenceSet) -> IntArray | None:
    """Agents of one kind share a slot where the set of influences is symmetric."""
    return shared_slots(model.assignment) if allowed.is_simple else None


def rate_of(table: TiltedTable, v: FloatArray) -> float:
    """Min over the rows of Σ_j v_j E z_j, in nats."""
    return float((table.facts.information @ (table.counts * table.by_slot(v))).min())


def _proved(table: TiltedTable, found: Optimum, accepted: float, **of: Any) -> BestExponent:
    """The result, unless its gap is larger than was asked for while there was time to close it.

    Raises
    ------
    DesignFailed
        With the result as its `best`.
    """
    certificate, binding, bound = None, [], found.bound
    if bound is not None:
        value = max(bound.value, found.exponent)
        stopped = why_stopped(proved=value - found.exponent <= accepted * value)
        certificate = Certificate(found.exponent, value, "maximise", "rounded", NOTE, stopped)
        for k in np.argsort(-bound.shares, kind="stable"):
            row = int(bound.rows[k])
            pair = int(table.first[row]), int(table.second[row])
            weights = float(bound.multipliers[k]), float(bound.shares[k])
            binding.append(BindingPair(*pair, *weights, read_only(bound.tilts[k][table.slots])))
    uniform = np.full((1, table.counts.size), 1 / table.slots.size)
    result = BestExponent(
        stationary_distribution=found.influence,
        exponent=found.exponent,
        certificate=certificate,
        binding=tuple(binding),
        uniform_exponent=float(least_exponents(table, uniform)[0][0]),
        rate=rate_of(table, found.influence),
        iterations=found.iterations,
        **of,
    )
    if certificate is not None and certificate.stopped == "done":
        raise DesignFailed(
            "the gap did not close",
            tried=("interior point method",),
            best=result,
            remedy="ask for less with `tolerance`",
        )
    return result


def _with_rate(table: TiltedTable, best: OptimalRate, allowed: InfluenceSet) -> FloatArray:
    """A v in the interior, between that of the best rate and the centre, whose rate is positive.

    K is concave, so that its line from the best to the centre lies below it.
    """
    edge, middle = best.stationary_distribution, allowed.centre
    top, low = rate_of(table, edge), rate_of(table, middle)
    share = 0.5 * top / (top - low)
    return np.asarray(edge + share * (middle - edge))


# The largest error exponent where nobody knows which hypothesis is true --------------------------


# Sums of N influences round to this.
_ROUNDING = 1e-12
# Of evidence below this, in nats, the sums over outcomes leave nothing in doubles.
_LEAST = 1e-12
# Pairs of hypotheses times kinds of agents, all that a machine holds.
_MOST_ENTRIES = 50_000_000
# From an error of 1e-8 a step of Newton's method leads below rounding; another for safety.
_POLISH = 2


@typed
def worst_case_exponent(
    model: FiniteModel, *, influences: InfluenceSet | None = None, tolerance: float = 1e-4
) -> BestExponent:
    """The stationary distribution that maximises E for the worst truth, certified.

    Docs: mathematics/best-exponent. Parameters are those of
    :func:`theory.design.exponent.best_exponent`.

    Raises
    ------
    ValueError
        If model and influences have different numbers of agents; if no agent tells two hypotheses
        apart; if agents do not say what they would see under another truth, as those made from a
        data set's log-likelihoods; or if there are more than 50 million pairs times kinds.
    DesignFailed
        If the gap that was reached is larger than `tolerance`, and not for want of time.

    Examples
    --------
    Each agent sees one of two differences, the second one twice as large: the exponents are 1/8 and
    1/2 whatever v is.

    >>> from theory import FiniteModel, GaussianAgent
    >>> first = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0], [1.0]], 1.0)
    >>> second = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.0], [2.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one", "two"], [first, second])
    >>> best = worst_case_exponent(model)
    >>> round(best.exponent, 9), best.stationary_distribution.round(9).tolist()
    (0.125, [0.5, 0.5])
    """
    accepted = as_positive("tolerance", tolerance)
    allowed = influences_for(model, influences)
    check_floor(allowed)
    table = _table(model, allowed)
    if allowed.contains(np.full(model.agents, 1 / model.agents), tolerance=_ROUNDING):
        found = _uniform(table)
    else:
        found = largest_exponent(table, allowed, allowed.centre)
    return _proved(table, found, accepted)


def _uniform(table: TiltedTable) -> Optimum:
    """Uniform v, and the proof: halfway between two hypotheses the data speak for neither.

    Under the laws q_j ∝ ℓ_j(θ*)^{1−s} ℓ_j(θ)^s both z_j(θ*, θ) and z_j(θ, θ*) = −z_j(θ*, θ) have
    means that add to zero at every agent; with multipliers ½ and ½ they bound E for every v.
    """
    agents = table.slots.size
    v = np.full(table.counts.size, 1 / agents)
    half = np.flatnonzero(table.first < table.second)
    found = exponents(table, half, v)
    least = int(found.values.argmin())
    forward = half[least]
    share = _balanced(table, forward, float(found.tilts[least]) / agents)
    back = np.flatnonzero(
        (table.first == table.second[forward]) & (table.second == table.first[forward])
    )[0]
    rows = np.array([forward, back])
    tilts = np.array([[share], [1 - share]]) * np.ones_like(v)
    costs = table.tilted(rows, tilts).costs(tilts) @ table.counts
    bound = ExponentBound(
        value=float(costs.max()),
        rows=rows,
        multipliers=np.array([0.5, 0.5]),
        shares=np.array([1 - share, share]),
        tilts=tilts,
        support=np.full(agents, 1 / agents),
    )
    return Optimum(read_only(bound.support), float(found.values[least]), bound, 0)


def _balanced(table: TiltedTable, row: int, share: float) -> float:
    """The s at which evidence between two hypotheses is zero on average, by Newton's method.

    The exponent is flat there, and right long before s is; the two costs are not.
    """
    for _ in range(_POLISH):
        tilt = np.full((1, table.counts.size), share)
        found = table.tilted(np.array([row]), tilt)
        share += float(found.means[0] @ table.counts) / float(found.variances[0] @ table.counts)
    return share


def _table(model: FiniteModel, allowed: InfluenceSet) -> TiltedTable:
    count = len(model.hypotheses)
    pairs = count * (count - 1)
    if pairs * len(model.kinds) > _MOST_ENTRIES:
        raise fail(
            "model",
            f"at most {_MOST_ENTRIES} pairs of hypotheses times kinds of agents",
            f"{pairs} times {len(model.kinds)}",
            "name a target, which leaves one pair a hypothesis",
        )
    for kind in np.unique(model.assignment):
        agent = model.kinds[kind]
        if isinstance(agent, FiniteAgent):
            input_probabilities(agent, name=f"agents of kind {kind}")
    first, second = np.nonzero(~np.eye(count, dtype=bool))
    table = tabulate(model, first, second, slots=_slots(model, allowed), hypothetical=True)
    information = table.facts.information.max(axis=1)
    blind = np.flatnonzero(information <= _LEAST)
    if blind.size:
        a, b = (model.hypotheses[int(side[blind[0]])] for side in (first, second))
        raise fail(
            "model",
            "some agent that tells every two hypotheses apart",
            f"no agent tells {a!r} from {b!r}",
            "the exponent is 0 for every network: drop one of the two, or add an agent that sees "
            "the difference",
        )
    return table
