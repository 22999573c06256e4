"""A number is declared once: JSON, schema, tables, repr, frames and pages follow from that."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError

import peerbayes as pb
from peerbayes.figures.wording import Fact, number
from peerbayes.kinds.finite.analyse import ANALYSIS, PROVED_ANALYSIS
from peerbayes.quantities.numbers import (
    NAMED,
    NUMBER,
    Expression,
    RoundsBetween,
    exact_number,
    kept,
    restored,
    without_form,
    written,
)
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part
from peerbayes.quantities.showing import Result, page_facts, rounds_text, text
from peerbayes.tables import render
from tests.house.test_showing import FakePandas
from tests.peerbayes.commands import Patch
from theory import ErrorExponent, LearningRate
from theory.numbers import Enclosure, LogSum

SPEED = Table(
    "Speed",
    "How fast.",
    (
        Quantity("rate", NUMBER, label="rate", unit="km/h"),
        Quantity("legs", NAMED, column="hours"),
    ),
    rows=("Legs", "leg"),
)
TRIP = Table(
    "Trip",
    "A trip.",
    (
        Quantity("problem", str, get=lambda trip: "a trip"),
        part("speed", SPEED, lambda trip: trip),
        Quantity("notes", list[str], get=lambda trip: ["by train"], label=NOTE),
    ),
)


@dataclass(frozen=True, eq=False)
class Trip(Result):
    """A small result."""

    rate: float
    legs: dict[str, float]
    quantities = TRIP


@pytest.fixture
def pandas(monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", FakePandas("pandas"))


def rows_of(result: Result) -> dict[tuple[str, str], tuple[Any, str, str]]:
    """The rows of a result's frame: value, unit and kind by path and whose they are."""
    frame: Any = result.to_frame()
    columns = [list(frame[name]) for name in ("quantity", "of", "value", "unit", "kind")]
    return {(path, of): (value, *more) for path, of, value, *more in zip(*columns, strict=True)}


@pytest.mark.usefixtures("pandas")
def test_a_quantity_is_added_in_one_place() -> None:
    """The section "Adding a quantity" of CONTRIBUTING, performed."""
    distance = Quantity(
        "distance",
        Annotated[float, Field(ge=0)],
        "from end to end",
        get=lambda trip: trip.rate * sum(trip.legs.values()),
        label="distance",
        unit="km",
        short="distance",
        fact=lambda value, _: Fact("Distance", number(value), "km"),
    )
    farther = replace(TRIP, quantities=(*TRIP.quantities, distance))

    class FarTrip(Trip):
        quantities = farther

    before, trip = Trip(80.0, {"there": 1.5}), FarTrip(80.0, {"there": 1.5})
    assert trip.as_json() == {**before.as_json(), "distance": 120.0}
    schema = farther.model.model_json_schema()
    assert schema["properties"]["distance"]["description"] == "from end to end"
    assert schema["properties"]["distance"]["minimum"] == 0
    assert "distance" in schema["required"]
    assert render(trip.tables()).splitlines()[:3] == [
        "a trip",
        "rate      80 km/h",
        "distance  120 km",
    ]
    assert repr(trip) == "FarTrip(distance=120)"
    assert "<th>distance</th><td>120</td>" in trip._repr_html_()
    rows = rows_of(trip)
    assert rows["distance", ""] == (120.0, "km", "computed")
    assert rows["speed.legs", "there"][0] == 1.5
    assert page_facts(farther, trip.document()) == {"distance": Fact("Distance", "120", "km")}
    assert dict(farther.paths())["distance"] is distance
    # What is read is checked by the same declaration.
    with pytest.raises(ValidationError, match="distance"):
        farther.read({**trip.as_json(), "distance": -1})
    with pytest.raises(ValidationError, match="distance"):
        farther.read(before.as_json())


def test_tables_show_facts_columns_and_notes() -> None:
    lines = render(Trip(80.0, {"there": 1.5, "back": 1.0}).tables()).splitlines()
    assert lines[0] == "a trip"
    assert "rate  80 km/h" in lines
    rows = [line.split() for line in lines]
    # Of numbers in doubles the smallest first.
    assert rows.index(["back", "1"]) < rows.index(["there", "1.5"])
    assert lines[-1] == "note: by train"


