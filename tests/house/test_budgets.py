"""Lines and files of each package stay within what they have come down to."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Of each package most lines and most files. They are lowered when a package gets smaller; one that
# grows needs a reason that is worth its weight.
BUDGETS = {
    "theory": (57_340, 198),
    "exact": (14_650, 56),  # rounds by counts of observations, four to seven times as quick
    "empirical": (24_971, 91),
    "peerbayes": (53_400, 213),
    "benchmarks": (3_726, 16),
}
LONGEST_FILE = 500


@pytest.mark.parametrize("package", BUDGETS)
def test_a_package_keeps_its_budget(package: str) -> None:
    lengths = {
        path: path.read_text(encoding="utf-8").count("\n")
        for path in (ROOT / package).rglob("*.py")
    }
    lines, files = BUDGETS[package]
    assert sum(lengths.values()) <= lines
    assert len(lengths) <= files
    assert [str(path) for path, length in lengths.items() if length > LONGEST_FILE] == []
