"""What `pb.learn` comes to: every agent's beliefs, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from theory.frames import frame, long_columns
from theory.showing import Value
from theory.validation import FloatArray, IntArray, read_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from peerbayes.problem.problems import FiniteProblem


@dataclass(frozen=True, eq=False)
class Learned(Value):
    """Beliefs of N agents after each of T rounds, from observations that were given.

    Attributes
    ----------
    problem
        What was observed.
    reference
        The hypothesis that log-ratios are taken against: the first that theory says the network
        settles on, if the problem's truth is the truth.
    log_ratios
        Shape (T, N, M), in nats: log of the private belief in `reference` over that in each
        hypothesis. Rows of faulty agents that do not learn stay those of the priors.
    """

    problem: FiniteProblem
    reference: int
    log_ratios: FloatArray

    def _title(self) -> str:
        rounds, agents, _ = self.log_ratios.shape
        return f"Learned of {self.problem.name!r}, {rounds} rounds, {agents} agents"

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "hypotheses", self.problem.model.hypotheses
        yield "settles on", dict(zip(self._names, self.settles_on, strict=True))
        strongest = self.beliefs[-1].max(axis=1)
        yield "belief in it", dict(zip(self._names, strongest.tolist(), strict=True))

    @property
    def _names(self) -> tuple[str, ...]:
        network = self.problem.network
        return network.names or tuple(str(i) for i in range(network.agents))

    @cached_property
    def beliefs(self) -> FloatArray:
        """Private beliefs after each round, shape (T, N, M)."""
        return read_only(np.exp(self.log_beliefs))

    @cached_property
    def log_beliefs(self) -> FloatArray:
        """Their logarithms, which do not underflow, shape (T, N, M), in nats."""
        from exact.beliefs import normalise

        return read_only(normalise(-self.log_ratios))

    @cached_property
    def estimates(self) -> IntArray:
        """Index of each agent's most believed hypothesis after each round, shape (T, N).

        The first one listed at a tie.
        """
        return read_only(self.log_ratios.argmin(axis=-1))

    @property
    def settles_on(self) -> tuple[str, ...]:
        """The hypothesis that each agent believes most after the last round, by name."""
        hypotheses = self.problem.model.hypotheses
        return tuple(hypotheses[m] for m in self.estimates[-1].tolist())

    def as_json(self) -> dict[str, Any]:
        """A JSON object: what each agent settles on, its beliefs, and log-ratios of all rounds."""
        hypotheses = self.problem.model.hypotheses
        return {
            "problem": self.problem.name,
            "rounds": len(self.log_ratios),
            "hypotheses": list(hypotheses),
            "agents": list(self._names),
            "reference": hypotheses[self.reference],
            "settles_on": list(self.settles_on),
            "beliefs": self.beliefs[-1].tolist(),
            "log_ratios": self.log_ratios.tolist(),
        }

    def to_frame(self) -> pd.DataFrame:
        """A table of pandas: a row for each round, agent and hypothesis.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        axes = {
            "round": range(1, len(self.log_ratios) + 1),
            "agent": self._names,
            "hypothesis": self.problem.model.hypotheses,
        }
        return frame(long_columns(axes, belief=self.beliefs, log_ratio=self.log_ratios))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Log belief ratios over the rounds, averaged over agents.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.curves import measured_plot
        from peerbayes.learning_documents import MeasuredDocument

        hypotheses = self.problem.model.hypotheses
        mean = self.log_ratios.mean(axis=1)
        trajectory = MeasuredDocument(
            rounds=list(range(1, len(mean) + 1)),
            hypotheses=list(hypotheses),
            network_mean=mean.tolist(),
            network_standard_error=np.zeros_like(mean).tolist(),
            errors=[0] * len(mean),
        )
        reference = hypotheses[self.reference]
        return on_axes(lambda axes: measured_plot(trajectory, reference=reference, axes=axes), ax)
