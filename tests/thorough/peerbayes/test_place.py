"""Placements beside all orders of the data."""

import pytest

from tests.peerbayes.test_place import check_placement


@pytest.mark.parametrize("name", ["p2-grid side", "digits grid corner"])
def test_no_other_placement_is_better(name: str) -> None:
    check_placement(name)
