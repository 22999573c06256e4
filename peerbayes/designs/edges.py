"""The quantities of the objective ``next-edge``: what one edge more, or less, would do."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from peerbayes.designs.shared import NAMES, NOTES, PROBLEM, Agent, called, file_place
from peerbayes.documents import Interval
from peerbayes.quantities.numbers import NUMBER, ROUNDS
from peerbayes.quantities.quantity import Quantity, Table, part
from peerbayes.quantities.sizes import both_ends
from peerbayes.tables import interval, rounds
from theory.design import EdgeEffect

Edge = tuple[Agent, Agent]


def _of(key: str, type: Any, name: str, meaning: str | None = None, **more: Any) -> Quantity:
    """A quantity of an edge's effect, by its `name` in theory."""

    def get(pair: tuple[EdgeEffect, Any]) -> Any:
        return getattr(pair[0], name)

    return Quantity(key, type, meaning, get=get, **more)


def _hypothesis(key: str, type: Any, name: str) -> Quantity:
    """A hypothesis, by its name."""

    def get(pair: tuple[EdgeEffect, Any]) -> str | None:
        effect, names = pair
        index = getattr(effect, name)
        return None if index is None else str(names[index])

    return Quantity(key, type, get=get)


EFFECT = Table(
    "EffectDocument",
    "A network with one edge more or less.",
    (
        _of("edge", Edge | None, "edge", "null: the network as it is", older=None),
        _of("rate", NUMBER, "rate", column="K"),
        _of("error_exponent", NUMBER, "exponent", column="E"),
        _of("slem", NUMBER, "slem", column="modulus"),
        _of(
            "chernoff",
            ROUNDS,
            "samples",
            column="Chernoff",
            words=lambda value, _: rounds(value),
            kind="upper",
        ),
        Quantity(
            "certified",
            Interval | None,
            get=lambda pair: None if pair[0].certified is None else both_ends(pair[0].certified),
            column="certified",
            words=lambda value, _: interval(value),
            kind="certified",
        ),
        _hypothesis("settles_on", str, "reference"),
        _hypothesis("binding", str | None, "binding"),
    ),
)
_Effects = list.__class_getitem__(EFFECT.type)
# The best candidates of a large graph are listed.
_LISTED = 50


def _effects(result: Any, effects: Any) -> list[Any]:
    return [EFFECT((effect, result.problem.model.hypotheses)) for effect in effects[:_LISTED]]


NEXT_EDGE = Table(
    "NextEdgeDocument",
    "Which edge to add, and which are least missed; best first.",
    (
        NAMES,
        PROBLEM,
        Quantity("objective", Literal["next-edge"], get=lambda _: "next-edge"),
        Quantity("rule", str, get=lambda result: result.added.rule, short="rule"),
        Quantity(
            "delta", Annotated[float, Field(gt=0, lt=1)], get=lambda result: result.request.delta
        ),
        part("base", EFFECT, lambda r: (r.added.base, r.problem.model.hypotheses)),
        Quantity("added", _Effects, get=lambda result: _effects(result, result.added.ranked)),
        Quantity("removed", _Effects, get=lambda result: _effects(result, result.removed.ranked)),
        Quantity(
            "bridges",
            list[Edge],
            get=lambda result: [(int(a), int(b)) for a, b in result.removed.bridges],
        ),
        Quantity(
            "candidates",
            int,
            get=lambda result: len(result.added.ranked) + result.added.candidates_skipped,
        ),
        Quantity("candidates_skipped", int, get=lambda result: result.added.candidates_skipped),
        Quantity("stopped_by_time_budget", bool, get=lambda result: result.stopped, older=False),
        file_place("record"),
        NOTES,
    ),
)


def edge_words(document: Any, edge: tuple[int, int]) -> str:
    """An edge by the names of its ends."""
    return " - ".join(called(document, agent) for agent in edge)
