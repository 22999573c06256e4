"""What `verify` leaves of a problem of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import Field

from peerbayes.comparison import Comparison
from peerbayes.documents import Document, GraphDocument
from theory.showing import Shown

if TYPE_CHECKING:
    from peerbayes.problem.problems import AnyProblem


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


class _Verification(Protocol):
    @property
    def problem(self) -> AnyProblem: ...

    @property
    def comparisons(self) -> tuple[Comparison, ...]: ...


class Verified(Shown):
    """Base of verifications: they print as how many of their statements hold."""

    def _title(self: _Verification) -> str:
        return f"{type(self).__name__} of {self.problem.name!r}"

    def _facts(self: _Verification) -> Iterator[tuple[str, object]]:
        yield "network", self.problem.network
        yield from verdict_facts(self.comparisons)


def verdict_facts(comparisons: Sequence[Comparison]) -> Iterator[tuple[str, object]]:
    """How many statements hold, and which do not."""
    yield "statements", len(comparisons)
    yield "hold", sum(c.holds is True for c in comparisons)
    yield "broken", tuple(c.statement for c in comparisons if c.is_broken)
    refuted = tuple(c.statement for c in comparisons if c.holds is False and not c.is_broken)
    if refuted:
        yield "no theorems, fail", refuted
    unknown = sum(c.holds is None for c in comparisons)
    if unknown:
        yield "not run", unknown


def plain_parameters(parameters: Mapping[str, object]) -> dict[str, Any]:
    """Parameters as a record takes them: numbers as floats, all else as text."""
    return {
        key: float(value) if isinstance(value, int | float) else str(value)
        for key, value in parameters.items()
    }
