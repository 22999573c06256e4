"""One question about many problems: the answers of one after the other, whoever finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import peerbayes as pb
from peerbayes.front.many import many

NAMES = ("two-coins", "p2-grid", "p2-star", "two-coins")
SETTINGS: dict[Callable[..., Any], dict[str, Any]] = {
    pb.simulate: {"rounds": 5, "replicates": 20, "seed": 1},
    pb.analyse: {"certify": True},
}


@pytest.mark.parametrize("question", SETTINGS, ids=lambda question: question.__name__)
def test_threads_give_the_answers_of_one_after_the_other(question: Callable[..., Any]) -> None:
    """Certified numbers rest on a precision that all threads of a process share."""
    heard: list[tuple[int, int]] = []
    names, settings = NAMES[::3], SETTINGS[question]
    alone = [question(name, **settings).as_json() for name in names]
    found = many(
        question, names, workers=2, backend="threading", progress=lambda *n: heard.append(n),
        **settings,
    )  # fmt: skip
    assert [answer.as_json() for answer in found] == alone
    assert [answer.as_json() for answer in many(question, names, **settings)] == alone
    assert heard == [(1, 2), (2, 2)]


def test_bad_numbers_of_workers_and_problems_are_one_line() -> None:
    with pytest.raises(ValueError, match=r"^workers: expected a whole number of at least 1"):
        many(pb.analyse, NAMES, workers=0)
    with pytest.raises(ValueError, match="nowhere"):
        many(pb.analyse, ["two-coins", "nowhere"], workers=2, backend="threading")
    for one in ("two-coins", pb.load("two-coins")):
        with pytest.raises(ValueError, match=r"^problems: expected a list of problems, got one;"):
            many(pb.analyse, one)  # type: ignore[arg-type]
