"""Three arithmetics on a star of nine agents."""

from __future__ import annotations

from pathlib import Path

from tests.peerbayes.test_proved import check_arithmetics


def test_three_arithmetics_agree(tmp_path: Path) -> None:
    check_arithmetics("p2-star a=0.7", tmp_path)
