"""Sampling from a mixture of tilted laws, and the weights that undo the tilting.

Log-ratios are all that the weights need: the density of component c with respect to the truth is
e^{−t_c Λ_c − c_c}, so that that of the mixture is Σ_c α_c e^{−t_c Λ_c − c_c}.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from exact.law.lags import Atoms, Lags
from exact.law.saddle import Component
from theory.validation import FloatArray, IntArray

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
