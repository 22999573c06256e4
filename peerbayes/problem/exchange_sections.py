"""The tables ``[messages]`` and ``[faults]`` of a problem file: what agents tell each other.

``[messages]`` says what they send instead of their beliefs, ``[faults]`` who is broken or lies, and
how the others pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from peerbayes.messages import TAG, problem_error
from peerbayes.problem.entries import (
    Agent,
    Distribution,
    Number,
    OneOf,
    PositiveNumber,
    Rational,
    Row,
    Section,
    Several,
    allowed_with,
    by_word,
    given,
    key,
    number_text,
    only_with,
)
from theory.messages.quantiser import HEADER, Choice
from theory.validation import as_position, fail

if TYPE_CHECKING:
    from theory.messages import Quantiser
    from theory.robustness import Behaviour, Rule


def _check_key(section: Section, key: str, of: str, *words: str, needed: bool = True) -> None:
    """Refuse a key that does not go with the word under `of`, or that is `needed` with it."""
    word, value = getattr(section, of), getattr(section, key)
    if needed and value is None and word in words:
        raise problem_error((key,), f'the key {key!r} with {of} = "{word}"', "none", "add it")
    if value is not None and word not in words:
        names = " or ".join(f'"{one}"' for one in words)
        raise problem_error((key,), f"{key} with {of} = {names} only", f'"{word}"', "leave it out")


# Messages ---------------------------------------------------------------------------------------


def _share(number: Rational) -> Rational:
    if number > 1:
        raise problem_error((), "a number in (0, 1]", number_text(number), "use 1 or less")
    return number


def _probability(number: Rational) -> Rational:
    if not 0 <= number < 1:
        raise problem_error((), "a number in [0, 1)", number_text(number), "use less than 1")
    return number


_LOSING = ("acknowledged", "unacknowledged")
_NOT_BOTH: list[dict[str, Any]] = [
    {"not": {"allOf": [given(key), given("draws")]}} for key in ("step", "levels")
]


class MessagesSection(Section):
    """Quantised differences to replicas of the beliefs, or the beliefs themselves, rounded."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                only_with("threshold", "quantiser", "deadband"),
                allowed_with("choice", "quantiser", "single"),
                only_with("draws", "quantiser", "samples"),
                allowed_with("smoothing", "quantiser", "samples"),
                {"anyOf": [given("step"), given("draws")]},
                *_NOT_BOTH,
                allowed_with("burst", "quantiser", "acknowledged"),
                only_with("loss", "quantiser", *_LOSING),
            ]
        },
    )

    quantiser: Literal[
        "uniform", "deadband", "single", "acknowledged", "unacknowledged", "samples", "plain"
    ] = key(
        "Differences to a replica: all in every round, all once one is beyond a threshold, one in "
        "every round, or, where links lose messages, to what a listener is known to have or not; "
        "or no replica at all: samples of beliefs, or what is rounded itself.",
        "uniform",
    )
    step: PositiveNumber | None = key("Width of a cell, in nats; needed by all but samples.", None)
    draws: int | None = key("Samples: how many hypotheses an agent draws.", None, ge=1)
    smoothing: PositiveNumber | None = key(
        "Samples: what is added to each count; 1/2 if left out.", None
    )
    mixing: Annotated[PositiveNumber, AfterValidator(_share)] = key(
        "Share of the way to what is heard, in (0, 1].", Fraction(1)
    )
    levels: int | None = key("Number of cells; left out: as many as never overload.", None, ge=2)
    threshold: PositiveNumber | None = key(
        "Deadband: nothing is sent while no number is off by more.", None
    )
    choice: Choice | None = key("Single: which log-ratio is sent; in turn if left out.", None)
    loss: Annotated[Number, AfterValidator(_probability)] | None = key(
        "(Un)acknowledged: how likely a link loses a message, below 1.", None
    )
    burst: int | None = key(
        "Acknowledged: so many messages in a row are lost at most; left out: no bound.", None, ge=0
    )
    header: int = key("Bytes of a message besides its numbers.", HEADER, ge=0)

    @model_validator(mode="after")
    def _consistent(self) -> MessagesSection:
        from theory.messages import QUANTISERS

        stepping = [name for name in QUANTISERS if name != "samples"]
        _check_key(self, "draws", "quantiser", "samples")
        _check_key(self, "smoothing", "quantiser", "samples", needed=False)
        _check_key(self, "step", "quantiser", *stepping)
        if self.quantiser == "samples" and self.levels is not None:
            raise problem_error(("levels",), "none with samples", self.levels, "leave it out")
        _check_key(self, "threshold", "quantiser", "deadband")
        _check_key(self, "loss", "quantiser", *_LOSING)
        _check_key(self, "choice", "quantiser", "single", needed=False)
        _check_key(self, "burst", "quantiser", "acknowledged", needed=False)
        if self.threshold is None or self.step is None:
            return self
        if self.threshold <= self.step / 2:
            wanted = f"more than half a step, {number_text(self.step / 2)}"
            got = number_text(self.threshold)
            raise problem_error(("threshold",), wanted, got, "raise it")
        return self

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


# Faults -----------------------------------------------------------------------------------------


