"""What a page shows of a document besides numbers: agents, links, evidence, what can be moved."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from peerbayes.explorer.documents import MOST_AGENTS, Table, problem_of
from peerbayes.explorer.edits import EDITS
from peerbayes.explorer.layouts import layout_of
from peerbayes.explorer.tables import agents_of, entries_of, evidence, form_of
from peerbayes.kinds.registry import kind_of
from peerbayes.problem.changes_section import LinkChanges
from peerbayes.problem.network_section import TOPOLOGIES, Rule
from peerbayes.problem.problems import ModelledProblem, RegressionProblem
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
    problem, table = problem_of(document), document["network"]
    network = problem.network
    links = sparse.coo_array(_mean_weights(network))
    row, column = links.coords
    pairs = np.column_stack([row, column])[row != column]
    triples = zip(row.tolist(), column.tolist(), links.data.tolist(), strict=True)
    agents, groups = _evidence(document, problem)
    return {
        "kind": kind_of(problem).form or "finite",
        "name": problem.name,
        "title": problem.title,
        "agents": list(network.names or map(str, range(network.agents))),
        "named": network.names is not None,
        "layout": layout_of(network.layout, pairs, network.agents),
        "weights": [[i, j, weight] for i, j, weight in triples if weight > 0],
        "hypotheses": list(document.get("model", {}).get("hypotheses", [])),
        "evidence": agents,
        "groups": groups,
        "controls": controls_of(document),
        "can": possible_edits(document),
        "objectives": possible_objectives(document),
        "changes": _changes(table),
        "faults": _faults(document.get("faults")),
        "messages": document.get("messages"),
        "design": document.get("design"),
        "form": form_of(table),
        "rule": _rule(table),
        "notes": [],
    }


def _mean_weights(network: Any) -> Any:
    """W, or for a network that changes the mean over its phases or the W that changes befall."""
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        return weighted_sum(network.phases, np.full(len(network.phases), 1 / len(network.phases)))
    return network.weights if isinstance(network, Network) else network.network.weights


def _evidence(document: Table, problem: ModelledProblem) -> tuple[list[Table], list[str]]:
    """Group, label and batch of each agent, and the labels of all groups: who sees the same."""
    listed = entries_of(document)
    # Agents of one entry share the very same table.
    data = {id(entry): evidence(entry) for entry in listed}
    texts = {key: json.dumps(table, sort_keys=True) for key, table in data.items()}
    firsts = {text: data[key] for key, text in reversed(texts.items())}
    groups = {text: k for k, text in enumerate(dict.fromkeys(texts.values()))}
    labels = [_label(k, firsts[text]) for text, k in groups.items()]
    agents = [
        {"agent": agent, "of": (k := groups[texts[id(entry)]]), "label": labels[k], "batch": batch}
        for agent, (entry, batch) in enumerate(zip(listed, _batches(problem), strict=True))
    ]
    return agents, labels


def _label(number: int, data: Mapping[str, Any]) -> str:
    """Letters, and a word on agents whose data say nothing."""
    letters, rest = "", number + 1
    while rest:
        rest, letter = divmod(rest - 1, 26)
        letters = chr(ord("A") + letter) + letters
    rows = data.get("likelihood") or data.get("likelihood_mean") or data.get("log_likelihoods")
    if rows and all(row == rows[0] for row in rows):
        return f"{letters}, uninformative"
    return letters


def _batches(problem: ModelledProblem) -> list[int]:
    model = problem.regression if isinstance(problem, RegressionProblem) else problem.model
    return [model.kinds[kind].batch for kind in model.assignment.tolist()]


def _changes(network: Table) -> Table | None:
    if "sequence" in network:
        law = next((key for key in ("probabilities", "transition") if key in network), "turns")
        return {"kind": "sequence", "phases": len(network["sequence"]), "law": law}
    changes: Table | None = network.get("changes")
    return changes


def _faults(faults: Table | None) -> Table | None:
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


# Controls: the numbers of a document from which much follows -------------------------------------

_LOSSES = get_args(LinkChanges.model_fields["on_loss"].annotation)
# Key; label; value where the file leaves it out; choices, or both ends and the step of a slider.
_CONTROLS: Sequence[tuple[str, str, Any, tuple[Any, ...]]] = (
    ("network.topology", "topology", None, TOPOLOGIES),
    ("network.agents", "agents", None, (1, MOST_AGENTS, 1)),
    ("network.edge_confidence", "edge confidence", None, (0.01, 0.99, 0.01)),
    ("network.rule", "rule", "uniform", get_args(Rule)),
    ("network.probability", "probability of an edge", None, (0.01, 1, 0.01)),
    ("network.radius", "radius", None, (0.01, 1.5, 0.01)),
    ("network.branching", "children", None, (1, 10, 1)),
    ("network.dimension", "dimension", None, (1, 9, 1)),
    ("network.seed", "seed", 0, (0, 1000, 1)),
    ("changes.up", "links up", None, (0.01, 1, 0.01)),
    ("changes.on_loss", "in place of a lost message", "own", _LOSSES),
    ("changes.present", "agents present", None, (0.01, 1, 0.01)),
    ("changes.mean_absence", "rounds of an absence", None, (1, 100, 1)),
    ("changes.delay", "rounds late", None, (0, 50, 1)),
    ("changes.group_size", "edges at a time", None, (1, "others", 1)),
    ("faults.tolerate", "liars allowed for", None, (0, 10, 1)),
    ("faults.radius", "clip at, in nats", None, (0.01, 10, 0.01)),
    ("faults.pool_every", "rounds between talks", 1, (1, 100, 1)),
    ("messages.step", "step, in nats", None, (0.001, 10, 0.001)),
    ("messages.mixing", "share of the way to what is heard", None, (0.01, 1, 0.01)),
    ("messages.threshold", "threshold, in nats", None, (0.001, 10, 0.001)),
    ("messages.loss", "messages lost", None, (0, 0.99, 0.01)),
    ("messages.draws", "samples a message", None, (1, 1000, 1)),
)


def controls_of(document: Table) -> list[Table]:
    """Sliders and choices, in the order in which a page shows them."""
    network = document["network"]
    tables = {name: document.get(name, {}) for name in ("faults", "messages")}
    tables["network"] = {k: network[k] for k in network if k == "rule" or "topology" in network}
    tables["changes"] = network.get("changes", {})
    # What a file may leave out is shown wherever it has a meaning.
    has_meaning = {
        "network.rule": _rule(network) is not None,
        "network.seed": network.get("topology") in ("erdos-renyi", "geometric"),
        "changes.on_loss": "up" in tables["changes"],
        "faults.pool_every": bool(tables["faults"]),
    }
    others = max(1, agents_of(network) - 1)
    return [
        _control(path, label, tables[name].get(key, start), domain, others)
        for path, label, start, domain in _CONTROLS
        for name, key in [path.split(".")]
        if has_meaning.get(path, key in tables[name])
    ]


def _control(key: str, label: str, value: Any, domain: Sequence[Any], others: int) -> Table:
    """A slider or a choice; a domain may end with the number of other agents."""
    control = {"edit": "set-parameter", "key": key, "label": label, "value": value}
    ends = ("minimum", "maximum", "step")
    if isinstance(domain[0], str):
        return {**control, **dict.fromkeys(ends), "choices": list(domain)}
    number = float(Fraction(value)) if isinstance(value, str) else value
    low, high, step = domain
    high = others if high == "others" else high
    span = (min(low, number), max(high, number), step)
    return {**control, "value": number, **dict(zip(ends, span, strict=True)), "choices": None}


# What can be asked ------------------------------------------------------------------------------

Possible = dict[str, bool | str]
_REGRESSION = {
    "clear-evidence": "every agent of a regression must see something",
    "set-truth": "a regression's truth is its coefficients",
    "rename-hypothesis": "a regression has no hypotheses",
    "set-faults": "a regression has honest agents alone",
    "set-messages": "a regression's beliefs are sent as they are",
    "set-changes": "a regression's network stays as it is",
}
# Which table of a problem stands in the way of which edits.
_EXCLUDED = {
    "changes": {
        "set-faults": "agents are faulty on networks that stay as they are",
        "set-messages": "messages are coded on networks that stay as they are",
    },
    "faults": {
        "set-messages": "messages are coded where nobody is faulty",
        "set-changes": "networks change where nobody is faulty",
    },
    "messages": {
        "set-faults": "agents are faulty where messages are not coded",
        "set-changes": "networks change where messages are not coded",
    },
    "regression": _REGRESSION,
}


def possible_edits(document: Table) -> Possible:
    """True for every kind of edit that the problem admits, or in one line why not."""
    found: Possible = dict.fromkeys(EDITS, True)
    network = document["network"]
    form, changes = form_of(network), "changes" in network
    if form == "sequence":
        found["set-rule"] = "the phases have weights of their own"
        found["set-changes"] = "the phases are what changes"
        found["free-weights"] = "the phases have weights of their own already"
    if form in ("weights", "links"):
        found["free-weights"] = "the weights are free already"
    given = document.get("faults") or document.get("messages") or changes
    if form not in ("topology", "edges") and not given:
        found["set-parameter"] = "no parameter is left: the weights are free"
    present = {*document, *(["changes"] if changes or form == "sequence" else [])}
    for table, reasons in _EXCLUDED.items():
        if table in present:
            found |= reasons
    agents = document.get("model", {}).get("agents", ())
    if any("log_likelihoods" in entry for entry in agents):
        found["set-truth"] = "the truth of a data set is its own"
    return found


def possible_objectives(document: Table) -> Possible:
    """True for every objective of a design that the problem admits, or in one line why not."""
    found: Possible = dict.fromkeys(OBJECTIVES, True)
    network = document["network"]
    if "regression" in document:
        why = "a regression has errors in place of hypotheses"
        found |= dict.fromkeys(_BY_HYPOTHESIS, why)
    elif form_of(network) == "sequence" or "changes" in network:
        why = "of a network that changes the rate alone is designed"
        found |= dict.fromkeys([*_BY_HYPOTHESIS, "mixing"], why)
    return found


OBJECTIVES = ("rate", "exponent", "samples", "mixing", "next-edge", "placement")
"""What a page can ask a design for."""
_BY_HYPOTHESIS = ("exponent", "samples", "next-edge")
