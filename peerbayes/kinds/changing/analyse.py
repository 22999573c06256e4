"""`peerbayes analyse` for networks that change: whose data count how much, and how fast all learn.

Value objects in, a result object out; nothing is printed here. The JSON has the keys of a fixed
network where they make sense; ``influence`` takes the place of the stationary distribution
(docs: mathematics/changing).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.console import RenderableType

from peerbayes.documents import Documented, names_of, numbers
from peerbayes.kinds.changing.documents import (
    ChangingAnalysisDocument,
    ChangingLearningDocument,
    ChangingNetworkDocument,
)
from peerbayes.kinds.changing.tables import changing_parts
from peerbayes.kinds.shared.learning_notes import learning_facts, reference_notes
from peerbayes.learning_documents import SamplesDocument
from peerbayes.problem.changing import ChangingProblem
from theory import (
    ErrorExponent,
    LearningRate,
    SampleSizes,
    error_exponent,
    learning_rate,
    sample_sizes,
)
from theory.changing import (
    DelayedNetwork,
    Influence,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
    influence,
)
from theory.validation import FloatArray, as_probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The exponent of a random network is an average over a path of the network; its standard error is
# printed beside it.
_EXPONENT_SEED = 0
_EXPONENT_ROUNDS = 4000


@dataclass(frozen=True, eq=False)
class ChangingAnalysis(Documented):
    """Predictions for a network that changes, each defined in the package it is from."""

    problem: ChangingProblem
    influence: Influence
    rate: LearningRate
    exponent: ErrorExponent | None
    no_exponent: str
    samples: SampleSizes

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "influence", self.influence.values
        names = self.problem.model.hypotheses
        yield from learning_facts(names, self.rate, self.exponent, self.samples)

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        notes = []
        if self.influence.mean_age > 0:
            notes.append(
                f"messages are {self.influence.mean_age:.4g} rounds old on average when they are "
                "pooled"
            )
        notes += reference_notes(
            self.problem.model.hypotheses,
            self.rate.reference,
            is_compromise=self.rate.is_compromise,
        )
        if self.exponent is None:
            notes.append(f"exponent: {self.no_exponent}")
        elif not self.exponent.is_exact:
            notes.append(
                "exponent: of the errors given the course of the network, estimated from "
                f"{self.exponent.samples} rounds of one course; that over all courses is not known"
            )
        return [
            *notes,
            f"repaired: {self.samples.repaired.note}",
            f"chernoff: {self.samples.chernoff.note}",
        ]

    def document(self) -> ChangingAnalysisDocument:
        """What `analyse` prints of a network that changes."""
        per_time, exponent, samples = self.influence.per_time, self.exponent, self.samples
        return ChangingAnalysisDocument(
            problem=self.problem.name,
            network=ChangingNetworkDocument(
                names=names_of(self.problem.network.names),
                agents=self.problem.network.agents,
                changes=kind_of_change(self.problem),
                influence=self.influence.values.tolist(),
                total_influence=self.influence.total,
                influence_per_time=None if per_time is None else numbers(per_time),
            ),
            learning=ChangingLearningDocument.of(
                self.problem.model,
                self.rate,
                exponent,
                error_exponent_standard_error=None if exponent is None else exponent.standard_error,
            ),
            samples=SamplesDocument(
                delta=samples.delta,
                printed=None,
                repaired=samples.repaired.rounds,
                chernoff=samples.chernoff.rounds,
                certified=None,
            ),
            notes=self.notes,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many rounds each statement asks for.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.rows import draw_ladder

        return draw_ladder(self.document().samples, ax)

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return changing_parts(self.document())


def analyse_changing(problem: ChangingProblem, *, delta: float = 0.05) -> ChangingAnalysis:
    """Predict influence, best hypotheses, rate, exponent and sample sizes.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    delta = as_probability("delta", delta)
    network, model = problem.network, problem.model
    exponent, reason = None, ""
    try:
        exponent = error_exponent(network, model, seed=_EXPONENT_SEED, samples=_EXPONENT_ROUNDS)
    except ValueError as error:
        # A network that mixes too slowly for a course of this length has a rate all the same.
        reason = str(error)
    return ChangingAnalysis(
        problem=problem,
        influence=influence(network),
        rate=learning_rate(network, model),
        exponent=exponent,
        no_exponent=reason,
        samples=sample_sizes(network, model, delta=delta),
    )


def kind_of_change(problem: ChangingProblem) -> str:
    """What changes, in a few words."""
    network = problem.network
    match network:
        case PeriodicNetwork():
            return f"{network.period} phases in turn"
        case MarkovNetwork():
            law = "drawn afresh each round" if network.is_independent else "a Markov chain"
            return f"{len(network.phases)} phases, {law}"
        case RandomLinks():
            if not network.link_up.size:
                return "no links that could fail"
            share = _range(network.link_up)
            return f"links up with probability {share}; {_LOST[network.on_loss]}"
        case RandomPresence():
            return f"agents present with probability {_range(network.present)}"
        case DelayedNetwork():
            return f"messages up to {network.longest} rounds late"


_LOST = {
    "own": "the own belief stands in for a lost message",
    "renormalise": "what else arrives stands in for a lost message",
    "last": "the last message that came is used again",
}


def _range(shares: FloatArray) -> str:
    """One number if all are the same, else the least and the largest."""
    low, high = float(np.min(shares)), float(np.max(shares))
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
