"""Runs of one kind as a series: means over seeds, of all agents or some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from peerbayes.experiments.net_documents import (
    Known,
    Measured,
    NetPart,
    Point,
    When,
)
from peerbayes.figures.training import (
    Course,
    Widths,
)
from theory.validation import FloatArray

Measure = Callable[[Measured], Sequence[float] | Known | None]


Kind = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Series:
    """Runs that differ in their seed alone, and which agents are meant; empty: all of them."""

    name: str
    runs: Sequence[NetPart]
    agents: tuple[int, ...] = ()

    def accuracy(self, *, by_steps: bool = False) -> Course:
        """In per cent, over the rounds, or over the steps of each learner."""
        along = self._steps if by_steps else self._rounds
        after, before = (
            100 * self._over_rounds(when, lambda one: one.accuracy) for when in ("after", "before")
        )
        return Course(self.name, along, after, before)

    def loss(self) -> Course:
        """Mean −log p of the true label over the steps of each learner."""
        after, before = (
            self._over_rounds(when, lambda one: one.nll) for when in ("after", "before")
        )
        return Course(self.name, self._steps, after, before)

    def against_bytes(self, measure: Measure) -> Course:
        """A measure after consensus over the MB that all agents have sent so far."""
        sent = _points(self.runs, lambda point: point.bytes / 1e6)
        values = self._over_rounds("after", measure)
        return Course(self.name, sent, values, np.full(values.shape, np.nan))

    def confidence(self, when: When) -> Course:
        """Confidence in labels that the agents hold, and in others'."""
        return Course(
            self.name,
            self._rounds,
            self._over_rounds(when, lambda one: one.in_domain_confidence),
            self._over_rounds(when, lambda one: one.out_of_domain_confidence),
        )

    def widths(self) -> Widths | None:
        """Quantiles of σ, averaged over all agents; None where there are no beliefs."""
        rows = []
        for run in self.runs:
            spread = [point.sigma for point in run.curve.points if point.sigma]
            if len(spread) < len(run.curve.points):
                return None
            rows.append([np.mean(np.array(one), axis=0) for one in spread])
        return Widths(self.name, self._rounds, np.asarray(np.mean(rows, axis=0)))

    @property
    def has_samples(self) -> bool:
        """Whether all predictions are sampled."""
        return all(run.curve.last.sampled is not None for run in self.runs)

    @property
    def _rounds(self) -> FloatArray:
        return _points(self.runs, lambda point: float(point.round))

    @property
    def _steps(self) -> FloatArray:
        return _points(self.runs, lambda point: point.local_steps / self.runs[0].learners)

    def _over_rounds(self, when: When, measure: Measure) -> FloatArray:
        def value(point: Point) -> float:
            beliefs = point.at(when)
            values = None if beliefs is None else measure(beliefs.way)
            if values is None:
                return np.nan
            agents = [k for k in self.agents or range(len(values)) if k < len(values)]
            known = [found for k in agents if (found := values[k]) is not None]
            return float(np.mean(known)) if known else np.nan

        return _points(self.runs, value)


def _points(runs: Sequence[NetPart], value: Callable[[Point], float]) -> FloatArray:
    """The mean over seeds of something of each recorded round."""
    rows = [[value(point) for point in run.curve.points] for run in runs]
    return np.asarray(np.mean(rows, axis=0), dtype=float)
