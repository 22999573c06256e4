"""Random coins on complete networks: what the sample sizes promise against what happens.

W = (1-λ) J/N + λ I is symmetric, with all eigenvalues but the first equal to λ; lazy if λ > 0, and
restless if λ < 0 (λmax = λ is then not the modulus). Probabilities are bracketed by sums on a grid
(`theory.claims.chance`), never bounded by an inequality of the papers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from theory.claims.chance import TwoPoint, sum_at_most
from theory.claims.hunting import Attempt
from theory.validation import FloatArray


@dataclass(frozen=True)
class Lazy:
    """N agents with W = (1-λ) J/N + λ I and two-point evidence, alike or at one agent only.

    With a `weight` the network is W = 1vᵀ instead (λ = 0), v_1 = `weight`, the others alike and
    blind: the hardest case, for one agent's evidence is all there is.
    """

    agents: int
    eigenvalue: float
    variable: TwoPoint
    everybody: bool
    hypotheses: int
    delta: float
    weight: float | None = None

    @property
    def concentration(self) -> float:
        """Σ v_j²."""
        if self.weight is None:
            return 1 / self.agents
        return self.weight**2 + (1 - self.weight) ** 2 / (self.agents - 1)

    @property
    def bound(self) -> float:
        """C: the largest |z|."""
        return max(abs(self.variable.high), abs(self.variable.low))

    @property
    def rate(self) -> float:
        """K."""
        if self.weight is not None:
            return self.variable.mean * self.weight
        return self.variable.mean * (1.0 if self.everybody else 1 / self.agents)

    @property
    def printed_gap(self) -> float:
        """1 - λmax, with its sign."""
        return 1 - self.eigenvalue

    @property
    def gap(self) -> float:
        """1 - λ*."""
        return 1 - abs(self.eigenvalue)

    @property
    def logarithm(self) -> float:
        """log(NM/δ)."""
        return float(np.log(self.agents * self.hypotheses / self.delta))

    def _powers(self, rounds: int, lag: int) -> tuple[FloatArray, FloatArray]:
        decay = self.eigenvalue ** np.arange(lag, rounds + lag)
        share = (1 - decay) / self.agents
        return share + decay, share

    def failure(self, rounds: int, *, threshold: float = 0.0, lag: int = 1) -> tuple[float, float]:
        """P(some agent's log-ratio ≤ threshold) from below and from above; lag 0: public beliefs.

        All wrong hypotheses have the same likelihoods, so that they make one event. From above
        it is the sum over agents, except where all agents have the same belief.
        """
        if self.weight is not None:
            return self._by_one(rounds, threshold, lag)
        own, other = self._powers(rounds, lag)
        mixed = np.concatenate([own] + [other] * (self.agents - 1))
        weights = [mixed] if self.everybody else [own, other]
        counts = [self.agents] if self.everybody else [1, self.agents - 1]
        if self.eigenvalue == 0 and lag == 1:
            weights, counts = weights[:1], [1]
        lower, upper = 0.0, 0.0
        for row, count in zip(weights, counts, strict=True):
            limit = 1 / self.agents
            below, above = (
                sum_at_most(row, self.variable, threshold, limit=limit, from_above=side)
                for side in (False, True)
            )
            lower, upper = max(lower, below), upper + count * above
        return lower, upper

    def _by_one(self, rounds: int, threshold: float, lag: int) -> tuple[float, float]:
        """The same for W = 1vᵀ: all private beliefs alike, a blind public one a round behind."""
        assert self.weight is not None
        weights = np.full(rounds - 1 + lag, self.weight)
        below, above = (
            sum_at_most(weights, self.variable, threshold, limit=self.weight, from_above=side)
            for side in (False, True)
        )
        if lag == 1:
            return below, above
        own = np.append(weights, 1.0)
        first = sum_at_most(own, self.variable, threshold, limit=self.weight)
        return below, first + (self.agents - 1) * above


def _random_concentrated(rng: np.random.Generator) -> Lazy:
    """Nearly all weight on one agent, evidence nearly even: where the conditions are sharp."""
    mean = float(rng.uniform(0.02, 0.3))
    agents = int(rng.integers(3, 6))
    return Lazy(
        agents=agents,
        eigenvalue=0.0,
        variable=TwoPoint(1.0, -1.0, (1 + mean) / 2),
        everybody=False,
        hypotheses=2,
        delta=float(rng.choice([0.05, 1e-3, 1e-8])),
        # The others keep 2/N⁴ each, as the condition asks.
        weight=1 - (agents - 1) * 2 / agents**4,
    )


def _random_lazy(rng: np.random.Generator, spread: float) -> Lazy:
    """C is `spread`; the mean of z is a random share of it."""
    high = float(rng.uniform(0.2, 1)) if rng.random() < 0.3 else 1.0
    low = -1.0 if high < 1 else -float(rng.choice([1.0, 1.0, 0.3, 0.0]))
    mean = float(rng.uniform(max(low, 0.0) + 0.05, 0.98)) * high
    chance = (mean - low) / (high - low)
    agents = int(rng.integers(2, 6))
    # Non-negative weights need λ ≥ -1/(N-1), and Lemma 1 for two agents needs λ > -.58.
    restless = -min(0.55, 0.99 / (agents - 1))
    return Lazy(
        agents=agents,
        eigenvalue=float(rng.choice([0.0, 0.0, 0.3, 0.7, restless])),
        variable=TwoPoint(high * spread, low * spread, chance),
        everybody=bool(rng.random() < 0.6),
        hypotheses=int(rng.choice([2, 2, 3, 10])),
        delta=float(rng.choice([0.9, 0.5, 0.2, 0.05, 1e-3, 1e-8])),
    )


_MOST_ROUNDS = 100_000


def _attempt(case: Lazy, size: float, *, level: float | None = None) -> Attempt | None:
    """P(fails) against δ at the smallest n allowed; `level` is K - ε for P2, public beliefs."""
    # The hair covers the rounding of the formula itself.
    rounds = max(1, int(np.ceil(size * (1 + 1e-9))))
    if rounds > _MOST_ROUNDS:
        return None
    if level is None:
        lower, upper = case.failure(rounds)
    else:
        lower, upper = case.failure(rounds, threshold=rounds * level, lag=0)
    return Attempt(lower > case.delta, upper / case.delta, case.delta, upper)


def under_condition(
    rng: np.random.Generator, *, second: bool, constant: float | None = None
) -> Attempt | None:
    """Scale C so that the condition is just met, then compare with δ.

    `constant` replaces the condition's 8 (P1) or 4 (P2): a larger one makes it false.
    """
    draw = _random_concentrated(rng) if rng.random() < 0.5 else _random_lazy(rng, 1.0)
    constant = constant or (4 if second else 8)
    spread, share = 20.0 * constant, float(rng.uniform(0.3, 1))
    while spread > 0.01:
        z = TwoPoint(draw.variable.high * spread, draw.variable.low * spread, draw.variable.chance)
        case = replace(draw, variable=z)
        gap, logarithm = case.printed_gap, case.logarithm
        load = case.bound * gap * case.concentration
        if second:
            epsilon = share * case.rate
            rest = 1 - epsilon * (np.log(case.agents) + gap / 2) / (2 * logarithm)
            if rest > 0 and load <= constant * rest**2:
                size = 8 * case.bound * logarithm / (epsilon**2 * gap)
                return _attempt(case, size, level=case.rate - epsilon)
        else:
            rest = 1 - case.rate * np.log(case.agents) / (4 * logarithm)
            if rest > 0 and load <= constant * rest**2:
                return _attempt(case, 16 * case.bound * logarithm / (case.rate**2 * gap))
        spread *= 0.97
    return None


def with_square(rng: np.random.Generator, *, second: bool) -> Attempt | None:
    """8 C² in both, for any C."""
    case = _random_lazy(rng, float(10 ** rng.uniform(-1, 2)))
    gap, logarithm = case.gap, case.logarithm
    if not second:
        return _attempt(case, 8 * case.bound**2 * logarithm / (case.rate**2 * gap))
    epsilon = float(rng.uniform(0.3, 1)) * case.rate
    size = 8 * case.bound**2 * logarithm / (epsilon**2 * gap)
    return _attempt(case, size, level=case.rate - epsilon)


def concentration(rng: np.random.Generator, *, repaired: bool) -> Attempt:
    """The step itself, N agents with weights v, against exp(-ε²n/2C) or exp(-ε²n/8C²Σv²)."""
    agents = int(rng.integers(1, 6))
    v = rng.dirichlet(np.full(agents, float(rng.choice([0.3, 1, 30]))))
    concentration = float((v**2).sum())
    limit = 1 / (4 * concentration)
    bound = limit if not repaired else float(10 ** rng.uniform(-1, 1))
    chance = float(rng.choice([0.5, 0.5, rng.uniform(0.01, 0.99)]))
    z = TwoPoint(2 * bound * (1 - chance), -2 * bound * chance, chance)  # mean 0, range 2C
    rounds = int(rng.integers(1, 30))
    epsilon = float(rng.uniform(0.05, 2)) * 2 * bound * float(np.sqrt(concentration / rounds))
    measured = sum_at_most(np.repeat(v, rounds), z, -epsilon * rounds / 2)
    exponent = 8 * bound**2 * concentration if repaired else 2 * bound
    predicted = float(np.exp(-(epsilon**2) * rounds / exponent))
    lower = sum_at_most(np.repeat(v, rounds), z, -epsilon * rounds / 2, from_above=False)
    return Attempt(lower > predicted, measured / predicted, predicted, measured)
