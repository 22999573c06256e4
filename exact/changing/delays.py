"""The process of a network whose messages take time.

Agent i pools in round t what agent j said in round t − d_ij; before round 1 an agent said its
prior. A delay of zero is a round without delay.
"""

from __future__ import annotations

import numpy as np

from theory.changing import DelayedNetwork
from theory.changing.phase import Rows, as_index, canonical
from theory.validation import FloatArray


class DelayedProcess:
    """Keeps the public beliefs of as many rounds as the longest delay, in a ring."""

    draws, fresh = 0, False

    def __init__(self, network: DelayedNetwork) -> None:
        matrix = canonical(network.network.weights)
        agents = network.agents
        listener = np.repeat(np.arange(agents), np.diff(matrix.indptr))
        self._rows = Rows(
            np.arange(agents),
            as_index(matrix.indptr),
            as_index(matrix.indices),
            matrix.data.astype(np.float64),
        )
        delays = np.broadcast_to(network.delays, (agents, agents))[listener, matrix.indices]
        own = listener == matrix.indices
        self._delays = as_index(np.where(own, network.own_delays[listener], delays))
        self._depth = int(self._delays.max(initial=0)) + 1
        self._history = np.empty((0, 0, 0))
        self._now = 0
        self.links = self._delays.size
        self.layers = 1 + self._depth

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget what was said; nothing is drawn."""
        self._history = np.empty((self._depth, self._rows.rows.size, replicates * columns))
        self._now = 0

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round."""
        from exact.changing.kernels import pool_delayed

        agents = len(observed)
        flat = private.reshape(agents, -1)
        if self._now == 0:
            self._history[:] = flat  # the priors
        self._now += 1
        np.add(flat, observed.reshape(agents, -1), out=self._history[self._now % self._depth])
        rows = self._rows
        pool_delayed(
            rows.indptr, rows.indices, rows.data, self._delays, self._now, self._history, flat
        )
        return private