@pytest.mark.parametrize(
    ("value", "json", "words"),
    [
        (0.125, 0.125, "0.125"),
        (math.inf, None, "inf"),
        (None, None, "-"),
        (Fraction(6, 7), "6/7", "6/7"),
        (Enclosure(0.25, 0.75), {"lower": 0.25, "upper": 0.75}, "0.5 ± 3e-01"),
        (Enclosure(-math.inf, math.inf), {"lower": None, "upper": None}, "infinite"),
        (RoundsBetween(45, None), {"lower": 45, "upper": None}, "45 to -"),
        (
            Expression("log(2)", 0.69, 0.7),
            {"expression": "log(2)", "lower": 0.69, "upper": 0.7},
            "log(2) = 0.69 ± 1e-02",
        ),
    ],
    ids=["float", "inf", "none", "fraction", "enclosure", "whole line", "rounds", "expression"],
)
def test_numbers_of_every_arithmetic(value: Any, json: Any, words: str) -> None:
    assert written(value) == json
    assert text(value) == words
    if not isinstance(value, float):
        assert restored(kept({"x": [value, 3]})) == {"x": (value, 3)}


def test_exact_numbers_are_fractions_where_they_can_be() -> None:
    assert exact_number(LogSum.constant(Fraction(1, 3))) == Fraction(1, 3)
    half = exact_number(LogSum.log(2, Fraction(1, 2)))
    assert isinstance(half, Expression)
    assert half.text == "1/2*log(2)"
    assert half.lower <= math.log(2) / 2 <= half.upper
    assert without_form(Enclosure(0.0, 0.0)) == Fraction(0)
    assert without_form(Enclosure(0.0, 1.0)) == Expression(None, 0.0, 1.0)


def test_an_interval_of_rounds_is_said() -> None:
    assert rounds_text(RoundsBetween(45, 4567)) == "45 to 4 567"
    found = pb.analyse("two-coins")
    lower, upper = found.samples.certified.lower, found.samples.certified.upper
    lines = dict(line.strip().split("  ", 1) for line in repr(found).split("\n")[1:])
    assert lines["samples, certified"].strip() == f"{lower} to {upper}"


@pytest.mark.usefixtures("pandas")
@pytest.mark.parametrize("arithmetic", ["double", "exact", "certified"])
def test_one_result_in_three_arithmetics(arithmetic: str) -> None:
    def analyse() -> Any:
        return pb.analyse(
            "two-coins", exact=arithmetic == "exact", certify=arithmetic == "certified"
        )

    found = analyse()
    assert found.arithmetic == arithmetic
    assert found.table is (ANALYSIS if arithmetic == "double" else PROVED_ANALYSIS)
    assert found.learning.binding_hypothesis == "loaded"
    # Results compare, copy and pickle.
    again = analyse()
    assert found == again
    assert hash(found) == hash(again)
    for twin in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert twin == found
        assert twin.as_json() == found.as_json()
    assert found != pb.analyse("two-coins", delta=0.01)
    if arithmetic == "exact":
        assert found.mixing.stationary_distribution == (Fraction(6, 7), Fraction(1, 7))
        assert found.learning.rate.text == "1/2*log(2) - 1/4*log(3)"
    if arithmetic != "double":
        with pytest.raises(AttributeError, match="an analysis in doubles has this"):
            _ = found.rate
    rows = rows_of(found)
    declared = {path for path, _ in found.table.paths()}
    assert {path for path, _ in rows} - declared <= {
        f"network.{name}_method" for name in ("slem", "second_eigenvalue", "deviation")
    }
    assert [of for path, of in rows if path == "network.deviation"] == ["0", "1"]
    value, unit, kind = rows["learning.rates", "loaded"]
    assert value == found.learning.rates["loaded"]
    assert (unit, kind) == ("nats a round", "computed" if arithmetic == "double" else "proved")


@pytest.mark.usefixtures("pandas")
def test_a_frame_of_a_design_has_the_networks_compared_by_name() -> None:
    found = pb.design("two-coins", objective="trade-off", replicates=0)
    rows, document = rows_of(found), found.document()
    assert all(isinstance(value, int | float | Fraction) for value, *_ in rows.values())
    given = document.baselines["as given"]
    assert rows["baselines.rate", "as given"] == (given.rate, "nats a round", "computed")
    assert rows["baselines.samples.certified", "as given 1"][0] == given.samples.certified[1]
    assert rows["trade_off.slem_bound", "0"][2] == "lower"
    assert rows["weights", "0 1"][0] == document.weights[0][1]


@pytest.mark.parametrize("rounds", [None, 60])
def test_rate_and_exponent_are_computed_once(rounds: int | None, monkeypatch: Patch) -> None:
    made: Counter[str] = Counter()

    def counted(kind: type) -> Callable[..., None]:
        start: Callable[..., None] = kind.__init__  # type: ignore[misc]

        def count(self: Any, *args: Any, **named: Any) -> None:
            made[kind.__name__] += 1
            start(self, *args, **named)

        return count

    problem = pb.load("two-coins")
    for kind in (LearningRate, ErrorExponent):
        monkeypatch.setattr(kind, "__init__", counted(kind))
    pb.analyse(problem, rounds=rounds).as_json()
    assert made == {"LearningRate": 1, "ErrorExponent": 1}
