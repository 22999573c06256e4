"""Probabilities of error far too small to be seen, by importance sampling.

Observations are drawn from laws under which errors are common, and every error is weighed by how
much rarer it is under the truth (docs: mathematics/laws). The estimates are unbiased, their weights
bounded, and their relative error at a given number of replicates grows no faster than a power of
the number of rounds while the probability falls exponentially.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exact.cost import check_work
from exact.law.law_problem import Model, in_doubles
from exact.law.mixture import Mixture, atoms, components, lags, shares
from theory import Network
from theory.rational import RationalNetwork
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, as_positive, as_probability, fail

# Log-ratios held at a time: 64 MB with what is drawn beside them.
_ENTRIES = 2_000_000
_PILOT = 2_000
# The sample is larger than the pilot asks for by this factor, as the pilot's variance is estimated.
_MARGIN = 1.3
# Laws in the mixture: each wants replicates of its own.
_MOST_COMPONENTS = 2_000
# An estimate is trusted if it rests on this many errors' worth of equal weights, and the largest
# weight there can be would move it by no more than this share.
_LEAST_EFFECTIVE = 100.0
_LARGEST_SHARE = 0.1


@dataclass(frozen=True)
class RareInterval(Shown):
    """An interval that holds the true probability with probability at least `confidence`."""

    lower: float
    upper: float
    confidence: float


@dataclass(frozen=True)
class RareError(Shown):
    """An estimate of the probability of one event.

    Attributes
    ----------
    log_probability
        Natural logarithm of the unbiased estimate, or of one where that exceeds one; −inf where
        the event is impossible, or was never seen.
    relative_standard_error
        Standard error over estimate, at least 1/R and the excess of the weights' mean over one;
        0.0 for an impossible event, inf where it was never seen.
    effective_size
        (Σ weights)²/Σ weights² over the errors seen: of how many equal weights they are worth.
    log_largest_weight
        Logarithm of a bound on the weight of any error; −inf for an impossible event.
    replicates
        R.
    """

    log_probability: float
    relative_standard_error: float
    effective_size: float
    log_largest_weight: float
    replicates: int

    @property
    def is_impossible(self) -> bool:
        """Whether no observations lead to the event."""
        return self.log_largest_weight == -np.inf

    @property
    def probability(self) -> float:
        """The estimate; 0.0 below 1e-308."""
        return float(np.exp(self.log_probability))

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate; inf where the event was never seen."""
        if self.log_probability == -np.inf:
            return 0.0 if self.is_impossible else np.inf
        return self.probability * self.relative_standard_error

    @property
    def trusted(self) -> bool:
        """Whether the estimate rests on enough errors, of which none can weigh too much.

        At least 100 by their effective size, the largest weight possible would add at most a
        tenth to the estimate, and the standard error is no larger than that. This is about small
        probabilities: where nearly every run errs, the standard error is too small for the few
        that do not, and :meth:`interval` is right still.
        """
        if self.is_impossible:
            return True
        one = self.log_largest_weight - np.log(self.replicates)
        heavy = one > self.log_probability + np.log(_LARGEST_SHARE)
        known = self.relative_standard_error <= _LARGEST_SHARE
        return bool(self.effective_size >= _LEAST_EFFECTIVE and known and not heavy)

    def interval(self, *, confidence: float = 0.95) -> RareInterval:
        """An interval that is valid at any number of replicates, as weights are bounded.

        Maurer and Pontil's inequality for bounded variables with their measured variance, on both
        sides; wider than twice the standard error.
        """
        confidence = as_probability("confidence", confidence)
        if self.is_impossible:
            return RareInterval(0.0, 0.0, confidence)
        largest = np.exp(self.log_largest_weight)
        if self.replicates < 2:
            return RareInterval(0.0, min(1.0, float(largest)), confidence)
        log_tail = np.log(4 / (1 - confidence))
        error = 0.0 if self.log_probability == -np.inf else self.standard_error
        reach = error * np.sqrt(2 * log_tail)
        reach += 7 * largest * log_tail / (3 * (self.replicates - 1))
        lower, upper = self.probability - reach, self.probability + reach
        return RareInterval(max(0.0, float(lower)), min(1.0, float(upper)), confidence)


@dataclass(frozen=True)
class RareErrors(Shown):
    """Estimates of the probabilities of error after `rounds` rounds.

    Attributes
    ----------
    rounds, seed
        As given.
    replicates
        R, the replicates that the estimates rest on.
    each_agent
        For each agent: P(its arg max is wrong), ties included.
    some_agent
        P(the arg max of some agent is wrong).
    """

    rounds: int
    seed: int
    replicates: int
    each_agent: tuple[RareError, ...]
    some_agent: RareError


