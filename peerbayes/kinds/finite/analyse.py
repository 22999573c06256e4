"""`peerbayes analyse`: everything theory predicts of one problem, before any run.

Value objects in, a result object out; nothing is printed here. The JSON keys are those of the
stable contract (docs: reference/json).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.console import RenderableType

from peerbayes.documents import Documented, NetworkDocument, interval
from peerbayes.kinds.finite.at_rounds import AtRounds
from peerbayes.kinds.finite.documents import AnalysisDocument
from peerbayes.kinds.finite.tables import analysis_parts
from peerbayes.kinds.shared.learning_notes import learning_facts, reference_notes
from peerbayes.kinds.shared.network_proofs import spectrum_notes
from peerbayes.learning_documents import LearningDocument, SamplesDocument
from peerbayes.message_documents import MessagesDocument
from peerbayes.problem.finite import Problem
from theory import (
    ErrorExponent,
    LearningRate,
    Network,
    SampleSizes,
    error_exponent,
    learning_rate,
    sample_sizes,
)
from theory.messages import CompressedLearning, compressed_learning
from theory.validation import as_probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Analysis(Documented):
    """Predictions for one problem: floating-point values, each defined in its own package."""

    problem: Problem
    rate: LearningRate
    exponent: ErrorExponent
    samples: SampleSizes

    messages: CompressedLearning | None = None
    at_rounds: AtRounds | None = None

    def _facts(self) -> Iterator[tuple[str, object]]:
        names = self.problem.model.hypotheses
        yield from learning_facts(names, self.rate, self.exponent, self.samples)
        if self.messages is not None:
            yield "certified bytes", self.messages.certified_bytes
        if self.at_rounds is not None:
            yield "at rounds", self.at_rounds

    @property
    def network(self) -> Network:
        """The network whose beliefs a run keeps to: W_γ where they are compressed."""
        return self.problem.network if self.messages is None else self.messages.network

    @property
    def ladder(self) -> SampleSizes | None:
        """The rounds that are enough in a run, compressed or not; None: nothing is guaranteed."""
        return self.samples if self.messages is None else self.messages.compressed

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        network, rate, samples = self.problem.network, self.rate, self.samples
        notes = reference_notes(
            self.problem.model.hypotheses,
            rate.reference,
            is_compromise=rate.is_compromise,
            undecided=rate.undecided,
        )
        notes += spectrum_notes(network)
        if not np.isfinite(network.deviation.upper).all():
            notes.append("no finite upper bound on the deviation of every agent")
        return [
            *notes,
            f"printed: {samples.printed.note}",
            f"repaired: {samples.repaired.note}",
            f"chernoff: {samples.chernoff.note}",
            f"certified: {samples.certified.note}",
        ]

    def document(self) -> AnalysisDocument:
        """What `analyse` prints; null stands for what is not known, see ``notes``."""
        samples = self.samples
        return AnalysisDocument(
            problem=self.problem.name,
            network=NetworkDocument.of(self.problem.network),
            learning=LearningDocument.of(self.problem.model, self.rate, self.exponent),
            samples=SamplesDocument(
                delta=samples.delta,
                printed=samples.printed.rounds,
                printed_p2=samples.printed_p2.rounds,
                repaired=samples.repaired.rounds,
                chernoff=samples.chernoff.rounds,
                certified=interval(samples.certified),
            ),
            notes=self.notes,
            messages=None if self.messages is None else MessagesDocument.of(self.messages),
            at_rounds=None if self.at_rounds is None else self.at_rounds.document(),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many rounds each statement asks for.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.rows import draw_ladder

        return draw_ladder(self.document().samples, ax)

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return analysis_parts(self.document())


def analyse(problem: Problem, *, delta: float = 0.05) -> Analysis:
    """Predict mixing, best hypotheses, rate, exponent and sample sizes.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    delta = as_probability("delta", delta)
    network, model = problem.network, problem.model
    samples = sample_sizes(network, model, delta=delta)
    messages = None
    if problem.messages is not None:
        messages = compressed_learning(
            network, model, problem.messages, delta=delta, uncompressed=samples
        )
    return Analysis(
        problem=problem,
        rate=learning_rate(network, model),
        exponent=error_exponent(network, model),
        samples=samples,
        messages=messages,
    )
