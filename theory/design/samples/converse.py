"""What no design can beat: a lower bound on n(δ) for every W at once.

*Perfect mixing is best.* For any W with stationary v, Σ_i v_i Λ_i^(n) = Σ_j v_j (Λ_j^(0) + S_j),
with S_j the sum of agent j's first n log-ratios, as v W^k = v. If this average is at most zero, so
is some agent's Λ_i. So the probability of error is at least that of W = 1 vᵀ, round by round.

*No influence is best against everything.* For wrong θ let Q_θ be a law of the data under which
agent j's log-ratio has mean m_θj. If Σ_θ λ_θ m_θj weighted with any v of the set of influences is
at most zero, then whatever v is, some θ with λ_θ > 0 has Σ_j v_j E_{Q_θ} S_j ≤ 0; under Q_θ that θ
wins with probability q of about a half (Berry and Esseen), and under the true law with at least
the probability that the best test between Q_θ and the truth cannot avoid
(:mod:`theory.design.samples.cover`). The laws are those that the best exponent is made of, so
that the bound is sharp to first order as δ → 0.

*What one agent alone can tell.* Where priors are even and a wrong θ is told apart by agent j alone,
the sign of Σ_j v_j S_j is that of S_j: whatever W is, errors are as likely as those of agent j by
itself, which :func:`theory.account` encloses. So it does where the set of influences is one point.

Proofs are in docs: mathematics/fewest-samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from theory.bounds import CertifiedSampleSize
from theory.bounds.accounting import account
from theory.bounds.accounting.events import EventSet
from theory.design.graph import DesignGraph
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.rate_program import rate_target
from theory.design.samples.cover import CoverSearch, evidence_table
from theory.design.search import Certificate, within_budget
from theory.learning.finite_agent import Agent, FiniteAgent
from theory.learning.model import FiniteModel
from theory.learning.tilted import TiltedTable
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_probability, read_only

# What no design can beat -------------------------------------------------------------------------


# The account of one agent, or of perfect mixing, is a matter of milliseconds, except for large data
# sets: it is left out where it takes longer.
_MOST_SECONDS = 10.0


def perfect_mixing(v: FloatArray, *, name: str = "perfect mixing") -> Network:
    """W = 1 vᵀ, of all networks with stationary distribution v the one with the fewest errors."""
    return Network(np.tile(v, (v.size, 1)), name=name)


def perfect_size(v: FloatArray, model: FiniteModel, delta: float) -> CertifiedSampleSize:
    """The certified n(δ) of perfect mixing, with ends left out where it would take too long."""
    return _size(perfect_mixing(v), model, delta)


def _size(network: Network, model: FiniteModel, delta: float) -> CertifiedSampleSize:
    return account(network, model).sample_size(delta, seconds=within_budget(_MOST_SECONDS))


@dataclass(frozen=True, eq=False)
class EveryDesignBound(Shown):
    """No W whose stationary distribution is in the set has n(δ) below `rounds`.

    Attributes
    ----------
    delta
        δ.
    rounds
        The lower bound on n(δ), right up to rounding; at least 1.
    probability
        A lower bound on the probability of error of every design at round `rounds` − 1, above δ,
        if the bound rests on bent laws; else nan.
    budget
        max_θ KL(Q_θ ‖ truth) in nats per round: an upper bound on the error exponent of every v.
    hypotheses
        The θ with λ_θ > 0.
    multipliers
        λ, shape (len(hypotheses),).
    tilts
        Shape (len(hypotheses), N): u_θj of the laws Q_θ, of density e^{−u z − κ(−u)}.
    note
        Where the bound comes from, or why it says nothing.
    """

    delta: float
    rounds: int
    probability: float
    budget: float
    hypotheses: tuple[int, ...]
    multipliers: FloatArray
    tilts: FloatArray
    note: str


@typed
def every_design_bound(
    model: FiniteModel,
    *,
    delta: float,
    influences: InfluenceSet,
    v: FloatArray,
    most_rounds: int,
    target: int | str | None = None,
) -> EveryDesignBound:
    """A lower bound on n(δ) of every W with stationary distribution in `influences`.

    Parameters
    ----------
    model
        N agents with finitely many or Gaussian observations.
    delta
        δ in (0, 1).
    influences
        The set V.
    v
        Shape (N,), positive: an influence with a large error exponent. Any gives a valid bound; the
        nearer to the best exponent of V, the better.
    most_rounds
        Where to stop: n(δ) of some design, for instance.
    target
        The hypothesis to settle on; the model's only optimal one if left out.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), or the target is none (see `rate_target`).

    Examples
    --------
    >>> from theory import FiniteModel, GaussianAgent
    >>> agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[4])
    >>> uniform = np.full(4, 0.25)
    >>> every_design_bound(
    ...     model, delta=0.05, influences=InfluenceSet(4), v=uniform, most_rounds=50
    ... ).rounds  # of four normal agents, Φ(−√n) ≤ .05 from 3 rounds on
    3
    """
    delta = as_probability("delta", delta)
    aim = rate_target(model, target)
    best, wrong = aim.target, aim.wrong.tolist()
    if not EventSet(perfect_mixing(v), model).is_unique:
        return _nothing(delta, model, "several hypotheses are best and differ: no bound")
    table = evidence_table(model, best, wrong)
    priors = (model.log_priors[:, [best]] - model.log_priors[:, wrong])[model.assignment].T
    known = _certified(model, delta, table, priors, influences)
    search = CoverSearch(model, table, priors, influences, v)
    if search.plain is None:
        note = "errors become impossible: no exponent bounds them"
        return replace(_nothing(delta, model, known.note or note), rounds=known.rounds)
    found, bent, probability = search.largest(delta, most_rounds)
    if found + 1 > known.rounds:
        known = _Known(found + 1, "no influence is best against every hypothesis")
    else:
        probability = np.nan
    return EveryDesignBound(
        delta=delta,
        rounds=known.rounds,
        probability=probability,
        budget=bent.budget,
        hypotheses=tuple(int(theta) for theta in table.second[bent.rows]),
        multipliers=read_only(bent.multipliers),
        tilts=read_only(bent.tilts),
        note=known.note or "the bound says nothing at this δ",
    )


@dataclass(frozen=True)
class _Known:
    """A lower bound on n(δ), and where it comes from."""

    rounds: int = 1
    note: str = ""


def _certified(
    model: FiniteModel,
    delta: float,
    table: TiltedTable,
    priors: FloatArray,
    influences: InfluenceSet,
) -> _Known:
    """What the account of one network with perfect mixing proves of every design."""
    found = [_Known()]

    def judge(network: Network, model: FiniteModel, note: str) -> None:
        found.append(_Known(_size(network, model, delta).lower or 1, note))

    if influences.is_point:
        judge(perfect_mixing(influences.centre), model, "perfect mixing at the only v")
    alone: dict[int, list[int]] = {}
    # Who sees some log-ratio that is not always zero.
    speaks = (table.facts.spreads > 0) | (table.facts.information != 0)
    for row in np.flatnonzero((speaks.sum(axis=1) == 1) & ~priors.any(axis=1)):
        alone.setdefault(int(speaks[row].argmax()), []).append(int(table.second[row]))
    for agent, only in alone.items():
        kind = model.kinds[model.assignment[agent]]
        chosen = [int(table.first[0]), *only]
        single = FiniteModel.from_agents(
            [model.hypotheses[m] for m in chosen], [_restricted(kind, chosen)]
        )
        if single.optimal_hypotheses == (0,):
            note = f"agent {agent} alone tells {model.hypotheses[only[0]]} apart"
            judge(Network(np.ones((1, 1))), single, note)
    return max(found, key=attrgetter("rounds"))  # the first of several


def _restricted(agent: Agent, chosen: list[int]) -> Agent:
    """The agent with some of the hypotheses only."""
    if isinstance(agent, FiniteAgent):
        return agent.restricted(chosen)
    return replace(agent, means=agent.means[chosen])


def _nothing(delta: float, model: FiniteModel, note: str) -> EveryDesignBound:
    none = np.zeros((0, model.agents))
    return EveryDesignBound(delta, 1, np.nan, np.inf, (), np.zeros(0), none, note)


# What a search for few samples looked at, and what it found --------------------------------------


@dataclass(frozen=True, eq=False)
class SampleStart(Shown):
    """One network and what it needs.

    Attributes
    ----------
    name
        Where it comes from.
    network
        The weights to set.
    graph
        The edges that were chosen.
    samples
        The certified enclosure of n(δ), of E[W] where links fail.
    chernoff
        Chernoff's upper bound on n(δ); None if there is none.
    rate, exponent, slem
        K and E in nats per round, and the subdominant modulus; floating-point estimates.
    """

    name: str
    network: Network
    graph: DesignGraph
    samples: CertifiedSampleSize
    chernoff: int | None
    rate: float
    exponent: float
    slem: float

    @property
    def rounds(self) -> int | None:
        """An upper bound on n(δ): the certified one, or else Chernoff's; None if there is none."""
        return self.chernoff if self.samples.upper is None else self.samples.upper

    @property
    def order(self) -> tuple[float, float]:
        """Fewest rounds first; among equals the smaller lower end."""
        rounds, lower = self.rounds, self.samples.lower
        return (
            np.inf if rounds is None else float(rounds),
            np.inf if lower is None else float(lower),
        )


@dataclass(frozen=True, eq=False)
class FewestSamples(Shown):
    """The design with the fewest certified samples that was found.

    Attributes
    ----------
    network
        The weights to set.
    delta, target
        δ, and the hypothesis that the network settles on.
    best
        What it needs: `best.samples.upper` is certified, `best.samples.lower` too.
    certificate
        `value` is the upper end for this design, `bound` a lower bound on n(δ) for every W that the
        constraints allow. A local search found the design: that it is the best is not proved.
    bound
        The laws that the bound rests on.
    best_for_influence
        A lower bound on n(δ) of every W with the v of this design, by perfect mixing; None where
        it would take too long.
    starts
        What was looked at, best first: designs to start from, and where descents ended.
    baselines
        The rules, for comparison; they do not respect constraints.
    note
        What has to be known to read the numbers, if anything.
    """

    network: Network
    delta: float
    target: int
    best: SampleStart
    certificate: Certificate
    bound: EveryDesignBound
    best_for_influence: int | None
    starts: tuple[SampleStart, ...]
    baselines: tuple[SampleStart, ...]
    note: str
