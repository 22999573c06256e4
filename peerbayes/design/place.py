"""What is asked of a placement, and what it came to, whatever the kind of problem."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from peerbayes.design.documents import record_body
from peerbayes.design.tables import place_parts
from peerbayes.documents import CertificateDocument, GraphDocument, number
from peerbayes.problem.problems import AnyProblem
from peerbayes.records import plain
from theory import FiniteModel, Network
from theory.design import Placement
from theory.validation import as_integer, as_probability, fail


@dataclass(frozen=True)
class PlacementRequest:
    """What is asked of a placement.

    Parameters
    ----------
    objective
        ``"rate"``, ``"exponent"`` or ``"samples"``.
    delta
        Probability of error that sample sizes allow, in (0, 1).
    method
        ``"auto"``, ``"milp"``, ``"exhaustive"`` or ``"local"``.
    fixed
        Agents that keep their data.
    target
        The hypothesis the network shall settle on, by name; left out: what it settles on now.
    replicates
        Simulated runs for each class of placements, where these are few; 0 for none.
    seed
        Of everything that is drawn.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    objective: str = "rate"
    delta: float = 0.05
    method: str = "auto"
    fixed: tuple[int, ...] = ()
    target: str | None = None
    replicates: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        as_probability("delta", self.delta)
        as_integer("replicates", self.replicates, minimum=0)

    @property
    def search(self) -> dict[str, Any]:
        """Options of :func:`theory.design.place`."""
        return {
            "objective": self.objective,
            "delta": self.delta,
            "method": self.method,
            "fixed": self.fixed,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class PlacementResult:
    """The best placement of a problem's data, and what the others would have been."""

    problem: AnyProblem
    objective: str
    content: dict[str, Any]
    before: Network | None
    remarks: tuple[str, ...]
    seed: int
    delta: float
    record_path: Path | None = None

    @property
    def failed(self) -> bool:
        """A search always ends with something."""
        return False

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `place`."""
        content = {
            "problem": self.problem.name,
            "objective": self.objective,
            **self.content,
            "record": self.record_path,
            "notes": list(self.remarks),
        }
        result: dict[str, Any] = plain(content)
        return result

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return place_parts(self.as_json())

    def as_record(self) -> Any:
        """What is left on disk."""
        return record_body(
            self.problem,
            seed=self.seed,
            delta=self.delta,
            result=self.as_json(),
            network=None if self.before is None else GraphDocument.of(self.before).as_json(),
        )


def named_hypothesis(target: str | None, model: FiniteModel) -> int | None:
    """The number of a hypothesis that is given by name; None for none."""
    if target is None:
        return None
    if target not in model.hypotheses:
        raise fail("target", f"one of {', '.join(model.hypotheses)}", repr(target), "name one")
    return model.hypotheses.index(target)


def placement_notes(found: Placement) -> tuple[str, ...]:
    """What is to be said of a placement, one sentence each."""
    notes = [found.note] if found.note else []
    if found.certificate is not None and found.certificate.note:
        notes.append(f"certificate: {found.certificate.note}")
    return tuple(notes)


def placement_json(found: Placement, model: FiniteModel) -> dict[str, Any]:
    """A placement as the command prints it."""
    certificate = found.certificate
    return {
        "target": model.hypotheses[found.target],
        "assignment": found.assignment,
        "moved": found.moved,
        "value": number(found.value),
        "original": number(found.original),
        "worst": None if found.worst is None else number(found.worst),
        "certificate": None
        if certificate is None
        else CertificateDocument.of(certificate).as_json(),
        "binding": [model.hypotheses[m] for m in found.binding],
        "method": found.method,
        "evaluated": found.evaluated,
        "placements": found.placements,
        "classes": None,
    }
