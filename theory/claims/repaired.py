r"""The project's own bounds on P(error), against exact sums over all outcomes.

With Λ_i the log-ratio of agent i, m its mean and R = Σ_k Σ_j ([W^k]_ij r_j)² (docs:
mathematics/samples):

* Hoeffding: P ≤ Σ_{i,θ} exp(-2 m₊²/R);
* Chernoff: P ≤ Σ_{i,θ} E exp(-tΛ_i) for any t ≥ 0 each;
* one event for all agents: P ≤ Σ_θ exp(-2 (nK_θ - c)₊²/(n Σ v_j² r_j²)).

Log-ratios are whole multiples of log 2 here, priors are skewed, networks are directed as often as
not; nothing is shared with the code that computes these bounds elsewhere in the project.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpq_mat

from theory.claims import chains
from theory.claims.chance import Evidence, as_ball, integer_weights, random_evidence
from theory.claims.claim import PROJECT, Claim, Effort, Finding, Witness
from theory.claims.hunting import Attempt, at_most, hunt


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
