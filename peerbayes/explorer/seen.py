"""What a page shows of a document besides numbers: agents, links, evidence, what can be moved."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from peerbayes.explorer.controls import controls_of
from peerbayes.explorer.documents import Table, problem_of
from peerbayes.explorer.editing.entries import entries_of, evidence
from peerbayes.explorer.layouts import layout_of
from peerbayes.explorer.possible import possible_edits, possible_objectives
from peerbayes.problem.problems import (
    ChangingProblem,
    FaultyProblem,
    ModelledProblem,
    RegressionProblem,
)
from theory import Network
from theory.changing import MarkovNetwork, PeriodicNetwork
from theory.changing.phase import weighted_sum
from theory.scientific import sparse


def view_of(document: Table) -> Table:
    """What a page shows of a document.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line.
    """
    problem = problem_of(document)
    network = problem.network
    links = sparse.coo_array(_mean_weights(network))
    row, column = links.coords
    groups = _Groups(document)
    return {
        "kind": kind_of_view(problem),
        "name": problem.name,
        "title": problem.title,
        "agents": list(network.names or map(str, range(network.agents))),
        "named": network.names is not None,
        "layout": layout_of(
            network.layout, np.column_stack([row, column])[row != column], network.agents
        ),
        "weights": [
            [i, j, w]
            for i, j, w in zip(row.tolist(), column.tolist(), links.data.tolist(), strict=True)
            if w > 0
        ],
        "hypotheses": []
        if isinstance(problem, RegressionProblem)
        else list(problem.model.hypotheses),
        "evidence": groups.agents(_batches(problem)),
        "groups": groups.labels,
        "controls": controls_of(document),
        "can": possible_edits(document),
        "objectives": possible_objectives(document),
        "changes": _changes(document),
        "faults": _faults(document),
        "messages": document.get("messages"),
        "design": document.get("design"),
        "form": next(
            key
            for key in ("weights", "links", "topology", "edges", "sequence")
            if key in document["network"]
        ),
        "rule": _rule(document["network"]),
        "notes": [],
    }


def kind_of_view(problem: ModelledProblem) -> str:
    """Which of the four kinds of problem it is."""
    if isinstance(problem, RegressionProblem):
        return "regression"
    if isinstance(problem, FaultyProblem):
        return "faulty"
    return "changing" if isinstance(problem, ChangingProblem) else "finite"


def _mean_weights(network: Any) -> Any:
    """W, or for a network that changes the mean over its phases or the W that changes befall."""
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        return weighted_sum(network.phases, np.full(len(network.phases), 1 / len(network.phases)))
    if isinstance(network, Network):
        return network.weights
    return network.network.weights


class _Groups:
    """Agents that see the same are of one group."""

    def __init__(self, document: Table) -> None:
        self.labels: list[str] = []
        self._group: list[int] = []
        self._kinds: list[str] = []
        known: dict[str, int] = {}
        numbers: dict[int, int] = {}
        for entry in entries_of(document):
            # Agents of one entry share the very same table.
            if id(entry) not in numbers:
                data = evidence(entry)
                text = json.dumps(data, sort_keys=True)
                if text not in known:
                    known[text] = len(known)
                    self.labels.append(_label(len(known) - 1, data))
                numbers[id(entry)] = known[text]
            self._group.append(numbers[id(entry)])

    def agents(self, batches: Sequence[int]) -> list[Table]:
        """Group, label and batch, agent by agent."""
        return [
            {"agent": agent, "of": group, "label": self.labels[group], "batch": batch}
            for agent, (group, batch) in enumerate(zip(self._group, batches, strict=True))
        ]


def _label(number: int, data: Mapping[str, Any]) -> str:
    """A letter, and a word on agents whose data say nothing."""
    letters = ""
    rest = number
    while True:
        letters = chr(ord("A") + rest % 26) + letters
        rest = rest // 26 - 1
        if rest < 0:
            break
    rows = data.get("likelihood") or data.get("likelihood_mean") or data.get("log_likelihoods")
    if rows and all(row == rows[0] for row in rows):
        return f"{letters}, uninformative"
    return letters


def _batches(problem: ModelledProblem) -> list[int]:
    model = problem.regression if isinstance(problem, RegressionProblem) else problem.model
    batches: list[int] = (
        model.batches.tolist()
        if hasattr(model, "batches")
        else [model.kinds[kind].batch for kind in model.assignment]
    )
    return batches


def _changes(document: Table) -> Table | None:
    network = document["network"]
    if "sequence" in network:
        law = next((key for key in ("probabilities", "transition") if key in network), "turns")
        return {"kind": "sequence", "phases": len(network["sequence"]), "law": law}
    changes: Table | None = network.get("changes")
    return changes


def _faults(document: Table) -> Table | None:
    faults = document.get("faults")
    if faults is None:
        return None
    entries = faults.get("agents", [])
    faulty = sorted(agent for entry in entries for agent in entry["agents"])
    return {
        "faulty": faulty,
        "behaviour": entries[0]["behaviour"] if entries else None,
        "rule": faults.get("rule", "average"),
        "count": faults.get("tolerate", len(faulty)),
        "table": faults,
    }


def _rule(network: Mapping[str, Any]) -> str | None:
    """The rule that weights follow; None where they are given one by one."""
    if "edges" in network or ("topology" in network and "edge_confidence" not in network):
        return str(network.get("rule", "uniform"))
    return None
