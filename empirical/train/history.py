"""What is seen of a training as it runs and at its end: rounds, history, metrics; as JSON too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from empirical.train.scores import Scores
from theory.frames import frame, long_columns
from theory.showing import Shown, Value
from theory.validation import FloatArray, IntArray, read_only

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RoundReport:
    """What a round did.

    Attributes
    ----------
    round
        Its number, counted from 1.
    loss
        Mean −log ℓ over each own agent's batches, in nats, shape (n,); NaN for who rested.
    local_steps
        Steps taken by own agents together.
    bytes_sent
        By own agents, over all links.
    seconds
        Of local steps and consensus.
    bytes_uncoded
        What the same messages would have taken without a codec, in float32.
    """

    round: int
    loss: FloatArray
    local_steps: int
    bytes_sent: int
    seconds: float
    bytes_uncoded: int = 0


@dataclass(frozen=True, eq=False)
class History(Value):
    """A training at T of its rounds; histories of equal runs are equal, whatever time they took.

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

    def _parts(self) -> tuple[object, ...]:
        return (self.rounds, self.loss, self.measures, self.validation, self.bytes_sent)

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


@dataclass(frozen=True, eq=False)
class Metrics(Shown):
    """Scores of the agents at the end, of predictions by posterior samples.

    Attributes
    ----------
    validation
        Each agent on its own validation data; None without such data.
    test
        Every agent on the test data, which nothing was chosen by; None without such data.
    """

    validation: Scores | None
    test: Scores | None


# Scores and histories as JSON has them -----------------------------------------------------------


def words_of(value: Scores | History | None) -> dict[str, Any] | None:
    """All fields as JSON has them, but for seconds, which no two equal runs share."""
    if value is None:
        return None
    names = (field.name for field in fields(value))
    return {n: plain(getattr(value, n)) for n in names if n not in ("seconds", "by_class")}


def plain(part: Any) -> Any:
    """Lists in place of arrays and tuples, None in place of what is not finite."""
    if isinstance(part, np.ndarray):
        part = part.tolist()
    if isinstance(part, list | tuple):
        return [plain(one) for one in part]
    return None if isinstance(part, float) and not np.isfinite(part) else part


def scores_from(words: Mapping[str, Any] | None) -> Scores | None:
    """The scores that :func:`words_of` wrote."""
    if words is None:
        return None
    values, bins, examples = (_floats(words[name]) for name in ("values", "bins", "examples"))
    return Scores(tuple(words["measures"]), values, bins, examples, words["draws"])


def history_from(words: Mapping[str, Any]) -> History:
    """The history that :func:`words_of` wrote; seconds are NaN."""
    rounds, sent = (np.array(words[name], np.int64) for name in ("rounds", "bytes_sent"))
    loss, validation = (_floats(words[name]) for name in ("loss", "validation"))
    seconds = np.full(len(rounds), np.nan)
    return History(rounds, loss, tuple(words["measures"]), validation, sent, seconds)


def _floats(values: Any) -> FloatArray:
    """The array that lists were made of, NaN for None."""
    return np.array(values, dtype=np.float64)
