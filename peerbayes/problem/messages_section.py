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
    number_text,
    only_with,
)
from theory.messages import QUANTISERS, Quantiser
from theory.messages.quantiser import HEADER


def _share(number: Rational) -> Rational:
    if number > 1:
        raise problem_error((), "a number in (0, 1]", number_text(number), "use 1 or less")
    return number


class MessagesSection(Section):
    """Quantised differences to replicas of the beliefs, or the beliefs themselves, rounded."""

    model_config = ConfigDict(
        json_schema_extra=only_with("threshold", {"quantiser": "deadband"}),
    )

    quantiser: Literal["uniform", "deadband", "plain"] = Field(
        default="uniform",
        description="Differences to a replica in every round, or those beyond a threshold alone; "
        "or no replica at all.",
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
    header: int = Field(default=HEADER, ge=0, description="Bytes of a message besides its numbers.")

    @model_validator(mode="after")
    def _consistent(self) -> MessagesSection:
        silent = self.quantiser == "deadband"
        if silent and self.threshold is None:
            wanted = "the key 'threshold' with quantiser = \"deadband\""
            raise problem_error(("threshold",), wanted, "none", "add it")
        if self.threshold is not None:
            if not silent:
                wanted = 'threshold with quantiser = "deadband" only'
                raise problem_error(("threshold",), wanted, f'"{self.quantiser}"', "leave it out")
            if self.threshold <= self.step / 2:
                wanted = f"more than half a step, {number_text(self.step / 2)}"
                got = number_text(self.threshold)
                raise problem_error(("threshold",), wanted, got, "raise it")
        return self

    def build(self) -> Quantiser:
        """What agents send."""
        more: dict[str, Any] = {} if self.threshold is None else {"threshold": self.threshold}
        return QUANTISERS[self.quantiser](
            step=self.step, mixing=self.mixing, levels=self.levels, header=self.header, **more
        )


def messages_table(quantiser: Quantiser) -> dict[str, Any]:
    """The table that describes a quantiser; fractions stay exact."""
    section = MessagesSection.model_validate({"quantiser": quantiser.name, **vars(quantiser)})
    table: dict[str, Any] = section.model_dump(mode="json", exclude_defaults=True)
    return table
