"""Problem files for the tests: the one of the documentation, and ways to spoil it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

# The example of the file format's description, comments and all.
TWO_COINS = """\
name = "two-coins"
[network]                                  # exactly one of the four forms
weights = [["9/10", "1/10"], ["3/5", "2/5"]]
# topology = "star"     agents = 9    edge_confidence = "1/2"     (grid takes shape = [3, 3])
# edges = [[0, 1], [1, 2]]    agents = 3    directed = false    rule = "metropolis"
# sequence = [ {weights = …, active = [0, 1]}, … ]                (periodic, one entry a phase)
[model]
hypotheses = ["fair", "loaded"]
[[model.agents]]
count = 2                                  # how many agents in a row share this entry (default 1)
inputs = ["1/2", "1/2"]                    # P_i(x); left out: one input
truth = [["1/2", "1/2"], ["1/2", "1/2"]]   # f_i(y|x), x by y; or the name of a hypothesis
likelihood = [ [["1/2","1/2"],["1/2","1/2"]], [["3/4","1/4"],["1/2","1/2"]] ]   # hypothesis, x, y
prior = ["1/2", "1/2"]                     # left out: uniform
"""

GAUSSIAN: dict[str, Any] = {
    "name": "thermometers",
    "network": {"edges": [[0, 1], [1, 2]], "agents": 3, "rule": "metropolis"},
    "model": {
        "hypotheses": ["cold", "warm"],
        "agents": [
            {
                "count": 2,
                "inputs": ["1/4", "3/4"],
                "likelihood_mean": [["0", "1"], ["1/2", "1"]],
                "likelihood_std": "2",
                "truth": "cold",
            },
            {
                "likelihood_mean": [["0"], ["1"]],
                "likelihood_std": "1",
                "truth_mean": ["1/10"],
                "truth_std": "3/2",
            },
        ],
    },
}

COINS: dict[str, Any] = {
    "name": "coins",
    "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
    "model": {
        "hypotheses": ["fair", "loaded"],
        "agents": [
            {
                "truth": [["1/2", "1/2"]],
                "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]],
                "prior": ["1/2", "1/2"],
            },
            {
                "truth": [["1/2", "1/2"]],
                "likelihood": [[["1/2", "1/2"]], [["2/3", "1/3"]]],
            },
        ],
    },
}

# Nine weather stations on a grid, of which the first tells most.
STATIONS: dict[str, Any] = {
    "name": "stations",
    "network": {"topology": "grid", "shape": [3, 3]},
    "model": {
        "hypotheses": ["dry", "mild", "wet"],
        "agents": [
            {
                "truth": "mild",
                "likelihood": [[["7/10", "3/10"]], [["1/2", "1/2"]], [["3/10", "7/10"]]],
            },
            {
                "count": 8,
                "truth": "mild",
                "likelihood": [[["3/5", "2/5"]], [["1/2", "1/2"]], [["1/2", "1/2"]]],
            },
        ],
    },
}

REMOVE = object()


def changed(path: str, value: object, *, base: dict[str, Any] = COINS) -> dict[str, Any]:
    """A copy of `base` with the entry at ``"model.agents.0.prior"`` replaced, added or removed."""
    document = deepcopy(base)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    table: Any = document
    for step in steps:
        table = table[step]
    if value is REMOVE:
        del table[last]
    else:
        table[last] = value
    return document
