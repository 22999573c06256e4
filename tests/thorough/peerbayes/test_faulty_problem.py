"""Problems with faulty agents, several of them verified at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.peerbayes.test_faulty_problem import FAULTS, check_claims, check_verification


def test_verify_holds_and_leaves_a_report(tmp_path: Path) -> None:
    rules = ("average 1", "clip 3", "trimmed-mean seldom 1")
    check_verification([f"liars-torus {rule}" for rule in rules], tmp_path)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["behaviour"])
def test_what_is_claimed_of_every_behaviour_holds(fault: dict[str, Any]) -> None:
    check_claims(fault)
