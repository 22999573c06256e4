"""The process of a network whose links fail: what is lost is replaced by a rule.

Each round every link i ← j is up or down, independently of the data, of the other links (unless
both directions go together) and of the past; the rule says what agent i pools instead
(:mod:`exact.changing.mailbox`).
"""

from __future__ import annotations

import numpy as np

from exact.changing.weights import links_of
from theory.changing import RandomLinks
from theory.validation import FloatArray


class LinksProcess:
    """Masks of links, drawn for every replicate and round."""

    def __init__(self, network: RandomLinks) -> None:
        self._links = links_of(network.network.weights)
        links = self._links
        listener, speaker = links.listener, links.indices
        chance = np.asarray(network.up, dtype=np.float64)
        each = np.broadcast_to(chance, (network.agents,) * 2)[listener, speaker]
        # Links that are up together share a draw.
        self._draw = np.arange(listener.size)
        self._chance = each
        if network.symmetric:
            ends = np.sort(np.stack([listener, speaker]), axis=0)
            _, first, self._draw = np.unique(ends, axis=1, return_index=True, return_inverse=True)
            self._chance = each[first]
        self._rule = network.on_loss
        self.fresh = self._rule != "last"
        self._memory = np.empty((0, 0, 0))
        self._fresh = True
        self.links, self.draws = listener.size + network.agents, self._chance.size
        self.layers = 2 + (listener.size // network.agents if self._rule == "last" else 0)

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget what was heard; masks of R replicates are drawn from `stream`."""
        self._random = np.random.Generator(np.random.SFC64(stream))
        self._fresh = True
        if self._rule == "last":
            self._memory = np.empty((self._links.data.size, replicates, columns))

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round with fresh masks."""
        from exact.changing.kernels import pool_last, pool_links

        links = self._links
        replicates = observed.shape[1]
        up = self._random.random((self._chance.size, replicates)) < self._chance[:, None]
        if self._rule == "last" and self._fresh:
            self._memory[:] = private[links.indices]  # the priors
        self._fresh = False
        observed += private
        graph = (links.indptr, links.indices, links.data, links.own, self._draw, up)
        if self._rule == "last":
            pool_last(*graph, self._memory, observed, private)
        else:
            pool_links(*graph, self._rule == "renormalise", observed, private)
        return private
