"""Sampling from a mixture of tilted laws, and the weights that undo the tilting.

Log-ratios are all that the weights need: the density of component c with respect to the truth is
e^{−t_c Λ_c − c_c}, so that that of the mixture is Σ_c α_c e^{−t_c Λ_c − c_c}.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from theory import FiniteModel, LogRatioLaw, Network
from theory.validation import FloatArray, IntArray, fail, read_only

# The weights of every lag, settled ones counted and not repeated ---------------------------------


# Rows of W^k that agree to this add less to a log-ratio than rounding does.
_SETTLED = 1e-15
# Entries of all powers together: 400 MB.
_MOST_ENTRIES = 50_000_000


@dataclass(frozen=True, eq=False)
class Lags:
    """W, W², …, Wⁿ, equal ones given once.

    Attributes
    ----------
    weights
        Shape (G, N, N).
    counts
        Shape (G,): how many lags have these weights; they sum to n.
    """

    weights: FloatArray
    counts: IntArray

    @property
    def last(self) -> FloatArray:
        """Wⁿ, shape (N, N)."""
        return np.asarray(self.weights[-1])


def lags(network: Network, rounds: int) -> Lags:
    """The lags of `rounds` rounds.

    Raises
    ------
    ValueError
        If they do not fit in memory.
    """
    size = network.agents
    most = max(1, _MOST_ENTRIES // (size * size))
    found: list[FloatArray] = []
    for k, power in enumerate(network.powers(), start=1):
        found.append(power)
        if k == rounds or float(np.ptp(power, axis=0).max()) <= _SETTLED * (size + k):
            break
        if k == most:
            raise fail(
                "rounds",
                f"at most {most}, as W has not settled by then and its powers fill memory",
                rounds,
                "ask for fewer rounds, or a smaller network",
            )
    counts = np.ones(len(found), dtype=np.int64)
    counts[-1] += rounds - len(found)
    return Lags(read_only(np.array(found)), read_only(counts))


@dataclass(frozen=True, eq=False)
class Atoms:
    """One kind's observations: z(best, θ) of atom o is offsets[o] + n·slopes[o], n normal.

    Attributes
    ----------
    probabilities
        Shape (O,).
    offsets, slopes
        Shape (O, M), zero in the column of `best`.
    """

    probabilities: FloatArray
    offsets: FloatArray
    slopes: FloatArray

    @property
    def is_normal(self) -> bool:
        """Whether any atom is a proper normal."""
        return bool(self.slopes.any())


def atoms(model: FiniteModel, best: int) -> tuple[Atoms, ...]:
    """The atoms of each kind of agent."""
    from exact.sampling import kind_rows

    found = []
    for index, (probabilities, offsets, each) in enumerate(kind_rows(model)):
        if each.shape[1] > 1:
            wanted = "one input, or batches of one observation, of Gaussian agents"
            got = f"{each.shape[1]} inputs and batches"
            raise fail(f"agents of kind {index}", wanted, got, "use exact.simulate")
        kept, slopes = probabilities > 0, each[:, 0]
        rows = (offsets[:, [best]] - offsets)[kept], (slopes[:, [best]] - slopes)[kept]
        found.append(Atoms(probabilities[kept], *rows))
    return tuple(found)


# The law from which an agent's errors at round n are best sampled, and how much it bounds --------


# The tilt need not be exact: every tilt gives an unbiased estimate, and near the best one the
# variance is flat.
_TOLERANCE = 1e-7
# Where Λ can come down to 0 but no further, c falls for ever; the tilt stops where Λ's mean has
# come down to this share of what it is without a tilt.
_NEAR = 1e-4
_MOST_DOUBLINGS = 200


@dataclass(frozen=True, eq=False)
class Component:
    """One tilted law.

    Attributes
    ----------
    agents
        Those who have it as theirs: their log-ratios are the same.
    against, hypothesis
        r and θ.
    tilt
        t, per nat.
    log_scale
        c(t): the density with respect to the truth is e^{−tΛ_i − c(t)}, and P(Λ_i ≤ 0) ≤ e^{c(t)}.
    """

    agents: tuple[int, ...]
    against: int
    hypothesis: int
    tilt: float
    log_scale: float


@dataclass(frozen=True, eq=False)
class Cumulants:
    """c(t) of one agent and pair of hypotheses."""

    pieces: tuple[tuple[LogRatioLaw, FloatArray, FloatArray], ...]
    prior: float

    @classmethod
    def of(
        cls, model: FiniteModel, lags: Lags, agent: int, against: int, hypothesis: int
    ) -> Cumulants:
        """From the weights that the agent gives to each agent at each lag."""
        rows = lags.weights[:, agent]
        pieces = []
        for kind, law in enumerate(model.log_ratio_laws(against, hypothesis)):
            weights = rows[:, model.assignment == kind]
            counts = np.broadcast_to(lags.counts[:, None], weights.shape)
            used = weights > 0
            # Not kinds that the agent never hears: their law may reach down to −∞.
            if used.any():
                pieces.append((law, weights[used], counts[used].astype(np.float64)))
        odds = model.log_priors[:, against] - model.log_priors[:, hypothesis]
        return cls(tuple(pieces), float(lags.last[agent] @ odds[model.assignment]))

    def value(self, tilt: float) -> float:
        """The number c(t)."""
        total = -tilt * self.prior
        for law, weights, counts in self.pieces:
            total += float(counts @ law.cumulant(-tilt * weights))
        return total

    def slope(self, tilt: float) -> float:
        """The slope c'(t): less the mean of Λ under the law tilted by t."""
        total = -self.prior
        for law, weights, counts in self.pieces:
            total -= float((counts * weights) @ law.cumulant_slope(-tilt * weights))
        return total

    def lowest(self) -> float:
        """The smallest value of Λ; −inf if there is none."""
        return self.prior + sum(
            float((counts * weights).sum() * law.minimum) for law, weights, counts in self.pieces
        )

    def best_tilt(self) -> float:
        """Where c is least on t ≥ 0, or nearly so."""
        start = self.slope(0.0)
        if start >= 0:
            return 0.0
        spread = sum(
            float((counts * weights * weights).sum()) * law.variance
            for law, weights, counts in self.pieces
        )
        if spread == 0:
            return 0.0
        lower, upper = 0.0, -start / spread
        for _ in range(_MOST_DOUBLINGS):
            slope = self.slope(upper)
            if slope >= 0:
                return float(
                    brentq(self.slope, lower, upper, xtol=1e-300, rtol=_TOLERANCE, maxiter=500)
                )
            if slope > _NEAR * start:
                return upper
            lower, upper = upper, 2 * upper
        return upper


