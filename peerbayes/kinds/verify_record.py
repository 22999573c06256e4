"""What `verify` leaves on disk: the verified problems of every kind, and their sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Field, Tag

from peerbayes.documents import Document
from peerbayes.kinds.changing.documents import ChangingRecord
from peerbayes.kinds.faulty.documents import FaultyRecord
from peerbayes.kinds.finite.documents import FiniteRecord
from peerbayes.kinds.regression.documents import RegressionRecord
from peerbayes.sweep_documents import SweepDocument


def _form(entry: Any) -> str:
    """The kind of problem of an entry."""
    form = entry.get("form") if isinstance(entry, Mapping) else entry.form
    return form or "finite"


Verified: TypeAlias = Annotated[
    Annotated[FiniteRecord, Tag("finite")]
    | Annotated[ChangingRecord, Tag("changing")]
    | Annotated[FaultyRecord, Tag("faulty")]
    | Annotated[RegressionRecord, Tag("regression")],
    Discriminator(_form),
]
"""One verified problem of any kind."""


class VerifyRecord(Document):
    """What `verify` leaves on disk."""

    seed: int = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    problems: list[Verified]
    sweeps: list[SweepDocument] = Field(description="problems that differ in one parameter")
    skipped: list[str] = Field(description="problems whose data were not there, a notice each")
