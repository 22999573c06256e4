"""One round of learning in which agents send quantised differences to replicas of their beliefs.

Agents carry log-ratios against the first hypothesis. Beside them runs the network without
compression on the same data, so that what compression does is measured and not inferred.
"""

from __future__ import annotations

import copy

import numpy as np

from exact.changing.counted import LARGEST
from exact.checkpoint import Arrays
from exact.learning import change_reference
from exact.messages.lossy import AcknowledgedReplicas, UnacknowledgedReplicas
from exact.messages.replicas import Exchange, PlainMessages, SharedReplicas, pooled
from exact.messages.samples import SampledBeliefs
from exact.messages.tally import Tally
from theory import FiniteModel, Network
from theory.messages import (
    Acknowledged,
    Plain,
    Quantiser,
    Samples,
    Unacknowledged,
    mixed_network,
)
from theory.network.structure import off_diagonal
from theory.validation import FloatArray, IntArray


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
        mixed = mixed_network(network, quantiser.mixing)
        self._weights = mixed.weights
        others = [m for m in range(len(model.hypotheses)) if m != best]
        self._column = None if best == 0 else others.index(0)
        prior = model.log_priors[model.assignment]
        self._prior = prior[:, [best]] - prior[:, others]
        change_reference(self._prior, self._column)
        # The columns' hypotheses once they are against the first, which has none.
        turns = np.array([(m or best) - 1 for m in others], dtype=np.int64)
        frame = quantiser.frame(len(others))
        heard = np.bincount(off_diagonal(network.weights).column, minlength=network.agents)
        each = None if frame is None else frame + quantiser.answer
        self._bytes: IntArray | None = None if each is None else heard * each
        self._exchange = _exchange(mixed, quantiser, turns)
        self.restart(np.random.SeedSequence(0), replicates=1, columns=len(others))

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget the past: replicas are zero, and nothing has been sent."""
        self._exchange = copy.copy(self._exchange)
        self._exchange.restart(stream, replicates=replicates, columns=columns)
        self._tally = self._empty(replicates)
        self._uncompressed: FloatArray = np.repeat(self._prior[:, None, :], replicates, axis=1)
        self._deviation = np.zeros(replicates)

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """The private log-ratios after one more round, shape (N, R, C)."""
        change_reference(private, self._column)
        change_reference(observed, self._column)
        found = self._exchange.pool(private + observed, self._tally)
        self._uncompressed = pooled(self._weights, self._uncompressed + observed)
        np.maximum(
            self._deviation,
            np.abs(found - self._uncompressed).max(axis=(0, 2)),
            out=self._deviation,
        )
        change_reference(found, self._column)
        return found

    def nothing(self) -> Arrays:
        """What is counted of no replicate."""
        return {**self._empty(0).counted(0), LARGEST + "deviation": np.zeros(1)}

    def counted(self, replicates: int) -> Arrays:
        """What was sent, and how far off replicas and beliefs were, in the first replicates."""
        largest = self._deviation[:replicates].max(keepdims=True)
        return {**self._tally.counted(replicates), LARGEST + "deviation": largest}

    def _empty(self, replicates: int) -> Tally:
        return Tally(self._bytes, float(self._quantiser.step), replicates, len(self._prior))


def _exchange(mixed: Network, quantiser: Quantiser, turns: IntArray) -> Exchange:
    """What carries the messages of a quantiser."""
    match quantiser:
        case Samples():
            return SampledBeliefs(mixed.weights, quantiser)
        case Plain():
            return PlainMessages(mixed.weights, quantiser)
        case Acknowledged():
            return AcknowledgedReplicas(mixed, quantiser)
        case Unacknowledged():
            return UnacknowledgedReplicas(mixed, quantiser)
        case _:
            return SharedReplicas(mixed.weights, quantiser, turns)
