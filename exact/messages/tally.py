"""What is counted of messages: how many, their numbers, and how far off replicas are."""

from __future__ import annotations

import numpy as np

from exact.changing.counted import LARGEST
from exact.checkpoint import Arrays
from theory.validation import FloatArray, IntArray

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
