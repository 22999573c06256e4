"""The tables ``[net]``, ``[likelihood]``, ``[training]`` and ``[messages]`` of a net file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)

from peerbayes.messages import TAG, describe, guessed, problem_error
from peerbayes.problem.entries import (
    Row,
    Section,
    given,
    key_of,
    known_table,
    tag_of,
)
from peerbayes.settings.nets import Train

_MODULE = re.compile(r"(?P<file>[^:]+\.py):(?P<function>[A-Za-z_]\w*)")

Sizes = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False)]


class NetSection(Section):
    """What every agent trains."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"anyOf": [given("hidden"), given("convolutions")]}, given("module")]
        }
    )

    hidden: Sizes | None = Field(
        default=None, description="Units of each hidden layer; an empty list: a linear model."
    )
    convolutions: Row[Annotated[int, Field(ge=1)]] | None = Field(
        default=None, description="Images: channels of 3 × 3 convolutions, each halved after."
    )
    module: str | None = Field(
        default=None, description="File and function that returns a torch module: 'nets.py:build'."
    )

    @model_validator(mode="after")
    def _one_net(self) -> NetSection:
        own = [key for key in ("hidden", "convolutions") if getattr(self, key) is not None]
        if (self.module is not None) == bool(own):
            got = " and ".join([*own, "module"]) if own else "none"
            remedy = "keep one of them" if own else "add one, such as hidden = [64, 64]"
            wanted = "hidden, convolutions with or without it, or module"
            raise problem_error((), wanted, got, remedy)
        if self.module is not None and not _MODULE.fullmatch(self.module):
            wanted = 'a Python file and a function in it, as "my_nets.py:build"'
            raise problem_error(("module",), wanted, repr(self.module), "write both, with a colon")
        return self

    @property
    def module_file(self) -> tuple[str, str] | None:
        """The Python file of the module, and the function in it; None where there is none."""
        found = None if self.module is None else _MODULE.fullmatch(self.module)
        return None if found is None else (found["file"], found["function"])


class ClassesSection(Section):
    """Targets that are classes."""

    kind: Literal["classes"]
    count: int | None = Field(
        default=None, ge=2, description="How many classes; left out: those in the training data."
    )


def _std(value: object) -> float | str:
    if isinstance(value, str) and value in ("learned", "input"):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        wanted = 'a number above 0, "learned" or "input"'
        remedy = guessed(str(value), ("learned", "input"), otherwise="choose one of them")
        raise problem_error((), wanted, describe(value), remedy)
    return float(value)


Std = Annotated[
    float | str,
    PlainValidator(_std),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"enum": ["learned", "input"]}]}
    ),
]


class GaussianSection(Section):
    """Targets that are real numbers with normal noise."""

    kind: Literal["gaussian"]
    std: Std = Field(
        description="Standard deviation of the noise: a number, 'learned', or 'input'."
    )


class CountsSection(Section):
    """Targets that are whole numbers from 0."""

    kind: Literal["counts"]
    dispersion: Literal["learned"] | None = Field(
        default=None, description="'learned': negative binomial; left out: Poisson."
    )


PARTS: dict[str, type[ClassesSection | GaussianSection | CountsSection]] = {
    "classes": ClassesSection,
    "gaussian": GaussianSection,
    "counts": CountsSection,
}
"""The kinds of likelihood of one target, and their sections."""


def _known(value: object, known: Mapping[str, object]) -> object:
    remedy = "say what the target is"
    return known_table(value, key="kind", known=known, place="[likelihood]", remedy=remedy)


def _known_part(value: object) -> object:
    return _known(value, PARTS)


def _known_kind(value: object) -> object:
    return _known(value, LIKELIHOODS)


def _kind(value: object) -> str:
    return tag_of(value, key="kind")


PartSection = Annotated[
    Annotated[ClassesSection, Tag(TAG + "classes")]
    | Annotated[GaussianSection, Tag(TAG + "gaussian")]
    | Annotated[CountsSection, Tag(TAG + "counts")],
    Discriminator(_kind),
    BeforeValidator(_known_part),
]


class HeadsSection(Section):
    """Several targets, each with a likelihood of its own."""

    kind: Literal["heads"]
    parts: Row[PartSection] = Field(description="One table for each target, in their order.")


LIKELIHOODS: dict[str, type[Section]] = {**PARTS, "heads": HeadsSection}
"""The kinds of likelihood, and their sections."""

LikelihoodSection = Annotated[
    Annotated[ClassesSection, Tag(TAG + "classes")]
    | Annotated[GaussianSection, Tag(TAG + "gaussian")]
    | Annotated[CountsSection, Tag(TAG + "counts")]
    | Annotated[HeadsSection, Tag(TAG + "heads")],
    Discriminator(_kind),
    BeforeValidator(_known_kind),
]


def _settings(value: object) -> dict[str, bool | int | float | str]:
    if not isinstance(value, Mapping):
        remedy = "write the table [training.settings]"
        raise problem_error((), "a table of settings by name", describe(value), remedy)
    for name, setting in value.items():
        if not isinstance(setting, bool | int | float | str):
            wanted = "a number, a text, true or false"
            raise problem_error((str(name),), wanted, describe(setting), "write one of them")
    return dict(value)


Settings = Annotated[
    dict[str, bool | int | float | str],
    PlainValidator(_settings),
    WithJsonSchema(
        {"type": "object", "additionalProperties": {"type": ["boolean", "number", "string"]}}
    ),
]
"""Settings of a learner; those of numbers may be infinite, where that means no limit."""


class TrainingSection(Section):
    """How the agents learn, and for how long."""

    learner: Annotated[str, Field(min_length=1)] = key_of(Train, "learner")
    rounds: int = key_of(Train, "rounds")
    local_steps: int = key_of(Train, "local_steps")
    batch: int = key_of(Train, "batch")
    seed: int = key_of(Train, "seed")
    patience: int | None = key_of(Train, "patience")
    every: int | None = key_of(Train, "every")
    influence: Literal["network", "data"] = key_of(Train, "influence")
    draws: int | None = key_of(Train, "draws", default=None)
    schedule: Literal["cosine", "geometric"] = key_of(Train, "schedule")
    decay: float = key_of(Train, "decay")
    warm_up: float = key_of(Train, "warm_up")
    products: Literal["auto", "highest", "medium", "bfloat16"] = key_of(Train, "products")
    settings: Settings = key_of(Train, "settings", default={})


def _codec_settings(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        remedy = "write the table [messages.settings]"
        raise problem_error((), "a table of settings by name", describe(value), remedy)
    for name, setting in value.items():
        if isinstance(setting, Mapping):
            _codec_settings(setting)
        elif not isinstance(setting, bool | int | float | str):
            wanted = "a number, a text, true or false, or the table of a codec"
            raise problem_error((str(name),), wanted, describe(setting), "write one of them")
    return dict(value)


CodecSettings = Annotated[
    dict[str, Any],
    PlainValidator(_codec_settings),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"type": ["boolean", "number", "string", "object"]},
        }
    ),
]
"""Settings of a codec; a codec within it is a table with ``codec`` and its settings, or a name."""


class MessagesSection(Section):
    """How the agents write what they say to each other."""

    codec: Annotated[str, Field(min_length=1)] = Field(description="The codec's name.")
    missing: Literal["own", "zero"] = key_of(Train, "missing")
    settings: CodecSettings = Field(default={}, description="Settings of the codec, by name.")
