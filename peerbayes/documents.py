"""What is printed with ``--json`` and left in records, as types: one class a document.

A document is made of plain numbers, and checked when it is made and when it is read back: a key
that is misspelt in this code is found by the type checker, and one that a record lacks when the
record is read. JSON schemas are generated from these classes (`peerbayes.schemas`).

Keys may be added to a document, never lost. A key that older records do not have needs a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from peerbayes.records import plain
from theory.showing import Value

if TYPE_CHECKING:
    from theory import CertifiedSampleSize, Network


class Document(BaseModel):
    """One JSON object: frozen, its keys the fields; keys that it does not know are kept.

    `left_out` names the fields that are not written where they are None: they belong to some of
    the objects only.
    """

    # Built when first used: most commands use few of the documents.
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)
    left_out: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_what_is_left_out(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        for key in self.left_out:
            if written.get(key, 0) is None:
                del written[key]
        return written

    @classmethod
    def taken_from(cls, source: object) -> Self:
        """The object whose keys are attributes of a source."""
        return cls(**{key: plain(getattr(source, key)) for key in cls.model_fields})

    def as_json(self) -> dict[str, Any]:
        """The object as `json.dumps` takes it."""
        return self.model_dump(mode="json")


class Documented(Value, ABC):
    """A result that has a document; it prints as a few of its numbers."""

    def _title(self) -> str:
        """What it is, and of which problem."""
        problem = getattr(self, "problem", None)
        return super()._title() if problem is None else f"{super()._title()} of {problem.name!r}"

    @abstractmethod
    def document(self) -> Document:
        """What the command prints."""

    def as_json(self) -> dict[str, Any]:
        """The JSON object that the command prints; null stands for what is not known, see notes."""
        return self.document().as_json()


class RecordFile(BaseModel):
    """A file that a command leaves: what it is of, its checksum, and what it says."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    left_out: ClassVar[frozenset[str]] = frozenset({"of"})

    format: Literal["peerbayes-record"]
    version: int = Field(ge=1)
    kind: str
    of: dict[str, Any] = Field(
        default={}, description="problem, settings and seed, by which a record is known again"
    )
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    body: Any


def number(value: float) -> float | None:
    """A finite float as JSON takes it; None for infinite or undefined."""
    return float(value) if np.isfinite(value) else None


def numbers(values: ArrayLike) -> list[float | None]:
    """A vector as JSON takes it; None for infinite or undefined entries.

    >>> numbers([0.5, np.inf])
    [0.5, None]
    """
    array = np.asarray(values, dtype=float)
    listed: list[float | None] = array.tolist()
    if np.isfinite(array).all():
        return listed
    return [number(value) for value in array]


def names_of(names: Sequence[str] | None) -> list[str] | None:
    """Names of agents as JSON takes them; None if they have none."""
    return None if names is None else list(names)


Number: TypeAlias = Annotated[float | None, BeforeValidator(plain)]
"""A float, or null where it is infinite or not defined."""

Numbers: TypeAlias = Annotated[list[float | None], BeforeValidator(numbers)]
"""Floats, one an agent or one a round, given as a list or an array."""

PerAgent: TypeAlias = Annotated[list[float | None], BeforeValidator(numbers), Field(min_length=1)]
"""Floats, one an agent, of one agent at least."""

Rounds: TypeAlias = Annotated[int, Field(ge=1)]
"""A number of rounds."""

Natural: TypeAlias = Annotated[int, Field(ge=0)]
"""A whole number that may be zero."""

Interval: TypeAlias = Annotated[list[Rounds], Field(min_length=2, max_length=2)]
"""Both ends of an interval of rounds."""

MaybeInterval: TypeAlias = Annotated[list[int | None], Field(min_length=2, max_length=2)]
"""Both ends of an interval of whole numbers; null: not known."""

Probability: TypeAlias = Annotated[float, Field(ge=0, le=1)]
"""A probability or a share of some number."""


class NamedAgents(Document):
    """A document that speaks of agents, by their names if they have names."""

    left_out = frozenset({"names"})

    names: list[str] | None = Field(default=None, description="what the agents are called")

    def called(self, agent: int) -> str:
        """An agent's name, or its number."""
        return str(agent) if self.names is None else self.names[agent]


class GraphDocument(NamedAgents):
    """A network as it is drawn: who hears whom, and how much each agent decides."""

    left_out = frozenset({"quantity", "marked", "names"})

    edges: list[tuple[int, int]] = Field(description="pairs (hearer, heard)")
    weights: list[float] = Field(description="of each edge")
    positions: list[list[float]] | None = Field(default=None, description="x and y of each agent")
    stationary_distribution: list[float] = Field(
        min_length=1, description="v, or what stands in for it: the areas of the nodes"
    )
    quantity: str | None = Field(default=None, description="what stands in for v, in words")
    marked: list[int] | None = Field(default=None, description="faulty agents")

    @classmethod
    def of(cls, network: Network, *, marked: Sequence[int] | None = None) -> Self:
        """The drawing of a network that stays as it is."""
        edges = network.edges
        return cls(
            edges=edges.tolist(),
            weights=np.asarray(network.weights[edges[:, 0], edges[:, 1]]).ravel().tolist(),
            positions=None if network.layout is None else network.layout.tolist(),
            stationary_distribution=network.stationary_distribution.tolist(),
            marked=None if marked is None else list(marked),
            names=names_of(network.names),
        )


def interval(size: CertifiedSampleSize) -> list[int] | None:
    """Both ends as JSON takes them; None where there are none."""
    if size.lower is None or size.upper is None:
        return None
    return [size.lower, size.upper]


# Weights of more agents are listed link by link.
MOST_DENSE = 100
