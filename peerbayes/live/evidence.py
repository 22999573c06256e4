"""What an agent sees: draws from its problem, or lines of JSON or CSV that come from outside.

A source gives the log-likelihoods log ℓ(y | θ), shape (M,) in nats, of what a round takes: their
sum over some observations, or None where there is nothing new. It keeps an *offset*, which goes
into the agent's state, so that nothing is counted twice after a return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from peerbayes.live.observations import Claims, Unreadable
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
    """

    offset: int
    taken: int
    refused: int
    arrives: bool

    @property
    def ended(self) -> bool: ...

    def take(self, most: int) -> FloatArray | None:
        """The next observations together, at most so many; None if there is none now."""
        ...

    def open(self, wake: Callable[[], None]) -> None:
        """Begin; `wake` is called, from any thread, when something has arrived."""
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

    def close(self) -> None:
        """Nothing to stop."""


def drawn(share: Share, *, rounds: int, seed: int) -> FloatArray:
    """What an agent of a live network observes in its first rounds, shape (T, M), in nats.

    The same as a process with this seed draws: for a comparison with :func:`exact.exchange`.
    """
    source = Draws(share.content["law"], seed=seed, agent=share.members.number(share.agent))
    return np.array([source.take(1) for _ in range(rounds)])


class Lines:
    """Observations from lines of text that are put in, from any thread.

    Parameters
    ----------
    claims
        What turns a line into log-likelihoods.
    log
        Told once of the first line that is none.

    Attributes
    ----------
    end
        Set when no more lines will come.
    """

    arrives = True

    def __init__(self, claims: Claims, *, log: Callable[[str], None]) -> None:
        from collections import deque

        self._claims, self._log = claims, log
        self._waiting: deque[tuple[str, int]] = deque(maxlen=100_000)
        self.offset = self.taken = self.refused = 0
        self.end = False
        self._wake: Callable[[], None] = lambda: None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.end and not self._waiting

    def put(self, line: str, offset: int) -> None:
        """One line, and where the next one begins; the oldest gives way if far too many wait."""
        self._waiting.append((line, offset))
        self._wake()

    def finish(self) -> None:
        """No more lines will come."""
        self.end = True
        self._wake()

    def take(self, most: int) -> FloatArray | None:
        """The log-likelihoods of the next lines together."""
        total: FloatArray | None = None
        count = 0
        while self._waiting and count < most:
            line, self.offset = self._waiting.popleft()
            if not line.strip():
                continue
            try:
                row = self._claims.of_line(line)
            except Unreadable as error:
                self.refused += 1
                if self.refused == 1:
                    self._log(f"evidence: {error}; such lines are counted and left out")
                continue
            total = row if total is None else total + row
            count += 1
        self.taken += count
        return total

    def open(self, wake: Callable[[], None]) -> None:
        """From now on tell of what arrives."""
        self._wake = wake

    def close(self) -> None:
        """Nothing to stop: who puts lines in stops by itself."""
