"""Every variant of every family, saved and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerbayes.problem.builtins.loading import load_problem
from tests.peerbayes.test_front import FAMILIES, check_saved


@pytest.mark.parametrize("name", [name for family in FAMILIES for name in family.variants])
def test_a_saved_problem_loads_as_it_was(name: str, tmp_path: Path) -> None:
    check_saved(load_problem(name), tmp_path / "p.json")
