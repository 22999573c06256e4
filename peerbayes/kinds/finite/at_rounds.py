"""`analyse --rounds n`: the ladder read the other way round.

Given n, certified bounds on the probability that some agent errs, and the margin ε that n rounds
buy at confidence 1 − δ: off an event of probability δ, every wrong belief is below e^{−n(K−ε)}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes.documents import number
from peerbayes.kinds.kind import Result
from peerbayes.problem.finite import Problem
from peerbayes.tables import facts_table
from theory import CertifiedMargin, ErrorProbability, account


@dataclass(frozen=True, eq=False)
class AtRounds:
    """Certified intervals for one number of rounds; doubles count as numbers nearby."""

    probability: ErrorProbability
    margin: CertifiedMargin

    def as_json(self) -> dict[str, Any]:
        """The JSON key "at_rounds"; logs reach where probabilities underflow."""
        found, margin = self.probability, self.margin
        return {
            "rounds": int(found.rounds[0]),
            "error_probability": {"lower": float(found.lower[0]), "upper": float(found.upper[0])},
            "log_error_probability": {
                "lower": number(found.log_lower[0]),
                "upper": number(found.log_upper[0]),
            },
            "margin": {"delta": margin.delta, "lower": margin.lower, "upper": margin.upper},
            "notes": [note for note in (found.note, margin.note) if note],
        }


@dataclass(frozen=True, eq=False)
class WithRounds:
    """An analysis, and what a number of rounds is good for."""

    analysis: Result
    at_rounds: AtRounds

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `analyse`."""
        return {**self.analysis.as_json(), "at_rounds": self.at_rounds.as_json()}

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return [*self.analysis.tables(), *at_rounds_parts(self.at_rounds.as_json())]


def at_rounds(problem: Problem, rounds: int, *, delta: float) -> AtRounds:
    """What so many rounds are good for.

    Raises
    ------
    ValueError
        If `rounds` is not a whole number of at least 1 or beyond the powers of W that are kept, or
        `delta` is not in (0, 1).
    """
    accountant = account(problem.network, problem.model)
    return AtRounds(accountant.probability(rounds), accountant.smallest_margin(rounds, delta))


def at_rounds_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The table of the JSON key "at_rounds"."""
    chance, logs, margin = (
        result[key] for key in ("error_probability", "log_error_probability", "margin")
    )
    facts = {"some agent errs": f"{chance['lower']:.4g} to {chance['upper']:.4g}"}
    if logs["upper"] is not None and chance["upper"] < 1e-300:
        facts["  its logarithm"] = f"at most {logs['upper']:.6g}"
    ends = [margin["lower"], margin["upper"]]
    known = [f"{end:.4g}" if end is not None else "not known" for end in ends]
    facts[f"margin at {margin['delta']:g}"] = f"{' to '.join(known)} nats a round"
    title = f"After {result['rounds']} rounds"
    notes = [Text(f"note: {note}") for note in result["notes"]]
    return [Text(), facts_table(title, facts), *notes]
