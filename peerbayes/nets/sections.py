"""The table ``[data]`` of a net file: where the agents' data are, and what is done to them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)

from empirical.dealing import DEALINGS
from peerbayes.messages import TAG, describe, guessed, problem_error
from peerbayes.problem.changes_section import CHANGES, PhaseSection
from peerbayes.problem.declared_fields import key_of
from peerbayes.problem.entries import Row, Section, exactly_one, given, known_table, tag_of
from peerbayes.problem.network_section import FORMS, NetworkSection, with_graph_files
from peerbayes.settings.nets import Train

# The table ``[data]`` of a net file --------------------------------------------------------------


DATASETS = ("mnist", "fashion-mnist", "fmnist", "digits", "diabetes")
RULES: dict[str, tuple[str, ...]] = {
    "labels": ("groups",),
    "dirichlet": ("alpha", "minimum"),
    "sizes": ("sizes",),
    "balanced": (),
}
"""How one source is dealt, and the keys that each rule has; the papers' splits have none."""

_NEEDED = {"labels": "groups", "dirichlet": "alpha", "sizes": "sizes"}

# Keys of data in files, which built-in ones have not.
_OF_FILES = (
    "agent", "target", "features", "categories", "separator", "decimal", "missing", "colour", "size"
)  # fmt: skip

Text = Annotated[str, Field(min_length=1)]
Texts = Row[Text]


def _one_or_more(value: object) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list | tuple) or not entries:
        raise problem_error((), "a name or a list of names", describe(value), "write a name")
    for k, entry in enumerate(entries):
        if not isinstance(entry, str) or not entry:
            raise problem_error((k,), "a name", describe(entry), "write it in quotation marks")
    twice = next((name for k, name in enumerate(entries) if name in entries[:k]), None)
    if twice is not None:
        raise problem_error((), "distinct names", f"{twice!r} twice", "name each once")
    return tuple(entries)


def _files(value: object) -> tuple[str, ...] | dict[str, str]:
    """A pattern or a list of paths, as a tuple; or paths by agent."""
    if not isinstance(value, Mapping):
        return _one_or_more(value)
    if not value:
        raise problem_error((), "a path for each agent", "an empty table", "fill it in")
    for name, path in value.items():
        if not isinstance(path, str) or not path:
            remedy = "write it in quotation marks"
            raise problem_error((str(name),), "a path", describe(path), remedy)
    return dict(value)


def _share_or_path(value: object) -> float | str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        wanted, remedy = "a file, a folder, or a share such as 0.2", "write one of them"
        raise problem_error((), wanted, describe(value), remedy)
    return _share(float(value))


def _share(value: float) -> float:
    if not 0 <= value < 1:
        remedy = "leave some data for training"
        raise problem_error((), "a share of at least 0 and below 1", value, remedy)
    return value


def _plain(value: tuple[str, ...] | dict[str, str]) -> list[str] | dict[str, str]:
    return value if isinstance(value, dict) else list(value)


_TEXT = {"type": "string", "minLength": 1}
_LIST = {"type": "array", "items": _TEXT, "minItems": 1}

Names = Annotated[
    tuple[str, ...],
    PlainValidator(_one_or_more),
    PlainSerializer(_plain),
    WithJsonSchema({"anyOf": [_TEXT, _LIST]}),
]
"""One name or a list of names."""
Files = Annotated[
    tuple[str, ...] | dict[str, str],
    PlainValidator(_files),
    PlainSerializer(_plain),
    WithJsonSchema(
        {"anyOf": [_TEXT, _LIST, {"type": "object", "additionalProperties": _TEXT}]},
    ),
]
"""A pattern, a list of paths, or a table of paths by agent."""
ShareOrPath = Annotated[
    float | str,
    PlainValidator(_share_or_path),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, _TEXT]}),
]
Share = Annotated[float, AfterValidator(_share)]


def _rule(value: Any) -> str:
    known = (*RULES, *DEALINGS)
    if not isinstance(value, str) or value not in known:
        wanted = f"{', '.join(RULES)}, or a split of the papers such as fmnist-2-balanced-a"
        remedy = guessed(str(value), known, otherwise="choose one of them")
        raise problem_error((), wanted, describe(value), remedy)
    return value


class DealSection(Section):
    """How one source is dealt to the agents."""

    by: Annotated[str, BeforeValidator(_rule)] = Field(
        description="labels, dirichlet, sizes, balanced, or a split of the papers."
    )
    groups: Row[Row[str | int]] | None = Field(
        default=None, description="labels: each agent's classes, by name or by number from 0."
    )
    alpha: float | None = Field(
        default=None, gt=0, description="dirichlet: small for classes that few agents hold."
    )
    minimum: int | None = Field(
        default=None, ge=1, description="dirichlet: fewest examples of an agent; left out: 2."
    )
    sizes: Row[Annotated[float, Field(gt=0)]] | None = Field(
        default=None, description="sizes: each agent's part, in proportion."
    )

    @model_validator(mode="after")
    def _fits_rule(self) -> DealSection:
        own = RULES.get(self.by, ())
        for key in ("groups", "alpha", "minimum", "sizes"):
            if getattr(self, key) is not None and key not in own:
                wanted = f"no such key beside by = {self.by!r}"
                raise problem_error((key,), wanted, "one", "leave it out, or change by")
        needed = _NEEDED.get(self.by)
        if needed is not None and getattr(self, needed) is None:
            wanted = f"the key {needed!r}, for by = {self.by!r}"
            raise problem_error((needed,), wanted, "none", "add it")
        return self


