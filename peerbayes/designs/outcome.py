"""What a design came to, whatever the kind of problem and the objective."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from peerbayes.designs.documents import DesignRecord, NextEdgeRecord, SomeDesign
from peerbayes.designs.edges import NEXT_EDGE
from peerbayes.designs.shared import recorded
from peerbayes.documents import Documented
from peerbayes.problem.problems import AnyProblem
from peerbayes.settings.questions import Design
from theory.validation import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignOutcome(Documented):
    """The design for one problem; the base of those for each kind.

    Attributes
    ----------
    problem, request
        What was designed for, and what was asked.
    remarks
        What is to be said of the design as a whole, one sentence each.
    stopped
        Whether the time was up before the search was done.
    record_path
        Where it is on disk; None if it left no record.
    written_path
        Where the problem with the designed weights is; None if it was not written.
    """

    problem: AnyProblem
    request: Design
    remarks: tuple[str, ...] = ()
    stopped: bool = False
    record_path: Path | None = None
    written_path: Path | None = None

    def _remarked(self) -> Iterator[tuple[str, object]]:
        """What is printed of every design: whether it was cut short, and where it is."""
        if self.stopped:
            yield "stopped", "by the time budget"
        if self.written_path is not None:
            yield "written", str(self.written_path)
        if self.record_path is not None:
            yield "record", str(self.record_path)

    @property
    @abstractmethod
    def failed(self) -> bool:
        """Whether a solver gave up on the way."""

    @abstractmethod
    def document(self) -> SomeDesign:
        """What `design` prints."""

    @abstractmethod
    def designed_problem(self) -> AnyProblem:
        """The problem with the designed weights in place of its own.

        Raises
        ------
        ValueError
            If the objective designs no weights.
        """

    @abstractmethod
    def pictures(self) -> dict[str, Any]:
        """What a record holds besides, for the report: networks before and after, and curves."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Belief before and after, if that was simulated, or the network as designed.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.designs.figures import curves_plot
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.graph import draw_network

        found = self.pictures()
        if found.get("curves"):
            return on_axes(lambda axes: curves_plot(found["curves"], axes=axes), ax)
        if "after" not in found:
            raise fail("plot", "a design of one network", "another", "plot what it is made of")
        return draw_network(found["after"], ax)

    def tables(self) -> list[RenderableType]:
        """What `design` shows people."""
        from peerbayes.designs.tables import design_parts

        return design_parts(self.document())

    def remarked(self, *remarks: str, **changes: Any) -> Self:
        """The same with remarks before its own, and with other changes."""
        return replace(self, remarks=(*remarks, *self.remarks), **changes)

    def record(self) -> DesignRecord | NextEdgeRecord:
        """What is left on disk."""
        result = self.document()
        common = recorded(self.problem, self.request, result)
        if isinstance(result, NEXT_EDGE.model):
            return NextEdgeRecord(**common)
        return DesignRecord(**common, **self.pictures())


def named_objective(objective: str) -> Any:
    """An objective that a request was made with, for a document that lists the names."""
    return objective


def place_text(path: Path | None) -> str | None:
    """A file's place as JSON takes it."""
    return None if path is None else str(path)
