"""Processes of networks that go through phases: in turn, or by a Markov chain.

A round of a phase (W, A), with A the active agents, is Λ ← W (Λ + A z) (docs:
mathematics/changing).
"""

from __future__ import annotations

import numpy as np

from exact.changing.weights import worth_dense
from theory import Network
from theory.changing import MarkovNetwork, PeriodicNetwork, Phase
from theory.changing.moving_rows import stacked
from theory.network.structure import as_dense
from theory.validation import FloatArray

# Replicates in the same phase are pooled by one product; with many phases few are in the same.
MOST_DENSE = 16


class PhasePool:
    """Pools the beliefs of all replicates by the weights of one phase."""

    def __init__(self, phase: Phase) -> None:
        self._observers = phase.observers
        self._rows = phase.moving
        dense = worth_dense(self._rows, phase.agents)
        self._dense = as_dense(phase.weights) if dense else None

    def add(self, observed: FloatArray, private: FloatArray) -> None:
        """Turn what is observed into public beliefs, in place: private ones where none observes."""
        if self._observers.size == len(observed):
            observed += private
            return
        seen = observed[self._observers] + private[self._observers]
        np.copyto(observed, private)
        observed[self._observers] = seen

    def pool(self, public: FloatArray, out: FloatArray) -> None:
        """Write W·public to `out`; both have shape (N, K) and are contiguous."""
        if self._dense is not None:
            np.matmul(self._dense, public, out=out)
            return
        from exact.changing.kernels import pool_rows

        rows = self._rows
        np.copyto(out, public)
        pool_rows(rows.rows, rows.indptr, rows.indices, rows.data, public, out)


class PeriodicProcess:
    """Round t is of phase (t − 1) mod T, in all replicates."""

    layers, draws = 1, 0
    fresh = True

    def __init__(self, network: PeriodicNetwork | Network) -> None:
        phases = (Phase(network.weights),) if isinstance(network, Network) else network.phases
        self._pools = [PhasePool(phase) for phase in phases]
        self._now = 0
        self.links = sum(phase.moving.data.size for phase in phases) // len(phases)

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Begin with phase 0; nothing is drawn."""
        self._now = 0

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round of the next phase."""
        pool = self._pools[self._now % len(self._pools)]
        self._now += 1
        pool.add(observed, private)
        agents = len(observed)
        pool.pool(observed.reshape(agents, -1), private.reshape(agents, -1))
        return private


class MarkovProcess:
    """Every replicate goes through the phases on a path of its own, drawn from the chain."""

    layers, draws = 3, 1
    fresh = True

    def __init__(self, network: MarkovNetwork) -> None:
        phases = network.phases
        few = len(phases) <= MOST_DENSE
        dense = few and any(worth_dense(phase.moving, phase.agents) for phase in phases)
        self._pools = [PhasePool(phase) for phase in phases] if dense else None
        self._rows, self._begin = stacked([phase.moving for phase in phases])
        self._observes = np.array([phase.observes for phase in phases])
        self._all_observe = bool(self._observes.all())
        self._first = np.cumsum(network.first_phases)
        self._next = None if network.is_independent else np.cumsum(network.transition, axis=1)
        self._again = np.cumsum(network.transition[0])
        self._which = np.zeros(0, dtype=np.int64)
        self._fresh = True
        self.links = sum(phase.moving.data.size for phase in phases) // len(phases)

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget the paths; those of R replicates are drawn from `stream`."""
        self._random = np.random.Generator(np.random.SFC64(stream))
        self._which = np.zeros(replicates, dtype=np.int64)
        self._fresh = True

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round, each replicate in its own phase."""
        self._step()
        if not self._all_observe:
            observed[~self._observes[self._which].T] = 0.0
        observed += private
        if self._pools is None:
            from exact.changing.kernels import pool_phases

            rows = self._rows
            np.copyto(private, observed)
            pool_phases(
                self._which,
                self._begin,
                rows.rows,
                rows.indptr,
                rows.indices,
                rows.data,
                observed,
                private,
            )
            return private
        agents = len(observed)
        for phase in np.unique(self._which):
            chosen = np.flatnonzero(self._which == phase)
            heard = observed.take(chosen, axis=1)
            pooled = np.empty_like(heard)
            self._pools[phase].pool(heard.reshape(agents, -1), pooled.reshape(agents, -1))
            private[:, chosen] = pooled
        return private

    def _step(self) -> None:
        uniforms = self._random.random(self._which.size)
        if self._next is not None and not self._fresh:
            from exact.changing.kernels import next_phases

            next_phases(self._which, uniforms, self._next)
            return
        law = self._first if self._fresh else self._again
        self._which = np.minimum(np.searchsorted(law, uniforms, side="right"), law.size - 1)
        self._fresh = False
