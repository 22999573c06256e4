"""The table ``[data]`` of a net file: where the agents' data are, and what is done to them."""

from __future__ import annotations

from collections.abc import Mapping
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
from peerbayes.problem.entries import Row, Section, exactly_one

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
