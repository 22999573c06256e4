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
from peerbayes.settings.questions import Placement
from theory import FiniteModel, Network
from theory.design import Placement as Placed
from theory.network.labels import Named, agent_numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

OBJECTIVES = ("rate", "exponent", "samples")
METHODS = ("auto", "milp", "exhaustive", "local")


_IDENTITY = ("objective", "delta", "method", "fixed", "target", "replicates", "seed")


def checked_placement(how: Placement) -> Placement:
    """The settings of a placement once more, read and checked.

    Raises
    ------
    ValueError
        If the objective or the method is unknown, or an agent is neither a name nor a number.
    """
    choose("method", how.method, METHODS)
    objective = objective_named(how.objective, OBJECTIVES)
    fixed = () if how.fixed is None else agent_list("fixed", how.fixed)
    return replace(how, objective=objective, fixed=fixed)


def placement_on(how: Placement, network: Named) -> Placement:
    """The settings with the numbers of the network's agents in place of their names.

    Raises
    ------
    ValueError
        If there is no such agent.
    """
    return replace(how, fixed=agent_numbers("fixed", how.fixed or (), network))


def kept_agents(how: Placement) -> tuple[int, ...]:
    """Agents that keep their data, by number, of settings for a network that is known."""
    assert isinstance(how.fixed, tuple)
    return tuple(int(agent) for agent in how.fixed)


def identity_of(how: Placement) -> dict[str, Any]:
    """What a placement is known again by, on record."""
    return {name: getattr(how, name) for name in _IDENTITY}


def search_options(how: Placement) -> dict[str, Any]:
    """Options of :func:`theory.design.place`."""
    return {name: getattr(how, name) for name in ("objective", "delta", "method", "fixed", "seed")}


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
    request: Placement
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
    request: Placement,
    found: Placed,
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
