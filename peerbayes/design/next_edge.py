"""Which edge to add next: every candidate's effect, exactly, ranked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerbayes.analyse import interval, number
from peerbayes.design.request import DesignRequest, DesignTask
from peerbayes.problem import Problem
from peerbayes.records import plain
from theory.design import EdgeEffect, RankedEdges, rank_edges, rank_removals

# The best candidates get certified sample sizes, seconds each.
_CERTIFIED = 3
_LISTED = 50


@dataclass(frozen=True, eq=False)
class NextEdge:
    """Candidate edges with what each would do, and the edges that are least missed."""

    problem: Problem
    request: DesignRequest
    added: RankedEdges
    removed: RankedEdges
    record_path: Path | None = None

    @property
    def failed(self) -> bool:
        """No solver is involved that could give up."""
        return False

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `design --objective next-edge`."""
        names = self.problem.model.hypotheses
        content = {
            "problem": self.problem.name,
            "objective": "next-edge",
            "rule": self.added.rule,
            "delta": self.request.delta,
            "base": _effect(self.added.base, names),
            "added": [_effect(effect, names) for effect in self.added.ranked[:_LISTED]],
            "removed": [_effect(effect, names) for effect in self.removed.ranked[:_LISTED]],
            "bridges": [list(edge) for edge in self.removed.bridges],
            "candidates": len(self.added.ranked) + self.added.candidates_skipped,
            "candidates_skipped": self.added.candidates_skipped,
            "record": self.record_path,
            "notes": list(dict.fromkeys([*self.added.notes, *self.removed.notes])),
        }
        result: dict[str, Any] = plain(content)
        return result

    def as_record(self) -> dict[str, Any]:
        """What is left on disk."""
        specification = self.problem.specification
        result = self.as_json()
        del result["record"]
        return {
            "title": self.problem.title,
            "specification": None if specification is None else specification.document(),
            "seed": self.request.seed,
            "delta": self.request.delta,
            "result": result,
        }


def next_edge(problem: Problem, request: DesignRequest) -> NextEdge:
    """Rank the edges that could be added, and those that could be spared.

    Raises
    ------
    ValueError
        If the graph is complete, or the limits do not fit the network.
    """
    section = None if problem.specification is None else problem.specification.design
    task = DesignTask.of(request, problem.network, section)
    rule = request.rule or "uniform"
    added = rank_edges(
        task.network, problem.model, rule=rule, delta=request.delta, certify_best=_CERTIFIED
    )
    removed = rank_removals(task.network, problem.model, rule=rule, delta=request.delta)
    return NextEdge(problem, request, added, removed)


def _effect(effect: EdgeEffect, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "edge": None if effect.edge is None else list(effect.edge),
        "rate": number(effect.rate),
        "error_exponent": None if effect.exponent is None else number(effect.exponent),
        "slem": number(effect.slem),
        "chernoff": effect.samples,
        "certified": None if effect.certified is None else interval(effect.certified),
        "settles_on": names[effect.reference],
        "binding": None if effect.binding is None else names[effect.binding],
    }
