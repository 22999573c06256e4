"""Links that lose messages: a replica for each listener, and what becomes of shared ones."""

from __future__ import annotations

import copy
from typing import Protocol

import numpy as np
from scipy.special import softmax

from exact.changing.process import LARGEST
from exact.checkpoint import Arrays
from exact.learning import change_reference
from theory import FiniteModel, Network
from theory.messages import (
    Acknowledged,
    Deadband,
    Plain,
    Quantiser,
    Samples,
    Single,
    Unacknowledged,
    Uniform,
    mixed_network,
)
from theory.network.structure import OffDiagonal, Weights, off_diagonal
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray

# What is counted of messages ---------------------------------------------------------------------


BINS = 129
"""Numbers are counted by their half steps, from −64 to 64; those beyond count as the last ones."""


class Tally:
    """Counts of R replicates.

    Parameters
    ----------
    bytes_each
        Shape (N,): the bytes that a message of each agent takes on all links together; None where
        a message has no code.
    step
        Width of a cell, in nats.
    replicates
        R.
    """

    def __init__(self, bytes_each: IntArray | None, step: float, replicates: int, agents: int):
        self._each = bytes_each
        self._step = step
        self._sent = np.zeros((agents, replicates), dtype=np.int64)
        self._error = np.zeros(replicates)
        self._cells = np.zeros((replicates, BINS), dtype=np.int64)
        self._saved = np.zeros(replicates, dtype=np.int64)

    def saved(self, count: IntArray) -> None:
        """Bytes of a round's messages that were not sent after all, shape (R,)."""
        self._saved += count

    def message(self, speaks: np.ndarray) -> None:
        """Messages of a round, shape (N, R): how many, or whether there is one."""
        self._sent += speaks

    def numbers(self, said: FloatArray, sent: np.ndarray) -> None:
        """Numbers of messages, in nats, shape (X, R, C), and which of them were sent."""
        half = BINS // 2
        places = np.clip(np.rint(said * (2 / self._step)), -half, half) + half
        places = places.astype(np.int64) + BINS * np.arange(said.shape[1])[:, None]
        found = np.bincount(places[sent], minlength=self._cells.size)
        self._cells += found.reshape(self._cells.shape)

    def error(self, error: FloatArray) -> None:
        """How far off replicas are after a round, in nats, shape (X, R, C)."""
        np.maximum(self._error, np.abs(error).max(axis=(0, 2), initial=0.0), out=self._error)

    def counted(self, replicates: int) -> Arrays:
        """Sums over the first replicates."""
        sent = self._sent[:, :replicates]
        weighed = np.zeros((0, replicates), dtype=np.int64)
        if self._each is not None:
            weighed = (self._each @ sent - self._saved[:replicates])[None]
        return {
            "sent": sent.sum(axis=1),
            "sent_bytes": weighed.sum(axis=1),
            "sent_bytes_squares": (weighed.astype(np.float64) ** 2).sum(axis=1),
            "sent_cells": self._cells[:replicates].sum(axis=0),
            LARGEST + "error": self._error[:replicates].max(keepdims=True, initial=0.0),
        }


# Replicas that all who hear an agent share, and messages that are pooled as they are -------------


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


# Counts of draws from beliefs, whose logarithms are pooled ---------------------------------------


class SampledBeliefs:
    """Agents pool their own log-ratio with what others' samples say.

    Parameters
    ----------
    weights
        W_γ.
    quantiser
        How many draws, and their smoothing.
    """

    def __init__(self, weights: Weights, quantiser: Samples) -> None:
        self._weights, self._quantiser = weights, quantiser
        self._own = np.asarray(weights.diagonal())[:, None, None]

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """The draws begin anew."""
        self._random = np.random.default_rng(stream)

    def pool(self, public: FloatArray, tally: Tally) -> FloatArray:
        """Draw hypotheses from all beliefs, and pool the logarithms of smoothed counts."""
        logs = np.concatenate((np.zeros((*public.shape[:2], 1)), -public), axis=2)
        counts = self._random.multinomial(self._quantiser.draws, softmax(logs, axis=2))
        heard = np.log(counts + float(self._quantiser.smoothing))
        said = heard[:, :, :1] - heard[:, :, 1:]
        tally.message(np.ones(public.shape[:2], dtype=bool))
        tally.numbers(counts[:, :, 1:].astype(np.float64), np.ones(public.shape, dtype=bool))
        tally.error(public - said)
        return np.asarray(pooled(self._weights, said) + self._own * (public - said))


# Links that lose messages ------------------------------------------------------------------------


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


# One round of learning in which agents send quantised differences to replicas of their beliefs ---


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
