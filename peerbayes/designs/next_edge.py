"""Which edge to add next: every candidate's effect, exactly, ranked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerbayes.designs.advice import edge_advice
from peerbayes.designs.edges import EFFECT, NEXT_EDGE, edge_words
from peerbayes.designs.outcome import DesignOutcome
from peerbayes.designs.request import DesignTask, section_of
from peerbayes.designs.shared import MOST_ROWS
from peerbayes.problem.design_section import DesignSection
from peerbayes.problem.entries import placed
from peerbayes.problem.problems import AnyProblem, Problem
from peerbayes.quantities.result import Result
from peerbayes.quantities.showing import grid
from peerbayes.settings.questions import Design
from peerbayes.tables import notes_text
from theory.design import DesignGraph, RankedEdges, rank_edges, rank_removals
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

# The best candidates get certified sample sizes, seconds each.
_CERTIFIED = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class NextEdge(DesignOutcome, Result):
    """Candidate edges with what each would do, and the edges that are least missed."""

    quantities = NEXT_EDGE
    _title = Result._title  # both bases would say of which problem

    problem: Problem
    added: RankedEdges
    removed: RankedEdges

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from edge_advice(self.document())
        yield "rule", self.added.rule
        yield "candidates", len(self.added.ranked)
        yield "bridges", len(self.removed.bridges)
        yield from self._remarked()

    @property
    def failed(self) -> bool:
        """No solver is involved that could give up."""
        return False

    @property
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        return list(dict.fromkeys([*self.remarks, *self.added.notes, *self.removed.notes]))

    def document(self) -> Any:
        """What `design --objective next-edge` prints, checked: its keys are attributes."""
        return self.quantities.document(self)

    def tables(self) -> list[RenderableType]:
        """Both lists of edges, each below the network as it is; bridges and notes."""
        from rich.text import Text

        result = self.document()
        lists = {"Edges to add, best first": result.added, "Edges least missed": result.removed}
        parts: list[RenderableType] = []
        for words, effects in lists.items():
            title = f"{result.problem}: {words} (weights: {result.rule})"
            rows = [(edge_words(result, effect.edge), effect) for effect in effects[:MOST_ROWS]]
            rows = [("as it is", result.base), *rows]
            parts.append(grid(EFFECT, rows, title=title, names="edge"))
        if result.bridges:
            bridges = ", ".join(edge_words(result, edge) for edge in result.bridges[:MOST_ROWS])
            parts.append(Text(f"without any of these the network falls apart: {bridges}"))
        return [*parts, notes_text(result.notes)]

    def designed_problem(self) -> AnyProblem:
        """No weights were designed."""
        raise fail("write", "an objective that designs weights", "next-edge", "leave it out")

    def pictures(self) -> dict[str, Any]:
        """Nothing is drawn."""
        return {}


def next_edge(problem: Problem, request: Design) -> NextEdge:
    """Rank the edges that could be added, and those that could be spared.

    Raises
    ------
    ValueError
        If the graph is complete, or the limits do not fit the network.
    """
    section = None if problem.specification is None else problem.specification.design
    with placed(problem.name, "design", section_of(request, section)):
        task = DesignTask.of(request, problem.network, section)
        candidates, remarks = _candidates(task, section)
    rule = request.rule or "uniform"
    added = rank_edges(
        task.network,
        problem.model,
        rule=rule,
        delta=request.delta,
        candidates=candidates,
        certify_best=_CERTIFIED,
    )
    removed = rank_removals(task.network, problem.model, rule=rule, delta=request.delta)
    return NextEdge(problem=problem, request=request, added=added, removed=removed, remarks=remarks)


def _candidates(
    task: DesignTask, section: DesignSection | None
) -> tuple[list[tuple[int, int]] | None, tuple[str, ...]]:
    """The pairs that the file lists and the network does not join, and what is passed by."""
    if section is None:
        return None, ()
    others = [
        name for name in sorted(section.model_fields_set) if name not in ("edges", "directed")
    ]
    passed = (f"limits that are passed by: {', '.join(others)}",) if others else ()
    if section.edges is None:
        return None, passed
    present = DesignGraph.from_network(task.network)
    if present.is_undirected and not task.graph.is_undirected:
        raise fail(
            "edges", "pairs that listen to each other, as those of [network] do", "one-way links",
            "list them both ways",
        )  # fmt: skip
    joined = {(int(i), int(j)) for i, j in present.links}
    listed = ((int(i), int(j)) for i, j in task.graph.links)
    return [pair for pair in listed if pair not in joined], passed
