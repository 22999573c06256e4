"""Links that lose messages: a replica for each listener, and what becomes of shared ones."""

from __future__ import annotations

import copy

import numpy as np

from exact.messages.replicas import pooled
from exact.messages.tally import Tally
from theory import Network
from theory.messages import Acknowledged, Unacknowledged
from theory.network.structure import OffDiagonal, off_diagonal
from theory.scientific import sparse
from theory.validation import FloatArray


class _Links:
    """Every link loses messages by chance, at most so many in a row."""

    def __init__(self, mixed: Network, loss: float, burst: int | None) -> None:
        self.ends: OffDiagonal = off_diagonal(mixed.weights)
        self._loss, self._burst = loss, burst

    def restart(self, stream: np.random.SeedSequence, replicates: int) -> None:
        """Nothing was lost so far."""
        self._random = np.random.default_rng(stream)
        self._lost = np.zeros((self.ends.row.size, replicates), dtype=np.int64)

    def arrived(self) -> np.ndarray:
        """Whether the messages of a round arrive, shape (links, R)."""
        up = self._random.random(self._lost.shape) >= self._loss
        if self._burst is not None:
            up |= self._lost == self._burst
        self._lost = np.where(up, 0, self._lost + 1)
        return np.asarray(up)


class AcknowledgedReplicas:
    """Speakers keep a replica of themselves for each listener, by what that listener received.

    Λ_i = y_i + Σ_j W_ij ŷ_ij − Σ_k (v_k W_ki/v_i) ŷ_ki over others, ŷ_ij what i has of j: what
    one adds another takes off, so that Σ_i v_i Λ_i stays what it is without compression.

    Parameters
    ----------
    mixed
        The network of W_γ.
    quantiser
        What is sent, and how often it is lost.
    """

    def __init__(self, mixed: Network, quantiser: Acknowledged) -> None:
        self._quantiser = quantiser
        self._links = _Links(mixed, float(quantiser.loss), quantiser.burst)
        ends, v = self._links.ends, mixed.stationary_distribution
        count = np.arange(ends.row.size)
        back = v[ends.row] * ends.weight / v[ends.column]
        self._flow = sparse.csr_array(
            (
                np.concatenate((ends.weight, -back)),
                (np.concatenate((ends.row, ends.column)), np.concatenate((count, count))),
            ),
            shape=(mixed.agents, count.size),
        )
        self._heard = np.bincount(ends.column, minlength=mixed.agents)

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Replicas are zero."""
        self._links = copy.copy(self._links)
        self._links.restart(stream, replicates)
        self._replica: FloatArray = np.zeros((self._links.ends.row.size, replicates, columns))

    def pool(self, public: FloatArray, tally: Tally) -> FloatArray:
        """Send each listener its difference; what arrives is added by both ends."""
        speaking = public[self._links.ends.column]
        said = self._quantiser.cells(speaking - self._replica)
        arrived = self._links.arrived()
        self._replica = self._replica + said * arrived[:, :, None]
        tally.message(np.ones(public.shape[:2], dtype=bool))
        tally.numbers(said, np.ones(said.shape, dtype=bool))
        tally.error(speaking - self._replica)
        # Messages that are lost get no answer.
        tally.saved(self._quantiser.answer * (~arrived).sum(axis=0))
        return public + pooled(self._flow, self._replica)


class UnacknowledgedReplicas:
    """Everybody is sent the same differences, and who misses one never learns of it.

    Parameters
    ----------
    mixed
        The network of W_γ.
    quantiser
        What is sent, and how often it is lost.
    """

    def __init__(self, mixed: Network, quantiser: Unacknowledged) -> None:
        self._quantiser = quantiser
        self._links = _Links(mixed, float(quantiser.loss), None)
        ends = self._links.ends
        self._gather = sparse.csr_array(
            (ends.weight, (ends.row, np.arange(ends.row.size))),
            shape=(mixed.agents, ends.row.size),
        )
        self._leaving = np.bincount(ends.row, ends.weight, minlength=mixed.agents)[:, None, None]

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Replicas are zero, the speakers' own and the listeners'."""
        self._links = copy.copy(self._links)
        self._links.restart(stream, replicates)
        self._own: FloatArray = np.zeros((len(self._leaving), replicates, columns))
        self._heard: FloatArray = np.zeros((self._links.ends.row.size, replicates, columns))

    def pool(self, public: FloatArray, tally: Tally) -> FloatArray:
        """Send differences; listeners add those that arrive."""
        said = self._quantiser.cells(public - self._own)
        self._own = self._own + said
        column = self._links.ends.column
        self._heard = self._heard + said[column] * self._links.arrived()[:, :, None]
        tally.message(np.ones(public.shape[:2], dtype=bool))
        tally.numbers(said, np.ones(said.shape, dtype=bool))
        tally.error(public[column] - self._heard)
        return public + pooled(self._gather, self._heard) - self._leaving * self._own
