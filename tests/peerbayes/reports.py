"""Records made by hand, of the shape that `verify` writes: for the tests of the report."""

from __future__ import annotations

from typing import Any

import numpy as np

NOTES = ["printed: as printed, not a theorem", "certified: every round was looked at one by one"]


def star_graph(agents: int = 9) -> dict[str, Any]:
    """A star with its natural positions, the centre twice as heavy as an edge agent."""
    around = 2 * np.pi * np.arange(agents - 1) / max(1, agents - 1)
    positions = [[0.0, 0.0], *np.column_stack([np.sin(around), np.cos(around)]).tolist()]
    edges = [[0, i] for i in range(1, agents)] + [[i, 0] for i in range(1, agents)]
    v = np.array([2.0] + [1.0] * (agents - 1))
    return {
        "edges": edges,
        "weights": [1 / agents] * (agents - 1) + [0.5] * (agents - 1),
        "positions": positions,
        "stationary_distribution": (v / v.sum()).tolist(),
    }


def comparison(problem: str, statement: str, **changes: Any) -> dict[str, Any]:
    """One statement that holds, unless changed."""
    return {
        "problem": problem, "statement": statement, "predicted": 0.1, "measured": 0.101,
        "standard_error": 0.001, "kind": "exact", "holds": True, "is_theorem": True, "note": "",
        **changes,
    }  # fmt: skip


def rates(names: list[str], *, scale: float = 0.02, ratio: float = 1.6) -> list[dict[str, Any]]:
    """Rates that grow by a ratio, measured within two standard errors."""
    rng = np.random.default_rng(len(names))
    rows = []
    for index, name in enumerate(names):
        limit = scale * ratio**index
        error = limit / 100
        measured = limit * 1.001 + error * float(rng.uniform(-2, 2))
        rows.append(
            {
                "hypothesis": name, "limit": limit, "predicted": limit * 1.001,
                "measured": measured, "standard_error": error,
            }
        )  # fmt: skip
    return rows


def trajectory(best: str, other: str, *, rate: float = 0.02, last: int = 188) -> dict[str, Any]:
    """Twenty-four recorded rounds of a random walk with drift, twelve paths of it."""
    rng = np.random.default_rng(last)
    rounds = np.unique(np.linspace(1, last, 24).round()).astype(int)
    steps = np.diff(rounds, prepend=0)
    noise = rng.normal(size=(12, len(rounds))) * np.sqrt(steps) * 4 * rate
    paths = rate * rounds + noise.cumsum(axis=1)
    return {
        "hypothesis": other, "reference": best, "rounds": rounds.tolist(), "rate": rate,
        "expected": (rate * rounds + rate / 4).tolist(), "mean": (rate * rounds).tolist(),
        "standard_error": (rate * np.sqrt(rounds) / 5).tolist(), "paths": paths.tolist(),
    }  # fmt: skip