def components(
    model: FiniteModel, lags: Lags, reference: tuple[int, ...], ties: FloatArray
) -> tuple[Component, ...]:
    """The components of all agents and wrong hypotheses that can win, equal ones joined.

    A log-ratio of θ up to `ties`, shape (M,), counts as a tie.
    """
    wrong = [m for m in range(len(model.hypotheses)) if m not in reference]
    groups: dict[bytes, list[int]] = {}
    prior = lags.last @ model.log_priors[model.assignment]
    for agent in range(model.agents):
        key = np.ascontiguousarray(lags.weights[:, agent]).tobytes() + prior[agent].tobytes()
        groups.setdefault(key, []).append(agent)
    found = []
    for agents in groups.values():
        for theta in wrong:
            best: Component | None = None
            for against in reference:
                sums = Cumulants.of(model, lags, agents[0], against, theta)
                if sums.lowest() > ties[theta]:
                    best = None
                    break
                tilt = sums.best_tilt()
                scale = sums.value(tilt)
                if best is None or scale < best.log_scale:
                    best = Component(tuple(agents), against, theta, tilt, scale)
            if best is not None:
                found.append(best)
    return tuple(found)


# Sampling from a mixture of tilted laws, and the weights that undo the tilting -------------------


# With fewer outcomes, comparing with all of a table is quicker than searching it.
_FEW = 16
# How much of the mixture goes evenly to all wrong hypotheses of an agent.
_DEFENCE = 0.1


@dataclass(frozen=True, eq=False)
class Mixture:
    """Components, their shares, and what sampling them takes.

    Attributes
    ----------
    components, shares
        Laws and their probabilities, shape (C,), positive.
    lags, atoms, assignment
        What observations are, and how they are weighed.
    prior
        Shape (N, M): the prior's share of Λ(best, θ).
    """

    components: tuple[Component, ...]
    shares: FloatArray
    lags: Lags
    atoms: tuple[Atoms, ...]
    assignment: IntArray
    prior: FloatArray

    @cached_property
    def log_weight_bounds(self) -> FloatArray:
        """Shape (N,): log of a number that the weight exceeds in no error of the agent.

        In an error some wrong θ has Λ_i(r, θ) ≤ 0 for every best r, where the mixture's density is
        at least that of the component of (i, r, θ) times its share, e^{log share − c} or more.
        """
        bounds = np.full(self.assignment.size, -np.inf)
        for component, share in zip(self.components, self.shares, strict=True):
            members = list(component.agents)
            bound = component.log_scale - float(np.log(share))
            bounds[members] = np.maximum(bounds[members], bound)
        return bounds

    def log_weights(self, log_ratios: FloatArray) -> FloatArray:
        """Log of truth over mixture, for Λ(best, ·) of shape (N, R, M): shape (R,)."""
        terms = np.empty((len(self.components), log_ratios.shape[1]))
        for index, c in enumerate(self.components):
            own = log_ratios[c.agents[0]]
            terms[index] = -c.tilt * (own[:, c.hypothesis] - own[:, c.against]) - c.log_scale
        return np.asarray(-logsumexp(terms + np.log(self.shares)[:, None], axis=0))

    def draw(self, rng: np.random.Generator, component: Component, replicates: int) -> FloatArray:
        """The log-ratios Λ(best, ·) of replicates of one component, shape (N, R, M)."""
        agents, hypotheses = self.prior.shape
        total = np.repeat(self.prior[:, None, :], replicates, axis=1).reshape(agents, -1)
        evidence = np.empty((agents, replicates, hypotheses))
        own = self.lags.weights[:, component.agents[0]]
        for weights, count, mine in zip(self.lags.weights, self.lags.counts, own, strict=True):
            for kind, atoms in enumerate(self.atoms):
                members = np.flatnonzero(self.assignment == kind)
                if members.size:
                    tilted = _tilted(atoms, component, mine[members])
                    evidence[members] = _sum(rng, atoms, tilted, int(count), replicates)
            total += weights @ evidence.reshape(agents, -1)
        return total.reshape(agents, replicates, hypotheses)


