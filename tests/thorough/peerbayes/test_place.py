"""Placements beside all orders of the data; objectives that take long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peerbayes.test_place import check_placement, check_regressions, check_twin


@pytest.mark.parametrize("name", ["p2-grid side", "digits grid corner"])
def test_no_other_placement_is_better(name: str) -> None:
    check_placement(name)


def test_regressions_learnt_from_data() -> None:
    check_regressions("diabetes")


@pytest.mark.parametrize("objective", ["exponent", "samples"])
def test_a_target_with_a_twin_where_no_hypothesis_is_best_for_all(
    objective: str, tmp_path: Path
) -> None:
    check_twin(objective, tmp_path)
