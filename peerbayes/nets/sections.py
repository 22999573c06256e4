"""The tables of a net file, each a section: ``[data]``, ``[net]``, ``[likelihood]`` and the others.

A section says what its keys may hold; `NetSpecification` is the file as a whole, and `net_schema`
its JSON schema. How data are read is in `peerbayes.nets.gathering`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from empirical.dealing import DEALINGS
from peerbayes.messages import describe, guessed, problem_error
from peerbayes.problem.changes_section import CHANGES, PhaseSection
from peerbayes.problem.entries import (
    Name,
    OneOf,
    Row,
    Section,
    Several,
    by_word,
    exactly_one,
    given,
    key,
    key_of,
)
from peerbayes.problem.network_section import FORMS, NetworkSection, with_graph_files
from peerbayes.settings.nets import Examples, Method, Train

Sizes = Several[Annotated[int, Field(ge=1)]]


# [data]: where the agents' data are, and what is done to them -------------------------------------

DATASETS = ("mnist", "fashion-mnist", "fmnist", "digits", "diabetes")
RULES: dict[str, tuple[str, ...]] = {
    "labels": ("groups",),
    "dirichlet": ("alpha", "minimum"),
    "sizes": ("sizes",),
    "balanced": (),
}
"""How one source is dealt: keys of each rule, the first needed; the papers' splits have none."""

# Keys of data in files, which built-in ones have not.
_OF_FILES = (
    "agent", "target", "features", "categories", "separator", "decimal", "missing", "missing_marks",
    "colour", "size"
)  # fmt: skip


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
_TABLE = {"type": "object", "additionalProperties": _TEXT}

