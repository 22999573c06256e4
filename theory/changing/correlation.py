"""The standard error of a mean over one course, whose rounds depend on one another.

τ = 1 + 2 Σ_k ρ_k, with ρ_k the correlation of rounds k apart, is how many rounds are worth one that
is drawn afresh. It is taken from the course and, as a course that is too short cannot show it, from
what is known of the network, whichever is larger. Means of batches several τ long are then all but
independent; where the course is too short for ten of them no error can be told from it. Nor can it
from a course on which all rounds are alike, if it may only have missed what is rare.
"""

from __future__ import annotations

import numpy as np

from theory.changing.links import RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.presence import RandomPresence
from theory.validation import FloatArray

_MOST_BATCHES = 40
# The spread of ten means is known to a quarter.
_LEAST_BATCHES = 10
# Batches of five τ make the error about 5 % too small, where correlations fall geometrically.
_BATCH_TIMES = 5
# A sum of correlations ends here, in units of itself: later ones are noise (Sokal's window).
_WINDOW = 5
# What a course shows none of, if it is expected so often, hardly ever happens: e^−20.
_SURELY_SEEN = 20
# A course begins when weights have forgotten where they came from to 1e-9.
_ALIKE = 1e-8
# Eigenvalues of S phases cost S³ operations.
_MOST_PHASES = 400


def error_of_mean(
    values: FloatArray, network: MarkovNetwork | RandomLinks | RandomPresence
) -> float:
    """Standard error of the mean of a course's values (n,); NaN if it is too short to tell."""
    time = max(correlation_time(network), measured_correlation_time(values))
    batches = int(min(_MOST_BATCHES, len(values) / (_BATCH_TIMES * max(time, 1.0))))
    if batches < _LEAST_BATCHES:
        return np.nan
    if _is_constant(values) and len(values) * rarest(network) < _SURELY_SEEN * max(time, 1.0):
        return np.nan
    means = np.array([batch.mean() for batch in np.array_split(values, batches)])
    return float(means.std(ddof=1) / np.sqrt(batches))


def correlation_time(network: MarkovNetwork | RandomLinks | RandomPresence) -> float:
    """The largest τ of anything that depends on the phase, or on who is there; in rounds.

    That of an eigenvalue λ of the chain is Re (1 + λ)/(1 − λ). Beyond 400 phases only how long the
    chain stays in one of them is looked at. What messages remember is not in it.
    """
    if isinstance(network, RandomPresence) and network.mean_absence is not None:
        # Present with probability q, absent for A rounds on average: 1 − λ = 1/(Aq).
        away = np.broadcast_to(np.asarray(network.mean_absence, dtype=np.float64), network.agents)
        here = np.broadcast_to(np.asarray(network.present, dtype=np.float64), network.agents)
        return max(1.0, float((2 * away * here)[here < 1].max(initial=0.0)) - 1.0)
    if not isinstance(network, MarkovNetwork) or network.is_independent:
        return 1.0
    chain = np.asarray(network.transition, dtype=np.float64)
    if len(chain) > _MOST_PHASES:
        stay = np.diagonal(chain)
        return float(((1 + stay) / np.maximum(1 - stay, 1e-300)).max())
    others = np.linalg.eigvals(chain)
    others = np.delete(others, np.argmin(np.abs(others - 1.0)))
    if not others.size:
        return 1.0
    return float(((1 + others) / (1 - others)).real.max())


def rarest(network: MarkovNetwork | RandomLinks | RandomPresence) -> float:
    """The share of rounds in which the rarest thing happens that may happen; 1 if nothing may.

    That is a phase, a link that is up or down, or an agent that is there or away.
    """
    if isinstance(network, MarkovNetwork):
        shares = network.stationary_phases
        return float(shares[shares > 0].min())
    up = network.link_up if isinstance(network, RandomLinks) else network.present
    both = np.minimum(up, 1.0 - up)
    return float(both[both > 0].min(initial=1.0))


def _is_constant(values: FloatArray) -> bool:
    """Whether values are alike, but for what the course has kept from where it began."""
    return bool(np.ptp(values) <= _ALIKE * np.abs(values).max(initial=0.0))


def measured_correlation_time(values: FloatArray) -> float:
    """τ of a course, its correlations summed up to the first lag that is five times the sum."""
    n = len(values)
    centred = values - values.mean()
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(power)[:n]
    # Constant to rounding: nothing to correlate.
    if covariance[0] <= n * (1e-12 * np.abs(values).max(initial=0.0)) ** 2:
        return 1.0
    sums = 2 * np.cumsum(covariance) / covariance[0] - 1
    ends = np.flatnonzero(np.arange(n) >= _WINDOW * sums)
    return float(sums[ends[0]]) if ends.size else float(n)
