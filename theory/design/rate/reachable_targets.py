"""Which hypotheses a network can be made to settle on, by choice of v.

On trained classifiers no hypothesis is best for every agent, and the network settles on the
minimiser of Σ_j v_j D_j(θ), whichever that is. So the choice of W is a choice of the winner too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.agent_groups import group_agents, influences_for
from theory.design.rate.rate_program import maximise_least
from theory.design.rate.rate_target import RateTarget, evidence_signs, wins
from theory.learning.model import FiniteModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class ReachableTargets(Shown):
    """The best rate of each hypothesis as the target.

    Attributes
    ----------
    rates
        Shape (M,), in floating point: max_v min_θ Σ_j v_j I_j(m, θ) over the other hypotheses.
        Where it is not above zero, no allowed v makes m win by itself; −inf where some θ fits no
        agent worse than m does, so that the number need not be known. If Θ* is not empty, its
        members have one rate, and all others −inf.
    reachable
        The hypotheses of positive rate, the largest first.
    """

    rates: FloatArray
    reachable: tuple[int, ...]


@typed
def reachable_targets(
    model: FiniteModel, influences: InfluenceSet | None = None
) -> ReachableTargets:
    """Which hypotheses some allowed v makes the network settle on, and how fast at best.

    One linear program for each hypothesis that some agent favours over every other.

    Raises
    ------
    ValueError
        If model and influences have different numbers of agents.

    Examples
    --------
    Two agents disagree; a compromise between their hypotheses pleases both somewhat, a fourth
    hypothesis neither:

    >>> from theory import GaussianAgent
    >>> means = [[-1.0], [1.0], [0.0], [5.0]]
    >>> agents = [GaussianAgent([1.0], [truth], 1.0, means, 1.0) for truth in (-1.0, 1.0)]
    >>> model = FiniteModel.from_agents(["left", "right", "middle", "far"], agents)
    >>> found = reachable_targets(model, InfluenceSet(2, 0))
    >>> sorted(found.reachable), found.rates.round(9).tolist()
    ([0, 1, 2], [0.5, 0.5, 0.5, -inf])
    """
    allowed = influences_for(model, influences)
    count = len(model.hypotheses)
    rates, won = np.full(count, -np.inf), np.zeros(count, dtype=bool)
    optimal = model.optimal_hypotheses
    for m in optimal[:1] if optimal else range(count):
        reference = optimal or (m,)
        wrong = np.array([t for t in range(count) if t not in reference], dtype=np.int64)
        if not optimal and evidence_signs(model, m)[:, wrong].max(axis=0).min() <= 0:
            continue
        if wrong.size:
            aim = RateTarget(m, reference, wrong)
            groups = group_agents(allowed, model, aim)
            found = maximise_least(groups.rows, groups.payoffs, start=groups.centre)
            rates[list(reference)] = found.value
            shares = found.point[: groups.counts.size] / groups.counts
            won[list(reference)] = bool(optimal) or wins(model, aim, shares[groups.membership])
        else:
            rates[list(reference)], won[list(reference)] = np.inf, True
    order = np.argsort(-rates, kind="stable")
    reachable = tuple(int(m) for m in order if won[m] and rates[m] > 0)
    return ReachableTargets(read_only(rates), reachable)
