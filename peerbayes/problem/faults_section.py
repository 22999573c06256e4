"""The ``[faults]`` table of a problem file: who is broken or lies, and how the others pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from peerbayes.messages import TAG, problem_error
from peerbayes.problem.entries import (
    Agent,
    Distribution,
    Number,
    PositiveNumber,
    Row,
    Section,
    known_table,
    only_with,
    tag_of,
)
from theory.validation import as_position, fail

if TYPE_CHECKING:
    from theory.robustness import Behaviour, Rule


class FaultSection(Section):
    """What every kind of fault has in common."""

    agents: Row[Agent] = Field(description="Who does it, by name or counted from 0.")


class ConstantFault(FaultSection):
    """Says the same in every round."""

    behaviour: Literal["constant-belief"]
    belief: Distribution = Field(description="What it says it believes, one number a hypothesis.")

    def build(self) -> Behaviour:
        """The behaviour described."""
        from theory.robustness import ConstantBelief

        with np.errstate(divide="ignore"):
            return ConstantBelief(np.log(np.array(self.belief, dtype=np.float64)))


class SilentFault(FaultSection):
    """Says nothing."""

    behaviour: Literal["silent"]

    def build(self) -> Behaviour:
        """The behaviour described."""
        from theory.robustness import Silent

        return Silent()


class StuckFault(FaultSection):
    """Observes the same in every round, and follows the algorithm otherwise."""

    behaviour: Literal["stuck-data"]
    outcome: Annotated[
        Annotated[int, Field(ge=0), Tag(TAG + "number")] | Annotated[str, Tag(TAG + "name")],
        Discriminator(lambda value: TAG + ("name" if isinstance(value, str) else "number")),
    ] = Field(
        description="Which outcome: its name if there are no inputs, or its number, counted over "
        "inputs, then labels."
    )

    def build(self, outcomes: Sequence[str] = ()) -> Behaviour:
        """The behaviour described; `outcomes` are the names of the agent's."""
        from theory.robustness import StuckData

        if isinstance(self.outcome, int):
            return StuckData(outcome=self.outcome)
        if outcomes:
            return StuckData(outcome=as_position("outcome", self.outcome, outcomes))
        wanted = "a number, where outcomes have no names, or inputs besides"
        raise fail("outcome", wanted, repr(self.outcome), "count over inputs, then labels")


class PushFault(FaultSection):
    """Speaks for one hypothesis."""

    behaviour: Literal["push"]
    hypothesis: str = Field(description="The hypothesis it speaks for.")
    strength: Number = Field(description="In nats; in nats a round if growing.")
    growing: bool = Field(default=True, description="Whether it grows surer each round.")

    def build(self) -> Behaviour:
        """The behaviour described."""
        from theory.robustness import Push

        return Push(self.hypothesis, float(self.strength), growing=self.growing)


class RandomFault(FaultSection):
    """Says something else each round."""

    behaviour: Literal["random-lies"]
    scale: PositiveNumber = Field(description="Standard deviation of what it says, in nats.")

    def build(self) -> Behaviour:
        """The behaviour described."""
        from theory.robustness import RandomLies

        return RandomLies(float(self.scale))


class SplitFault(FaultSection):
    """Tells every other listener another story."""

    behaviour: Literal["split"]
    first: str = Field(description="The hypothesis that it tells one half.")
    second: str = Field(description="The hypothesis that it tells the others.")
    strength: Number = Field(description="In nats; in nats a round if growing.")
    growing: bool = Field(default=True, description="Whether it grows surer each round.")

    def build(self) -> Behaviour:
        """The behaviour described."""
        from theory.robustness import Split

        return Split(self.first, self.second, float(self.strength), growing=self.growing)


class ColludingFault(FaultSection):
    """Hides among the honest, at the edge of what they say."""

    behaviour: Literal["colluding"]
    hypothesis: str = Field(description="The hypothesis it works for.")
    margin: Number = Field(default=0.0, description="How far beyond the honest, in nats.")

    def build(self) -> Behaviour:
        """The behaviour described."""
        from theory.robustness import Colluding

        return Colluding(self.hypothesis, float(self.margin))


