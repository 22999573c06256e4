"""What is printed with ``--json`` and left in records, as types: one class a document.

A document is made of plain numbers, and checked when it is made and when it is read back: a key
that is misspelt in this code is found by the type checker, and one that a record lacks when the
record is read. JSON schemas are generated from these classes (`peerbayes.schemas`).

Keys may be added to a document, never lost. A key that older records do not have needs a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from peerbayes.records import plain
from theory import CertifiedSampleSize, Network
from theory.design import Certificate
from theory.network.structure import as_dense


class Document(BaseModel):
    """One JSON object: frozen, its keys the fields; keys that it does not know are kept.

    `left_out` names the fields that are not written where they are None: they belong to some of
    the objects only.
    """

    model_config = ConfigDict(frozen=True, extra="allow")
    left_out: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_what_is_left_out(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        for key in self.left_out:
            if written.get(key, 0) is None:
                del written[key]
        return written

    def as_json(self) -> dict[str, Any]:
        """The object as `json.dumps` takes it."""
        return self.model_dump(mode="json")


class Documented(ABC):
    """A result that has a document."""

    @abstractmethod
    def document(self) -> Document:
        """What the command prints."""

    def as_json(self) -> dict[str, Any]:
        """The JSON object that the command prints; null stands for what is not known, see notes."""
        return self.document().as_json()


class RecordFile(BaseModel):
    """A file that a command leaves: what it is of, its checksum, and what it says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["peerbayes-record"]
    version: int = Field(ge=1)
    kind: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    body: Any


Number: TypeAlias = Annotated[float | None, BeforeValidator(plain)]
"""A float, or null where it is infinite or not defined."""

Numbers: TypeAlias = Annotated[list[float | None], BeforeValidator(plain)]
"""Floats, one an agent or one a round, given as a list or an array."""


def network_json(network: Network) -> dict[str, Any]:
    """The JSON key "network" of `analyse`."""
    return {
        "agents": network.agents,
        "stationary_distribution": network.stationary_distribution.tolist(),
        "stationary_method": network.stationary.method,
        "slem": number(network.slem),
        "second_eigenvalue": number(network.second_eigenvalue),
        "deviation": [number(x) for x in network.deviation.upper],
        "deviation_lower": [number(x) for x in network.deviation.lower],
        "irreducible": True,
        "period": network.period,
        "reversible": network.is_reversible,
    }


def number(value: float) -> float | None:
    """A finite float as JSON takes it; None for infinite or undefined."""
    return float(value) if np.isfinite(value) else None


def interval(size: CertifiedSampleSize) -> list[int] | None:
    """Both ends as JSON takes them; None where there are none."""
    if size.lower is None or size.upper is None:
        return None
    return [size.lower, size.upper]


# Weights of more agents are listed link by link.
MOST_DENSE = 100


def weights_json(network: Network) -> Any:
    """W row by row; of many agents the positive entries alone."""
    if network.agents <= MOST_DENSE:
        return as_dense(network.weights).tolist()
    edges = network.edges
    return {
        "listener": edges[:, 0],
        "speaker": edges[:, 1],
        "weight": np.asarray(network.weights[edges[:, 0], edges[:, 1]]).ravel(),
    }


def certificate_json(certificate: Certificate) -> dict[str, Any]:
    """Value, bound and gap, and of what kind they are."""
    return {
        "value": certificate.value,
        "bound": number(certificate.bound),
        "gap": number(certificate.gap),
        "sense": certificate.sense,
        "kind": certificate.kind,
    }


def graph_json(network: Network) -> dict[str, Any]:
    """A network as the report draws it."""
    edges = network.edges
    return {
        "edges": edges.tolist(),
        "weights": np.asarray(network.weights[edges[:, 0], edges[:, 1]]).ravel().tolist(),
        "positions": None if network.layout is None else network.layout.tolist(),
        "stationary_distribution": network.stationary_distribution.tolist(),
    }
