"""What is remembered of a training while it runs, and when it has ended."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from empirical.nets.exchange import Exchange
from empirical.train.history import History, RoundReport
from empirical.train.learners.averaging import Belief
from empirical.train.scores import Scores

_FLOATS = torch.float64


class Course:
    """Losses, scores and bytes so far, the best beliefs, and whether patience has ended.

    Parameters
    ----------
    own
        How many agents this process holds.
    patience
        Looks without a smaller mean −log ℓ on validation data after which training ends; None:
        never.
    """

    def __init__(self, own: int, patience: int | None) -> None:
        self._patience = patience
        # Since the last look: of each own agent the sum of losses, and how many there were.
        self._losses, self._steps = torch.zeros(own, dtype=_FLOATS), torch.zeros(own, dtype=_FLOATS)
        self._bytes = torch.zeros(1, dtype=_FLOATS)
        # Without a codec: of own agents since the last look, and of all agents before it.
        self._uncoded = torch.zeros(2, dtype=_FLOATS)
        # One row a look: round, bytes, seconds; losses of all agents; scores of all agents.
        self._looks: list[Tensor] = []
        self._loss_rows: list[Tensor] = []
        self._score_rows: list[Tensor] = []
        self._least, self._best_round, self._worse = float("inf"), 0, 0
        self._best: Belief | None = None
        self._round = 0

    @property
    def has_ended(self) -> bool:
        """Whether patience has."""
        return self._patience is not None and self._worse >= self._patience

    @property
    def kept_round(self) -> int:
        """The round whose beliefs are kept: the best one with patience, else the last."""
        return self._round if self._best is None else self._best_round

    @property
    def bytes_uncoded(self) -> int:
        """What all agents' messages, up to the last look, take without a codec."""
        return int(self._uncoded[1])

    @property
    def seconds(self) -> float:
        """Seconds of training at the last look at validation data."""
        return float(self._looks[-1][2]) if self._looks else 0.0

    def add(self, report: RoundReport) -> None:
        """Take in what a round did."""
        self._round = report.round
        loss = torch.as_tensor(np.array(report.loss), dtype=_FLOATS)
        known = ~loss.isnan()
        self._losses += torch.where(known, loss, 0.0)
        self._steps += known
        self._bytes += report.bytes_sent
        self._uncoded[0] += report.bytes_uncoded

    def look(
        self,
        belief: Belief,
        scores: Scores | None,
        *,
        seconds: float,
        exchange: Exchange,
        agents: int,
    ) -> None:
        """Take in what was seen of all agents after the last round; scores may be missing."""
        rows = torch.stack([self._losses, self._steps], dim=1)
        sent = torch.zeros(len(rows), 3, dtype=_FLOATS)
        sent[0] = torch.tensor([float(self._bytes), seconds, float(self._uncoded[0])])
        everybody = exchange.collect(torch.cat([rows, sent], dim=1), agents)
        self._losses.zero_(), self._steps.zero_(), self._bytes.zero_()
        before = float(self._looks[-1][1]) if self._looks else 0.0
        total = before + float(everybody[:, 2].sum())
        slowest = float(everybody[:, 3].max())
        self._uncoded = torch.stack([torch.zeros_like(everybody[0, 4]), self._uncoded[1]])
        self._uncoded[1] += everybody[:, 4].sum()
        self._looks.append(torch.tensor([self._round, total, slowest], dtype=_FLOATS))
        self._loss_rows.append(everybody[:, 0] / everybody[:, 1])  # 0/0 is NaN: no step
        if scores is None:
            return
        self._score_rows.append(torch.from_numpy(scores.values.copy()))
        if self._patience is None:
            return
        nll = scores.mean("nll")
        if nll < self._least:
            self._least, self._best_round, self._worse = nll, self._round, 0
            self._best = belief.copy()
        else:
            self._worse += 1

    def best(self, last: Belief) -> Belief:
        """The beliefs to keep."""
        return last if self._best is None else self._best

    def history(self, measures: tuple[str, ...]) -> History:
        """All looks."""
        looks = torch.stack(self._looks).numpy() if self._looks else np.zeros((0, 3))
        loss = torch.stack(self._loss_rows).numpy()
        scored = bool(self._score_rows)
        shape = (*loss.shape, len(measures))
        values = torch.stack(self._score_rows).numpy() if scored else np.full(shape, np.nan)
        return History(
            rounds=looks[:, 0].astype(np.int64),
            loss=loss,
            measures=measures,
            validation=values,
            bytes_sent=looks[:, 1].astype(np.int64),
            seconds=looks[:, 2].copy(),
        )

    # State ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """All of it, as tensors for a checkpoint."""
        numbers = [float(self._round), self._least, float(self._best_round), float(self._worse)]
        kept = {
            "course.losses": self._losses,
            "course.steps": self._steps,
            "course.bytes": self._bytes,
            "course.uncoded": self._uncoded,
            "course.numbers": torch.tensor(numbers, dtype=_FLOATS),
        }
        for name, rows in self._rows.items():
            if rows:
                kept[f"course.{name}"] = torch.stack(rows)
        if self._best is not None:
            kept["course.best_mean"] = self._best.mean
            if self._best.variance is not None:
                kept["course.best_variance"] = self._best.variance
        return kept

    def restore(self, state: Mapping[str, Tensor], device: str) -> None:
        """Go on from a :meth:`state`."""
        self._losses, self._steps, self._bytes = (
            state[f"course.{name}"].clone() for name in ("losses", "steps", "bytes")
        )
        # States from before there were codecs have none of it.
        self._uncoded = state.get("course.uncoded", torch.zeros(2, dtype=_FLOATS)).clone()
        numbers = state["course.numbers"].tolist()
        self._round, self._best_round, self._worse = (int(numbers[k]) for k in (0, 2, 3))
        self._least = numbers[1]
        for name, rows in self._rows.items():
            rows[:] = list(state[f"course.{name}"]) if f"course.{name}" in state else []
        if "course.best_mean" in state:
            variance = state.get("course.best_variance")
            self._best = Belief(
                state["course.best_mean"].to(device),
                None if variance is None else variance.to(device),
            )

    @property
    def _rows(self) -> dict[str, list[Tensor]]:
        return {"looks": self._looks, "loss": self._loss_rows, "scores": self._score_rows}
