"""Built-in problems on networks that change, and with faulty agents, as problem files.

*Rotating stars* (P2 section 1.4.3): N + 1 agents, of whom a centre and a group of edges form a star
at a time. P2 spreads the training set over all agents alike; here all agents see all digits, in
the terms of `peerbayes.problem.builtins.digit_readers`, and only those of the present star observe.

*Restless ring*: eight digit readers on a ring, four of whom see the labels 4 and 9 and the others
the rest, under every kind of change.

*Liars on a torus*: 25 agents toss a fair coin and wonder whether it is loaded; up to three of them
push for the loaded one, and the others pool by one of four rules.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from peerbayes.problem.builtins.digit_readers import DIGITS, READERS, TRUE_READER, confusion_table

Documents = dict[str, tuple[dict[str, Any], dict[str, float | int | str]]]

# (N, N_0) of P2's two experiments.
ROTATIONS = ((25, 5), (100, 10))

CHANGES: dict[str, dict[str, Any]] = {
    "links": {"kind": "links", "up": "1/2"},
    "links renormalise": {"kind": "links", "up": "1/2", "on_loss": "renormalise"},
    "links last": {"kind": "links", "up": "1/2", "on_loss": "last"},
    "presence": {"kind": "presence", "present": "3/4"},
    "absence": {"kind": "presence", "present": "3/4", "mean_absence": "5"},
    "delays": {"kind": "delays", "delay": 3},
    "gossip": {"kind": "gossip"},
    "clocks": {"kind": "clocks", "rates": ["1", "2", "1", "2", "1", "2", "1", "2"]},
    "walk": {"kind": "walk"},
}

# Spread so that no honest agent of the 5 x 5 torus hears two of them.
_LIARS = (12, 24, 5)
RULES: dict[str, dict[str, Any]] = {
    "average": {"rule": "average"},
    "trimmed-mean": {"rule": "trimmed-mean", "tolerate": 1},
    # Agents that talk seldom are promised a rate above zero.
    "trimmed-mean seldom": {"rule": "trimmed-mean", "tolerate": 1, "pool_every": 300},
    "median": {"rule": "median"},
    "median seldom": {"rule": "median", "pool_every": 300},
    "clip": {"rule": "clip", "radius": "1/2"},
}
_POOLING = {
    "average": "the others average",
    "trimmed-mean": "the others take trimmed means",
    "trimmed-mean seldom": "the others take trimmed means, every 300 rounds",
    "median": "the others take medians",
    "median seldom": "the others take medians, every 300 rounds",
    "clip": "the others clip what they hear",
}
_LYING = {0: "none of whom lies", 1: "one of whom lies", 3: "three of whom lie"}


def rotating_star_documents() -> Documents:
    """P2's two networks of stars that take turns."""
    documents: Documents = {}
    for agents, group in ROTATIONS:
        name = f"rotating-star {agents}"
        documents[name] = (
            {
                "name": name,
                "title": f"P2's {agents} agents that form a star of {group} at a time",
                "network": {
                    "topology": "star",
                    "agents": agents + 1,
                    "edge_confidence": "1/2",
                    "changes": {"kind": "rotation", "group_size": group},
                },
                "model": {
                    "hypotheses": list(READERS),
                    "agents": [_reader(agents + 1, DIGITS)],
                },
            },
            {"agents": agents, "group_size": group},
        )
    return documents


def restless_ring_documents() -> Documents:
    """A ring of eight digit readers, under each kind of change."""
    pair = (4, 9)
    rest = tuple(x for x in DIGITS if x not in pair)
    documents: Documents = {}
    for kind, changes in CHANGES.items():
        name = f"restless-ring {kind}"
        documents[name] = (
            {
                "name": name,
                "title": "eight digit readers on a ring that changes, none of whom sees all labels",
                "network": {
                    "topology": "ring",
                    "agents": 8,
                    "rule": "metropolis",
                    "changes": changes,
                },
                "model": {
                    "hypotheses": list(READERS),
                    "agents": [_reader(4, pair), _reader(4, rest)],
                },
            },
            {"changes": kind},
        )
    return documents


def liars_documents() -> Documents:
    """The 5 x 5 torus with no, one or three liars, by each rule."""
    documents: Documents = {}
    for rule, table in RULES.items():
        for liars in _LYING:
            name = f"liars-torus {rule} {liars}"
            faults: dict[str, Any] = dict(table)
            if liars:
                faults["agents"] = [
                    {
                        "agents": list(_LIARS[:liars]),
                        "behaviour": "push",
                        "hypothesis": "loaded",
                        "strength": "1",
                    }
                ]
            documents[name] = (
                {
                    "name": name,
                    "title": f"25 agents on a torus, {_LYING[liars]}; {_POOLING[rule]}",
                    "network": {"topology": "torus", "shape": [5, 5], "rule": "metropolis"},
                    "model": {
                        "hypotheses": ["fair", "loaded"],
                        "agents": [
                            {
                                "count": 25,
                                "truth": "fair",
                                "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]],
                            }
                        ],
                    },
                    "faults": faults,
                },
                {"rule": rule, "liars": liars},
            )
    return documents


def _reader(count: int, labels: range | tuple[int, ...]) -> dict[str, Any]:
    share = str(Fraction(1, len(labels)))
    return {
        "count": count,
        "inputs": [share if x in labels else "0" for x in DIGITS],
        "truth": TRUE_READER,
        "likelihood": [confusion_table(reader) for reader in READERS],
    }
