"""What is asked of a placement, and what it came to, whatever the kind of problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.designs.outcome import named_objective, place_text
from peerbayes.designs.placement_documents import (
    FinitePlacementDocument,
    PlacementClassDocument,
    PlacementRecord,
    SomePlacement,
)
from peerbayes.designs.request import agent_list, objective_named
from peerbayes.documents import CertificateDocument, Documented, GraphDocument, names_of, number
from peerbayes.messages import choose
from peerbayes.problem.problems import AnyProblem
from theory import FiniteModel, Network
from theory.design import Placement
from theory.validation import as_integer, as_probability

if TYPE_CHECKING:
    from rich.console import RenderableType

OBJECTIVES = ("rate", "exponent", "samples")
METHODS = ("auto", "milp", "exhaustive", "local")


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
        If the objective or the method is unknown, or a number is out of range.
    """

    objective: str = "rate"
    delta: float = 0.05
    method: str = "auto"
    fixed: tuple[int, ...] = ()
    target: str | None = None
    replicates: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", objective_named(self.objective, OBJECTIVES))
        choose("method", self.method, METHODS)
        as_probability("delta", self.delta)
        as_integer("replicates", self.replicates, minimum=0)
        as_integer("seed", self.seed, minimum=0)
        object.__setattr__(self, "fixed", agent_list("fixed", self.fixed))

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
class PlacementResult(Documented):
    """The best placement of a problem's data, and what the others would have been.

    Attributes
    ----------
    content
        What `place` prints, but for where the record is and what is to be said besides.
    before
        The network that the report draws; None for one that changes.
    """

    problem: AnyProblem
    request: PlacementRequest
    content: SomePlacement
    before: Network | None
    remarks: tuple[str, ...] = ()
    record_path: Path | None = None

    def _facts(self) -> Iterator[tuple[str, object]]:
        content = self.content
        yield "objective", content.objective
        yield "assignment", tuple(content.assignment)
        yield "moved", tuple(content.moved)
        if isinstance(content, FinitePlacementDocument):
            yield "target", content.target
            yield "value", content.value
            yield "as given", content.original
            if content.certificate is not None:
                yield "bound", content.certificate.bound
        else:
            yield "error, times n", content.excess_error_constant
            yield "as given", content.original.excess_error_constant
        yield "method", content.method

    @property
    def failed(self) -> bool:
        """A search always ends with something."""
        return False

    def document(self) -> SomePlacement:
        """What `place` prints."""
        return self.content.model_copy(
            update={
                "record": place_text(self.record_path),
                "notes": [*self.remarks, *self.content.notes],
            }
        )

    def tables(self) -> list[RenderableType]:
        """What `place` shows people."""
        from peerbayes.designs.tables import place_parts

        return place_parts(self.document())

    def remarked(self, *remarks: str, **changes: Any) -> PlacementResult:
        """The same with remarks before its own, and with other changes."""
        return replace(self, remarks=(*remarks, *self.remarks), **changes)

    def record(self) -> PlacementRecord:
        """What is left on disk."""
        specification = self.problem.specification
        return PlacementRecord(
            title=self.problem.title,
            specification=None if specification is None else specification.document(),
            seed=self.request.seed,
            delta=self.request.delta,
            result=self.document(),
            network=None if self.before is None else GraphDocument.of(self.before),
        )


def placement_document(
    problem: AnyProblem,
    request: PlacementRequest,
    found: Placement,
    model: FiniteModel,
    *,
    classes: list[PlacementClassDocument] | None = None,
    notes: Sequence[str] = (),
) -> FinitePlacementDocument:
    """A placement of data about finitely many hypotheses, as the command prints it."""
    certificate = found.certificate
    said = [*notes, found.note] if found.note else list(notes)
    if certificate is not None and certificate.note:
        said.append(f"certificate: {certificate.note}")
    return FinitePlacementDocument(
        names=names_of(problem.network.names),
        problem=problem.name,
        objective=named_objective(request.objective),
        target=model.hypotheses[found.target],
        assignment=found.assignment.tolist(),
        moved=list(found.moved),
        value=number(found.value),
        original=number(found.original),
        worst=None if found.worst is None else number(found.worst),
        certificate=None if certificate is None else CertificateDocument.of(certificate),
        binding=[model.hypotheses[m] for m in found.binding],
        method=found.method,
        evaluated=found.evaluated,
        placements=found.placements,
        classes=classes,
        notes=said,
    )
