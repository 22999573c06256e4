"""Networks and certificates as JSON takes them."""

from __future__ import annotations

from typing import Any


def record_body(problem: Any, *, seed: int, delta: float, result: Any, **more: Any) -> Any:
    """What a design leaves on disk: its JSON object, the problem's file, and what is drawn of it.

    A record does not say where it is, so that it can be moved, and runs be compared.
    """
    specification = problem.specification
    return {
        "title": problem.title,
        "specification": None if specification is None else specification.document(),
        "seed": seed,
        "delta": delta,
        "result": {key: value for key, value in result.items() if key != "record"},
        **more,
    }