class DataSection(Section):
    """Where the agents' data are, and what is done to them."""

    model_config = ConfigDict(json_schema_extra=exactly_one("files", "file", "builtin"))

    files: Files | None = Field(
        default=None, description="One file or image folder an agent: pattern, list, or by name."
    )
    file: Text | None = Field(
        default=None, description="One file or image folder for all; with agent, or [data.deal]."
    )
    builtin: str | None = Field(
        default=None, description="mnist, fmnist, digits or diabetes; with [data.deal]."
    )
    agent: Text | None = Field(
        default=None, description="With file: the column that names the agent of each row."
    )
    deal: DealSection | None = Field(
        default=None, description="How one source is dealt to the agents."
    )
    target: Names | None = Field(
        default=None, description="Tables: the column or columns to predict."
    )
    features: Texts | None = Field(
        default=None, description="Tables: columns of the inputs; left out: all of numbers."
    )
    categories: Texts | None = Field(
        default=None, description="Tables: columns whose entries are names, though of digits."
    )
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        default=None, description="CSV: what stands between cells; left out: a comma."
    )
    decimal: Literal[".", ","] | None = Field(
        default=None, description="CSV: the decimal mark of numbers; left out: a point."
    )
    missing: Literal["refuse", "mean"] | None = Field(
        default=None,
        description="Missing inputs: refused, as by default; or filled with the mean, and marked.",
    )
    colour: bool | None = Field(
        default=None, description="Images: read as red, green, blue, or grey; left out: as is."
    )
    size: Annotated[Row[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)] | None = (
        Field(default=None, description="Images: [height, width] to resize to; left out: as is.")
    )
    tokens: bool = Field(
        default=False, description="NPZ: whether inputs are whole numbers that stand for words."
    )
    validation: Share = Field(
        default=0.1, description="Share of each agent's data held out for validation."
    )
    test: ShareOrPath | None = Field(
        default=None, description="Test data: a file, a folder, or a share held out."
    )
    other: Text | None = Field(
        default=None, description="Inputs of another data set: a file, a folder, or a built-in."
    )
    standardise: bool = Field(
        default=True, description="Whether inputs get mean 0 and variance 1, by pooled moments."
    )
    standardise_target: bool | None = Field(
        default=None, description="The same of targets; left out: those with learned noise."
    )
    seed: int | None = Field(
        default=None, ge=0, description="Of what is dealt and held out; left out: that of training."
    )

    @model_validator(mode="after")
    def _one_source(self) -> DataSection:
        given = [key for key in ("files", "file", "builtin") if getattr(self, key) is not None]
        if len(given) != 1:
            remedy = "keep one of them" if given else "add one of them"
            got = " and ".join(given) or "none"
            raise problem_error((), "exactly one of files, file, builtin", got, remedy)
        if self.builtin is not None and self.builtin not in DATASETS:
            remedy = guessed(self.builtin, DATASETS, otherwise="choose one of them")
            wanted = f"one of {', '.join(DATASETS)}"
            raise problem_error(("builtin",), wanted, repr(self.builtin), remedy)
        spread = [key for key in ("agent", "deal") if getattr(self, key) is not None]
        if self.files is not None and spread:
            remedy = "leave it out, or name one file"
            raise problem_error((spread[0],), "it only where one source is dealt", "files", remedy)
        if self.files is None and len(spread) != 1:
            wanted = "exactly one of agent, [data.deal], to say who gets what of one source"
            remedy = "keep one of them" if spread else "add one of them"
            raise problem_error((), wanted, " and ".join(spread) or "none", remedy)
        return self._check_builtin()

    def _check_builtin(self) -> DataSection:
        if self.builtin is None:
            return self
        for key in _OF_FILES:
            if getattr(self, key) is not None:
                wanted = f"no such key beside builtin = {self.builtin!r}"
                raise problem_error((key,), wanted, "one", "leave it out")
        return self


# The tables ``[net]``, ``[likelihood]``, ``[training]`` and ``[messages]`` of a net file ---------


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


# A net file as a whole ---------------------------------------------------------------------------


class NetSpecification(Section):
    """A net file, as parsed."""

    name: str = Field(min_length=1, description="Short name; left out: the file's name.")
    title: str | None = Field(default=None, description="One line that says what it is about.")
    network: NetworkSection
    data: DataSection
    net: NetSection
    likelihood: LikelihoodSection
    training: TrainingSection
    messages: MessagesSection | None = None

    def document(self) -> dict[str, Any]:
        """The file's content again, as plain tables, lists, texts and numbers."""
        return self.model_dump(mode="json", exclude_defaults=True)


SECTIONS: Mapping[str, type[Section]] = {
    "": NetSpecification,
    "data": DataSection,
    "deal": DealSection,
    "net": NetSection,
    "training": TrainingSection,
    "messages": MessagesSection,
    "sequence": PhaseSection,
    **{f"form:{key}": section for key, section in FORMS.items()},
    **{f"form:{key}": section for key, section in CHANGES.items()},
    **{f"form:{key}": section for key, section in LIKELIHOODS.items()},
}
"""The section that the keys at a place belong to, by the last name or tag of the place."""


def net_schema() -> dict[str, Any]:
    """The JSON schema of a net file, generated from the section classes."""
    schema = NetSpecification.model_json_schema()
    with_graph_files(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "required": [key for key in schema["required"] if key != "name"],
        "title": "peerbayes net file",
        "description": "Data, a network, a net and how it is trained; one TOML or JSON file.",
    }