class FaultSection(Section):
    """What every kind of fault has in common; further keys are those of the behaviour."""

    if TYPE_CHECKING:
        behaviour: str

    agents: Row[Agent] = key("Who does it, by name or counted from 0.")

    def build(self, outcomes: Sequence[str] = ()) -> Behaviour:
        """The behaviour described; `outcomes` are the names of the agent's, if they have names."""
        from theory.robustness import BEHAVIOURS

        kind: Any = BEHAVIOURS[self.behaviour]
        behaviour: Behaviour = kind(**self._keys(outcomes))
        return behaviour

    def _keys(self, outcomes: Sequence[str]) -> dict[str, Any]:
        """What the behaviour is made of; fractions as doubles."""
        names = [name for name in type(self).model_fields if name not in ("agents", "behaviour")]
        values = {name: getattr(self, name) for name in names}
        return {k: float(v) if isinstance(v, Fraction) else v for k, v in values.items()}


class ConstantFault(FaultSection):
    """Says the same in every round."""

    behaviour: Literal["constant-belief"]
    belief: Distribution = key("What it says it believes, one number a hypothesis.")

    def _keys(self, outcomes: Sequence[str]) -> dict[str, Any]:
        with np.errstate(divide="ignore"):
            return {"log_belief": np.log(np.array(self.belief, dtype=np.float64))}


class SilentFault(FaultSection):
    """Says nothing."""

    behaviour: Literal["silent"]


class StuckFault(FaultSection):
    """Observes the same in every round, and follows the algorithm otherwise."""

    behaviour: Literal["stuck-data"]
    outcome: Annotated[
        Annotated[int, Field(ge=0), Tag(TAG + "number")] | Annotated[str, Tag(TAG + "name")],
        Discriminator(lambda value: TAG + ("name" if isinstance(value, str) else "number")),
    ] = key(
        "Which outcome: its name if there are no inputs, or its number, counted over inputs, then "
        "labels."
    )

    def _keys(self, outcomes: Sequence[str]) -> dict[str, Any]:
        if isinstance(self.outcome, int):
            return {"outcome": self.outcome}
        if outcomes:
            return {"outcome": as_position("outcome", self.outcome, outcomes)}
        wanted = "a number, where outcomes have no names, or inputs besides"
        raise fail("outcome", wanted, repr(self.outcome), "count over inputs, then labels")


class PushFault(FaultSection):
    """Speaks for one hypothesis."""

    behaviour: Literal["push"]
    hypothesis: str = key("The hypothesis it speaks for.")
    strength: Number = key("In nats; in nats a round if growing.")
    growing: bool = key("Whether it grows surer each round.", True)


class RandomFault(FaultSection):
    """Says something else each round."""

    behaviour: Literal["random-lies"]
    scale: PositiveNumber = key("Standard deviation of what it says, in nats.")


class SplitFault(FaultSection):
    """Tells every other listener another story."""

    behaviour: Literal["split"]
    first: str = key("The hypothesis that it tells one half.")
    second: str = key("The hypothesis that it tells the others.")
    strength: Number = key("In nats; in nats a round if growing.")
    growing: bool = key("Whether it grows surer each round.", True)


class ColludingFault(FaultSection):
    """Hides among the honest, at the edge of what they say."""

    behaviour: Literal["colluding"]
    hypothesis: str = key("The hypothesis it works for.")
    margin: Number = key("How far beyond the honest, in nats.", 0.0)


FAULTS = by_word(
    "behaviour",
    *(ConstantFault, SilentFault, StuckFault, PushFault, RandomFault, SplitFault, ColludingFault),
)
"""The behaviours that a file may name, and their sections."""
OneFault = Annotated[
    FaultSection,
    OneOf("behaviour", FAULTS, place="[[faults.agents]]", remedy="say what it does"),
]


class FaultsSection(Section):
    """Faulty agents, and the rule by which all others pool."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                only_with("tolerate", "rule", "trimmed-mean"),
                only_with("radius", "rule", "clip"),
            ]
        }
    )

    rule: Literal["average", "trimmed-mean", "median", "clip"] = key(
        "How honest agents pool what they hear.", "average"
    )
    tolerate: int | None = key(
        "Trimmed mean: how many faulty neighbours it allows for.", None, ge=0
    )
    radius: PositiveNumber | None = key("Clip: how far one neighbour may pull, in nats.", None)
    pool_every: int = key("Agents observe each round and talk in every so-many-th.", 1, ge=1)
    beyond_tolerance: bool = key("Run even with more faulty agents than the rule tolerates.", False)
    agents: Several[OneFault] = key("Who is faulty; left out: nobody, only the rule is other.", ())

    @model_validator(mode="after")
    def _consistent(self) -> FaultsSection:
        _check_key(self, "tolerate", "rule", "trimmed-mean")
        _check_key(self, "radius", "rule", "clip")
        seen: set[int] = set()
        for k, fault in enumerate(self.agents):
            for index, agent in enumerate(fault.agents):
                if agent in seen:
                    place, got = ("agents", k, "agents", index), f"agent {agent} again"
                    remedy = "strike it from one of the entries"
                    raise problem_error(place, "each faulty agent once", got, remedy)
                seen.add(agent)
        return self

    def build_rule(self) -> Rule:
        """How honest agents pool."""
        from theory.robustness import Average, Clip, Median, TrimmedMean

        if self.tolerate is not None:
            return TrimmedMean(self.tolerate)
        if self.radius is not None:
            return Clip(float(self.radius))
        return Median() if self.rule == "median" else Average()
