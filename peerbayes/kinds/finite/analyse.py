"""`peerbayes analyse`: everything theory predicts of one problem, before any run.

Value objects in, a result object out; nothing is printed here. The JSON keys are those of the
stable contract (docs: reference/json).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import RenderableType

from peerbayes.documents import NetworkDocument, interval, number
from peerbayes.kinds.finite.tables import analysis_parts
from peerbayes.problem.finite import Problem
from theory import (
    ErrorExponent,
    LearningRate,
    SampleSize,
    SampleSizes,
    error_exponent,
    learning_rate,
    sample_sizes,
)
from theory.validation import as_probability


@dataclass(frozen=True, eq=False)
class Analysis:
    """Predictions for one problem: floating-point values, each defined in its own package."""

    problem: Problem
    rate: LearningRate
    exponent: ErrorExponent
    samples: SampleSizes

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        network, model = self.problem.network, self.problem.model
        notes: list[str] = []
        if self.rate.is_compromise:
            names = ", ".join(model.hypotheses[m] for m in self.rate.reference)
            notes.append(
                "no hypothesis is best for every agent: rates are those of the network compromise, "
                f"{names}"
            )
        if self.rate.undecided:
            names = ", ".join(model.hypotheses[m] for m in self.rate.undecided)
            notes.append(
                "double precision does not tell whether these are as good as "
                f"{model.hypotheses[self.rate.reference[0]]}; they count as ties, and no bound is "
                f"given (--certify decides): {names}"
            )
        if self.rate.binding is None:
            notes.append("every hypothesis is optimal: there is no rate and nothing to reject")
        if network.agents == 1:
            notes.append("one agent has no second eigenvalue")
        if not np.isfinite(network.deviation.upper).all():
            notes.append("no finite upper bound on the deviation of every agent")
        for name in ("printed", "repaired", "chernoff"):
            size: SampleSize = getattr(self.samples, name)
            notes.append(f"{name}: {size.note}")
        notes.append(f"certified: {self.samples.certified.note}")
        return notes

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `analyse`; null stands for what cannot be had, see ``notes``."""
        network, model = self.problem.network, self.problem.model
        names = model.hypotheses
        wrong = [m for m in range(len(names)) if m not in self.rate.reference]
        information = model.information(self.rate.reference[0])
        return {
            "problem": self.problem.name,
            "network": NetworkDocument.of(network).as_json(),
            "learning": {
                "optimal_hypotheses": [names[m] for m in model.optimal_hypotheses],
                "compromise": [names[m] for m in self.rate.reference]
                if self.rate.is_compromise
                else None,
                "globally_learnable": not self.rate.is_compromise,
                "rate": number(self.rate.rate),
                "binding_hypothesis": _name(names, self.rate.binding),
                "rates": {names[m]: number(self.rate.rates[m]) for m in wrong},
                "error_exponent": number(self.exponent.exponent),
                "binding_for_exponent": _name(names, self.exponent.binding),
                "exponents": {names[m]: number(self.exponent.exponents[m]) for m in wrong},
                "divergences": {names[m]: information[:, m].tolist() for m in wrong},
                "ambiguous_pairs": [[names[a], names[b]] for a, b in model.ambiguous_pairs],
            },
            "samples": {
                "delta": self.samples.delta,
                "printed": self.samples.printed.rounds,
                "repaired": self.samples.repaired.rounds,
                "chernoff": self.samples.chernoff.rounds,
                "certified": interval(self.samples.certified),
            },
            "notes": self.notes,
        }

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return analysis_parts(self.as_json())


def _name(names: tuple[str, ...], index: int | None) -> str | None:
    return None if index is None else names[index]


def analyse(problem: Problem, *, delta: float = 0.05) -> Analysis:
    """Predict mixing, best hypotheses, rate, exponent and sample sizes.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    delta = as_probability("delta", delta)
    network, model = problem.network, problem.model
    return Analysis(
        problem=problem,
        rate=learning_rate(network, model),
        exponent=error_exponent(network, model),
        samples=sample_sizes(network, model, delta=delta),
    )
