"""Quantities that designs and placements share: certificates, rounds, agents, and their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, field_serializer

from peerbayes.documents import Document
from peerbayes.problem.problems import AnyProblem
from peerbayes.quantities.numbers import NUMBER
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part, table_of
from peerbayes.quantities.sizes import Sizes
from peerbayes.tables import interval, rounds

Agent: TypeAlias = Annotated[int, Field(ge=0)]
Agents: TypeAlias = Annotated[
    list[Agent], BeforeValidator(lambda value: np.asarray(value).tolist())
]
# Of longer lists the beginning is shown.
MOST_ROWS = 12


def called(document: Any, agent: int) -> str:
    """An agent's name, or its number."""
    return str(agent) if document.names is None else str(document.names[agent])


# Certificates -----------------------------------------------------------------------------------

CERTIFICATE = Table(
    "CertificateDocument",
    "How far a design may be from the best: its value, a bound on every value, their gap.",
    (
        Quantity("value", NUMBER),
        Quantity("bound", NUMBER),
        Quantity("gap", NUMBER),
        Quantity("sense", str, "maximise or minimise"),
        Quantity("kind", str, "exact, certified, rounded or local: what the bound rests on"),
    ),
)
_KINDS = {
    "exact": "exact",
    "certified": "certified",
    "rounded": "up to rounding",
    "local": "a local search",
}


def certificate_words(certificate: Any, _: Any = None, *, of_mixing: bool = False) -> str | None:
    """A value beside what no design can pass; None without a certificate."""
    if certificate is None:
        return None
    kind, value = _KINDS[certificate.kind], f"{certificate.value:.9g}"
    if certificate.bound is None:
        return f"{value}, no bound known ({kind})"
    others = "any design"
    if of_mixing:
        # The bound of a local search, on directed graphs, holds for all W.
        reversible = "" if certificate.kind == "local" else "reversible "
        others = f"any {reversible}W with this v"
    side = "at most" if certificate.sense == "maximise" else "at least"
    gap = f"gap {certificate.gap:.2g}"
    return f"{value}; {others}: {side} {certificate.bound:.9g} ({gap}, {kind})"


def certified(certificate: Any) -> Any:
    """The JSON object of a certificate, checked; None of None."""
    return None if certificate is None else CERTIFICATE.document(certificate)


# Rounds -----------------------------------------------------------------------------------------

ROUNDS = table_of(
    Sizes,
    "RoundsDocument",
    "Rounds after which some agent errs with probability at most delta.",
    without="printed repaired printed_p2",
    changed={"chernoff": {"meaning": "proved to be enough, up to rounding"}},
)


def rounds_words(samples: Any, _: Any = None) -> str:
    """Both certified ends, or else the number that Chernoff's bound says is enough."""
    return interval(samples.certified) if samples.certified else rounds(samples.chernoff)


# What all say -----------------------------------------------------------------------------------

NAMES = Quantity(
    "names",
    list[str] | None,
    "what the agents are called",
    get=lambda result: result.problem.network.names,
    optional=True,
)
PROBLEM = Quantity("problem", str, get=lambda result: result.problem.name)
NOTES = Quantity("notes", list[str], label=NOTE)


def certificate(path: str = "certificate", key: str = "certificate", **more: Any) -> Quantity:
    """A certificate of a result, there at `path`; null where nothing is proved."""
    return part(key, CERTIFICATE, attrgetter(path), may_lack=True, **more)


def file_place(key: str, meaning: str | None = None, **more: Any) -> Quantity:
    """Where something of a result is on disk; a record does not keep it, so it can be moved."""

    def place(result: Any) -> str | None:
        path: Path | None = getattr(result, f"{key}_path")
        return None if path is None else str(path)

    return Quantity(key, str | None, meaning, get=place, older=None, **more)


def form_of(value: Any, forms: Mapping[str, str]) -> str:
    """Which kind of result a JSON object, or a document, is: they differ in their keys."""
    keys = value if isinstance(value, Mapping) else vars(value)
    return next((form for key, form in forms.items() if key in keys), "finite")


# Records ----------------------------------------------------------------------------------------


class ProblemRecord(Document):
    """What a design or a placement leaves on disk: problem, request and result."""

    title: str
    specification: dict[str, Any] | None = Field(description="the problem's file, if it has one")
    seed: int = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    result: Any

    @field_serializer("result", mode="wrap")
    def _kept(self, result: Any, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Not where it is, so that it can be moved, nor what follows from the rest."""
        passing = ("record", "written", "recommended")
        return {key: value for key, value in write(result).items() if key not in passing}


def recorded(problem: AnyProblem, request: Any, result: Any) -> dict[str, Any]:
    """What every record of a design or a placement says."""
    specification = problem.specification
    return {
        "title": problem.title,
        "specification": None if specification is None else specification.document(),
        "seed": request.seed,
        "delta": request.delta,
        "result": result,
    }


def shortened(entries: Sequence[str], separator: str) -> str:
    """The first of some texts, and how many are left."""
    more = len(entries) - MOST_ROWS
    return separator.join(entries[:MOST_ROWS]) + (f"; {more} more" if more > 0 else "")