OneOrMore = Annotated[
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
    WithJsonSchema({"anyOf": [_TEXT, _LIST, _TABLE]}),
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

    by: Annotated[str, BeforeValidator(_rule)] = key(
        "labels, dirichlet, sizes, balanced, or a split of the papers."
    )
    groups: Row[Row[str | int]] | None = key(
        "labels: each agent's classes, by name or by number from 0.", None
    )
    alpha: float | None = key("dirichlet: small for classes that few agents hold.", None, gt=0)
    minimum: int | None = key("dirichlet: fewest examples of an agent; left out: 2.", None, ge=1)
    sizes: Row[Annotated[float, Field(gt=0)]] | None = key(
        "sizes: each agent's part, in proportion.", None
    )

    @model_validator(mode="after")
    def _fits_rule(self) -> DealSection:
        own = RULES.get(self.by, ())
        for name in ("groups", "alpha", "minimum", "sizes"):
            if getattr(self, name) is not None and name not in own:
                wanted = f"no such key beside by = {self.by!r}"
                raise problem_error((name,), wanted, "one", "leave it out, or change by")
        if own and getattr(self, own[0]) is None:
            wanted = f"the key {own[0]!r}, for by = {self.by!r}"
            raise problem_error((own[0],), wanted, "none", "add it")
        return self


class DataSection(Section):
    """Where the agents' data are, and what is done to them."""

    model_config = ConfigDict(json_schema_extra=exactly_one("files", "file", "builtin"))

    files: Files | None = key("One file or image folder an agent: pattern, list, or by name.", None)
    file: Name | None = key("One file or image folder for all; with agent, or [data.deal].", None)
    builtin: str | None = key("mnist, fmnist, digits or diabetes; with [data.deal].", None)
    agent: Name | None = key("With file: the column that names the agent of each row.", None)
    deal: DealSection | None = key("How one source is dealt to the agents.", None)
    target: OneOrMore | None = key("Tables: the column or columns to predict.", None)
    features: Row[Name] | None = key(
        "Tables: columns of the inputs; left out: all of numbers.", None
    )
    categories: Row[Name] | None = key(
        "Tables: columns whose entries are names, though of digits.", None
    )
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = key(
        "CSV: what stands between cells; left out: a comma.", None
    )
    decimal: Literal[".", ","] | None = key(
        "CSV: the decimal mark of numbers; left out: a point.", None
    )
    missing: Literal["refuse", "mean"] | None = key(
        "Missing inputs: refused, as by default; or filled with the mean, and marked.", None
    )
    missing_marks: Row[Name] | None = key(
        "CSV: further cells without a value, such as n.d.; left out: NA, ? and the like alone.",
        None,
    )
    colour: bool | None = key("Images: read as red, green, blue, or grey; left out: as is.", None)
    size: Annotated[Row[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)] | None = (
        key("Images: [height, width] to resize to; left out: as is.", None)
    )
    tokens: bool = key("NPZ: whether inputs are whole numbers that stand for words.", False)
    validation: Share = key("Share of each agent's data held out for validation.", 0.1)
    test: ShareOrPath | None = key("Test data: a file, a folder, or a share held out.", None)
    other: Name | None = key("Inputs of another data set: a file, a folder, or a built-in.", None)
    standardise: bool = key("Whether inputs get mean 0 and variance 1, by pooled moments.", True)
    standardise_target: bool | None = key(
        "The same of targets; left out: those with learned noise.", None
    )
    seed: int | None = key("Of what is dealt and held out; left out: that of training.", None, ge=0)

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
        for name in _OF_FILES if self.builtin is not None else ():
            if getattr(self, name) is not None:
                wanted = f"no such key beside builtin = {self.builtin!r}"
                raise problem_error((name,), wanted, "one", "leave it out")
        return self


# [net] and [likelihood]: what every agent trains, and what its outputs mean -----------------------

_MODULE = re.compile(r"(?P<file>[^:]+\.py):(?P<function>[A-Za-z_]\w*)")


class NetSection(Section):
    """What every agent trains."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"anyOf": [given("hidden"), given("convolutions")]}, given("module")]
        }
    )

    hidden: Sizes | None = key("Units of each hidden layer; an empty list: a linear model.", None)
    convolutions: Row[Annotated[int, Field(ge=1)]] | None = key(
        "Images: channels of 3 × 3 convolutions, each halved after.", None
    )
    module: str | None = key(
        "File and function that returns a torch module: 'nets.py:build'.", None
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
    count: int | None = key("How many classes; left out: those in the training data.", None, ge=2)


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
    std: Std = key("Standard deviation of the noise: a number, 'learned', or 'input'.")


class CountsSection(Section):
    """Targets that are whole numbers from 0."""

    kind: Literal["counts"]
    dispersion: Literal["learned"] | None = key(
        "'learned': negative binomial; left out: Poisson.", None
    )


OneTarget = ClassesSection | GaussianSection | CountsSection
PARTS = by_word("kind", ClassesSection, GaussianSection, CountsSection)
"""The kinds of likelihood of one target, and their sections."""
_WHERE = ("[likelihood]", "say what the target is")


class HeadsSection(Section):
    """Several targets, each with a likelihood of its own."""

    kind: Literal["heads"]
    parts: Row[Annotated[OneTarget, OneOf("kind", PARTS, *_WHERE)]] = key(
        "One table for each target, in their order."
    )


LIKELIHOODS = PARTS | by_word("kind", HeadsSection)
"""The kinds of likelihood, and their sections."""


# [training] and [messages] ------------------------------------------------------------------------


def _of_types(value: object, table: str, wanted: str) -> dict[str, Any]:
    """Settings by name; those of codecs may be tables of others."""
    if not isinstance(value, Mapping):
        remedy = f"write the table [{table}.settings]"
        raise problem_error((), "a table of settings by name", describe(value), remedy)
    for name, setting in value.items():
        if table == "messages" and isinstance(setting, Mapping):
            _of_types(setting, table, wanted)
        elif not isinstance(setting, bool | int | float | str):
            raise problem_error((str(name),), wanted, describe(setting), "write one of them")
    return dict(value)


def _checked(table: str, wanted: str, *types: str) -> tuple[Any, WithJsonSchema]:
    """How settings by name are checked, and their schema."""
    schema = {"type": "object", "additionalProperties": {"type": [*types]}}
    check = partial(_of_types, table=table, wanted=wanted)
    return PlainValidator(check), WithJsonSchema(schema)


_PLAIN, _NAMED = ("boolean", "number", "string"), "a number, a text, true or false"
Settings = Annotated[dict[str, bool | int | float | str], *_checked("training", _NAMED, *_PLAIN)]
"""Settings of a learner; those of numbers may be infinite, where that means no limit."""
CodecSettings = Annotated[
    dict[str, Any],
    *_checked("messages", f"{_NAMED}, or the table of a codec", *_PLAIN, "object"),
]
"""Settings of a codec; a codec within it is a table with ``codec`` and its settings, or a name."""


class TrainingSection(Section):
    """How the agents learn, and for how long."""

    learner: Annotated[str, Field(min_length=1)] = key_of(Train, "learner")
    rounds: int = key_of(Train, "rounds")
    local_steps: int = key_of(Train, "local_steps")
    batch: int = key_of(Examples, "batch")
    seed: int = key_of(Train, "seed")
    patience: int | None = key_of(Examples, "patience")
    every: int | None = key_of(Examples, "every")
    influence: Literal["network", "data"] = key_of(Method, "influence")
    draws: int | None = key_of(Examples, "draws", default=None)
    clients: int | None = key_of(Method, "clients")
    schedule: Literal["cosine", "geometric"] = key_of(Method, "schedule")
    decay: float = key_of(Method, "decay")
    warm_up: float = key_of(Method, "warm_up")
    products: Literal["auto", "highest", "medium", "bfloat16"] = key_of(Method, "products")
    settings: Settings = key("Settings of a learner by name.", {})


class MessagesSection(Section):
    """How the agents write what they say to each other."""

    codec: Name = key("The codec's name.")
    missing: Literal["own", "zero"] = key_of(Method, "missing")
    settings: CodecSettings = key("Settings of the codec, by name.", {})


# The file as a whole ------------------------------------------------------------------------------


class NetSpecification(Section):
    """A net file, as parsed."""

    name: str = key("Short name; left out: the file's name.", min_length=1)
    title: str | None = key("One line that says what it is about.", None)
    network: NetworkSection = key("Who hears whom, as in problem files.")
    data: DataSection = key("Where the agents' data are.")
    net: NetSection = key("What each agent trains.")
    likelihood: Annotated[OneTarget | HeadsSection, OneOf("kind", LIKELIHOODS, *_WHERE)] = key(
        "What the net's outputs say of a label."
    )
    training: TrainingSection = key("How, and for how long.")
    messages: MessagesSection | None = key(
        "How agents write what they say; left out: float32 as it is.", None
    )

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
    **{f"form:{key}": section for key, section in {**FORMS, **CHANGES, **LIKELIHOODS}.items()},
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
