"""The larger of the papers' regressions."""

from __future__ import annotations

from pathlib import Path

from tests.peerbayes import test_experiments as quick
from tests.peerbayes.commands import Capture, Patch


def test_the_papers_regression_of_four(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    quick.test_the_papers_regressions("regression-4", tmp_path, capsys, monkeypatch)