@typed
def rare_errors(
    network: Network | RationalNetwork,
    model: Model,
    *,
    rounds: int,
    replicates: int = 1_000_000,
    seed: int,
    target_standard_error: float = 0.05,
    reference: Sequence[int] | None = None,
) -> RareErrors:
    """Estimate how likely each agent, and some agent, is wrong after `rounds` rounds.

    A pilot sample says how many replicates the target takes; the estimates rest on a fresh sample
    of that size, so that they are unbiased. Errors of 1e-12 are no harder than errors of 1e-2.

    Parameters
    ----------
    network, model
        N agents each, with finitely many outcomes or normal ones.
    rounds
        n ≥ 1.
    replicates
        The most to draw, pilot aside. Where the target takes more, the estimates are less accurate
        than asked for, and say so.
    seed
        A whole number of at least 0; the same seed gives the same numbers.
    target_standard_error
        The relative standard error to reach for every agent, above 0.
    reference
        The hypotheses that are no error; by default Θ*, or the network's compromise if Θ* is empty.

    Returns
    -------
    RareErrors
        Unbiased estimates, cut off at one, with their standard errors.

    Raises
    ------
    ValueError
        If an argument is out of range, there is nothing to reject, or the problem is too large.

    Examples
    --------
    Two normal hypotheses and one agent: the probability is Φ(−√n/2), here Φ(−7) = 1.28e-12.

    >>> from theory import FiniteModel, GaussianAgent, Network
    >>> agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one"], [agent])
    >>> found = rare_errors(Network([[1.0]]), model, rounds=196, seed=1).some_agent
    >>> bool(abs(found.probability / 1.2798e-12 - 1) < 4 * found.relative_standard_error)
    True
    >>> found.trusted, found.relative_standard_error < 0.05
    (True, True)
    """
    rounds = as_integer("rounds", rounds, minimum=1)
    replicates = as_integer("replicates", replicates, minimum=2)
    seed = as_integer("seed", seed, minimum=0)
    target = as_positive("target_standard_error", target_standard_error)
    mixture, judge = _prepare(network, model, rounds, reference)
    check_work(
        rounds=len(mixture.lags.weights), replicates=replicates, agents=mixture.assignment.size
    )
    if not mixture.components:
        size = mixture.assignment.size
        never = RareError(-np.inf, 0.0, 0.0, -np.inf, replicates)
        return RareErrors(rounds, seed, replicates, (never,) * size, never)
    pilot_stream, stream = np.random.SeedSequence(seed).spawn(2)
    pilot_rng = np.random.Generator(np.random.SFC64(pilot_stream))
    needed = wanted = min(_PILOT, replicates)
    sums = _Sums.start(mixture)
    while True:
        sums.draw(pilot_rng, mixture, judge, wanted - sums.replicates)
        needed = sums.needed(target)
        if sums.is_reliable or wanted == replicates:
            break
        wanted = min(4 * wanted, replicates)
    final = _Sums.start(mixture)
    size = max(min(_PILOT, replicates), min(replicates, needed))
    final.draw(np.random.Generator(np.random.SFC64(stream)), mixture, judge, size)
    found = final.estimates()
    return RareErrors(rounds, seed, size, tuple(found[:-1]), found[-1])


@dataclass(frozen=True, eq=False)
class _Judge:
    """Who is wrong, by Λ(best, ·)."""

    reference: tuple[int, ...]
    wrong: tuple[int, ...]
    ties: FloatArray

    def errors(self, log_ratios: FloatArray) -> FloatArray:
        """For Λ of shape (N, R, M): 1.0 where the agent is wrong, shape (N, R)."""
        one, two = list(self.reference), list(self.wrong)
        own = (log_ratios[..., one] + self.ties[one]).min(axis=-1)
        others = (log_ratios[..., two] - self.ties[two]).min(axis=-1)
        return np.asarray(others <= own, dtype=np.float64)


