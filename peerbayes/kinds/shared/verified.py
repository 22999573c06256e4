"""What `verify` leaves of a problem of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from peerbayes.comparison import Comparison
from peerbayes.documents import Document, GraphDocument


class VerifiedDocument(Document):
    """One verified problem; each kind adds its own keys, and names itself in ``form``."""

    left_out = frozenset({"form"})

    form: str | None = Field(default=None, description="the kind of problem; left out: finite")
    name: str
    title: str
    family: str = Field(description="problems of one family differ in their parameters alone")
    parameters: dict[str, bool | int | float | str]
    graph: GraphDocument
    comparisons: list[Comparison]


def plain_parameters(parameters: Mapping[str, object]) -> dict[str, Any]:
    """Parameters as a record takes them: numbers as floats, all else as text."""
    return {
        key: float(value) if isinstance(value, int | float) else str(value)
        for key, value in parameters.items()
    }
