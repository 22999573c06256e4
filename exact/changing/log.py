"""Who used which message, with which weight: a run without its numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exact.changing.replays import Replay
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, fail, read_only


@dataclass(frozen=True, eq=False)
class Log(Shown):
    """Who used what: the R rounds of one agent among N.

    Parameters
    ----------
    rounds
        Shape (R,): their numbers, at least 1 and increasing.
    weights
        Shape (R, N): what each message counted; rows sum to one.
    heard
        Shape (R, N): the round of which the message used speaks, 0 for a prior, −1 where none was
        used; for the agent itself its own round.
    bases
        Shape (R,): the place of the round from whose private belief each went on, −1 for the
        prior; each the one before it if left out.
    data
        Shape (R,): how many observations, all of the model's, it learnt from in each; one if left
        out.

    Raises
    ------
    ValueError
        If shapes disagree, rounds do not increase or a base is no earlier round.
    """

    rounds: IntArray
    weights: FloatArray
    heard: IntArray
    bases: IntArray | None = None
    data: IntArray | None = None

    def __post_init__(self) -> None:
        """Check shapes and order, and fill in what was left out."""
        rounds = np.asarray(self.rounds, dtype=np.int64)
        size = rounds.size
        weights, heard = np.asarray(self.weights, dtype=np.float64), np.asarray(self.heard)
        if rounds.ndim != 1 or weights.ndim != 2 or not len(weights) == len(heard) == size:
            raise _shapes(f"{rounds.shape}, {weights.shape} and {heard.shape}")
        if weights.shape != heard.shape:
            raise _shapes(f"{weights.shape} and {heard.shape}")
        if (np.diff(rounds, prepend=0) < 1).any():
            raise fail("rounds", "numbers that increase from 1", rounds[:4].tolist(), "sort them")
        bases = np.arange(size) - 1 if self.bases is None else np.asarray(self.bases)
        data = np.ones(size, dtype=np.int64) if self.data is None else np.asarray(self.data)
        if not bases.shape == data.shape == rounds.shape:
            raise _shapes(f"{bases.shape} and {data.shape} for {size} rounds")
        if (bases >= np.arange(size)).any() or (bases < -1).any():
            raise fail("bases", "earlier rounds, by place, or −1", bases[:4].tolist(), "see Replay")
        for name, value in (
            ("rounds", rounds),
            ("weights", weights),
            ("heard", heard.astype(np.int64)),
            ("bases", bases.astype(np.int64)),
            ("data", data.astype(np.int64)),
        ):
            object.__setattr__(self, name, read_only(np.array(value)))

    @classmethod
    def of(cls, replay: Replay, *, agents: int, data: ArrayLike | None = None) -> Log:
        """What a replayed peer used, among so many agents (joined or not).

        Raises
        ------
        ValueError
            If it pools by a robust rule, which is not linear.
        """
        if replay.state.rule is not None:
            rule = type(replay.state.rule).__name__
            raise fail("replay", "a peer that averages", rule, "no sums of observations tell of it")
        size = replay.rounds.size
        weights = np.zeros((size, agents))
        heard = np.full((size, agents), -1, dtype=np.int64)
        for row, pooled in enumerate(replay.pooled):
            weights[row, : pooled.weights.size] = pooled.weights
            heard[row, : pooled.rounds.size] = pooled.rounds
        given = None if data is None else np.asarray(data)
        return cls(replay.rounds, weights, heard, replay.bases, given)


def _shapes(got: str) -> ValueError:
    return fail("log", "(R,) rounds with (R, N) weights and rounds heard", got, "see the docstring")
