"""Which edge to add next: every candidate's effect, exactly, ranked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerbayes.designs.outcome import DesignOutcome
from peerbayes.designs.quantities import BOUNDED, CERTIFIED, EFFECT, NEXT_EDGE
from peerbayes.designs.request import DesignTask, section_in, section_of
from peerbayes.designs.shared import MOST_ROWS, ProblemRecord, called
from peerbayes.problem.entries import placed
from peerbayes.problem.problems import Problem
from peerbayes.problem.specification import DesignSection
from peerbayes.quantities.showing import ends_text, grid
from peerbayes.settings.questions import Design
from peerbayes.tables import notes_text, rounds
from theory.design import DesignGraph, RankedEdges, rank_edges, rank_removals
from theory.showing import Words
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

# The best candidates get certified sample sizes, seconds each.
_CERTIFIED = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class NextEdge(DesignOutcome):
    """Candidate edges with what each would do, and the edges that are least missed."""

    quantities = NEXT_EDGE

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
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        return list(dict.fromkeys([*self.remarks, *self.added.notes, *self.removed.notes]))

    def record(self) -> ProblemRecord:
        """What is left on disk."""
        return ProblemRecord(**self.recorded())

    def tables(self) -> list[RenderableType]:
        """Both lists of edges, each below the network as it is; bridges and notes."""
        from rich.text import Text

        result = self.document()
        lists = {"Edges to add, best first": result.added, "Edges least missed": result.removed}
        parts: list[RenderableType] = []
        for words, effects in lists.items():
            title = f"{result.problem}: {words} (weights: {result.rule})"
            rows = [(edge_words(result, effect.edge), effect) for effect in effects[:MOST_ROWS]]
            parts.append(
                grid(EFFECT, [("as it is", result.base), *rows], title=title, names="edge")
            )
        if result.bridges:
            bridges = ", ".join(edge_words(result, edge) for edge in result.bridges[:MOST_ROWS])
            parts.append(Text(f"without any of these the network falls apart: {bridges}"))
        return [*parts, notes_text(result.notes)]


def edge_words(document: Any, edge: tuple[int, int]) -> str:
    """An edge by the names of its ends."""
    return " - ".join(called(document, agent) for agent in edge)


def next_edge(problem: Problem, request: Design) -> NextEdge:
    """Rank the edges that could be added, and those that could be spared.

    Raises
    ------
    ValueError
        If the graph is complete, or the limits do not fit the network.
    """
    task, section = DesignTask.of(request, problem), section_in(problem)
    with placed(problem.name, "design", section_of(request, problem)):
        candidates, remarks = _candidates(task, section)
    rule = request.variant.rule or "uniform"
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


# In a few words ---------------------------------------------------------------------------------


def edge_advice(result: Any) -> Iterator[tuple[str, Words]]:
    """Which edge to add, or none, and what the network takes now and with it."""
    best = min(result.added, key=_enough, default=None)
    before, certified = result.base, CERTIFIED
    if best is None or best.edge is None or not _is_better(best, before):
        yield "use", Words("no new edge: leave the network as it is")
    else:
        yield "use", Words(f"add {edge_words(result, best.edge)}")
    if best is None:
        return
    if best.certified and before.certified:
        now, after = ends_text(before.certified), ends_text(best.certified)
    else:
        certified, now, after = BOUNDED, rounds(before.chernoff), rounds(best.chernoff)
    yield certified, Words(f"{now} as it is, {after} with the best edge")


def _enough(effect: Any) -> float:
    """Rounds that are proved to be enough."""
    known = [effect.certified[1]] if effect.certified else []
    known += [] if effect.chernoff is None else [effect.chernoff]
    return min(known, default=float("inf"))


def _is_better(best: Any, before: Any) -> bool:
    """Whether fewer rounds are proved to be enough, by one kind of proof."""
    if best.settles_on != before.settles_on:
        return False
    if best.certified and before.certified:
        return bool(best.certified[1] < before.certified[1])
    if best.chernoff is None or before.chernoff is None:
        return best.chernoff is not None
    return bool(best.chernoff < before.chernoff)
