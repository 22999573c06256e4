"""The largest error exponent where nobody knows which hypothesis is true.

Any θ* may be the truth: then agent j's labels follow ℓ_j(·|θ*, x), and the network errs if it
settles on another θ. With E_{θ*θ}(v) the exponent of that,

    E(v) = min over ordered pairs θ* ≠ θ of max_{t ≥ 0} −Σ_j κ_j(−t v_j),
    κ_j(−u) = log E_x Σ_y ℓ_j(y|θ*, x)^{1−u} ℓ_j(y|θ, x)^u,

is a minimum of quasi-concave functions as that of one truth is, and is maximised in the same way
(:mod:`theory.design.exponent.best_exponent`) where rows of W are fixed. Else there is nothing to
search:

    uniform v is best, whatever the agents are, and its exponent is the least Chernoff information
    of two hypotheses (docs: mathematics/best-exponent).

The model's own truth f plays no part but for the law of the inputs: where it is none of the
hypotheses, ℓ_j(θ*) takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.certificate import Certificate
from theory.design.exponent.best_exponent import binding_rows, certificate, check_gap, rate_of
from theory.design.exponent.exponent_bound import ExponentBound
from theory.design.exponent.exponent_optimum import (
    Optimum,
    check_floor,
    largest_exponent,
    least_exponent,
)
from theory.design.exponent.exponent_tilts import exponents
from theory.design.exponent.log_ratio_table import LogRatioTable, check_pairs, tabulate
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.agent_groups import influences_for
from theory.learning.model import FiniteModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_positive, fail, read_only

# Sums of N influences round to this.
_ROUNDING = 1e-12
# Of evidence below this, in nats, the sums over outcomes leave nothing in doubles.
_LEAST = 1e-12
# From an error of 1e-8 a step of Newton's method leads below rounding; another for safety.
_POLISH = 2


@dataclass(frozen=True, eq=False)
class BindingPair(Shown):
    """A truth and a wrong hypothesis that keep the exponent from being larger.

    Attributes
    ----------
    truth, hypothesis
        θ* and θ.
    multiplier, share, tilts
        As for :class:`theory.design.BindingHypothesis`.
    """

    truth: int
    hypothesis: int
    multiplier: float
    share: float
    tilts: FloatArray


@dataclass(frozen=True, eq=False)
class WorstCaseExponent(Shown):
    """The best E for the worst truth, a v that attains it, and the proof; in nats per round.

    Attributes
    ----------
    stationary_distribution
        Shape (N,): v, positive and summing to one.
    exponent, certificate, uniform_exponent, iterations
        As for :class:`theory.design.BestExponent`.
    binding
        The pairs of the certificate, the largest share first.
    rate
        min over the pairs of Σ_j v_j KL(ℓ_j(θ*) ‖ ℓ_j(θ)), with the best v.
    """

    stationary_distribution: FloatArray
    exponent: float
    certificate: Certificate | None
    binding: tuple[BindingPair, ...]
    uniform_exponent: float
    rate: float
    iterations: int


@typed
def worst_case_exponent(
    model: FiniteModel, *, influences: InfluenceSet | None = None, tolerance: float = 1e-4
) -> WorstCaseExponent:
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
        If the gap that was reached is larger than `tolerance`.

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
    result = WorstCaseExponent(
        stationary_distribution=found.influence,
        exponent=found.exponent,
        certificate=certificate(found),
        binding=tuple(
            BindingPair(
                int(table.first[one.row]),
                int(table.second[one.row]),
                one.multiplier,
                one.share,
                one.tilts,
            )
            for one in binding_rows(table, found.bound)
        ),
        uniform_exponent=least_exponent(table, np.full(model.agents, 1 / model.agents)),
        rate=rate_of(table, found.influence),
        iterations=found.iterations,
    )
    check_gap(result, result.certificate, accepted)
    return result


def _uniform(table: LogRatioTable) -> Optimum:
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


def _balanced(table: LogRatioTable, row: int, share: float) -> float:
    """The s at which evidence between two hypotheses is zero on average, by Newton's method.

    The exponent is flat there, and right long before s is; the two costs are not.
    """
    for _ in range(_POLISH):
        tilt = np.full((1, table.counts.size), share)
        found = table.tilted(np.array([row]), tilt)
        share += float(found.means[0] @ table.counts) / float(found.variances[0] @ table.counts)
    return share


def _table(model: FiniteModel, allowed: InfluenceSet) -> LogRatioTable:
    count = len(model.hypotheses)
    check_pairs(count * (count - 1), model)
    first, second = np.nonzero(~np.eye(count, dtype=bool))
    table = tabulate(model, first, second, share_slots=allowed.is_simple, hypothetical=True)
    information = table.information(np.arange(table.rows)).max(axis=1)
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
