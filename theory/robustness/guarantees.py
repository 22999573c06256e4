"""Rates that robust rules promise whatever the liars say, with proofs (docs: mathematics/faults).

*Trimmed mean and median.* While no honest agent hears more liars than the rule tolerates, its new
log-ratio lies between two honest ones. The least honest one therefore grows, from one pooling to
the next, by at least min_j S_j, the least evidence that an honest agent has gathered in between.
Its mean over B rounds is at least −log(Σ_j E e^{−tS_j})/t for every t > 0, hence

    rate ≥ max_{t > 0} −log(Σ_j e^{Bκ_j(−t)})/(Bt)  →  min_j I_j  as B → ∞.

*Clipping.* On a reversible network what two honest agents do to each other cancels in their
average, weighted by v: with w_j the weight that j gives to liars,

    Σ_j v_j (I_j − r·w_j) / Σ_j v_j  ≤  rate of the average  ≤  Σ_j v_j (I_j + r·w_j) / Σ_j v_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.network.structure import off_diagonal
from theory.robustness.behaviours import StuckData
from theory.robustness.faults import Behaviours, checked_faults, honest_agents, honest_reference
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_positive, fail, read_only


@dataclass(frozen=True, eq=False)
class PoolingGuarantee(Shown):
    """Lower bounds on every honest agent's rates under trimmed means or medians.

    Attributes
    ----------
    rates
        Shape (M,): lim inf Λ_i(best, θ)/n is at least this, almost surely, for every honest agent
        i, as long as none hears more liars than the rule tolerates; zero for the reference. A
        negative bound says nothing.
    pool_every, reference
        B, and what the honest agents ought to find.
    """

    rates: FloatArray
    pool_every: int
    reference: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClipGuarantee(Shown):
    """Bounds on the rates of the pooling agents' average under clipping.

    Attributes
    ----------
    lower, upper
        Shape (M,): the average of Λ_i(best, θ)/n over honest agents and those with stuck data,
        weighted by v, is asymptotically between the two. `lower` is attained by liars who stay
        more than the radius below everybody, `upper` above. Equal where nobody lies.
    radius, reference
        As given, and what the honest agents ought to find.
    """

    lower: FloatArray
    upper: FloatArray
    radius: float
    reference: tuple[int, ...]

    @property
    def average_learns(self) -> bool:
        """Whether the average rejects every wrong hypothesis whatever the liars say."""
        wrong = [m for m in range(self.lower.size) if m not in self.reference]
        return bool((self.lower[wrong] > 0).all())


@typed
def pooling_guarantee(
    network: Network, model: FiniteModel, faults: Behaviours, *, pool_every: int = 1
) -> PoolingGuarantee:
    """What a trimmed mean or a median guarantees to every honest agent.

    Parameters
    ----------
    faults
        Who lies; what they say does not matter. Agents with stuck data count as liars.
    pool_every
        B ≥ 1: how many observations agents gather between two poolings.

    Raises
    ------
    ValueError
        If the arguments do not fit.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[25])
    >>> torus = Network.from_topology("torus", shape=[5, 5])
    >>> [
    ...     round(float(pooling_guarantee(torus, model, {}, pool_every=B).rates[1]), 3)
    ...     for B in (1, 100, 1000, 10_000)
    ... ]
    [-0.405, 0.005, 0.1, 0.13]
    """
    B = as_integer("pool_every", pool_every, minimum=1)
    checked = checked_faults(network, model, faults)
    honest = honest_agents(network, checked)
    reference = honest_reference(network, model, honest)
    counts = np.bincount(model.assignment[honest], minlength=len(model.kinds))
    present = np.flatnonzero(counts)
    rates = np.zeros(len(model.hypotheses))
    for theta in range(rates.size):
        if theta in reference:
            continue
        all_laws = model.log_ratio_laws(reference[0], theta)
        laws = [all_laws[k] for k in present]
        rates[theta] = _least_sum(laws, counts[present], B) / B
    return PoolingGuarantee(read_only(rates), B, reference)


@typed
def clip_guarantee(
    network: Network, model: FiniteModel, faults: Behaviours, *, radius: float, pool_every: int = 1
) -> ClipGuarantee:
    """What clipping guarantees to the agents' average, and costs where nobody lies: nothing.

    Parameters
    ----------
    network
        Reversible: v_i W_ij = v_j W_ji.
    faults
        Who lies; what they say does not matter. Agents with stuck data pool like the others.
    radius
        r, in nats.
    pool_every
        B ≥ 1: liars pull once in B rounds, and the loss is a B-th.

    Raises
    ------
    ValueError
        If the network is not reversible, or the arguments do not fit.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.robustness import Push
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[25])
    >>> torus = Network.from_topology("torus", shape=[5, 5])
    >>> bounds = clip_guarantee(torus, model, {12: Push("loaded", 1.0)}, radius=0.5)
    >>> bounds.lower.round(4).tolist()  # 0.1438 − 0.5·(4/5)/24
    [0.0, 0.1272]
    """
    r = as_positive("radius", radius)
    B = as_integer("pool_every", pool_every, minimum=1)
    checked = checked_faults(network, model, faults)
    if not network.is_reversible:
        raise fail(
            "network",
            "a reversible one, v_i W_ij = v_j W_ji",
            "one that is not",
            "use symmetric weights, such as those of the rule metropolis, or measure it",
        )
    honest = honest_agents(network, checked)
    reference = honest_reference(network, model, honest)
    best = reference[0]
    evidence = np.array(model.information(best))
    liars = []
    for agent, behaviour in checked.items():
        if isinstance(behaviour, StuckData):
            datum = behaviour.datum(model, agent)
            evidence[agent] = datum[best] - datum
        else:
            liars.append(agent)
    links = off_diagonal(network.weights)
    lied = np.isin(links.column, np.array(liars, dtype=np.int64))
    exposed = np.bincount(links.row[lied], links.weight[lied], minlength=network.agents)
    pooling = np.setdiff1d(np.arange(network.agents), np.array(liars, dtype=np.int64))
    v = network.stationary_distribution[pooling]
    v = v / v.sum()
    middle = v @ evidence[pooling]
    pull = r * float(v @ exposed[pooling]) / B
    lower, upper = middle - pull, middle + pull
    lower[best] = upper[best] = 0.0
    return ClipGuarantee(read_only(lower), read_only(upper), r, reference)


def _least_sum(laws: Sequence[LogRatioLaw], counts: IntArray, terms: int) -> float:
    """A lower bound on E min_j S_j, each S_j the sum of `terms` draws from one of the laws.

    Law k has counts[k] agents.
    """
    # No sum is below its least value.
    floor = terms * min(law.minimum for law in laws)
    spread = max(law.variance for law in laws)
    if spread == 0:
        return floor

    def loss(log_tilt: float) -> float:
        t = float(np.exp(log_tilt))
        cumulants = np.array([terms * float(law.cumulant(-t)) for law in laws])
        return float(logsumexp(cumulants, b=counts)) / t

    # Every tilt gives a valid bound; the best is near that of normal evidence.
    start = 0.5 * np.log(2 * np.log(counts.sum() + 1) / (terms * spread))
    found = minimize_scalar(loss, bounds=(start - 8, start + 8), method="bounded")
    return max(-float(found.fun), floor)
