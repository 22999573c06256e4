"""Replicas that all who hear an agent share, and messages that are pooled as they are."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from exact.messages.tally import Tally
from theory.messages import Deadband, Plain, Single, Uniform
from theory.network.structure import Weights
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray


class Exchange(Protocol):
    """How the beliefs of a round get from agent to agent."""

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget the past: replicas are zero, and nothing has been sent."""
        ...

    def pool(self, public: FloatArray, tally: Tally) -> FloatArray:
        """The pooled log-ratios of a round, shape (N, R, C), from the public ones."""
        ...


class SharedReplicas:
    """Every message reaches all listeners: they share one replica of each agent.

    Parameters
    ----------
    weights
        W_γ.
    quantiser
        What is sent, with a replica.
    turns
        Shape (C,): when each column has its turn, counted from 0.
    """

    def __init__(
        self, weights: Weights, quantiser: Uniform | Deadband | Single, turns: IntArray
    ) -> None:
        self._weights, self._quantiser, self._turns = weights, quantiser, turns

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Replicas are zero."""
        self._replica: FloatArray = np.zeros((self._weights.shape[0], replicates, columns))
        self._random = np.random.default_rng(stream)
        self._round = 0

    def pool(self, public: FloatArray, tally: Tally) -> FloatArray:
        """Send differences, add them to the replicas, and pool with these."""
        difference = public - self._replica
        sent = self._chosen(difference)
        said = self._quantiser.cells(difference)
        self._replica = self._replica + np.where(sent, said, 0.0)
        self._round += 1
        tally.message(np.asarray(sent.any(axis=2)))
        tally.numbers(said, sent)
        tally.error(public - self._replica)
        return public + (pooled(self._weights, self._replica) - self._replica)

    def _chosen(self, difference: FloatArray) -> np.ndarray:
        """Which numbers are sent, shape (N, R, C)."""
        quantiser, shape = self._quantiser, difference.shape
        if isinstance(quantiser, Deadband):
            speaks = np.abs(difference).max(axis=2) > float(quantiser.threshold)
            return np.repeat(speaks[:, :, None], shape[2], axis=2)
        if not isinstance(quantiser, Single):
            return np.ones(shape, dtype=bool)
        match quantiser.choice:
            case "rotation":
                return np.broadcast_to(self._turns == self._round % shape[2], shape)
            case "largest":
                column = np.abs(difference).argmax(axis=2)
            case "random":
                column = self._random.integers(shape[2], size=shape[:2])
        return np.asarray(column[:, :, None] == np.arange(shape[2]))


class PlainMessages:
    """Rounded log-ratios, which listeners take as they are: no replicas.

    Parameters
    ----------
    weights
        W_γ.
    quantiser
        What is sent.
    """

    def __init__(self, weights: Weights, quantiser: Plain) -> None:
        self._weights, self._quantiser = weights, quantiser
        self._own = np.asarray(weights.diagonal())[:, None, None]

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """There is nothing to forget."""

    def pool(self, public: FloatArray, tally: Tally) -> FloatArray:
        """Pool the own log-ratio with what others say."""
        said = self._quantiser.cells(public)
        tally.message(np.ones(public.shape[:2], dtype=bool))
        tally.numbers(said, np.ones(public.shape, dtype=bool))
        tally.error(public - said)
        return pooled(self._weights, said) + self._own * (public - said)


def pooled(weights: Weights, values: FloatArray) -> FloatArray:
    """A matrix such as W times values of shape (N, R, C)."""
    rows = values.reshape(values.shape[0], -1)
    found = sparse.csr_array(weights) @ rows if sparse.issparse(weights) else weights @ rows
    return np.asarray(found).reshape(-1, *values.shape[1:])
