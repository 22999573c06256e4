"""The ``[messages]`` table of a problem file: what agents send instead of their beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from peerbayes.messages import TAG, problem_error
from peerbayes.problem.entries import (
    Agent,
    Distribution,
    Number,
    PositiveNumber,
    Rational,
    Row,
    Section,
    allowed_with,
    given,
    known_table,
    number_text,
    only_with,
    tag_of,
)
from theory.messages.quantiser import HEADER, Choice
from theory.validation import as_position, fail

if TYPE_CHECKING:
    from theory.messages import Quantiser
    from theory.robustness import Behaviour, Rule


# The ``[messages]`` table of a problem file ------------------------------------------------------


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


# The ``[faults]`` table of a problem file --------------------------------------------------------


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