def _prepare(
    network: Network | RationalNetwork,
    model: Model,
    rounds: int,
    reference: Sequence[int] | None,
) -> tuple[Mixture, _Judge]:
    given: object = network
    if not isinstance(given, Network | RationalNetwork):
        got = type(given).__name__
        raise fail("network", "a Network or a RationalNetwork", got, "build one")
    network = network.as_network() if isinstance(network, RationalNetwork) else network
    plain = in_doubles(model)
    if network.agents != plain.agents:
        raise fail(
            "model",
            f"one agent for each of the network's {network.agents}",
            plain.agents,
            "describe as many agents as the network has",
        )
    count = len(plain.hypotheses)
    if reference is None:
        best = plain.reference_hypotheses(network.stationary_distribution)
    else:
        best = tuple(as_integer("reference", m, minimum=0, maximum=count - 1) for m in reference)
    wrong = tuple(m for m in range(count) if m not in best)
    if not wrong or not best:
        names = [plain.hypotheses[m] for m in best]
        raise fail("model", "hypotheses that are best, and others", names, "name others")
    if plain.agents * len(wrong) > _MOST_COMPONENTS:
        raise fail(
            "model",
            f"at most {_MOST_COMPONENTS} agents times wrong hypotheses",
            plain.agents * len(wrong),
            "take a smaller network, or theory.refined_error_probability",
        )
    past = lags(network, rounds)
    tables = atoms(plain, best[0])
    odds = plain.log_priors[:, best[:1]] - plain.log_priors
    # As in exact.statistics: n additions to numbers of up to n times the hypothesis's largest.
    sizes = [np.abs(t.offsets).max(axis=0) + 10 * np.abs(t.slopes).max(axis=0) for t in tables]
    largest = np.max(sizes, axis=0) + np.abs(odds).max(axis=0)
    ties = rounds**2 * largest * np.finfo(float).eps
    found = components(plain, past, best, ties)
    prior = past.last @ odds[plain.assignment]
    mixture = Mixture(
        components=found,
        shares=shares(found, plain.agents) if found else np.empty(0),
        lags=past,
        atoms=tables,
        assignment=plain.assignment,
        prior=prior,
    )
    return mixture, _Judge(best, wrong, ties)


class _Sums:
    """Sums of weights and of their squares, for each agent and last for some agent."""

    def __init__(self, log_bounds: FloatArray) -> None:
        self.log_bounds = log_bounds
        self.replicates = 0
        # In units of the largest weight nothing under- or overflows.
        self.first = np.zeros(log_bounds.size)
        self.second = np.zeros(log_bounds.size)

    @classmethod
    def start(cls, mixture: Mixture) -> _Sums:
        bounds = mixture.log_weight_bounds
        return cls(np.append(bounds, bounds.max()))

    def draw(
        self, rng: np.random.Generator, mixture: Mixture, judge: _Judge, replicates: int
    ) -> None:
        """Take in fresh replicates: each from a component chosen by its share."""
        self.replicates += replicates
        counts = rng.multinomial(replicates, mixture.shares)
        room = max(1, _ENTRIES // mixture.prior.size)
        for component, count in zip(mixture.components, counts.tolist(), strict=True):
            for start in range(0, count, room):
                drawn = mixture.draw(rng, component, min(room, count - start))
                self._take(mixture.log_weights(drawn), judge.errors(drawn))

    def _take(self, log_weights: FloatArray, errors: FloatArray) -> None:
        events = np.vstack([errors, errors.max(axis=0, keepdims=True)])
        possible = np.isfinite(self.log_bounds)
        scaled = log_weights - self.log_bounds[possible, None]
        # Only errors have bounded weights: the others are nothing, however large.
        weights = np.where(events[possible] > 0, np.exp(np.minimum(scaled, 1.0)), 0.0)
        self.first[possible] += weights.sum(axis=1)
        self.second[possible] += (weights * weights).sum(axis=1)

    @property
    def is_reliable(self) -> bool:
        """Whether enough errors were seen to tell what variance they have."""
        possible = np.isfinite(self.log_bounds)
        if not (self.second[possible] > 0).all():
            return False
        effective = self.first[possible] ** 2 / self.second[possible]
        return bool(effective.min() >= _LEAST_EFFECTIVE)

    def needed(self, target: float) -> int:
        """Replicates that bring every relative standard error to `target`, with a margin."""
        possible = np.isfinite(self.log_bounds)
        first, second = self.first[possible], self.second[possible]
        if not (second > 0).all():
            return np.iinfo(np.int64).max
        relative = second * self.replicates / first**2 - 1
        return int(np.ceil(_MARGIN * max(0.0, float(relative.max())) / target**2)) + 2

    def estimates(self) -> list[RareError]:
        """The estimates, each agent's and last some agent's."""
        found = []
        size = self.replicates
        for bound, first, second in zip(self.log_bounds, self.first, self.second, strict=True):
            if not np.isfinite(bound):
                found.append(RareError(-np.inf, 0.0, 0.0, -np.inf, size))
                continue
            if second == 0:
                found.append(RareError(-np.inf, np.inf, 0.0, float(bound), size))
                continue
            relative = max(0.0, second * size / first**2 - 1) / (size - 1)
            estimate = float(bound + np.log(first / size))
            # Equal weights have no spread, but what one draw in R would do was not seen; and where
            # the mean exceeds one it is known to be off by the excess.
            least = max(1 / size, float(np.expm1(max(0.0, estimate))))
            found.append(
                RareError(
                    log_probability=min(0.0, estimate),
                    relative_standard_error=max(float(np.sqrt(relative)), least),
                    effective_size=float(first**2 / second),
                    log_largest_weight=float(bound),
                    replicates=size,
                )
            )
        return found
