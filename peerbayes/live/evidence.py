"""What an agent sees: draws from its problem, or lines of JSON or CSV that come from outside.

A source gives the log-likelihoods log ℓ(y | θ), shape (M,) in nats, of what a round takes: their
sum over some observations, or None where there is nothing new. It keeps an *offset*, which goes
into the agent's state, so that nothing is counted twice after a return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from peerbayes.live.share import Share
from theory.validation import FloatArray, as_integer

# Draws made at a time: each block has a generator of its own, so that any place is found at once.
_BLOCK = 256
MOST_AT_ONCE = 1000
"""Observations that one round takes, at most."""


class Evidence(Protocol):
    """A source of observations.

    Attributes
    ----------
    offset
        Where the next observation is found; a whole number.
    taken, refused
        Observations given so far, and lines that were none.
    ended
        Whether nothing more will ever come.
    arrives
        Whether observations come by themselves; draws are there whenever they are asked for.
    topic
        A key of the transport under which they come to `put_bytes`; None if they do not.
    """

    offset: int
    taken: int
    refused: int
    arrives: bool
    topic: str | None

    @property
    def ended(self) -> bool: ...

    def take(self, most: int) -> FloatArray | None:
        """The next observations together, at most so many; None if there is none now."""
        ...

    def open(self, wake: Callable[[], None]) -> None:
        """Begin; `wake` is called, from any thread, when something has arrived."""
        ...

    def put_bytes(self, data: bytes) -> None:
        """What came under the topic."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class Draws:
    """Observations drawn from the law of an agent's problem.

    Parameters
    ----------
    law
        `probabilities` (O,), `offsets` (O, M), and for normal labels `slopes` (O, C, M): a draw has
        log ℓ = offsets[o] + n · slopes[o] with C normal numbers n.
    seed, agent
        Whole numbers: every agent has a stream of its own.
    """

    arrives = False
    ended = False
    topic: str | None = None

    def __init__(self, law: Mapping[str, Any], *, seed: int, agent: int) -> None:
        self._seed = as_integer("seed", seed, minimum=0)
        self._agent = agent
        self._steps = np.cumsum(np.array(law["probabilities"]))
        self._offsets = np.array(law["offsets"])
        self._slopes = np.array(law["slopes"]) if "slopes" in law else None
        self.offset = self.taken = self.refused = 0
        self._block: tuple[int, FloatArray] = (-1, np.empty((0, 0)))

    def take(self, most: int) -> FloatArray:
        """The next draw: a round's observations, a batch of them if the problem has batches."""
        block, place = divmod(self.offset, _BLOCK)
        if self._block[0] != block:
            self._block = (block, self._drawn(block))
        self.offset += 1
        self.taken += 1
        row: FloatArray = self._block[1][place]
        return row

    def _drawn(self, block: int) -> FloatArray:
        random = np.random.default_rng([self._seed, self._agent, block])
        last = self._steps.size - 1
        uniforms = random.random(_BLOCK) * self._steps[-1]
        outcomes = np.minimum(np.searchsorted(self._steps, uniforms, side="right"), last)
        rows: FloatArray = self._offsets[outcomes]
        if self._slopes is not None:
            noise = random.standard_normal((_BLOCK, self._slopes.shape[1]))
            rows = rows + np.einsum("bc,bcm->bm", noise, self._slopes[outcomes])
        return rows

    def open(self, wake: Callable[[], None]) -> None:
        """Nothing to begin."""

    def put_bytes(self, data: bytes) -> None:
        """Nothing comes."""

    def close(self) -> None:
        """Nothing to stop."""


def drawn(share: Share, *, rounds: int, seed: int) -> FloatArray:
    """What an agent of a live network observes in its first rounds, shape (T, M), in nats.

    The same as a process with this seed draws: for a comparison with :func:`exact.exchange`.
    """
    source = Draws(share.content["law"], seed=seed, agent=share.members.number(share.agent))
    return np.array([source.take(1) for _ in range(rounds)])