def failures(*, last: int = 188, replicates: int = 2000) -> dict[str, Any]:
    """A failure frequency that falls below δ, and to none at the end."""
    rounds = np.unique(np.geomspace(1, last, 40).round()).astype(int)
    frequency = np.round(0.6 * np.exp(-12 * rounds / last) * replicates) / replicates
    return {
        "rounds": rounds.tolist(), "frequency": frequency.tolist(),
        "bound": np.minimum(1, 8 * np.exp(-5 * rounds / last)).tolist(),
        "replicates": replicates, "measured_rounds": int(rounds[len(rounds) * 3 // 4]),
    }  # fmt: skip


def problem(
    name: str = "p2-star a=0.3",
    *,
    names: tuple[str, ...] = ("best", "a", "b", "c", "d", "e"),
    family: str = "p2-star",
    compromise: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """One verified problem; `names` are the hypotheses, the best first."""
    best, wrong = names[0], list(names[1:])
    graph = star_graph()
    rows = rates(wrong)
    limits = {row["hypothesis"]: row["limit"] for row in rows}
    agents = len(graph["stationary_distribution"])
    analysis = {
        "problem": name,
        "network": {
            "agents": agents, "stationary_distribution": graph["stationary_distribution"],
            "stationary_method": "gth", "slem": 0.7, "second_eigenvalue": 0.7,
            "deviation": [0.3] + [4.2] * (agents - 1),
            "deviation_lower": [0.3] + [4.2] * (agents - 1),
            "irreducible": True, "period": 1, "reversible": True,
        },
        "learning": {
            "optimal_hypotheses": [] if compromise else [best],
            "compromise": [best] if compromise else None, "globally_learnable": not compromise,
            "rate": min(limits.values(), default=None),
            "binding_hypothesis": wrong[0] if wrong else None, "rates": limits,
            "error_exponent": 0.028 if wrong else None,
            "binding_for_exponent": wrong[0] if wrong else None, "exponents": limits,
            "divergences": {}, "ambiguous_pairs": [],
        },
        "samples": {
            "delta": 0.05, "printed": 3346987, "repaired": 3158, "chernoff": 188, "certified": None,
        },
        "notes": list(NOTES),
    }  # fmt: skip
    comparisons = [
        comparison(name, f"rate of rejecting {other!r} after 188 rounds") for other in wrong
    ]
    return {
        "name": name, "title": "P2's star of digit readers", "family": family,
        "parameters": {"edge_confidence": 0.3}, "analysis": analysis, "graph": graph,
        "trajectory": trajectory(best, wrong[0]) if wrong else None, "rates": rows,
        "replicates": 1225, "settled": {best: 0.998, **dict.fromkeys(wrong, 0.0)},
        "failures": failures(), "comparisons": comparisons, **changes,
    }  # fmt: skip


def sweep(
    name: str = "p2-star over a",
    *,
    names: tuple[str, ...] = ("best", "a", "b", "c", "d", "e"),
    changes_reference: bool = False,
) -> dict[str, Any]:
    """Five edge confidences; the reference changes after the second, if asked for."""
    confidences = [0.1, 0.2, 0.3, 0.5, 0.7]
    v = [9 * a / (9 * a + 8) for a in confidences]
    settled = [[names[1] if changes_reference and a < 0.25 else names[0]] for a in confidences]
    series = []
    for index, hypothesis in enumerate(names):
        points = [
            {
                "edge_confidence": a, "centre_weight": w, "limit": 0.02 * (index + 1) * (1 + w),
                "predicted": 0.0201 * (index + 1) * (1 + w),
                "measured": 0.0202 * (index + 1) * (1 + w), "standard_error": 0.0002,
            }
            for a, w, held in zip(confidences, v, settled, strict=True)
            if hypothesis not in held
        ]  # fmt: skip
        series.append({"hypothesis": hypothesis, "points": points})
    return {
        "name": name, "edge_confidence": confidences, "centre_weight": v, "settled": settled,
        "rates": series, "exponent": [0.028] * len(confidences),
        "comparisons": [comparison(name, "v₁ = 9a/(9a + 8)", standard_error=None)],
    }  # fmt: skip


def verify_body(*problems: dict[str, Any], sweeps: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The body of a ``verify`` record."""
    return {
        "seed": 7, "delta": 0.05, "problems": list(problems), "sweeps": list(sweeps),
        "skipped": ["fashion-mnist skipped: no files found"],
    }  # fmt: skip


def simulate_body(
    names: tuple[str, ...] = ("best", "a", "b"), *, replicates: int = 50
) -> dict[str, Any]:
    """The body of a ``simulate`` record; a single replicate has no standard errors."""
    rounds = [1, 10, 100, 1000]
    means = np.outer(rounds, 0.01 * np.arange(len(names)))
    error: Any = (0.02 * np.sqrt(means)).tolist()
    if replicates == 1:
        error = [[None] * len(names) for _ in rounds]
    return {
        "title": "a title",
        "specification": None,
        "result": {
            "problem": "two-coins", "rounds": 1000, "replicates": replicates, "seed": 3,
            "reference": [names[0]],
            "rates": {name: {"mean": [0.01], "standard_error": [None]} for name in names[1:]},
            "error_probability": {
                "estimate": 0.02, "lower": 0.001, "upper": 0.1, "confidence": 0.95,
            },
            "settled": {name: 1 / len(names) for name in names}, "notes": ["a note"],
        },
        "trajectory": {
            "rounds": rounds, "hypotheses": list(names), "network_mean": means.tolist(),
            "network_standard_error": error, "errors": [5, 3, 1, 0],
        },
    }  # fmt: skip
