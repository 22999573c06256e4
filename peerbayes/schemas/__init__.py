"""JSON schemas of the problem file, of records, and of what the commands print."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from peerbayes.messages import input_error, nearest

SCHEMAS = (
    "problem",
    "record",
    "analyse",
    "simulate",
    "verify",
    "design",
    "place",
    "run",
    "campaign",
    "claims",
    "list",
    "formula",
)


def read_schema(name: str) -> dict[str, Any]:
    """The schema of this name, one of `SCHEMAS`.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> read_schema("problem")["required"]
    ['network']
    """
    if name not in SCHEMAS:
        guess = nearest(name, SCHEMAS)
        remedy = f"did you mean {guess!r}?" if guess else "choose one of them"
        raise input_error("NAME", (), f"one of {', '.join(SCHEMAS)}", repr(name), remedy)
    text = resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
