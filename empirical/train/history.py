"""What was seen of a training while it ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from theory.frames import frame, long_columns
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class History(Shown):
    """A training at T of its rounds.

    Attributes
    ----------
    rounds
        Shape (T,), increasing, counted from 1.
    loss
        Shape (T, N): the mean −log ℓ of each agent's batches since the round before, nats; NaN for
        who took no step.
    measures
        What was measured on validation data, as :class:`~empirical.train.scores.Scores` has it.
    validation
        Shape (T, N, number of measures); NaN for an agent without validation data.
    bytes_sent
        Shape (T,): by all agents, since the beginning.
    seconds
        Shape (T,): since the beginning; the slowest process's.
    """

    rounds: IntArray
    loss: FloatArray
    measures: tuple[str, ...]
    validation: FloatArray
    bytes_sent: IntArray
    seconds: FloatArray

    def __post_init__(self) -> None:
        for array in (self.rounds, self.loss, self.validation, self.bytes_sent, self.seconds):
            read_only(array)

    def to_frame(self) -> pd.DataFrame:
        """One row a round and agent: loss, and each measure on validation data (pandas).

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        agents = range(self.loss.shape[1])
        columns = {
            f"validation_{measure}": self.validation[:, :, k]
            for k, measure in enumerate(self.measures)
        }
        axes = {"round": self.rounds.tolist(), "agent": agents}
        return frame(long_columns(axes, loss=self.loss, **columns))
