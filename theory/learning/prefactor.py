"""The factor before e^{−nE}: how likely an error is, to leading order.

With c_n(t) = log E e^{−tΛ_i^(n)} = −t p_i^(n) + Σ_{k ≤ n} Σ_j κ_j(−t [W^k]_ij) and t the tilt of
the exponent, Λ_i has under the law tilted by e^{−tΛ_i} mean m = −c_n'(t), variance s² = c_n''(t);

    P(Λ_i^(n) ≤ 0) = e^{c_n(t)} E_tilted[e^{tΛ_i}; Λ_i ≤ 0]
                   ≈ exp(c_n(t) + tm + t²s²/2) Φ(−(m + ts²)/s),

exact if every z is normal. As n grows this is the Bahadur-Rao formula with a factor for the
transient and the prior,

    P(Λ_i^(n) ≤ 0) ~ C_i e^{−nE} / (tσ√(2πn)),
    C_i = exp(−t Σ_j v_j p_j + Σ_k Σ_j [κ_j(−t[W^k]_ij) − κ_j(−t v_j)]),

p_j agent j's prior log-odds and σ² the variance of :class:`TiltedLaw`.
Where S = Σ_j v_j z_j is on a lattice of span a the right side gets a factor between
ta/(e^{ta} − 1) and ta/(1 − e^{−ta}) that depends on n: see :mod:`theory.learning.lattice`.
The proofs are in docs: mathematics/prefactor.

Everything here is an *asymptotic estimate*: right in the limit of many rounds, and a bound nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

from theory.learning.lattice import LatticePhases, lattice_span
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.learning.rate import ErrorExponent, error_exponent
from theory.learning.tilted import shared_slots, tabulate
from theory.network import Network
from theory.network.network import require_fixed
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

# What observations look like in a run that goes wrong --------------------------------------------


@dataclass(frozen=True, eq=False)
class TiltedLaw(Shown):
    """The laws of z_j(reference, hypothesis) tilted by e^{−t v_j z}; floating-point values.

    Attributes
    ----------
    hypothesis, reference
        The wrong hypothesis, and the one it is compared with.
    tilt
        t > 0, at which `mean` vanishes.
    exponent
        −Σ_j κ_j(−t v_j), in nats per round: the error exponent of this hypothesis.
    laws
        One tilted law for each distinct pair (kind, v_j) of agents.
    assignment
        Shape (N,): which of `laws` is agent j's.
    weights
        Shape (N,): v.
    mean
        E S under the tilted laws, in nats: zero up to rounding.
    variance
        Var S under them, in nats²: σ² = (Σ_j κ_j(−t v_j))''.
    """

    hypothesis: int
    reference: int
    tilt: float
    exponent: float
    laws: tuple[LogRatioLaw, ...]
    assignment: IntArray
    weights: FloatArray
    mean: float
    variance: float


@typed
def tilted_law(network: Network, model: FiniteModel, *, hypothesis: int | None = None) -> TiltedLaw:
    """The tilted law of `hypothesis`, by default the one that binds the error exponent.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, `hypothesis` is not a wrong one, or
        the evidence against it never misleads, so that no finite tilt balances it.

    Examples
    --------
    A fair coin that might be loaded (3/4 heads): in the runs that mislead, heads come up with
    probability log 2 / log 3, at which the two explanations are equally good.

    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin])
    >>> law = tilted_law(Network([[1.0]]), model)
    >>> float(law.laws[0].probabilities[0].round(9)), round(float(np.log(2) / np.log(3)), 9)
    (0.630929754, 0.630929754)
    """
    exponent = error_exponent(require_fixed(network), model)
    theta = exponent.binding if hypothesis is None else _wrong(hypothesis, exponent)
    if theta is None:
        raise fail("model", "a wrong hypothesis", "none", "give hypotheses that can be told apart")
    return tilted_pair(network, model, exponent, theta)


def tilted_pair(
    network: Network, model: FiniteModel, exponent: ErrorExponent, theta: int
) -> TiltedLaw:
    """:func:`tilted_law` of one wrong hypothesis whose exponent is known.

    Raises
    ------
    ValueError
        If its tilt is infinite or zero.
    """
    best, tilt = int(exponent.against[theta]), float(exponent.tilts[theta])
    if not 0 < tilt < np.inf:
        raise fail(
            "hypothesis",
            "one whose evidence can mislead, but does not on average",
            f"{model.hypotheses[theta]!r}, of tilt {tilt:g}",
            "choose another hypothesis",
        )
    v = network.stationary_distribution
    slots = shared_slots(model.assignment, v)
    table = tabulate(model, np.array([best]), np.array([theta]), slots=slots)
    weights, only = table.by_slot(v), np.zeros(1, dtype=np.int64)
    # In units of the largest weight that bears on the matter nothing underflows.
    unit = float(weights[table.facts.spreads[0] > 0].max())
    facts = table.facts
    shares = np.where((facts.spreads[0] > 0) | (facts.information[0] != 0), weights, 0.0) / unit

    def moments(t: float) -> tuple[float, float]:
        found = table.tilted(only, t * unit * shares[None])
        random = found.variances[0] > 0
        squares = np.where(random, shares, 0.0) ** 2
        mean = float((table.counts * shares) @ found.means[0])
        return mean, float((table.counts * squares) @ found.variances[0])

    # One Newton step balances S to rounding.
    mean, variance = moments(tilt)
    tilt += mean / variance / unit
    mean, variance = moments(tilt)
    plain, kinds = model.log_ratio_laws(best, theta), np.empty(weights.size, dtype=np.int64)
    kinds[slots] = model.assignment
    return TiltedLaw(
        hypothesis=theta,
        reference=best,
        tilt=tilt,
        exponent=float(exponent.exponents[theta]),
        laws=tuple(plain[k].tilted(-tilt * w) for k, w in zip(kinds, weights, strict=True)),
        assignment=read_only(slots),
        weights=v,
        mean=mean * unit,
        variance=variance * unit * unit,
    )


def _wrong(hypothesis: int, exponent: ErrorExponent) -> int:
    count = len(exponent.exponents)
    theta = as_integer("hypothesis", hypothesis, minimum=0, maximum=count - 1)
    if exponent.against[theta] == theta:
        raise fail("hypothesis", "a wrong hypothesis", f"{theta}, a reference", "choose another")
    return theta


# The factor before e^{−nE} -----------------------------------------------------------------------


# Weights of W^k that agree with v to this, relative to the largest, change no sum any more.
_SETTLED = 1e-13
# Evaluations of z's laws (atoms × N² × rounds) and rounds: about twenty seconds, either of them.
_MOST_EVALUATIONS = 1e8
_MOST_ROUNDS = 100_000
# Dense powers of W.
_MOST_AGENTS = 1500
# A tilt is good enough if Λ's mean is this many standard deviations from 0 under the tilted law.
_BALANCED = 0.1
# Newton's steps for it, each of which changes the tilt by a factor of four at most.
_MOST_STEPS = 12


@dataclass(frozen=True, eq=False)
class ErrorPrefactor(Shown):
    """C_i and what stands beside it, for one wrong hypothesis; floating-point values.

    Attributes
    ----------
    law
        The tilted law: exponent, tilt t, variance σ².
    log_transient
        Shape (N,): log C_i.
    span
        a, the span of the lattice that Σ_j v_j z_j lives on; None if there is none.
    """

    law: TiltedLaw
    log_transient: FloatArray
    span: float | None

    def log_probability(self, rounds: int) -> FloatArray:
        """An asymptotic estimate of log P(Λ_i ≤ 0), shape (N,): log of C_i e^{−nE} / (tσ√(2πn)).

        The lattice's factor is left out: see :func:`refined_error_probability`.
        """
        n = as_integer("rounds", rounds, minimum=1)
        width = self.law.tilt * np.sqrt(2 * np.pi * n * self.law.variance)
        return np.asarray(self.log_transient - n * self.law.exponent - np.log(width))


@dataclass(frozen=True, eq=False)
class RefinedErrorProbability(Shown):
    """Asymptotic estimates of error probabilities, in logarithms: no bounds.

    Attributes
    ----------
    rounds
        Shape (T,).
    log_pairwise
        Shape (T, N, M): log P(Λ_i^(n)(reference, θ) ≤ 0), ties included; −inf for the reference
        and where no error is possible after enough rounds; nan where the tilt is infinite and the
        exponent is not, or where early weights are so much larger than v that tΛ_i overflows.
    log_agents
        Shape (T, N): agent i errs, as the sum over θ (at most 1). Two hypotheses that beat the
        reference at once are counted twice, which costs nothing in the limit where one binds.
    log_lower, log_upper
        Shape (T,): some agent errs, as the largest of the pairwise estimates and as their sum (at
        most 1). The true limit of P(some agent errs)/P(agent i errs) lies between.
    """

    rounds: IntArray
    log_pairwise: FloatArray
    log_agents: FloatArray
    log_lower: FloatArray
    log_upper: FloatArray


@typed
def error_prefactor(
    network: Network, model: FiniteModel, *, hypothesis: int | None = None
) -> ErrorPrefactor:
    """C_i of every agent for `hypothesis`, by default the one that binds the error exponent.

    Raises
    ------
    ValueError
        As :func:`tilted_law`; if the network is too large, or mixes too
        slowly for the sum over rounds to be carried to its end; or if log C_i is not finite.

    Examples
    --------
    Two normal hypotheses, and two agents with equal say who average before all else: nothing is
    lost to the transient.

    >>> from theory import FiniteModel, GaussianAgent, Network
    >>> agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[2])
    >>> error_prefactor(Network([[0.5, 0.5], [0.5, 0.5]]), model).log_transient.tolist()
    [0.0, 0.0]
    >>> slow = Network([[0.75, 0.25], [0.25, 0.75]])
    >>> error_prefactor(slow, model).log_transient.round(6).tolist()
    [0.083333, 0.083333]
    """
    law = tilted_law(network, model, hypothesis=hypothesis)
    sums = _Sums(network, model, law)
    prior = float(law.weights @ sums.priors)
    return ErrorPrefactor(
        law=law, log_transient=read_only(sums.excess() - law.tilt * prior), span=sums.span
    )


@typed
def refined_error_probability(
    network: Network, model: FiniteModel, rounds: Sequence[int] | IntArray
) -> RefinedErrorProbability:
    """Asymptotic estimates of every agent's error probability at given rounds.

    Exponent, transient, prior and lattice are accounted for. Without a lattice the relative error
    tends to zero, as O(1/n) if some agent has a density; on one too, where early rounds leave Λ_i
    at no more than 1024 points modulo its span, ties included. With more points, and lattices too
    costly to follow, the lattice's factor is itself approximate: jumps are smeared by a 512th of
    the span, and ties beyond the heaviest points count half. Powers of W that are v to rounding
    are taken to be v: if they only come close, what would break ties later is not seen (docs:
    mathematics/prefactor). Exact
    to rounding where every z_j is normal (Gaussian agents with one input). In early rounds each
    agent gets a tilt of its own, at which Λ_i is balanced; estimates of probabilities above about
    0.1 are rough.

    Parameters
    ----------
    rounds
        Increasing whole numbers of at least 1.

    Raises
    ------
    ValueError
        If rounds do not increase from 1 or more, network and model do not fit, more than one
        hypothesis is a reference, or the network is too large.
    """
    wanted = [as_integer("rounds", n, minimum=1) for n in rounds]
    if not wanted or sorted(set(wanted)) != wanted:
        raise fail("rounds", "increasing round numbers", wanted, "sort them, without repeats")
    exponent = error_exponent(require_fixed(network), model)
    reference = np.flatnonzero(exponent.against == np.arange(exponent.against.size))
    if reference.size > 1:
        names = [model.hypotheses[m] for m in reference]
        raise fail("model", "one hypothesis that is best", names, "keep one of them")
    values = np.full((len(wanted), network.agents, len(model.hypotheses)), -np.inf)
    for theta in range(len(model.hypotheses)):
        if theta == reference[0] or exponent.exponents[theta] == np.inf:
            continue
        if not 0 < exponent.tilts[theta] < np.inf:
            values[:, :, theta] = np.nan
            continue
        law = tilted_pair(network, model, exponent, theta)
        values[:, :, theta] = _Sums(network, model, law).estimates(wanted)
    return RefinedErrorProbability(
        rounds=read_only(np.array(wanted, dtype=np.int64)),
        log_pairwise=read_only(values),
        log_agents=read_only(np.minimum(logsumexp(values, axis=2), 0.0)),
        log_lower=read_only(values.max(axis=(1, 2))),
        log_upper=read_only(np.minimum(logsumexp(values, axis=(1, 2)), 0.0)),
    )


@dataclass(frozen=True, eq=False)
class _Estimate:
    """log P(Λ_i ≤ 0), and mean and deviation of t_i Λ_i under the tilted law; shape (N,) each."""

    value: FloatArray
    mean: FloatArray
    spread: FloatArray


class _Sums:
    """Sums over rounds of cumulants and their derivatives, at the tilt of one hypothesis."""

    def __init__(self, network: Network, model: FiniteModel, law: TiltedLaw) -> None:
        if network.agents > _MOST_AGENTS:
            remedy = "use error_exponent and tilted_law, which need v alone"
            raise fail("network", f"at most {_MOST_AGENTS} agents", network.agents, remedy)
        self.network, self.law = network, law
        plain = model.log_ratio_laws(law.reference, law.hypothesis)
        self.kinds = tuple(
            (z, np.flatnonzero(model.assignment == k))
            for k, z in enumerate(plain)
            if k in model.assignment
        )
        odds = model.log_priors[:, law.reference] - model.log_priors[:, law.hypothesis]
        self.priors: FloatArray = odds[model.assignment]
        pairs = {(int(k), float(w)) for k, w in zip(model.assignment, law.weights, strict=True)}
        self.span = lattice_span((plain[k], w) for k, w in pairs)
        random = np.array([z.variance > 0 for z in plain])[model.assignment]
        self._informed = np.flatnonzero(random)
        self._unit = float(law.weights[self._informed].max())
        atoms = sum(z.means.size * members.size for z, members in self.kinds)
        affordable = int(_MOST_EVALUATIONS / (atoms * network.agents))
        self._most_rounds = max(1, min(affordable, _MOST_ROUNDS))

    def _moments(self, rows: FloatArray, tilts: FloatArray) -> FloatArray:
        """Σ_j κ_j(−t w_j), and t and t² times its first two derivatives: shape (3, N).

        One row w and one tilt t for each agent i; a single row serves all.
        """
        total = np.zeros((3, tilts.size))
        for law, members in self.kinds:
            u = tilts[:, None] * rows[:, members]
            with np.errstate(over="ignore", invalid="ignore"):
                cumulant, slope, curvature = law.cumulants(-u)
                total[0] += cumulant.sum(axis=1)
                total[1] -= (u * slope).sum(axis=1)
                total[2] += (u * u * curvature).sum(axis=1)
        return total

    def _is_settled(self, power: FloatArray, k: int) -> bool:
        """Whether the weights of W^k on informed agents are v's, to the rounding of k products."""
        gap = np.abs(power[:, self._informed] - self.law.weights[self._informed]).max()
        return bool(gap <= (_SETTLED + 8 * k * np.finfo(float).eps) * self._unit)

    def excess(self) -> FloatArray:
        """Σ_{k ≥ 1} Σ_j [κ_j(−t[W^k]_ij) − κ_j(−t v_j)], shape (N,)."""
        tilts = np.full(self.network.agents, self.law.tilt)
        limit = self._moments(self.law.weights[None], tilts)[0]
        total = np.zeros(self.network.agents)
        for k, power in enumerate(self.network.powers(), start=1):
            total += self._moments(power, tilts)[0] - limit
            if not np.isfinite(total).all():
                break
            if self._is_settled(power, k):
                return total
            if k >= self._most_rounds:
                break
        raise fail(
            "network",
            f"weights that settle within {self._most_rounds} rounds, and v not far below them",
            f"a subdominant modulus of {self.network.slem:.12g}",
            "use refined_error_probability at the rounds that matter",
        )

    def estimates(self, wanted: Sequence[int]) -> FloatArray:
        """Logarithms of P(Λ_i ≤ 0), shape (T, N)."""
        tilts = np.full(self.network.agents, self.law.tilt)
        values = []
        for n, estimate in zip(wanted, self._at_tilts(wanted, tilts), strict=True):
            # Early rounds hear other evidence than v, and want another tilt.
            at, best = tilts, estimate
            for _ in range(_MOST_STEPS):
                if not float(np.abs(best.mean / best.spread).max()) > _BALANCED:
                    break
                at = at * np.clip(1 + best.mean / best.spread**2, 0.25, 4.0)
                best = self._at_tilts([n], at)[0]
            values.append(best.value)
        return np.minimum(np.array(values), 0.0)

    def _at_tilts(self, wanted: Sequence[int], tilts: FloatArray) -> list[_Estimate]:
        """The estimate at each round wanted, from the law tilted by e^{−t_i Λ_i} for agent i."""
        limit = self._moments(self.law.weights[None], tilts)
        phases = LatticePhases.of(self.kinds, self.law.weights, tilts, self.span)
        found: list[_Estimate] = []
        total = np.zeros((3, self.network.agents))
        for k, power in enumerate(self.network.powers(), start=1):
            total += self._moments(power, tilts)
            if phases is not None:
                phases.add(power)
            settled = self._is_settled(power, k)
            while len(found) < len(wanted) and (wanted[len(found)] == k or settled):
                more = wanted[len(found)] - k
                prior = power @ self.priors
                cumulant, slope, variance = total + more * limit
                with np.errstate(over="ignore", invalid="ignore"):
                    mean, spread = tilts * prior - slope, np.sqrt(variance)
                    value = cumulant - tilts * prior + mean + variance / 2
                    value += log_ndtr(-(mean / spread + spread))
                if phases is not None:
                    value += phases.log_factor(prior, later=more)
                found.append(_Estimate(value, mean, spread))
            if len(found) == len(wanted):
                return found
            if k >= self._most_rounds:
                break
        raise fail(
            "rounds",
            f"at most {self._most_rounds} before W settles",
            wanted[-1],
            "ask for fewer rounds, or use error_exponent alone",
        )
