"""What simulations of finitely many hypotheses measured, whatever the kind of network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from exact.checkpoint import Arrays
from exact.run import Run
from exact.statistics import Proportion, proportion, standard_error
from theory import FiniteModel
from theory.frames import frame, long_columns
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only
from theory.values import Value

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Rates(Shown):
    """Measured rates of rejection, Λ_i^(n)(best, θ)/n, in nats per round.

    Attributes
    ----------
    mean, standard_error
        Shape (N, M): over replicates; floating-point estimates.
    rounds
        The number n of rounds.
    """

    mean: FloatArray
    standard_error: FloatArray
    rounds: int


@dataclass(frozen=True, eq=False)
class MeasuredMessages(Value):
    """What was sent in a simulation of compressed beliefs, in all rounds and replicates.

    Attributes
    ----------
    sent
        Shape (N,): messages of each agent, each counted once however many agents hear it.
    bytes_per_round
        Of all links together, in the mean over rounds and replicates; None where a message has no
        code of fixed length.
    bytes_standard_error
        Of the mean over replicates; None as above, NaN for a single replicate.
    entropy
        In bits: of the numbers that were sent, taken as independent draws of one law. An estimate
        of what an entropy coder would need for one; NaN if nothing was sent.
    largest_error, largest_deviation
        In nats: the most by which a replica was off after a round, and a log-ratio against the
        first hypothesis differed from that of the run without compression.
    """

    sent: IntArray
    bytes_per_round: float | None
    bytes_standard_error: float | None
    entropy: float
    largest_error: float
    largest_deviation: float


@dataclass(frozen=True, eq=False)
class Simulation(Shown):
    """What a simulation measured, at T recorded rounds; estimates over R replicates.

    The statistics are about H agents, the honest ones: all N of them where nobody is faulty.

    Attributes
    ----------
    rounds
        Shape (T,): the recorded rounds.
    replicates, seed, hypotheses
        As given; the names of the M hypotheses.
    reference
        Θ* of these agents, or their compromise if Θ* is empty; `best` is its first member.
    mean, standard_error
        Shape (T, H, M): of Λ_i^(n)(best, θ) in nats; zero in the column of `best`. The standard
        error is NaN for a single replicate.
    network_mean, network_standard_error
        Shape (T, M): of the average of Λ over agents.
    errors
        Shape (T,): replicates in which some agent's arg max is outside `reference`; a tie with a
        hypothesis outside counts.
    agent_errors
        Shape (T, H): the same for each agent.
    settled
        Shape (T, M): how many of the R·H pairs of replicate and agent have arg max θ. Where a tie
        counts as an error, it is counted for the hypothesis outside `reference`.
    paths
        Shape (P, T, H, M): Λ(best, ·) of the first P replicates.
    watched
        Shape (H,): the agents that the statistics are about, in their order.
    discarded
        Shape (N,): messages that each agent threw away, in all rounds and replicates; zeros where
        no rule does.
    messages
        What was sent, if beliefs were compressed; None if not.
    """

    rounds: IntArray
    replicates: int
    seed: int
    hypotheses: tuple[str, ...]
    reference: tuple[int, ...]
    mean: FloatArray
    standard_error: FloatArray
    network_mean: FloatArray
    network_standard_error: FloatArray
    errors: IntArray
    agent_errors: IntArray
    settled: IntArray
    paths: FloatArray
    watched: IntArray
    discarded: IntArray
    messages: MeasuredMessages | None = None

    @property
    def best(self) -> int:
        """The hypothesis all log-ratios are taken against."""
        return self.reference[0]

    @cached_property
    def rates(self) -> Rates:
        """Per-agent rates at the last recorded round."""
        last = int(self.rounds[-1])
        return Rates(
            mean=read_only(self.mean[-1] / last),
            standard_error=read_only(self.standard_error[-1] / last),
            rounds=last,
        )

    def to_frame(self) -> pd.DataFrame:
        """A table of the rates at the last recorded round: a row for each agent and hypothesis.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        axes: dict[str, Iterable[object]] = {"agent": self.watched, "hypothesis": self.hypotheses}
        rates = self.rates
        return frame(long_columns(axes, rate=rates.mean, standard_error=rates.standard_error))

    def error_probability(self, round_index: int = -1, *, confidence: float = 0.95) -> Proportion:
        """How often some agent was wrong, with its Clopper–Pearson interval.

        Parameters
        ----------
        round_index
            Index into `rounds`; the last by default.
        confidence
            Coverage, in (0, 1).
        """
        count = int(self.errors[round_index])
        return proportion(count, self.replicates, confidence=confidence)


def measured(
    sums: Arrays, *, run: Run, model: FiniteModel, reference: tuple[int, ...], watched: IntArray
) -> Simulation:
    """What the sums over all replicates say; the sums themselves become read-only."""
    count = run.replicates
    discarded = sums.get("discarded", np.zeros(model.agents, dtype=np.int64))
    return Simulation(
        rounds=read_only(run.recorded),
        replicates=count,
        seed=run.seed,
        hypotheses=model.hypotheses,
        reference=reference,
        mean=read_only(sums["each_mean"]),
        standard_error=read_only(standard_error(sums["each_squares"], count)),
        network_mean=read_only(sums["network_mean"]),
        network_standard_error=read_only(standard_error(sums["network_squares"], count)),
        errors=read_only(sums["errors"]),
        agent_errors=read_only(sums["agent_errors"]),
        settled=read_only(sums["settled"]),
        paths=read_only(sums["paths"]),
        watched=read_only(watched),
        discarded=read_only(discarded),
        messages=_messages(sums, count, run.last) if "sent" in sums else None,
    )


def _messages(sums: Arrays, replicates: int, rounds: int) -> MeasuredMessages:
    """What was sent in so many rounds of each replicate."""
    cells = sums["sent_cells"][sums["sent_cells"] > 0]
    shares = cells / cells.sum() if cells.size else np.array([np.nan])
    each, error = None, None
    # Empty where a message has no code.
    if sums["sent_bytes"].size:
        total, squares = float(sums["sent_bytes"][0]), sums["sent_bytes_squares"]
        each = total / (replicates * rounds)
        spread = np.maximum(squares - total * (total / replicates), 0.0)
        error = float(standard_error(spread, replicates)[0]) / rounds
    return MeasuredMessages(
        sent=read_only(sums["sent"]),
        bytes_per_round=each,
        bytes_standard_error=error,
        entropy=float(abs((shares * np.log2(shares)).sum())),
        largest_error=float(sums["largest_error"][0]),
        largest_deviation=float(sums["largest_deviation"][0]),
    )
