"""What is asked of a placement, and what it came to, whatever the kind of problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.designs.request import agent_list, objective_named
from peerbayes.designs.shared import (
    recorded,
)
from peerbayes.documents import GraphDocument
from peerbayes.messages import choose
from peerbayes.problem.problems import AnyProblem
from peerbayes.quantities.quantity import Table
from peerbayes.quantities.result import Result
from peerbayes.settings.questions import Placement
from theory import Network
from theory.design import Placement as Placed
from theory.network.labels import Named, agent_numbers
from theory.showing import Value

if TYPE_CHECKING:
    from theory.regression import RegressionLimits
from peerbayes.designs.placements import FINITE_PLACEMENT, REGRESSION_PLACEMENT, PlacementRecord

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


# The quantities ---------------------------------------------------------------------------------


# The result -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class DataOrder(Value):
    """The order of a regression's data with the least error.

    Attributes
    ----------
    assignment, moved
        For each agent whose data it gets; those that get the data of others.
    reached, original, worst
        The errors of this order, of the one given and of the worst; None: not all were looked at.
    method, evaluated, note
        How it was found, among how many, and what proves it.
    """

    assignment: tuple[int, ...]
    moved: tuple[int, ...]
    reached: RegressionLimits
    original: RegressionLimits
    worst: RegressionLimits | None
    method: str
    evaluated: int
    note: str


@dataclass(frozen=True, eq=False, kw_only=True)
class PlacementResult(Result):
    """The best placement of a problem's data, and what the others would have been.

    Attributes
    ----------
    found
        What the search found.
    before
        The network that the report draws; None for one that changes.
    classes
        Those of the placements that predict the same, best first, where there are few.
    remarks
        What is to be said of the placement, one sentence each.
    """

    problem: AnyProblem
    request: Placement
    found: Placed | DataOrder
    before: Network | None
    classes: Sequence[Value] = ()
    remarks: tuple[str, ...] = ()
    record_path: Path | None = None

    @property
    def table(self) -> Table:
        """The quantities, by the kind of the problem."""
        return FINITE_PLACEMENT if isinstance(self.found, Placed) else REGRESSION_PLACEMENT

    @property
    def notes(self) -> list[str]:
        """What is to be said of the placement, one sentence each."""
        certificate = getattr(self.found, "certificate", None)
        proof = f"certificate: {certificate.note}" if certificate and certificate.note else ""
        return [note for note in (*self.remarks, self.found.note, proof) if note]

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from super()._facts()
        if isinstance(self.found, DataOrder):
            yield "as given", self.found.original.excess_error_constant
        elif self.found.certificate is not None:
            yield "bound", self.found.certificate.bound

    @property
    def failed(self) -> bool:
        """A search always ends with something."""
        return False

    def remarked(self, *remarks: str, **changes: Any) -> PlacementResult:
        """The same with remarks before its own, and with other changes."""
        return replace(self, remarks=(*remarks, *self.remarks), **changes)

    def record(self) -> PlacementRecord:
        """What is left on disk."""
        return PlacementRecord(
            **recorded(self.problem, self.request, self.document()),
            network=None if self.before is None else GraphDocument.of(self.before),
        )