FAULTS: dict[
    str,
    type[
        ConstantFault
        | SilentFault
        | StuckFault
        | PushFault
        | RandomFault
        | SplitFault
        | ColludingFault
    ],
] = {
    "constant-belief": ConstantFault,
    "silent": SilentFault,
    "stuck-data": StuckFault,
    "push": PushFault,
    "random-lies": RandomFault,
    "split": SplitFault,
    "colluding": ColludingFault,
}
"""The behaviours that a file may name, and their sections."""


def _known_behaviour(value: object) -> object:
    """Refuse a table without a behaviour, or of one that there is not."""
    return known_table(
        value,
        key="behaviour",
        known=FAULTS,
        place="[[faults.agents]]",
        remedy="say what it does",
    )


def _behaviour(value: object) -> str:
    """The tag of one behaviour."""
    return tag_of(value, key="behaviour")


OneFault = Annotated[
    Annotated[ConstantFault, Tag(TAG + "constant-belief")]
    | Annotated[SilentFault, Tag(TAG + "silent")]
    | Annotated[StuckFault, Tag(TAG + "stuck-data")]
    | Annotated[PushFault, Tag(TAG + "push")]
    | Annotated[RandomFault, Tag(TAG + "random-lies")]
    | Annotated[SplitFault, Tag(TAG + "split")]
    | Annotated[ColludingFault, Tag(TAG + "colluding")],
    Discriminator(_behaviour),
    BeforeValidator(_known_behaviour),
]


class FaultsSection(Section):
    """Faulty agents, and the rule by which all others pool."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                only_with("tolerate", {"rule": "trimmed-mean"}),
                only_with("radius", {"rule": "clip"}),
            ]
        }
    )

    rule: Literal["average", "trimmed-mean", "median", "clip"] = Field(
        default="average", description="How honest agents pool what they hear."
    )
    tolerate: int | None = Field(
        default=None, ge=0, description="Trimmed mean: how many faulty neighbours it allows for."
    )
    radius: PositiveNumber | None = Field(
        default=None, description="Clip: how far one neighbour may pull, in nats."
    )
    pool_every: int = Field(
        default=1, ge=1, description="Agents observe each round and talk in every so-many-th."
    )
    beyond_tolerance: bool = Field(
        default=False, description="Run even with more faulty agents than the rule tolerates."
    )
    agents: Annotated[tuple[OneFault, ...], Field(strict=False)] = Field(
        default=(), description="Who is faulty; left out: nobody, only the rule is other."
    )

    @model_validator(mode="after")
    def _consistent(self) -> FaultsSection:
        for key, rule in (("tolerate", "trimmed-mean"), ("radius", "clip")):
            given = getattr(self, key) is not None
            if given and self.rule != rule:
                wanted = f'{key} with rule = "{rule}" only'
                raise problem_error((key,), wanted, f'"{self.rule}"', "leave it out")
            if not given and self.rule == rule:
                raise problem_error(
                    (key,), f'the key {key!r} with rule = "{rule}"', "none", "add it"
                )
        seen: set[int] = set()
        for k, fault in enumerate(self.agents):
            for index, agent in enumerate(fault.agents):
                if agent in seen:
                    raise problem_error(
                        ("agents", k, "agents", index),
                        "each faulty agent once",
                        f"agent {agent} again",
                        "strike it from one of the entries",
                    )
                seen.add(agent)
        return self

    def build_rule(self) -> Rule:
        """How honest agents pool."""
        from theory.robustness import Average, Clip, Median, TrimmedMean

        if self.rule == "trimmed-mean":
            assert self.tolerate is not None
            return TrimmedMean(self.tolerate)
        if self.rule == "clip":
            assert self.radius is not None
            return Clip(float(self.radius))
        return Median() if self.rule == "median" else Average()
