"""The process of a network whose agents leave and return.

An absent agent neither observes nor pools, and its belief stays as it is; the others give the
weight they have on it to themselves. On return it goes on from the belief it left with.
"""

from __future__ import annotations

import numpy as np

from exact.changing.weights import links_of
from theory.changing import RandomPresence
from theory.validation import FloatArray


class PresenceProcess:
    """Every agent of every replicate is here or away, a two-state chain of its own."""

    layers = 2
    fresh = True

    def __init__(self, network: RandomPresence) -> None:
        self._links = links_of(network.network.weights)
        self.links, self.draws = self._links.data.size + network.agents, network.agents
        self._present = network.present
        self._stay, self._come = 1.0 - network.leaving, network.returning
        self._here = np.zeros((network.agents, 0), dtype=np.bool_)
        self._fresh = True

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Who is here in round 1 is drawn from the stationary law."""
        self._random = np.random.Generator(np.random.SFC64(stream))
        self._here = np.zeros((self._present.size, replicates), dtype=np.bool_)
        self._fresh = True

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round among those who are here."""
        from exact.changing.kernels import pool_present

        chance = self._present[:, None]
        if not self._fresh:
            chance = np.where(self._here, self._stay[:, None], self._come[:, None])
        self._fresh = False
        self._here = self._random.random(self._here.shape) < chance
        observed[~self._here] = 0.0
        observed += private
        links = self._links
        pool_present(
            links.indptr, links.indices, links.data, links.own, self._here, observed, private
        )
        return private
