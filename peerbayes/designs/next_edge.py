"""Which edge to add next: every candidate's effect, exactly, ranked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from peerbayes.designs.advice import edge_advice
from peerbayes.designs.documents import EffectDocument, NextEdgeDocument
from peerbayes.designs.outcome import DesignOutcome, place_text
from peerbayes.designs.request import DesignTask, section_of
from peerbayes.documents import interval, names_of, number
from peerbayes.problem.design_section import DesignSection
from peerbayes.problem.entries import placed
from peerbayes.problem.finite import Problem
from peerbayes.problem.problems import AnyProblem
from peerbayes.settings.questions import Design
from theory.design import DesignGraph, EdgeEffect, RankedEdges, rank_edges, rank_removals
from theory.validation import fail

# The best candidates get certified sample sizes, seconds each.
_CERTIFIED = 3
_LISTED = 50


@dataclass(frozen=True, eq=False, kw_only=True)
class NextEdge(DesignOutcome):
    """Candidate edges with what each would do, and the edges that are least missed."""

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

    def document(self) -> NextEdgeDocument:
        """What `design --objective next-edge` prints."""
        names, added, removed = self.problem.model.hypotheses, self.added, self.removed
        return NextEdgeDocument(
            names=names_of(self.problem.network.names),
            problem=self.problem.name,
            objective="next-edge",
            rule=added.rule,
            delta=self.request.delta,
            base=_effect(added.base, names),
            added=[_effect(effect, names) for effect in added.ranked[:_LISTED]],
            removed=[_effect(effect, names) for effect in removed.ranked[:_LISTED]],
            bridges=[(int(a), int(b)) for a, b in removed.bridges],
            candidates=len(added.ranked) + added.candidates_skipped,
            candidates_skipped=added.candidates_skipped,
            stopped_by_time_budget=self.stopped,
            record=place_text(self.record_path),
            notes=list(dict.fromkeys([*self.remarks, *added.notes, *removed.notes])),
        )

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


def _effect(effect: EdgeEffect, names: tuple[str, ...]) -> EffectDocument:
    return EffectDocument(
        edge=None if effect.edge is None else (int(effect.edge[0]), int(effect.edge[1])),
        rate=number(effect.rate),
        error_exponent=None if effect.exponent is None else number(effect.exponent),
        slem=number(effect.slem),
        chernoff=effect.samples,
        certified=None if effect.certified is None else interval(effect.certified),
        settles_on=names[effect.reference],
        binding=None if effect.binding is None else names[effect.binding],
    )
