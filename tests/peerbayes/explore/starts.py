"""Documents to start from, of every kind and form, and random edits of a document."""

from __future__ import annotations

from typing import Any

import numpy as np

from peerbayes.explorer.documents import opened
from peerbayes.explorer.tables import agents_of
from peerbayes.front.problems import load

Table = dict[str, Any]

COIN: Table = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
BLIND: Table = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["1/2", "1/2"]]]}
NORMAL: Table = {
    "inputs": ["1/2", "1/2"],
    "likelihood_mean": [["0", "1"], ["1", "1"]],
    "likelihood_std": "1",
    "truth": "fair",
}


def finite(network: Table, agents: list[Table], **more: Any) -> Table:
    """A problem of two hypotheses."""
    model = {"hypotheses": ["fair", "loaded"], "agents": agents}
    return {"name": "start", "network": network, "model": model, **more}


def starts() -> dict[str, Table]:
    """One document of each kind and form."""
    half: Table = {"sequence": [
        {"weights": [["1/2", "1/2", "0"], ["0", "1", "0"], ["0", "1/2", "1/2"]]},
        {"weights": [["1", "0", "0"], ["1/3", "1/3", "1/3"], ["0", "0", "1"]], "active": [1]},
    ]}  # fmt: skip
    star = {"topology": "star", "agents": 4, "edge_confidence": "1/2"}
    ring = {"topology": "ring", "agents": 4, "rule": "metropolis"}
    links = [[0, 0, 0.5], [0, 1, 0.5], [1, 1, "1/2"], [1, 2, "1/2"], [2, 0, "1"]]
    messages = {"quantiser": "uniform", "step": "1/10"}
    liar = [{"agents": [3], "behaviour": "push", "hypothesis": "loaded", "strength": "1"}]
    found = {
        "weights": finite({"weights": [["9/10", "1/10"], ["3/5", "2/5"]]}, [{"count": 2, **COIN}]),
        "links": finite({"links": links, "agents": 3}, [COIN, BLIND, COIN]),
        "star": finite(star, [{"count": 3, **COIN}, BLIND]),
        "ring": finite(ring, [COIN, {"count": 3, **BLIND}], learning={"batch": [1, 2, 1, 1]}),
        "edges": finite(
            {"edges": [[0, 1], [1, 2], [2, 0]], "agents": 3, "names": ["a", "b", "c"]},
            [COIN, NORMAL, BLIND],
        ),
        "directed": finite(
            {"edges": [[0, 1], [1, 2], [2, 0]], "agents": 3, "directed": True},
            [{"count": 3, **COIN}],
        ),
        "sequence": finite(half, [{"count": 3, **COIN}]),
        "failing": finite(
            {**ring, "changes": {"kind": "links", "up": "9/10"}}, [{"count": 4, **COIN}]
        ),
        "late": finite({**star, "changes": {"kind": "delays", "delay": 2}}, [{"count": 4, **COIN}]),
        "messages": finite(ring, [{"count": 4, **COIN}], messages=messages),
        "faulty": finite(
            {"topology": "complete", "agents": 4},
            [{"count": 4, **COIN}],
            faults={"rule": "trimmed-mean", "tolerate": 1, "agents": liar},
        ),
        "design": finite(
            ring,
            [{"count": 4, **COIN}],
            design={"fixed_agents": [0, 2], "link_costs": [{"link": [0, 1], "cost": "2"}]},
        ),
    }
    for name in ("p1-regression", "p2-regression", "p2-star", "rotating-star"):
        found[name] = opened(load(name))
    return found


class Randomly:
    """Edits drawn at random, most of which can be meant."""

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)

    def pick(self, *choices: Any) -> Any:
        """One of the choices."""
        return choices[int(self.draw.integers(len(choices)))]

    def value(self) -> Any:
        """A share: exact, typed, or any double."""
        return self.pick("1/3", "0.25", 0.4, 0, 1, "1", float(self.draw.random()), 1.5, -0.2)

    def agent(self, agents: int) -> int:
        """A number that is mostly an agent's."""
        return int(self.draw.integers(agents + (self.draw.random() < 0.03)))

    def some(self, agents: int) -> list[int]:
        """A few agents."""
        size = int(self.draw.integers(0, min(3, agents) + 1))
        return [int(a) for a in self.draw.choice(agents, size, replace=False)]

    def edit(self, document: Table) -> Table:
        """An edit of the document."""
        pick, n = self.pick, agents_of(document["network"])
        names = document.get("model", {}).get("hypotheses", ["fair", "loaded"])
        one, two, number = self.agent(n), self.agent(n), int(self.draw.integers(99))
        some, others = self.some(n), self.some(n)
        hears = {"listens_to": some, "heard_by": pick(some, others)}
        even = [f"1/{len(names)}"] * len(names)
        parameters = (
            *("agents", "edge_confidence", "network.seed", "changes.up", "changes.delay"),
            *("faults.tolerate", "messages.step"),
        )
        truths = {"of": pick(*names)}, {"mixture": {names[0]: "1/4", names[1]: 0.75}}
        more = pick({}, {"evidence_of": one}, {"name": f"n{number}"})
        link = {"from": one, "to": two, "both": bool(self.draw.integers(2))}
        who = {"agent": pick(None, one)}
        kinds: dict[str, Table] = {
            "add-agent": {**pick({}, hears), **more},
            "remove-agent": {"agent": one},
            "rename-agent": {
                "agent": one, "name": pick(str(one), f"m{number}", "böse <b>", "", "x" * 60)
            },
            "add-link": link,
            "remove-link": link,
            "set-weight": {"from": one, "to": two, "value": self.value()},
            "set-self-weight": {"agent": one, "value": self.value()},
            "set-rule": {"rule": pick("uniform", "metropolis", "lazy-metropolis", "max-degree")},
            "free-weights": {},
            "set-parameter": {"key": pick(*parameters), "value": pick(0.3, 3, 5, "1/4", 1)},
            "set-evidence": {"agent": one, "of": two},
            "swap-evidence": {"a": one, "b": two},
            "clear-evidence": {"agent": one},
            "set-batch": {**who, "value": int(self.draw.integers(1, 4))},
            "set-truth": {**who, **pick(*truths)},
            "set-prior": {**who, "prior": pick(None, even)},
            "rename-hypothesis": {"of": pick(*names), "name": f"h{number}"},
            "set-changes": pick(
                {"change": "none"}, {"change": "none"}, {"change": "random-links", "up": 0.8},
                {"change": "random-presence", "present": "1/2"},
                {"change": "delayed", "delay": 1}, {"change": "gossip"},
            ),
            "set-faults": pick(
                {"faulty": []}, {"faulty": []},
                {"faulty": some, "behaviour": pick("push", "silent", "split")},
                {"faulty": [one], "rule": pick("trimmed-mean", "median", "clip")},
            ),
            "set-messages": pick({}, {}, {"quantiser": "uniform", "step": "1/8"}),
            "set-name": {"name": "another", "title": pick("", "a line")},
            "set-design": {"key": "fixed_agents", "value": pick(None, [one])},
        }  # fmt: skip
        kind = pick(*kinds)
        if kind == "add-agent" and n > 12:
            kind = "remove-agent"
        return {"kind": kind, **kinds[kind]}
