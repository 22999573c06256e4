"""One round of learning in which agents send quantised differences to replicas of their beliefs.

Agents carry log-ratios against the first hypothesis. Beside them runs the network without
compression on the same data, so that what compression does is measured and not inferred.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from exact.changing.counted import LARGEST
from exact.checkpoint import Arrays
from exact.learning import change_reference
from theory import FiniteModel, Network
from theory.messages import Deadband, Quantiser, mixed_network
from theory.network.structure import Weights, off_diagonal
from theory.validation import FloatArray, IntArray

BINS = 129
"""Numbers are counted by their half steps, from −64 to 64; those beyond count as the last ones."""


class CompressedProcess:
    """What a round does where links are narrow; see :mod:`exact.changing.process`.

    Parameters
    ----------
    network, model
        N agents each; the network is W, not yet W_γ.
    quantiser
        What is sent.
    best
        The hypothesis log-ratios are carried against.
    """

    def __init__(
        self, network: Network, model: FiniteModel, quantiser: Quantiser, *, best: int
    ) -> None:
        self._quantiser = quantiser
        self._weights = mixed_network(network, quantiser.mixing).weights
        self._own = np.asarray(self._weights.diagonal())[:, None, None]
        others = [m for m in range(len(model.hypotheses)) if m != best]
        self._column = None if best == 0 else others.index(0)
        prior = model.log_priors[model.assignment]
        self._prior = prior[:, [best]] - prior[:, others]
        change_reference(self._prior, self._column)
        links = off_diagonal(network.weights)
        frame = quantiser.frame(len(others))
        heard = np.bincount(links.column, minlength=network.agents)
        # One column of bytes for each agent's message, or none where it has no code.
        self._frames: IntArray = np.outer(heard, [] if frame is None else [frame]).astype(np.int64)
        self.restart(np.random.SeedSequence(0), replicates=1, columns=len(others))

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget the past: replicas are zero, and nothing has been sent."""
        del stream
        agents = len(self._prior)
        self._uncompressed: FloatArray = np.repeat(self._prior[:, None, :], replicates, axis=1)
        self._replica: FloatArray = np.zeros((agents, replicates, columns))
        self._sent = np.zeros((agents, replicates), dtype=np.int64)
        self._error = np.zeros(replicates)
        self._deviation = np.zeros(replicates)
        self._cells = np.zeros((replicates, BINS), dtype=np.int64)

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """The private log-ratios after one more round, shape (N, R, C)."""
        change_reference(private, self._column)
        change_reference(observed, self._column)
        public = private + observed
        if self._quantiser.has_replica:
            found = self._by_replica(public)
        else:
            said = self._quantiser.cells(public)
            self._count(said, np.ones(self._sent.shape, dtype=bool), public - said)
            found = self._pool(said) + self._own * (public - said)
        self._uncompressed = self._pool(self._uncompressed + observed)
        np.maximum(
            self._deviation,
            np.abs(found - self._uncompressed).max(axis=(0, 2)),
            out=self._deviation,
        )
        change_reference(found, self._column)
        return found

    def nothing(self) -> Arrays:
        """What is counted of no replicate."""
        return {
            "sent": np.zeros(len(self._prior), dtype=np.int64),
            "sent_bytes": np.zeros(self._frames.shape[1], dtype=np.int64),
            "sent_cells": np.zeros(BINS, dtype=np.int64),
            LARGEST + "error": np.zeros(1),
            LARGEST + "deviation": np.zeros(1),
        }

    def counted(self, replicates: int) -> Arrays:
        """What was sent, and how far off replicas and beliefs were, in the first replicates."""
        sent = self._sent[:, :replicates].sum(axis=1)
        return {
            "sent": sent,
            "sent_bytes": sent @ self._frames,
            "sent_cells": self._cells[:replicates].sum(axis=0),
            LARGEST + "error": self._error[:replicates].max(keepdims=True),
            LARGEST + "deviation": self._deviation[:replicates].max(keepdims=True),
        }

    def _by_replica(self, public: FloatArray) -> FloatArray:
        difference = public - self._replica
        said = self._quantiser.cells(difference)
        speaks = np.ones(self._sent.shape, dtype=bool)
        if isinstance(self._quantiser, Deadband):
            speaks = np.abs(difference).max(axis=2) > float(self._quantiser.threshold)
            said = said * speaks[:, :, None]
        self._replica = self._replica + said
        self._count(said, speaks, public - self._replica)
        return public + (self._pool(self._replica) - self._replica)

    def _count(self, said: FloatArray, speaks: np.ndarray, error: FloatArray) -> None:
        replicates, columns = said.shape[1:]
        self._sent += speaks
        np.maximum(self._error, np.abs(error).max(axis=(0, 2)), out=self._error)
        half = BINS // 2
        places = np.clip(np.rint(said * (2 / float(self._quantiser.step))), -half, half) + half
        places = places.astype(np.int64) + BINS * np.arange(replicates)[:, None]
        chosen = places[np.repeat(speaks[:, :, None], columns, axis=2)]
        found = np.bincount(chosen, minlength=self._cells.size)
        self._cells += found.reshape(self._cells.shape)

    def _pool(self, values: FloatArray) -> FloatArray:
        return pooled(self._weights, values)


def pooled(weights: Weights, values: FloatArray) -> FloatArray:
    """W times values of shape (N, R, C)."""
    rows = values.reshape(values.shape[0], -1)
    found = sparse.csr_array(weights) @ rows if sparse.issparse(weights) else weights @ rows
    return np.asarray(found).reshape(values.shape)