@dataclass(frozen=True, eq=False)
class _Tilted:
    """Laws of m agents: probabilities (m, O), and the mean of the normal number (m, O)."""

    probabilities: FloatArray
    shifts: FloatArray


def _tilted(atoms: Atoms, component: Component, weights: FloatArray) -> _Tilted:
    theta, against = component.hypothesis, component.against
    u = -component.tilt * weights[:, None]
    mean = atoms.offsets[:, theta] - atoms.offsets[:, against]
    shifts = u * (atoms.slopes[:, theta] - atoms.slopes[:, against])
    exponents = u * mean + shifts * shifts / 2
    exponents -= exponents.max(axis=1, keepdims=True)
    table = atoms.probabilities * np.exp(exponents)
    return _Tilted(table / table.sum(axis=1, keepdims=True), shifts)


def _sum(
    rng: np.random.Generator, atoms: Atoms, law: _Tilted, count: int, replicates: int
) -> FloatArray:
    """The sum of `count` observations of each of m agents, shape (m, R, M)."""
    # Outcomes are counted where that is less work than drawing them.
    if count > 1 and atoms.probabilities.size <= 4 * count:
        return _many(rng, atoms, law, count, replicates)
    total = _one(rng, atoms, law, replicates)
    for _ in range(count - 1):
        total += _one(rng, atoms, law, replicates)
    return total


def _one(rng: np.random.Generator, atoms: Atoms, law: _Tilted, replicates: int) -> FloatArray:
    """One observation of each of m agents, shape (m, R, M)."""
    words = rng.random((law.probabilities.shape[0], replicates))
    edges = np.cumsum(law.probabilities, axis=1)[:, :-1]
    if edges.shape[1] < _FEW:
        chosen = np.zeros(words.shape, dtype=np.int64)
        for edge in edges.T:
            chosen += words >= edge[:, None]
    else:
        rows = zip(edges, words, strict=True)
        chosen = np.array([np.searchsorted(edge, row, side="right") for edge, row in rows])
    values = atoms.offsets[chosen]
    if atoms.is_normal:
        noise = rng.standard_normal(words.shape)
        noise += np.take_along_axis(law.shifts, chosen, axis=1)
        values += noise[..., None] * atoms.slopes[chosen]
    return np.asarray(values)


def _many(
    rng: np.random.Generator, atoms: Atoms, law: _Tilted, count: int, replicates: int
) -> FloatArray:
    """The sum of `count` observations of each of m agents, shape (m, R, M)."""
    size = (law.probabilities.shape[0], replicates)
    counts = rng.multinomial(count, law.probabilities[:, None, :], size=size)
    values = counts @ atoms.offsets
    if atoms.is_normal:
        noise = rng.standard_normal(counts.shape) * np.sqrt(counts)
        noise += counts * law.shifts[:, None, :]
        values += noise @ atoms.slopes
    return np.asarray(values)


def shares(components: tuple[Component, ...], agents: int) -> FloatArray:
    """What part of the sample each component gets, shape (C,).

    Every agent that can be wrong has an even say. Its wrong hypotheses share it in proportion to
    Chernoff's bounds on them, but for a tenth that they share evenly.
    """
    logs = np.array([c.log_scale for c in components])
    found = np.zeros(len(components))
    for agent in range(agents):
        mine = np.array([agent in c.agents for c in components])
        if mine.any():
            by_size = np.exp(logs[mine] - logsumexp(logs[mine]))
            found[mine] += (1 - _DEFENCE) * by_size + _DEFENCE / mine.sum()
    return np.asarray(found / found.sum())
