"""JSON schemas of problem files, net files, records, and what commands print: from their types.

What is written has all keys of its type but those that the type leaves out where they are None
(:class:`peerbayes.documents.Document`). Keys may be added.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, reduce
from importlib import import_module
from importlib.resources import files
from operator import or_
from types import GenericAlias, MappingProxyType
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from peerbayes.messages import choose

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
# Of each command its types, "module:type" here, one of which it prints, after what the JSON is.
_PRINTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "analyse": (
            "What theory predicts of one problem. Rates in nats per round",
            "kinds.finite.analyse:ANALYSIS",
            "kinds.finite.analyse:PROVED_ANALYSIS",
            "kinds.changing.analyse:CHANGING_ANALYSIS",
            "kinds.faulty.analyse:FAULTY_ANALYSIS",
            "kinds.regression.analyse:REGRESSION_ANALYSIS",
            "kinds.regression.analyse:EXACT_REGRESSION",
            "kinds.network_alone:NETWORK_ALONE",
        ),
        "simulate": (
            "Measured rates and errors at the last round",
            "kinds.shared.simulate:SIMULATION",
            "kinds.regression.simulate:REGRESSION_RUN",
        ),
        "verify": ("One entry a statement", "comparison:Comparison"),
        "design": (
            "The best weights with a certificate, or the edges worth adding",
            "designs.quantities:FINITE_DESIGN",
            "designs.quantities:CHANGING_DESIGN",
            "designs.quantities:REGRESSION_DESIGN",
            "designs.quantities:NEXT_EDGE",
        ),
        "place": (
            "Which agent should hold which data",
            "designs.placements:FINITE_PLACEMENT",
            "designs.placements:REGRESSION_PLACEMENT",
        ),
        "keys": ("Keys of a live network and what is wrong with them", "live.keys_check:CHECK"),
        "router": ("What a router of live agents did", "live.router:ROUTED"),
        "watch": (
            "A live network as it was watched: who was heard, how late",
            "live.watch.quantities:WATCH",
        ),
        "run": (
            "An experiment: printed beside measured and predicted",
            "experiments.experiment:RunPrinted",
        ),
        "train": (
            "A training of one's own: what, on which data, how well",
            "nets.documents:TrainPrinted",
        ),
        "launch": (
            "A live network on one machine: each agent's process in numbers",
            "live.launching:LAUNCH",
        ),
        "campaign": (
            "Where every part of a campaign stands",
            "experiments.campaign_plan:CampaignDocument",
        ),
        "figures": (
            "Figures of the papers, redrawn, each with its verdict",
            "sources.documents:FiguresPrinted",
        ),
        "claims": ("One entry a statement, published or repaired", "claims:ClaimDocument"),
        "list": ("The built-in problems and the experiments", "front.listing:Listing"),
        "formula": (
            "Closed forms of one network or family, or the list of families",
            "formulas.quantities:FORMULA",
            "formulas.quantities:SHEET",
            "formulas.quantities:ALL_FAMILIES",
        ),
    }
)
_RECORD = (
    "What a run leaves on disk. The checksum is the SHA-256 of all other keys, in JSON with sorted"
    " keys, without spaces, escaped to ASCII."
)
_LISTS = ("verify", "claims")  # of which a list is printed
SCHEMAS: tuple[str, ...] = ("problem", "net", "record", *_PRINTED)
"""The names of all schemas."""


def read_schema(name: str) -> dict[str, Any]:
    """The schema of this name, one of `SCHEMAS`, in draft 2020-12.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> read_schema("problem")["required"]
    ['network']
    """
    choose("NAME", name, SCHEMAS, otherwise="choose one of them")
    if name == "problem":
        from peerbayes.problem.specification import problem_schema

        return problem_schema()
    if name == "net":
        from peerbayes.nets.sections import net_schema

        return net_schema()
    meaning, *types = _PRINTED.get(name, (_RECORD, "documents:RecordFile"))
    one: Any = reduce(or_, map(_found, types))
    of: Any = GenericAlias(list, one) if name in _LISTS else one
    made = TypeAdapter(of).json_schema(schema_generator=_Written)
    for title, thing in {"": made, **made.get("$defs", {})}.items():
        _say_what_keys_mean(title, thing)
    command = {"record": "record", "claims": "verify --claims --json"}.get(name, f"{name} --json")
    more = "; keys may be added." if name in _PRINTED else ""
    head = {"title": f"peerbayes {command}", "description": meaning + more}
    return {"$schema": _DRAFT, **head, **{k: v for k, v in made.items() if k not in head}}


@cache
def _meanings() -> dict[str, Any]:
    """Meanings of keys, by key, and by object and key."""
    text = (files("peerbayes") / "meanings.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _say_what_keys_mean(title: str, thing: JsonSchemaValue) -> None:
    """Describe the keys of an object whose declarations do not."""
    meanings = _meanings()
    special = meanings.get(title, {})
    for key, value in thing.get("properties", {}).items():
        said = special.get(key, meanings.get(key))
        if isinstance(said, str):
            value.setdefault("description", said)


def _found(name: str) -> Any:
    """The type that stands at ``"module:type"``, or that of a table of quantities there."""
    module, _, of = name.partition(":")
    there = getattr(import_module(f"peerbayes.{module}"), of)
    return getattr(there, "model", there)


class _Written(GenerateJsonSchema):
    """The schema of what is written, where a type alone says what can be read."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        """A key that older records lack is written today."""
        return True

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Keys that only some of the objects have are not required."""
        made = _in_brief(super().model_schema(schema))
        some: frozenset[str] = getattr(schema["cls"], "left_out", frozenset())
        return {**made, "required": [key for key in made.get("required", ()) if key not in some]}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """A dataclass among the fields of a document."""
        return _in_brief(super().dataclass_schema(schema))

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Defaults are for reading."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: CoreSchema | Any) -> bool:
        """A field's name says enough."""
        return False


def _in_brief(made: JsonSchemaValue) -> JsonSchemaValue:
    """Without what a docstring says of the attributes, which say it themselves."""
    words = str(made.get("description", "")).partition("\n\nAttributes\n")[0]
    return {**made, "description": words} if words else made
