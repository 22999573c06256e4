"""The ``[messages]`` table of a problem file: what agents send instead of their beliefs."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from peerbayes.messages import problem_error
from peerbayes.problem.entries import (
    PositiveNumber,
    Rational,
    Section,
    allowed_with,
    number_text,
    only_with,
)
from theory.messages import QUANTISERS, Quantiser
from theory.messages.quantiser import HEADER, Choice


def _share(number: Rational) -> Rational:
    if number > 1:
        raise problem_error((), "a number in (0, 1]", number_text(number), "use 1 or less")
    return number


class MessagesSection(Section):
    """Quantised differences to replicas of the beliefs, or the beliefs themselves, rounded."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                only_with("threshold", {"quantiser": "deadband"}),
                allowed_with("choice", {"quantiser": "single"}),
            ]
        },
    )

    quantiser: Literal["uniform", "deadband", "single", "plain"] = Field(
        default="uniform",
        description="Differences to a replica: all in every round, all once one is beyond a "
        "threshold, or one in every round; or no replica at all.",
    )
    step: PositiveNumber = Field(description="Width of a cell, in nats.")
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
    header: int = Field(default=HEADER, ge=0, description="Bytes of a message besides its numbers.")

    @model_validator(mode="after")
    def _consistent(self) -> MessagesSection:
        if self.quantiser == "deadband" and self.threshold is None:
            wanted = "the key 'threshold' with quantiser = \"deadband\""
            raise problem_error(("threshold",), wanted, "none", "add it")
        self._only_with("threshold", "deadband")
        self._only_with("choice", "single")
        if self.threshold is not None and self.threshold <= self.step / 2:
            wanted = f"more than half a step, {number_text(self.step / 2)}"
            got = number_text(self.threshold)
            raise problem_error(("threshold",), wanted, got, "raise it")
        return self

    def _only_with(self, key: str, quantiser: str) -> None:
        if getattr(self, key) is not None and self.quantiser != quantiser:
            wanted = f'{key} with quantiser = "{quantiser}" only'
            raise problem_error((key,), wanted, f'"{self.quantiser}"', "leave it out")

    def build(self) -> Quantiser:
        """What agents send."""
        given = {"threshold": self.threshold, "choice": self.choice}
        more: dict[str, Any] = {key: one for key, one in given.items() if one is not None}
        return QUANTISERS[self.quantiser](
            step=self.step, mixing=self.mixing, levels=self.levels, header=self.header, **more
        )


def messages_table(quantiser: Quantiser) -> dict[str, Any]:
    """The table that describes a quantiser; fractions stay exact."""
    section = MessagesSection.model_validate({"quantiser": quantiser.name, **vars(quantiser)})
    table: dict[str, Any] = section.model_dump(mode="json", exclude_defaults=True)
    return table
