"""How often agents speak that send nothing unless a replica is off by more than a threshold.

Agent i's share of the rounds is r = E (messages in n rounds)/n. With a = T − Δ/2, K_m the rate of
column m, s² = Σ_m Var z_im and D the mean size of what drives y_i,

    (|K_m| − c/n)/(reach + Δ/2)  ≤  r  ≤  ((s + √(s² + 4aD))/(2a))²,

the first for every m: a message moves a replica by no more than reach + Δ/2, and replicas keep up
with beliefs. The second: from message to message y − ŷ goes by a at least, by drift or by chance.
As mixing goes to zero, agents speak like lone random walks that leave an interval.
(docs: mathematics/compressed-beliefs)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.learning.model import FiniteModel
from theory.messages.deviation import replica_deviation
from theory.messages.levels import MessageLevels
from theory.messages.quantiser import Deadband, Quantiser
from theory.network import Network
from theory.network.structure import as_dense
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, read_only

# Rounding in sums of products, relative to their size.
_DOUBT = 1e-9
# −ζ(1/2)/√(2π): a random walk overshoots a level by about so many standard deviations of a step.
_OVERSHOOT = 0.5825971579390106
_OCTAVES = 60
# What is left of a sum in which terms fall faster than geometrically.
_TAIL = 1e-13


@dataclass(frozen=True, eq=False)
class SpeakingShares(Shown):
    """The expected share of the rounds in which each agent sends a message, shape (N,) each.

    Attributes
    ----------
    lower, upper
        Bounds, up to rounding.
    estimate
        Of the long run, for little mixing: where an agent's walk leaves ±T by itself. No bound.
    rounds
        n, over which the bounds are; None for the limit as n grows.
    """

    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    rounds: int | None


@typed
def speaking_shares(
    network: Network,
    model: FiniteModel,
    quantiser: Quantiser,
    levels: MessageLevels,
    *,
    rounds: int | None = None,
) -> SpeakingShares:
    """Bounds on how often agents speak, and an estimate.

    Parameters
    ----------
    network
        That of W_γ.
    model, quantiser, levels
        What agents see and send, and what `theory.messages.message_levels` says of it.
    rounds
        n; None for the limit.

    Raises
    ------
    ValueError
        If `rounds` is below 1.
    """
    agents = network.agents
    if rounds is not None:
        rounds = as_integer("rounds", rounds, minimum=1)
    if not isinstance(quantiser, Deadband):
        always = read_only(np.ones(agents))
        return SpeakingShares(always, always, always, rounds)
    drive = _Drive.of(network, model, float(quantiser.threshold))
    late = 0.0 if rounds is None else drive.late / rounds
    early = 0.0 if rounds is None else drive.early / rounds
    step, threshold = float(quantiser.step), float(quantiser.threshold)
    longest = levels.reach + step / 2
    moved = np.broadcast_to(np.abs(drive.rates) - late, drive.late.shape)
    lower = np.clip(moved.max(axis=1), 0.0, None) / longest * (1 - _DOUBT)
    gap = threshold - step / 2
    mean = drive.size + early
    root = (drive.noise + np.sqrt(drive.noise**2 + 4 * gap * mean)) / (2 * gap)
    upper = np.minimum(root**2 * (1 + _DOUBT), 1.0)
    most = 1.0 / levels.silence if rounds is None else -(-rounds // levels.silence) / rounds
    upper = np.minimum(upper, most)
    return SpeakingShares(
        read_only(lower), read_only(upper), read_only(drive.estimate(threshold)), rounds
    )


@dataclass(frozen=True, eq=False)
class _Drive:
    """What moves y_i − ŷ_i between messages.

    Attributes
    ----------
    rates
        Shape (1, M − 1): K_m = Σ_j v_j E z_jm.
    variances
        Shape (N, M − 1): of z.
    late
        Shape (N, M − 1): how far E ŷ may be from n K_m.
    size
        Shape (N,): an upper bound on the mean of max_m |E z + (W − I)ŷ| in the long run.
    early
        Shape (N,): what the first rounds and the prior add to its sum over rounds.
    """

    rates: FloatArray
    variances: FloatArray
    late: FloatArray
    size: FloatArray
    early: FloatArray

    @property
    def noise(self) -> FloatArray:
        """√(Σ_m Var z_m), shape (N,)."""
        return np.asarray(np.sqrt(self.variances.sum(axis=1)))

    @classmethod
    def of(cls, mixed: Network, model: FiniteModel, threshold: float) -> _Drive:
        others, kinds = range(1, len(model.hypotheses)), model.assignment
        laws = [model.log_ratio_laws(0, m) for m in others]
        means = np.array([[law.mean for law in row] for row in laws]).T[kinds]
        variances = np.array([[law.variance for law in row] for row in laws]).T[kinds]
        priors = (model.log_priors[:, :1] - model.log_priors[:, 1:])[kinds]
        v = mixed.stationary_distribution
        first = replica_deviation(mixed).upper
        feedback = replica_deviation(mixed, order=2).upper
        leaving = 1.0 - mixed.weights.diagonal()
        rates = (v @ means)[None]
        # ½ Σ_k ‖row_i W^k − v‖₁, which is how long the means take to settle.
        settling = (1 - v) + mixed.deviation.upper / 2
        settled = settling[:, None] * np.ptp(means, axis=0)
        held = np.abs(priors).max(axis=0)
        spread = np.ptp(priors, axis=0) / 2
        late = settled + held + (1 + first[:, None]) * threshold
        swing = _swings(mixed, variances.sum(axis=1))
        largest = np.abs(rates).max() + np.sqrt(swing)
        size = np.minimum(largest, np.sqrt((rates**2).sum() + swing))
        size = size + (2 * leaving + feedback) * threshold
        early = (settled + first[:, None] * spread).sum(axis=1) + held.max()
        return cls(rates, variances, late, size, early)

    def estimate(self, threshold: float) -> FloatArray:
        """Of Brownian motion with drift K_m that leaves ±(T + overshoot), the busiest column."""
        deviations = np.sqrt(self.variances)
        level = threshold + _OVERSHOOT * deviations
        with np.errstate(divide="ignore", invalid="ignore"):
            tilt = np.abs(self.rates) * level / self.variances
            # x coth x is one at zero.
            curved = np.where(tilt > 1e-6, tilt / np.tanh(tilt), 1.0)
            alone = np.where(
                self.variances > 0, self.variances / level**2 * curved, np.abs(self.rates) / level
            )
        return np.asarray(np.minimum(alone.max(axis=1), 1.0))


def _swings(network: Network, variances: FloatArray) -> FloatArray:
    """Σ_k Σ_j [W^k (W − I)]²_ij s²_j, by doubling: the variance of (W − I)y, shape (N,)."""
    weights = as_dense(network.weights)
    missing = np.eye(network.agents) - weights
    # v(W − I) = 0: what rounding leaves of it would double with every octave.
    projection = np.eye(network.agents) - network.stationary_distribution
    found = (missing * variances) @ missing.T
    power = weights
    for _ in range(_OCTAVES):
        added = power @ found @ power.T
        found = projection @ (found + added) @ projection.T
        if float(np.abs(added).max()) <= _TAIL * float(np.abs(found).max()):
            return np.asarray(found.diagonal() * (1 + _DOUBT))
        power = power @ power
        power = power / power.sum(axis=1, keepdims=True)
    return np.full(network.agents, np.inf)
