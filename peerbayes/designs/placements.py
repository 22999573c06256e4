"""The numbers of placements, each declared once, and the record that one leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from peerbayes.designs.shared import (
    NAMES,
    NOTES,
    PROBLEM,
    ROUNDS,
    Agents,
    ProblemRecord,
    called,
    certificate,
    certificate_words,
    file_place,
    form_of,
    rounds_words,
    shortened,
)
from peerbayes.documents import GraphDocument
from peerbayes.quantities import sizes
from peerbayes.quantities.numbers import NUMBER
from peerbayes.quantities.quantity import Quantity, Table, part
from peerbayes.tables import number

if TYPE_CHECKING:
    pass

_Count = Annotated[int, Field(ge=1)]


def _moves(moved: Sequence[int], document: Any) -> str:
    holders = [(called(document, j), called(document, document.assignment[j])) for j in moved]
    order = [f"{one} gets what {other} had" for one, other in holders]
    return shortened(order, "; ") or "none"


def _found(key: str, type: Any, meaning: str | None = None, **more: Any) -> Quantity:
    """A quantity of what the search found, by its own name there."""
    return Quantity(key, type, meaning, get=attrgetter(f"found.{key}"), **more)


def _placement(*first: Quantity, last: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    """The quantities of every placement, and those of one kind of problem."""
    return (
        NAMES,
        PROBLEM,
        Quantity(
            "objective",
            Literal["rate", "exponent", "samples"],
            get=lambda result: result.request.objective,
            label="objective",
            short="objective",
        ),
        *first,
        _found(
            "assignment",
            Agents,
            "for each agent the number of the agent whose data it gets",
            short="assignment",
        ),
        _found(
            "moved",
            Agents,
            "agents that get the data of others",
            label="data that move",
            words=_moves,
            short="moved",
        ),
        *last,
        _found(
            "method",
            str,
            label="found by",
            words=lambda value, d: f"{value}, {d.evaluated} placements looked at",
            short="method",
        ),
        _found("evaluated", Annotated[int, Field(ge=0)], "placements looked at"),
        file_place("record"),
        NOTES,
    )


SIMULATED_RATE = Table(
    "SimulatedRateDocument",
    "The rate of rejecting the binding hypothesis over some rounds: exact mean and measured.",
    (
        Quantity("rounds", int),
        Quantity("predicted", float),
        Quantity("mean", float, kind="measured"),
        Quantity("standard_error", float, kind="measured"),
    ),
)


def _data_sets(value: Sequence[int], _: Any) -> str:
    return " ".join(map(str, value[:16])) + (" ..." if len(value) > 16 else "")


def _measured(run: Any, _: Any) -> str:
    return "-" if run is None else f"{run.mean:.4g} ({run.predicted:.4g})"


PLACEMENT_CLASS = Table(
    "PlacementClassDocument",
    "Placements that predict the same: one of them, their number, predicted and measured.",
    (
        Quantity("assignment", Agents, column="data sets by agent", words=_data_sets),
        Quantity("count", _Count, column="of"),
        Quantity("rate", NUMBER, column="K"),
        Quantity("error_exponent", NUMBER, get=lambda c: c.exponent, column="E"),
        part(
            "samples",
            ROUNDS,
            lambda c: sizes.in_doubles(c.samples),
            column="rounds",
            words=rounds_words,
        ),
        part(
            "simulated_rate",
            SIMULATED_RATE,
            lambda c: c.simulated,
            may_lack=True,
            column="mean rate (exact)",
            words=_measured,
        ),
    ),
    title="Placements that are alike",
)


FINITE_PLACEMENT = Table(
    "FinitePlacementDocument",
    "A placement of data about finitely many hypotheses.",
    _placement(
        Quantity(
            "target",
            str,
            get=lambda result: result.found.model.hypotheses[result.found.target],
            label="to settle on",
            short="target",
        ),
        last=(
            _found("value", NUMBER, "of the objective", label="value", short="value"),
            _found(
                "original",
                NUMBER,
                "of the data as they are placed now",
                label="as given",
                short="as given",
            ),
            _found("worst", NUMBER, label="worst"),
            certificate(
                "found.certificate",
                label="certificate",
                words=lambda value, _: certificate_words(value),
            ),
            Quantity(
                "binding",
                list[str],
                get=lambda r: [r.found.model.hypotheses[m] for m in r.found.binding],
            ),
            _found("placements", int),
            Quantity(
                "classes",
                list.__class_getitem__(PLACEMENT_CLASS.type) | None,
                get=lambda result: [PLACEMENT_CLASS(one) for one in result.classes] or None,
                older=None,
                table=PLACEMENT_CLASS,
            ),
        ),
    ),
)


def _error_times_n(value: Any, _: Any) -> str | None:
    return None if value is None else number(value.excess_error_constant)


ERROR_OF_ORDER = Table(
    "ErrorOfOrder",
    "The excess error of a regression with the data in one order.",
    (
        Quantity("limit", NUMBER),
        Quantity("excess_error_constant", NUMBER, "c of the excess error c/n"),
    ),
)


_REACHED = ERROR_OF_ORDER.changed(
    excess_error_constant={"label": "error c/n with c", "short": "error, times n"}
)


REGRESSION_PLACEMENT = Table(
    "RegressionPlacementDocument",
    "A placement of the data of a regression.",
    _placement(
        last=(
            *(replace(q, get=attrgetter(f"found.reached.{q.key}")) for q in _REACHED.quantities),
            part(
                "original",
                ERROR_OF_ORDER,
                lambda result: result.found.original,
                label="as given",
                words=_error_times_n,
            ),
            part(
                "worst",
                ERROR_OF_ORDER,
                lambda result: result.found.worst,
                may_lack=True,
                label="worst",
                words=_error_times_n,
            ),
        ),
    ),
)


if TYPE_CHECKING:
    SomePlacement: TypeAlias = Any
else:
    SomePlacement = Annotated[
        Annotated[FINITE_PLACEMENT.type, Tag("finite")]
        | Annotated[REGRESSION_PLACEMENT.type, Tag("regression")],
        Discriminator(lambda value: form_of(value, {"excess_error_constant": "regression"})),
    ]


class PlacementRecord(ProblemRecord):
    """What `place` leaves on disk."""

    result: SomePlacement
    network: GraphDocument | None = None
