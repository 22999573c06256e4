"""`peerbayes analyse` for networks that change: whose data count how much, and how fast all learn.

Value objects in, a result object out; nothing is printed here. The JSON has the keys of a fixed
network where they make sense; ``influence`` takes the place of the stationary distribution
(docs: mathematics/changing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from peerbayes.documents import PerAgent, Probability
from peerbayes.figures.wording import Fact, agents_with, number
from peerbayes.kinds.shared.analyse import NOTES, PROBLEM, WithSizes
from peerbayes.problem.problems import ChangingProblem
from peerbayes.quantities import learning, sizes
from peerbayes.quantities.learning import CHANGING_LEARNING, Learnt
from peerbayes.quantities.network import Count, count_fact
from peerbayes.quantities.quantity import Table, entries, entry
from peerbayes.quantities.showing import several
from peerbayes.quantities.sizes import SAMPLES, Sizes
from peerbayes.settings.questions import USUAL, Analyse
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
from theory.progress import Progress
from theory.validation import FloatArray, as_probability

# The exponent of a random network is an average over a path of the network; its standard error is
# printed beside it.
_EXPONENT_SEED = 0
_EXPONENT_ROUNDS = 4000


# What is said of it -----------------------------------------------------------------------------


def _largest_influence(value: Sequence[float], document: Any) -> Fact:
    whose = agents_with(value, max(value), document.names)
    return Fact("Largest influence", number(max(value)), whose)


def _total_influence(value: float, _: Any) -> Fact:
    return Fact("Total influence", number(value), "of one round's observations")


CHANGING_NETWORK = Table(
    "ChangingNetworkDocument",
    "A network that changes: whose data count how much.",
    entries(
        agents=entry(
            Count, get="problem.network.agents", label="agents", fact=count_fact, kind="given"
        ),
        changes=entry(
            str,
            "what changes, in words",
            get=lambda found: kind_of_change(found.problem),
            label="what changes",
        ),
        influence=entry(
            Annotated[list[Probability], Field(min_length=1)],
            "how much of one observation of each agent ends in every log-belief, per round",
            get="influence.values",
            label="influence of an observation u",
            short="influence",
            fact=_largest_influence,
        ),
        total_influence=entry(
            Annotated[float, Field(ge=0)],
            get="influence.total",
            label="total influence",
            fact=_total_influence,
        ),
        influence_per_time=entry(
            PerAgent | None,
            "per unit of time, where rounds are ticks of clocks",
            get="influence.per_time",
            label="influence per unit of time",
            words=lambda value, _: None if value is None else several(value),
            older=None,
        ),
        names=entry(
            list[str] | None,
            "what the agents are called",
            get="problem.network.names",
            optional=True,
        ),
    ),
)
CHANGING_ANALYSIS = Table(
    "ChangingAnalysisDocument",
    "What `analyse` prints of a network that changes.",
    entries(
        problem=PROBLEM,
        network=entry(CHANGING_NETWORK, get=lambda analysis: analysis),
        learning=entry(CHANGING_LEARNING),
        samples=entry(
            SAMPLES,
            get="sizes",
            shown=SAMPLES.changed(printed={"label": None}, certified={"label": None}),
        ),
        notes=NOTES,
    ),
)


@dataclass(frozen=True, eq=False)
class ChangingAnalysis(WithSizes):
    """Predictions for a network that changes, each defined in the package it is from."""

    problem: ChangingProblem
    influence: Influence
    rate: LearningRate
    exponent: ErrorExponent | None
    no_exponent: str
    samples: SampleSizes

    quantities = CHANGING_ANALYSIS

    @cached_property
    def learning(self) -> Learnt:
        """What the network settles on; rates and exponents."""
        error = None if self.exponent is None else self.exponent.standard_error
        model = self.problem.model
        return learning.in_doubles(model, self.rate, self.exponent, standard_error=error)

    @property
    def sizes(self) -> Sizes:
        """Rounds that are enough: of the ladder those that hold where networks change."""
        found = sizes.in_doubles(self.samples)
        return replace(found, printed=None, printed_p2=None, certified=None)

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        notes = []
        if self.influence.mean_age > 0:
            notes.append(
                f"messages are {self.influence.mean_age:.4g} rounds old on average when they are "
                "pooled"
            )
        notes += self.learning.notes
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


def analyse_changing(
    problem: ChangingProblem, request: Analyse = USUAL, progress: Progress | None = None
) -> ChangingAnalysis:
    """Predict influence, best hypotheses, rate, exponent and sample sizes.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    delta = as_probability("delta", request.error)
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
