"""`peerbayes analyse` for networks that change: whose data count how much, and how fast all learn.

Value objects in, a result object out; nothing is printed here. The JSON has the keys of a fixed
network where they make sense; ``influence`` takes the place of the stationary distribution
(docs: mathematics/changing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import RenderableType

from peerbayes.documents import number
from peerbayes.kinds.changing.tables import changing_parts
from peerbayes.problem.changing import ChangingProblem
from theory import LearningRate
from theory.changing import (
    ChangingExponent,
    ChangingSampleSizes,
    DelayedNetwork,
    Influence,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
    changing_exponent,
    changing_rate,
    changing_sample_sizes,
    influence,
)
from theory.validation import FloatArray, as_probability

# The exponent of a random network is an average over a path of the network; its standard error is
# printed beside it.
_EXPONENT_SEED = 0
_EXPONENT_ROUNDS = 4000


@dataclass(frozen=True, eq=False)
class ChangingAnalysis:
    """Predictions for a network that changes, each defined on the floor it is from."""

    problem: ChangingProblem
    influence: Influence
    rate: LearningRate
    exponent: ChangingExponent | None
    no_exponent: str
    samples: ChangingSampleSizes

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        model = self.problem.model
        notes = []
        if self.influence.mean_age > 0:
            notes.append(
                f"messages are {self.influence.mean_age:.4g} rounds old on average when they are "
                "pooled"
            )
        if self.rate.is_compromise:
            names = ", ".join(model.hypotheses[m] for m in self.rate.reference)
            notes.append(
                "no hypothesis is best for every agent: rates are those of the network compromise, "
                f"{names}"
            )
        if self.rate.binding is None:
            notes.append("every hypothesis is optimal: there is no rate and nothing to reject")
        if self.exponent is None:
            notes.append(f"exponent: {self.no_exponent}")
        elif not self.exponent.is_exact:
            notes.append(
                "exponent: of the errors given the course of the network, estimated from "
                f"{self.exponent.samples} rounds of one course; that over all courses is not known"
            )
        notes += [
            f"repaired: {self.samples.repaired.note}",
            f"chernoff: {self.samples.chernoff.note}",
        ]
        return notes

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `analyse` for a network that changes."""
        network, model = self.problem.network, self.problem.model
        names = model.hypotheses
        wrong = [m for m in range(len(names)) if m not in self.rate.reference]
        information = model.information(self.rate.reference[0])
        per_time = self.influence.per_time
        return {
            "problem": self.problem.name,
            "network": {
                "agents": network.agents,
                "changes": kind_of_change(self.problem),
                "influence": self.influence.values.tolist(),
                "total_influence": self.influence.total,
                "influence_per_time": None if per_time is None else per_time.tolist(),
            },
            "learning": {
                "optimal_hypotheses": [names[m] for m in model.optimal_hypotheses],
                "compromise": [names[m] for m in self.rate.reference]
                if self.rate.is_compromise
                else None,
                "globally_learnable": not self.rate.is_compromise,
                "rate": number(self.rate.rate),
                "binding_hypothesis": _name(names, self.rate.binding),
                "rates": {names[m]: number(self.rate.rates[m]) for m in wrong},
                **self._exponent_json(wrong),
                "divergences": {names[m]: information[:, m].tolist() for m in wrong},
                "ambiguous_pairs": [[names[a], names[b]] for a, b in model.ambiguous_pairs],
            },
            "samples": {
                "delta": self.samples.delta,
                "printed": None,
                "repaired": self.samples.repaired.rounds,
                "chernoff": self.samples.chernoff.rounds,
                "certified": None,
            },
            "notes": self.notes,
        }

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return changing_parts(self.as_json())

    def _exponent_json(self, wrong: list[int]) -> dict[str, Any]:
        """What is known of the exponent, by hypothesis."""
        names, found = self.problem.model.hypotheses, self.exponent
        if found is None:
            return {
                "error_exponent": None,
                "error_exponent_standard_error": None,
                "binding_for_exponent": None,
                "exponents": {names[m]: None for m in wrong},
            }
        return {
            "error_exponent": number(found.exponent),
            "error_exponent_standard_error": number(found.standard_error),
            "binding_for_exponent": _name(names, found.binding),
            "exponents": {names[m]: number(found.exponents[m]) for m in wrong},
        }


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
        exponent = changing_exponent(network, model, seed=_EXPONENT_SEED, samples=_EXPONENT_ROUNDS)
    except ValueError as error:
        # A network that mixes too slowly for a course of this length has a rate all the same.
        reason = str(error)
    return ChangingAnalysis(
        problem=problem,
        influence=influence(network),
        rate=changing_rate(network, model),
        exponent=exponent,
        no_exponent=reason,
        samples=changing_sample_sizes(network, model, delta=delta),
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


def _name(names: tuple[str, ...], index: int | None) -> str | None:
    return None if index is None else names[index]
