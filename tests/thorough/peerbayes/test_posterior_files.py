"""Every kind of damage to the beliefs that parts keep is repaired, and seen without torch."""

# ruff: noqa: F811 - fixtures are parameters too

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from peerbayes import cli
from tests.peerbayes.commands import Capture
from tests.peerbayes.test_posterior_files import (
    DAMAGE,
    RUN,
    check_repair,
    flip,
    parts,  # noqa: F401
    ran,  # noqa: F401
)

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("damage", [name for name in DAMAGE if name != "another part's"])
def test_what_is_damaged_is_run_again(damage: str, parts: Path, capsys: Capture) -> None:
    check_repair(damage, parts, capsys)


WITHOUT_TORCH = """
import sys
from peerbayes.cli import main
code = main(sys.argv[1:])
assert "torch" not in sys.modules
sys.exit(code)
"""


def test_report_needs_no_torch_to_see_damage(parts: Path) -> None:
    flip(parts / "paper-seed-1.safetensors", parts)
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, "report", "--out", str(parts.parent)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "paper-seed-1.safetensors: expected content that fits its checksum" in ended.stderr


def test_equal_runs_leave_equal_bytes(parts: Path) -> None:
    again = parts.parent / "again"
    assert cli.main([*RUN, "--out", str(again), "--quiet"]) == 0
    paths = sorted(parts.glob("*.safetensors"))
    assert len(paths) == 2
    for path in paths:
        assert path.read_bytes() == (again / parts.name / path.name).read_bytes()
