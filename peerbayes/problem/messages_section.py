"""The ``[messages]`` table of a problem file: what agents send instead of their beliefs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from peerbayes.messages import problem_error
from peerbayes.problem.entries import (
    Number,
    PositiveNumber,
    Rational,
    Section,
    allowed_with,
    given,
    number_text,
    only_with,
)
from theory.messages.quantiser import HEADER, Choice

if TYPE_CHECKING:
    from theory.messages import Quantiser


def _share(number: Rational) -> Rational:
    if number > 1:
        raise problem_error((), "a number in (0, 1]", number_text(number), "use 1 or less")
    return number


def _probability(number: Rational) -> Rational:
    if not 0 <= number < 1:
        raise problem_error((), "a number in [0, 1)", number_text(number), "use less than 1")
    return number


Probability = Annotated[Number, AfterValidator(_probability)]
_LOSING = ("acknowledged", "unacknowledged")


class MessagesSection(Section):
    """Quantised differences to replicas of the beliefs, or the beliefs themselves, rounded."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                only_with("threshold", {"quantiser": "deadband"}),
                allowed_with("choice", {"quantiser": "single"}),
                only_with("draws", {"quantiser": "samples"}),
                allowed_with("smoothing", {"quantiser": "samples"}),
                {"anyOf": [given("step"), given("draws")]},
                {"not": {"allOf": [given("step"), given("draws")]}},
                {"not": {"allOf": [given("levels"), given("draws")]}},
                allowed_with("burst", {"quantiser": "acknowledged"}),
                {
                    "if": {
                        "required": ["quantiser"],
                        "properties": {"quantiser": {"enum": list(_LOSING)}},
                    },
                    "then": given("loss"),
                    "else": {"not": given("loss")},
                },
            ]
        },
    )

    quantiser: Literal[
        "uniform", "deadband", "single", "acknowledged", "unacknowledged", "samples", "plain"
    ] = Field(
        default="uniform",
        description="Differences to a replica: all in every round, all once one is beyond a "
        "threshold, one in every round, or, where links lose messages, to what a listener is known "
        "to have or not; or no replica at all: samples of beliefs, or what is rounded itself.",
    )
    step: PositiveNumber | None = Field(
        default=None, description="Width of a cell, in nats; needed by all but samples."
    )
    draws: int | None = Field(
        default=None, ge=1, description="Samples: how many hypotheses an agent draws."
    )
    smoothing: PositiveNumber | None = Field(
        default=None, description="Samples: what is added to each count; 1/2 if left out."
    )
    mixing: Annotated[PositiveNumber, AfterValidator(_share)] = Field(
        default=Fraction(1), description="Share of the way to what is heard, in (0, 1]."
    )
    levels: int | None = Field(
        default=None, ge=2, description="Number of cells; left out: as many as never overload."
    )
    threshold: PositiveNumber | None = Field(
        default=None, description="Deadband: nothing is sent while no number is off by more."
    )
    choice: Choice | None = Field(
        default=None,
        description="Single: which log-ratio is sent; in turn if left out.",
    )
    loss: Probability | None = Field(
        default=None, description="(Un)acknowledged: how likely a link loses a message, below 1."
    )
    burst: int | None = Field(
        default=None,
        ge=0,
        description="Acknowledged: so many messages in a row are lost at most; left out: no bound.",
    )
    header: int = Field(default=HEADER, ge=0, description="Bytes of a message besides its numbers.")

    @model_validator(mode="after")
    def _consistent(self) -> MessagesSection:
        from theory.messages import QUANTISERS

        self._needs("draws", "samples")
        self._only_with("smoothing", "samples")
        self._needs("step", *(name for name in QUANTISERS if name != "samples"))
        if self.quantiser == "samples" and self.levels is not None:
            raise problem_error(("levels",), "none with samples", self.levels, "leave it out")
        self._needs("threshold", "deadband")
        self._needs("loss", *_LOSING)
        self._only_with("choice", "single")
        self._only_with("burst", "acknowledged")
        if self.threshold is None or self.step is None:
            return self
        if self.threshold <= self.step / 2:
            wanted = f"more than half a step, {number_text(self.step / 2)}"
            got = number_text(self.threshold)
            raise problem_error(("threshold",), wanted, got, "raise it")
        return self

    def _needs(self, key: str, *quantisers: str) -> None:
        if self.quantiser in quantisers and getattr(self, key) is None:
            wanted = f'the key {key!r} with quantiser = "{self.quantiser}"'
            raise problem_error((key,), wanted, "none", "add it")
        self._only_with(key, *quantisers)

    def _only_with(self, key: str, *quantisers: str) -> None:
        if getattr(self, key) is not None and self.quantiser not in quantisers:
            names = " or ".join(f'"{name}"' for name in quantisers)
            wanted = f"{key} with quantiser = {names} only"
            raise problem_error((key,), wanted, f'"{self.quantiser}"', "leave it out")

    def build(self) -> Quantiser:
        """What agents send."""
        from theory.messages import QUANTISERS

        keys = ("step", "levels", "threshold", "choice", "loss", "burst", "draws", "smoothing")
        given = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
        return QUANTISERS[self.quantiser](mixing=self.mixing, header=self.header, **given)


def messages_table(quantiser: Quantiser) -> dict[str, Any]:
    """The table that describes a quantiser; fractions stay exact."""
    section = MessagesSection.model_validate({"quantiser": quantiser.name, **vars(quantiser)})
    table: dict[str, Any] = section.model_dump(mode="json", exclude_defaults=True)
    return table
