"""The project's own bounds on P(error), against exact sums over all outcomes.

With Λ_i the log-ratio of agent i, m its mean and R = Σ_k Σ_j ([W^k]_ij r_j)² (docs:
mathematics/samples):

* Hoeffding: P ≤ Σ_{i,θ} exp(-2 m₊²/R);
* Chernoff: P ≤ Σ_{i,θ} E exp(-tΛ_i) for any t ≥ 0 each;
* one event for all agents: P ≤ Σ_θ exp(-2 (nK_θ - c)₊²/(n Σ v_j² r_j²)).

Log-ratios are whole multiples of log 2 here, priors are skewed, networks are directed as often as
not; nothing is shared with the code that computes these bounds elsewhere in the project.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb, fmpq_mat

from theory.claims import chains
from theory.claims.chance import (
    Evidence,
    TwoPoint,
    as_ball,
    integer_weights,
    random_evidence,
    sum_at_most,
)
from theory.claims.claim import PROJECT, Attempt, Claim, Effort, Finding, Witness, at_most, hunt
from theory.validation import FloatArray

# Random coins on complete networks ---------------------------------------------------------------


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


# The project's own bounds on P(error), against exact sums over all outcomes ----------------------


@dataclass(frozen=True)
class Case:
    """A network, evidence and a number of rounds, small enough to sum over all outcomes."""

    weights: fmpq_mat
    evidence: Evidence
    rounds: int

    @property
    def agents(self) -> int:
        """N."""
        return int(self.weights.nrows())

    @property
    def hypotheses(self) -> int:
        """How many wrong hypotheses there are."""
        return int(self.evidence.values.shape[2])

    def error(self) -> arb:
        """P(some agent's arg max is wrong or tied)."""
        table, denominator = integer_weights(self.weights)
        return as_ball(self.evidence.error(table, denominator, self.rounds))

    def rows(self, agent: int) -> list[list[Fraction]]:
        """[W^k]_ij for k = 1 … rounds."""
        power, result = self.weights, []
        for _ in range(self.rounds):
            row = [power[agent, j] for j in range(self.agents)]
            result.append([Fraction(int(x.p), int(x.q)) for x in row])
            power = power * self.weights
        return result

    def prior(self, agent: int, wrong: int) -> Fraction:
        """Σ_j [W^n]_ij Λ_j⁽⁰⁾ in units of log 2."""
        last = self.rows(agent)[-1]
        return sum(
            (w * int(p) for w, p in zip(last, self.evidence.prior[:, wrong], strict=True)),
            Fraction(0),
        )


def random_case(rng: np.random.Generator) -> Case:
    """Two agents for up to five rounds, or three for three."""
    agents, rounds = (2, int(rng.integers(1, 6))) if rng.random() < 0.7 else (3, 3)
    outcomes = 3 if agents == 2 and rounds <= 4 and rng.random() < 0.3 else 2
    denominator = int(rng.integers(2, 7))
    while True:
        rows = rng.multinomial(denominator, np.full(agents, 1 / agents), size=agents)
        weights = chains.network(rows.tolist(), denominator)
        if chains.is_primitive(weights):
            break
    hypotheses, prior = int(rng.integers(1, 3)), bool(rng.random() < 0.5)
    evidence = random_evidence(
        rng, agents=agents, outcomes=outcomes, hypotheses=hypotheses, prior=prior
    )
    return Case(weights, evidence, rounds)


def _gauss(mean: Fraction, spread: Fraction) -> arb:
    """exp(-2 mean₊²/spread), and its limit where nothing is random."""
    if mean <= 0:
        return arb(1)
    if spread == 0:
        return arb(0)
    return (-2 * as_ball(mean**2 / spread)).exp()


def hoeffding(case: Case) -> arb:
    """The union over agents and hypotheses."""
    means, ranges = case.evidence.means, case.evidence.ranges
    total = arb(0)
    for i in range(case.agents):
        rows = case.rows(i)
        for h in range(case.hypotheses):
            mean, spread = case.prior(i, h), Fraction(0)
            for row in rows:
                for j, w in enumerate(row):
                    mean += w * means[j][h]
                    spread += (w * int(ranges[j, h])) ** 2
            total += _gauss(mean, spread)
    return total


def _log_moment(case: Case, agent: int, wrong: int, tilt: Fraction) -> arb:
    """Log E 2^(-tΛ_i)."""
    total = -as_ball(tilt * case.prior(agent, wrong)) * arb(2).log()
    for row in case.rows(agent):
        for j, w in enumerate(row):
            moment = arb(0)
            for p, z in zip(
                case.evidence.chances[j], case.evidence.values[j, :, wrong], strict=True
            ):
                moment += as_ball(Fraction(int(p), Evidence.UNIT)) * arb(2) ** as_ball(
                    -tilt * w * int(z)
                )
            total += moment.log()
    return total


def chernoff(case: Case) -> arb:
    """The union, each with the best of a few tilts."""
    tilts = [Fraction(k, 8) for k in (1, 4, 8, 12, 20, 40)]
    total = arb(0)
    for i in range(case.agents):
        for h in range(case.hypotheses):
            best = arb(1)
            for tilt in tilts:
                best = best.min(_log_moment(case, i, h, tilt).exp())
            total += best
    return total


def single_event(case: Case) -> arb:
    """One event for all agents."""
    v = [Fraction(int(x.p), int(x.q)) for x in chains.stationary(case.weights)]
    means, ranges = case.evidence.means, case.evidence.ranges
    slowest = chains.largest(chains.deviation(case.weights)[1])
    total = arb(0)
    for h in range(case.hypotheses):
        seen = case.evidence.values[:, :, h][case.evidence.chances > 0]
        reach = Fraction(int(seen.max() - seen.min()), 2)
        gain = case.rounds * sum(x * row[h] for x, row in zip(v, means, strict=True))
        gain += int(case.evidence.prior[:, h].min())
        mean = as_ball(Fraction(gain)) - as_ball(reach) * slowest
        spread = case.rounds * sum((x * int(r)) ** 2 for x, r in zip(v, ranges[:, h], strict=True))
        if not mean > 0:
            total += 1
        elif spread:
            total += (-2 * mean**2 / as_ball(Fraction(spread))).exp()
    return total


def _against(bound_of: object) -> object:
    def attempt(rng: np.random.Generator) -> Attempt | None:
        case = random_case(rng)
        bound = bound_of(case)  # type: ignore[operator]
        # A bound of one or more says nothing.
        if not bound < 1:
            return None
        error = case.error()
        if not bound > 0:
            return Attempt(bool(error > 0), float(error > 0), 0.0, float(error))
        return at_most(error, bound)

    return attempt


def _witness(name: str, usual: int, bound_of: object) -> Witness:
    what = "networks with evidence in multiples of log 2, exact sums over all outcomes"

    def run(effort: Effort) -> Finding:
        return hunt(effort, name, usual, _against(bound_of), what)  # type: ignore[arg-type]

    return Witness("support", what, run)


_SOURCE = f"{PROJECT}: mathematics/samples"

CLAIMS = (
    Claim(
        key="hoeffding",
        title="P(error) by Hoeffding's inequality",
        statement=r"\mathsf P(\text{error})\le\sum_{i,\theta}\exp\bigl(-2(\mu_i)_+^2/R_i\bigr)",
        words="The repaired sample size rests on the exact mean and on the sum of squared weights.",
        source=_SOURCE,
        kind="bound",
        verdict="holds",
        witnesses=(_witness("hoeffding", 600, hoeffding),),
    ),
    Claim(
        key="chernoff",
        title="P(error) by Chernoff's inequality",
        statement=(
            r"\mathsf P(\text{error})\le\sum_{i,\theta}\min_{t\ge0}\exp\Bigl(-tp_i+"
            r"\sum_{k,j}\kappa_j\bigl(-t[W^k]_{ij}\bigr)\Bigr)"
        ),
        words="The agents' own cumulants; no bounded likelihoods needed.",
        source=_SOURCE,
        kind="bound",
        verdict="holds",
        witnesses=(_witness("chernoff", 200, chernoff),),
    ),
    Claim(
        key="single-event",
        title="P(error) by one event for all agents",
        statement=(
            r"\mathsf P(\text{error})\le\sum_{\theta}\exp\Bigl(-\frac{2(nK_\theta-c)_+^2}"
            r"{n\sum_jv_j^2r_j^2}\Bigr),\quad c=\tfrac12(\max z-\min "
            r"z)\max_iD_i-\min_j\Lambda_j^{(0)}"
        ),
        words="No union over agents: the deviation D pays for their differences.",
        source=_SOURCE,
        kind="bound",
        verdict="holds",
        witnesses=(_witness("single-event", 400, single_event),),
    ),
)
