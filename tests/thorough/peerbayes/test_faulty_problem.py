"""Problems with faulty agents, several of them verified at once."""

from __future__ import annotations

from pathlib import Path

from tests.peerbayes.test_faulty_problem import check_verification


def test_verify_holds_and_leaves_a_report(tmp_path: Path) -> None:
    rules = ("average 1", "clip 3", "trimmed-mean seldom 1")
    check_verification([f"liars-torus {rule}" for rule in rules], tmp_path)
