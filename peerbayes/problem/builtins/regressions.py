"""The papers' linear regressions as problem files, all numbers exact, and variants of them.

P1's two nodes and P2's four: an agent sees the bias and one coordinate of its own. Beside each
stand two variants of this project: *uniform v*, with symmetric weights on the same graph, and
*tempered*, in which agent j's likelihood is raised to the power 1/v_j, so that the network's
belief is asymptotically the pooled one (docs: mathematics/regression).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

_UNSEEN = ["0", "0"]
_BIAS = ["1", "1"]


def _ranges(half_widths: Sequence[str], seen: Sequence[int]) -> list[list[str]]:
    """The bias, and of the coordinates with these half-widths those that are seen."""
    return [
        _BIAS,
        *([f"-{w}", w] if k in seen else list(_UNSEEN) for k, w in enumerate(half_widths)),
    ]


def _document(
    name: str,
    title: str,
    *,
    weights: Sequence[Sequence[str]],
    theta: Sequence[str],
    half_widths: Sequence[str],
) -> dict[str, Any]:
    coordinates = range(len(half_widths))
    return {
        "name": name,
        "title": title,
        "network": {"weights": [list(row) for row in weights]},
        "regression": {
            "theta": list(theta),
            "noise_std": "4/5",
            "prior_variance": "1/2",
            "agents": [{"ranges": _ranges(half_widths, [k])} for k in coordinates],
            "test_ranges": _ranges(half_widths, list(coordinates)),
        },
    }


def _tempered(document: dict[str, Any], name: str, powers: Sequence[str]) -> dict[str, Any]:
    result = deepcopy(document)
    result["name"] = name
    result["title"] += ", likelihoods to the power 1/v"
    for agent, power in zip(result["regression"]["agents"], powers, strict=True):
        agent["tempering"] = power
    return result


def _reweighted(document: dict[str, Any], name: str, network: dict[str, Any]) -> dict[str, Any]:
    result = deepcopy(document)
    result["name"] = name
    result["title"] += ", symmetric weights"
    result["network"] = network
    return result


P1_REGRESSION = _document(
    "p1-regression",
    "P1's two nodes, each with one of two coordinates",
    weights=[["9/10", "1/10"], ["3/5", "2/5"]],
    theta=["-3/10", "1/2", "4/5"],
    half_widths=["1", "3/2"],
)
P2_REGRESSION = _document(
    "p2-regression",
    "P2's four nodes, each with one of four coordinates",
    weights=[
        ["1/2", "1/2", "0", "0"],
        ["3/10", "1/10", "3/10", "3/10"],
        ["0", "1/2", "1/2", "0"],
        ["0", "1/2", "0", "1/2"],
    ],
    theta=["-3/10", "1/2", "1/2", "1/10", "1/5"],
    half_widths=["1", "3/2", "5/4", "3/4"],
)

Documents = dict[str, tuple[dict[str, Any], dict[str, float | int | str]]]


def p1_documents() -> Documents:
    """P1's two nodes, with their own weights, with symmetric ones, and tempered."""
    name = "p1-regression"
    symmetric = {"weights": [["9/10", "1/10"], ["1/10", "9/10"]]}
    uniform, tempered = f"{name} uniform v", f"{name} tempered"
    return {
        name: (P1_REGRESSION, {"variant": "as printed"}),
        uniform: (_reweighted(P1_REGRESSION, uniform, symmetric), {"variant": "uniform v"}),
        # v = (6/7, 1/7).
        tempered: (_tempered(P1_REGRESSION, tempered, ["7/6", "7"]), {"variant": "tempered"}),
    }


def p2_documents() -> Documents:
    """P2's four nodes, with their own weights, with symmetric ones, and tempered."""
    name = "p2-regression"
    symmetric = {"edges": [[0, 1], [1, 2], [1, 3]], "agents": 4, "rule": "metropolis"}
    uniform, tempered = f"{name} uniform v", f"{name} tempered"
    # v = (3, 5, 3, 3)/14.
    powers = ["14/3", "14/5", "14/3", "14/3"]
    return {
        name: (P2_REGRESSION, {"variant": "as printed"}),
        uniform: (_reweighted(P2_REGRESSION, uniform, symmetric), {"variant": "uniform v"}),
        tempered: (_tempered(P2_REGRESSION, tempered, powers), {"variant": "tempered"}),
    }
