"""Placements of data: what is asked, what came of it, and its numbers, for problems of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from peerbayes.designs.request import agent_list, objective_named
from peerbayes.designs.shared import (
    CERTIFICATE,
    CONSTANT,
    NAMES,
    NOTES,
    PROBLEM,
    ROUNDS,
    Agents,
    E,
    K,
    Outcome,
    ProblemRecord,
    called,
    certificate_words,
    rounds_words,
    shortened,
)
from peerbayes.documents import GraphDocument
from peerbayes.figures.wording import Fact
from peerbayes.figures.wording import number as page_number
from peerbayes.messages import choose
from peerbayes.quantities.numbers import NUMBER
from peerbayes.quantities.quantity import Quantity, Table, entries, entry, quantity, table_of
from peerbayes.quantities.sizes import Sizes
from peerbayes.settings.questions import Placement
from peerbayes.tables import number
from theory import Network
from theory.design import Placement as Placed
from theory.network.labels import Named, agent_numbers
from theory.showing import Value
from theory.validation import IntArray

if TYPE_CHECKING:
    from theory.regression import RegressionLimits

OBJECTIVES = ("rate", "exponent", "samples")
METHODS = ("auto", "milp", "exhaustive", "local")

# What is asked ----------------------------------------------------------------------------------


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


def search_options(how: Placement) -> dict[str, Any]:
    """Options of :func:`theory.design.place`."""
    return {name: getattr(how, name) for name in ("objective", "delta", "method", "fixed", "seed")}


# Alike placements -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SimulatedRate(Value):
    """The rate of rejecting the binding hypothesis over some rounds: exact mean and measured."""

    rounds: int = quantity(int, kind="given")
    predicted: float = quantity(float)
    mean: float = quantity(float, kind="measured")
    standard_error: float = quantity(float, kind="measured")


def _data_sets(value: Sequence[int], _: Any) -> str:
    return " ".join(map(str, value[:16])) + (" ..." if len(value) > 16 else "")


@dataclass(frozen=True, eq=False)
class PlacementClass(Value):
    """Placements that predict the same: one of them, their number, predicted and measured."""

    assignment: IntArray = quantity(Agents, column="data sets by agent", words=_data_sets)
    count: int = quantity(Annotated[int, Field(ge=1)], column="of")
    rate: float = quantity(NUMBER, **K)
    error_exponent: float = quantity(NUMBER, **E)
    samples: Sizes | None = quantity(ROUNDS, start=None, column="rounds", words=rounds_words)
    simulated_rate: SimulatedRate | None = quantity(
        table_of(SimulatedRate, "SimulatedRateDocument", str(SimulatedRate.__doc__)),
        start=None,
        may_lack=True,
        column="mean rate (exact)",
        words=lambda run, _: run and f"{run.mean:.4g} ({run.predicted:.4g})",
    )


PLACEMENT_CLASS = table_of(
    PlacementClass,
    "PlacementClassDocument",
    str(PlacementClass.__doc__),
    title="Placements that are alike",
)

# The quantities ---------------------------------------------------------------------------------


def _moves(moved: Sequence[int], document: Any) -> str:
    holders = [(called(document, j), called(document, document.assignment[j])) for j in moved]
    order = [f"{one} gets what {other} had" for one, other in holders]
    return shortened(order, "; ") or "none"


def _placement(*first: Quantity, last: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    """The quantities of every placement, and those of one kind of problem."""
    return (
        NAMES,
        PROBLEM,
        *entries(
            objective=entry(
                Literal["rate", "exponent", "samples"],
                get="request.objective",
                label="objective",
                short="objective",
            )
        ),
        *first,
        *entries(
            assignment=entry(
                Agents,
                "for each agent the number of the agent whose data it gets",
                "found.assignment",
                short="assignment",
            ),
            moved=entry(
                Agents,
                "agents that get the data of others",
                "found.moved",
                label="data that move",
                words=_moves,
                short="moved",
            ),
        ),
        *last,
        *entries(
            method=entry(
                str,
                get="found.method",
                label="found by",
                words=lambda value, d: f"{value}, {d.evaluated} placements looked at",
                short="method",
            ),
            evaluated=entry(Annotated[int, Field(ge=0)], "placements looked at", "found.evaluated"),
            record=entry(str | None, get="record_path", older=None),
        ),
        NOTES,
    )


FINITE_PLACEMENT = Table(
    "FinitePlacementDocument",
    "A placement of data about finitely many hypotheses.",
    _placement(
        *entries(
            target=entry(
                str,
                get=lambda result: result.found.model.hypotheses[result.found.target],
                label="to settle on",
                short="target",
            )
        ),
        last=entries(
            value=entry(
                NUMBER,
                "of the objective",
                "found.value",
                label="value",
                short="value",
                fact=lambda value, d: Fact("Value", page_number(value), d.objective),
            ),
            original=entry(
                NUMBER,
                "of the data as they are placed now",
                "found.original",
                label="as given",
                short="as given",
                fact="As given",
            ),
            worst=entry(NUMBER, get="found.worst", label="worst", fact="Worst"),
            certificate=entry(
                CERTIFICATE,
                get="found.certificate",
                may_lack=True,
                label="certificate",
                words=certificate_words,
            ),
            binding=entry(
                list[str],
                get=lambda r: [r.found.model.hypotheses[m] for m in r.found.binding],
            ),
            placements=entry(int, get="found.placements"),
            classes=entry(
                PLACEMENT_CLASS,
                get=lambda result: result.classes or None,
                many=True,
                may_lack=True,
                older=None,
            ),
        ),
    ),
).changed(method={"fact": "Found by"})

ERROR_OF_ORDER = Table(
    "ErrorOfOrder",
    "The excess error of a regression with the data in one order.",
    entries(
        limit=entry(NUMBER),
        excess_error_constant=entry(NUMBER, "c of the excess error c/n"),
    ),
)


def _error(get: str, label: str, **more: Any) -> Quantity:
    """The errors of one order of the data."""

    def words(value: Any, _: Any) -> str | None:
        return None if value is None else number(value.excess_error_constant)

    return entry(ERROR_OF_ORDER, get=get, label=label, words=words, **more)


REGRESSION_PLACEMENT = Table(
    "RegressionPlacementDocument",
    "A placement of the data of a regression.",
    _placement(
        last=entries(
            limit=entry(NUMBER, get="found.reached.limit"),
            excess_error_constant=entry(
                NUMBER,
                "c of the excess error c/n",
                "found.reached.excess_error_constant",
                **CONSTANT,
            ),
            original=_error(
                "found.original",
                "as given",
                fact=lambda value, _: Fact(
                    "As given", f"{page_number(value.excess_error_constant)}/n"
                ),
            ),
            worst=_error("found.worst", "worst", may_lack=True),
        ),
    ),
)

# Records ----------------------------------------------------------------------------------------

PLACEMENTS = {"excess_error_constant": REGRESSION_PLACEMENT, "": FINITE_PLACEMENT}


class PlacementRecord(ProblemRecord):
    """What `place` leaves on disk."""

    forms = PLACEMENTS

    network: GraphDocument | None = None


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
class PlacementResult(Outcome):
    """The best placement of a problem's data, and what the others would have been.

    Attributes
    ----------
    found
        What the search found.
    before
        The network that the report draws; None for one that changes.
    classes
        Those of the placements that predict the same, best first, where there are few.
    """

    request: Placement
    found: Placed | DataOrder
    before: Network | None
    classes: Sequence[PlacementClass] = ()

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

    def record(self) -> PlacementRecord:
        """What is left on disk."""
        return PlacementRecord(
            **self.recorded(),
            network=None if self.before is None else GraphDocument.of(self.before),
        )
