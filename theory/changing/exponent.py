"""How fast the probability of error falls where the network changes.

With v_k the weights of round k's observations in what all agents hold in the end, and A_k who
observes,

    −(1/n) log P(some agent errs at round n) → min_θ max_{t ≥ 0} −⟨ Σ_j a_{k,j} κ_j(−t v_{k,j}) ⟩,

the average ⟨·⟩ over rounds k (docs: mathematics/changing). Exact for periodic phases, an average
over one period, and for delays, which change nothing: the exponent does not see the scale of v.

For random networks the limit is that of the probability *given the network*: the same for almost
every course of it, as the network is stationary and knows nothing of the data. The average over
rounds is estimated from one long seeded course. The probability over data and network together may
fall more slowly, by networks that happen to behave badly; no number is offered for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from theory.changing.correlation import error_of_mean
from theory.changing.delays import DelayedNetwork
from theory.changing.influence import changing_rate, check_agents, mean_delay
from theory.changing.kinds import ChangingNetwork
from theory.changing.links import RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.periodic import PeriodicNetwork
from theory.changing.presence import RandomPresence
from theory.changing.stationary import ObservedWeights, observed_by_phase
from theory.changing.trajectories import influence_samples
from theory.learning.exponent import ErrorExponent, error_exponent, largest_decay
from theory.learning.model import FiniteModel
from theory.network.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, read_only

# Entries of the sample, rounds times agents, by default.
_SAMPLE = 1_000_000
_MOST_SAMPLES = 20_000
_LEAST_SAMPLES = 40


@dataclass(frozen=True, eq=False)
class ChangingExponent(Shown):
    """The error exponent of a network that changes, in nats per round.

    Attributes
    ----------
    exponent, binding, exponents, tilts, against
        As for :class:`theory.ErrorExponent`.
    standard_error
        Of `exponent`: 0.0 if it is exact (in floating point); NaN if no standard error is known, as
        where the course is short for how long phases last: then the estimate is rough.
    is_exact
        Whether it is no estimate.
    samples
        Rounds of the course it was estimated from; 0 if it is exact.
    """

    exponent: float
    binding: int | None
    exponents: FloatArray
    tilts: FloatArray
    against: IntArray
    standard_error: float = 0.0
    is_exact: bool = True
    samples: int = 0


@typed
def changing_exponent(
    network: Network | ChangingNetwork,
    model: FiniteModel,
    *,
    seed: int = 0,
    samples: int | None = None,
) -> ChangingExponent:
    """The exponent of the probability of error, given the network (docs: mathematics/changing).

    Parameters
    ----------
    seed, samples
        For random networks: the seed, and the number of rounds, of the course that is averaged
        over; by default up to 20 000, fewer with more than 50 agents. As a maximum over t is
        taken, the estimate is biased upwards, by less than its standard error. To have one, the
        course must be fifty times as long as its rounds are correlated.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or a random network does not mix in
        100 000 rounds.

    Examples
    --------
    A message three rounds late makes beliefs lag, but errors no likelier in the long run.

    >>> from theory import FiniteModel, GaussianAgent, Network
    >>> from theory.changing import DelayedNetwork
    >>> agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[5])
    >>> ring = Network.from_topology("ring", agents=5)
    >>> round(changing_exponent(DelayedNetwork(ring, 3), model).exponent, 12)
    0.625
    """
    check_agents(network, model)
    if isinstance(network, DelayedNetwork):
        # All weights are v/(1 + mean age): the best t is larger by that, its maximum the same.
        return _exact(error_exponent(network.network, model), scale=1.0 + mean_delay(network))
    if isinstance(network, Network):
        return _exact(error_exponent(network, model), scale=1.0)
    rate = changing_rate(network, model)
    if isinstance(network, PeriodicNetwork):
        seen = observed_by_phase(network)
        return _averaged(seen, model, rate.reference, rounds=network.period, is_exact=True)
    default = max(200, min(_MOST_SAMPLES, _SAMPLE // network.agents))
    count = default if samples is None else as_integer("samples", samples, minimum=_LEAST_SAMPLES)
    seed = as_integer("seed", seed, minimum=0)
    weights = influence_samples(network, samples=count, seed=seed)
    agents = np.broadcast_to(np.arange(network.agents), weights.shape)
    seen = ObservedWeights(agents.ravel(), weights.ravel())
    found = _averaged(seen, model, rate.reference, rounds=count, is_exact=False)
    return replace(found, standard_error=_standard_error(weights, model, found, network))


def _averaged(
    seen: ObservedWeights,
    model: FiniteModel,
    reference: tuple[int, ...],
    *,
    rounds: int,
    is_exact: bool,
) -> ChangingExponent:
    """max_t of the average over so many rounds in which these observations were made."""
    size = len(model.hypotheses)
    exponents, tilts = np.full(size, np.inf), np.zeros(size)
    against = np.arange(size, dtype=np.int64)
    # Weights of zero contribute nothing, and equal weights of a kind are one number, repeated.
    counted = seen.weights > 0
    flat, assignment = seen.weights[counted], model.assignment[seen.agents[counted]]
    for theta in range(size):
        if theta in reference:
            continue
        found = {
            best: largest_decay(model.log_ratio_laws(best, theta), assignment, flat)
            for best in reference
        }
        against[theta] = max(found, key=lambda best: found[best].value)
        largest = found[int(against[theta])]
        exponents[theta], tilts[theta] = largest.value / rounds, largest.tilt
    wrong = [m for m in range(size) if m not in reference]
    binding = min(wrong, key=lambda m: float(exponents[m])) if wrong else None
    return ChangingExponent(
        exponent=np.inf if binding is None else float(exponents[binding]),
        binding=binding,
        exponents=read_only(exponents),
        tilts=read_only(tilts),
        against=read_only(against),
        is_exact=is_exact,
        samples=0 if is_exact else rounds,
    )


def _standard_error(
    weights: FloatArray,
    model: FiniteModel,
    found: ChangingExponent,
    network: MarkovNetwork | RandomLinks | RandomPresence,
) -> float:
    """Of the mean over rounds of Σ_j κ_j(−t v_j) at the best t, which is held."""
    if found.binding is None or not np.isfinite(found.tilts[found.binding]):
        return np.nan
    tilt = float(found.tilts[found.binding])
    laws = model.log_ratio_laws(int(found.against[found.binding]), found.binding)
    per_round = np.zeros(len(weights))
    for kind, law in enumerate(laws):
        members = model.assignment == kind
        if members.any():
            per_round += law.cumulant(-tilt * weights[:, members]).sum(axis=1)
    return error_of_mean(per_round, network)


def _exact(found: ErrorExponent, *, scale: float) -> ChangingExponent:
    tilts = read_only(found.tilts * scale)
    return ChangingExponent(found.exponent, found.binding, found.exponents, tilts, found.against)
