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

import numpy as np

from theory.design.certificate import Certificate
from theory.design.exponent.exponent_bound import ExponentBound
from theory.design.exponent.exponent_optimum import (
    Optimum,
    check_floor,
    largest_exponent,
    least_exponent,
)
from theory.design.exponent.log_ratio_table import LogRatioTable, tabulate
from theory.design.failure import DesignFailed
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.agent_groups import influences_for
from theory.design.rate.optimal_rate import OptimalRate, optimal_rate
from theory.design.rate.rate_target import rate_target
from theory.learning.model import FiniteModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_positive, read_only

NOTE = "tilted laws of the binding hypotheses, under which no v has positive evidence on average"


@dataclass(frozen=True, eq=False)
class BindingHypothesis(Shown):
    """A wrong hypothesis that keeps the exponent from being larger.

    Attributes
    ----------
    hypothesis
        θ.
    multiplier
        λ_θ > 0 of the certificate; they sum to one.
    share
        By how much the largest exponent would rise, to first order, if this hypothesis' exponent
        alone rose by one for every v; they sum to one.
    tilts
        u^θ, shape (N,), at least 0: agent j's observations bent by the density
        e^{−u_j z_j − κ_j(−u_j)} are those that defeat every v; infinite if they are its rarest.
    """

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
        As for :class:`theory.design.OptimalRate`.
    binding
        The hypotheses of the certificate, the largest share first; none if the exponent is
        infinite.
    uniform_exponent
        E of uniform v, for comparison: that of all data in one place.
    rate
        K of the best v: min_θ Σ_j v_j I_j(target, θ).
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
    target: int
    reference: tuple[int, ...]
    binding: tuple[BindingHypothesis, ...]
    uniform_exponent: float
    rate: float
    iterations: int


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
        If the gap that was reached is larger than `tolerance`.

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
    table = tabulate(model, first, aim.wrong, share_slots=allowed.is_simple)
    start = allowed.centre
    if rate_of(table, start) <= 0:
        start = _with_rate(table, optimal_rate(model, target=target, influences=allowed), allowed)
    found = largest_exponent(table, allowed, start)
    result = BestExponent(
        stationary_distribution=found.influence,
        exponent=found.exponent,
        certificate=certificate(found),
        target=aim.target,
        reference=aim.reference,
        binding=tuple(
            BindingHypothesis(int(aim.wrong[one.row]), one.multiplier, one.share, one.tilts)
            for one in binding_rows(table, found.bound)
        ),
        uniform_exponent=least_exponent(table, np.full(model.agents, 1 / model.agents)),
        rate=rate_of(table, found.influence),
        iterations=found.iterations,
    )
    check_gap(result, result.certificate, accepted)
    return result


def rate_of(table: LogRatioTable, v: FloatArray) -> float:
    """Min over the rows of Σ_j v_j E z_j, in nats."""
    weights = np.bincount(table.slots, weights=v, minlength=table.counts.size)
    return float((table.information(np.arange(table.rows)) @ weights).min())


def certificate(found: Optimum) -> Certificate | None:
    """The certificate of an optimum that is finite."""
    if found.bound is None:
        return None
    bound = max(found.bound.value, found.exponent)
    return Certificate(found.exponent, bound, "maximise", "rounded", NOTE)


@dataclass(frozen=True, eq=False)
class BindingRow:
    """A row of the certificate: see :class:`BindingHypothesis`."""

    row: int
    multiplier: float
    share: float
    tilts: FloatArray


def binding_rows(table: LogRatioTable, bound: ExponentBound | None) -> tuple[BindingRow, ...]:
    """The rows of a certificate, the largest share first."""
    if bound is None:
        return ()
    return tuple(
        BindingRow(
            int(bound.rows[k]),
            float(bound.multipliers[k]),
            float(bound.shares[k]),
            read_only(bound.tilts[k][table.slots]),
        )
        for k in np.argsort(-bound.shares, kind="stable")
    )


def check_gap(result: object, proof: Certificate | None, tolerance: float) -> None:
    """Refuse a result whose gap is larger than was asked for.

    Raises
    ------
    DesignFailed
        With the result as its `best`.
    """
    if proof is not None and proof.gap > tolerance * proof.bound:
        raise DesignFailed(
            "the gap did not close",
            tried=("interior point method",),
            best=result,
            remedy="ask for less with `tolerance`",
        )


def _with_rate(table: LogRatioTable, best: OptimalRate, allowed: InfluenceSet) -> FloatArray:
    """A v in the interior, between that of the best rate and the centre, whose rate is positive.

    K is concave, so that its line from the best to the centre lies below it.
    """
    edge, middle = best.stationary_distribution, allowed.centre
    top, low = rate_of(table, edge), rate_of(table, middle)
    share = 0.5 * top / (top - low)
    return np.asarray(edge + share * (middle - edge))
