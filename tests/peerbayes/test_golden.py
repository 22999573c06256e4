"""What the commands print and record stays: keys may be added, never lost; numbers hold."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tests.peerbayes.golden import CASES, HOME, made, path_of

# Rounding differs between processors, and optimisers stop within their tolerance.
_ROUNDING, _OPTIMISED = 1e-9, 1e-5


def differences(kept: Any, now: Any, *, within: float, place: str = "") -> list[str]:
    """Where `now` has lost or changed something of `kept`."""
    if isinstance(kept, dict) and isinstance(now, dict):
        return [
            line
            for key, value in kept.items()
            for line in (
                differences(value, now[key], within=within, place=f"{place}.{key}")
                if key in now
                else [f"{place}.{key}: lost"]
            )
        ]
    if isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        return [
            line
            for k, (old, new) in enumerate(zip(kept, now, strict=True))
            for line in differences(old, new, within=within, place=f"{place}[{k}]")
        ]
    if isinstance(kept, float) and isinstance(now, int | float) and not isinstance(now, bool):
        # Beside other numbers of a document, 1e-12 is what rounding leaves of a zero.
        same = math.isclose(kept, now, rel_tol=within, abs_tol=max(1e-12, within * 1e-3))
    else:
        same = type(kept) is type(now) and kept == now
    return [] if same else [f"{place}: {kept!r} became {now!r}"]


# Of designs, placements and verifications one each; the rest is in tests/thorough.
_LONG = ("design", "place", "verify", "analyse finite rounds")
_OF_THEM = {"design changing", "place finite rate", "verify finite"}
QUICK = [name for name in CASES if not name.startswith(_LONG) or name in _OF_THEM]


def check_document(name: str) -> None:
    """That a command's document is the frozen one."""
    kept = json.loads(path_of(name).read_text(encoding="utf-8"))
    within = _OPTIMISED if name.startswith(("design", "place")) else _ROUNDING
    assert differences(kept, made(name), within=within) == []


@pytest.mark.parametrize("name", QUICK)
def test_documents_stay(name: str) -> None:
    check_document(name)


def test_every_file_has_its_case() -> None:
    assert sorted(HOME.glob("*.json")) == sorted(path_of(name) for name in CASES)


def test_a_difference_is_noticed() -> None:
    kept = {"a": [1, 2.0, None], "b": {"c": "x"}}
    assert differences(kept, kept | {"new": 1}, within=1e-9) == []
    assert differences(kept, {"a": [1, 2.0, None], "b": {}}, within=1e-9) == [".b.c: lost"]
    assert differences(kept, kept | {"a": [1, 2.001, None]}, within=1e-9)
    assert differences(kept, kept | {"a": [True, 2.0, None]}, within=1e-9)
    assert differences(kept, kept | {"a": [1, 2.0]}, within=1e-9)
