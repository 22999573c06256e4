"""What was seen of a training while it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theory.frames import frame, long_columns
from theory.validation import FloatArray, IntArray, fail, read_only
from theory.values import Value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# What scores are drawn against, and the label of the axis.
ALONG = {"rounds": "round", "bytes": "MB sent"}


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

    def as_words(self) -> dict[str, Any]:
        """All of it as JSON has it, but for the seconds, which no two equal runs share."""
        return {
            "rounds": self.rounds.tolist(),
            "loss": plain(self.loss),
            "measures": list(self.measures),
            "validation": plain(self.validation),
            "bytes_sent": self.bytes_sent.tolist(),
        }

    @classmethod
    def from_words(cls, words: Mapping[str, Any]) -> History:
        """What :meth:`as_words` wrote; seconds are NaN."""
        agents = len(words["loss"][0]) if words["loss"] else 0
        shape = (len(words["rounds"]), agents)
        measures = tuple(words["measures"])
        return cls(
            np.array(words["rounds"], dtype=np.int64),
            as_floats(words["loss"]).reshape(shape),
            measures,
            as_floats(words["validation"]).reshape(*shape, len(measures)),
            np.array(words["bytes_sent"], dtype=np.int64),
            np.full(len(words["rounds"]), np.nan),
        )

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

    def plot(
        self, title: str, names: Sequence[str], ax: Axes | None = None, *, along: str = "rounds"
    ) -> Axes:
        """See :meth:`empirical.train.trained.TrainedNetwork.plot`; `names` are those of agents."""
        if along not in ALONG:
            raise fail("along", " or ".join(map(repr, ALONG)), repr(along), "choose one of them")
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(layout="constrained")[1]
        x = self.rounds if along == "rounds" else self.bytes_sent / 1e6
        scored = np.isfinite(self.validation).any()
        values = self.validation[:, :, 0] if scored else self.loss
        what = f"validation {self.measures[0]}" if scored else "training loss [nats]"
        for agent, name in enumerate(names):
            ax.plot(x, values[:, agent], label=name if agent < 10 else None)
        ax.set(title=title, xlabel=ALONG[along], ylabel=what.replace("_", " "))
        ax.legend()
        return ax


def plain(values: NDArray[Any]) -> Any:
    """Lists in place of an array, None in place of what is not finite."""
    if values.ndim > 1:
        return [plain(row) for row in values]
    return [value if np.isfinite(value) else None for value in values.tolist()]


def as_floats(values: Any) -> FloatArray:
    """The array that :func:`plain` made lists of, NaN for None."""
    return np.array(values, dtype=np.float64)
