"""Sliders and choices of a page: the numbers of a document from which much follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

from peerbayes.explorer.documents import MOST_AGENTS, Table
from peerbayes.explorer.editing.networks import agents_of
from peerbayes.problem.network_section import TOPOLOGIES, Rule

RULES: tuple[str, ...] = get_args(Rule)


def controls_of(document: Table) -> list[Table]:
    """Sliders and choices, in the order in which a page shows them."""
    network = document["network"]
    found: list[Table] = []
    if "topology" in network:
        found += _of_topology(network)
    if "edges" in network:
        found.append(_choice("network.rule", "rule", network.get("rule", "uniform"), RULES))
    changes = network.get("changes", {})
    found += _of_changes(changes, agents_of(network))
    faults = document.get("faults", {})
    if "tolerate" in faults:
        found.append(_slider("faults.tolerate", "liars allowed for", faults["tolerate"], 0, 10, 1))
    if "radius" in faults:
        found.append(_slider("faults.radius", "clip at, in nats", faults["radius"], 0.01, 10, 0.01))
    if faults:
        every = faults.get("pool_every", 1)
        found.append(_slider("faults.pool_every", "rounds between talks", every, 1, 100, 1))
    messages = document.get("messages", {})
    for key, label, low, high, step in _MESSAGES:
        if key in messages:
            found.append(_slider(f"messages.{key}", label, messages[key], low, high, step))
    return found


_MESSAGES: Sequence[tuple[str, str, float, float, float]] = (
    ("step", "step, in nats", 0.001, 10, 0.001),
    ("mixing", "share of the way to what is heard", 0.01, 1, 0.01),
    ("threshold", "threshold, in nats", 0.001, 10, 0.001),
    ("loss", "messages lost", 0, 0.99, 0.01),
    ("draws", "samples a message", 1, 1000, 1),
)


def _of_topology(network: Mapping[str, Any]) -> list[Table]:
    found = [_choice("network.topology", "topology", network["topology"], TOPOLOGIES)]
    if "agents" in network:
        found.append(_slider("network.agents", "agents", network["agents"], 1, MOST_AGENTS, 1))
    if "edge_confidence" in network:
        value = network["edge_confidence"]
        found.append(_slider("network.edge_confidence", "edge confidence", value, 0.01, 0.99, 0.01))
    else:
        found.append(_choice("network.rule", "rule", network.get("rule", "uniform"), RULES))
    if "probability" in network:
        value = network["probability"]
        found.append(_slider("network.probability", "probability of an edge", value, 0.01, 1, 0.01))
    if "radius" in network:
        found.append(_slider("network.radius", "radius", network["radius"], 0.01, 1.5, 0.01))
    for key, label, high in (("branching", "children", 10), ("dimension", "dimension", 9)):
        if key in network:
            found.append(_slider(f"network.{key}", label, network[key], 1, high, 1))
    if network["topology"] in ("erdos-renyi", "geometric"):
        found.append(_slider("network.seed", "seed", network.get("seed", 0), 0, 1000, 1))
    return found


def _of_changes(changes: Mapping[str, Any], agents: int) -> list[Table]:
    found = []
    if "up" in changes:
        found.append(_slider("changes.up", "links up", changes["up"], 0.01, 1, 0.01))
        lost = ("own", "renormalise", "last")
        found.append(
            _choice(
                "changes.on_loss", "in place of a lost message", changes.get("on_loss", "own"), lost
            )
        )
    if "present" in changes:
        found.append(
            _slider("changes.present", "agents present", changes["present"], 0.01, 1, 0.01)
        )
    if "mean_absence" in changes:
        value = changes["mean_absence"]
        found.append(_slider("changes.mean_absence", "rounds of an absence", value, 1, 100, 1))
    if "delay" in changes:
        found.append(_slider("changes.delay", "rounds late", changes["delay"], 0, 50, 1))
    if "group_size" in changes:
        value = changes["group_size"]
        found.append(
            _slider("changes.group_size", "edges at a time", value, 1, max(1, agents - 1), 1)
        )
    return found


def _slider(key: str, label: str, value: Any, low: float, high: float, step: float) -> Table:
    number = float(Fraction(value)) if isinstance(value, str) else value
    return {
        "edit": "set-parameter",
        "key": key,
        "label": label,
        "value": number,
        "minimum": min(low, number),
        "maximum": max(high, number),
        "step": step,
        "choices": None,
    }


def _choice(key: str, label: str, value: str, choices: Sequence[str]) -> Table:
    return {
        "edit": "set-parameter",
        "key": key,
        "label": label,
        "value": value,
        "minimum": None,
        "maximum": None,
        "step": None,
        "choices": list(choices),
    }
