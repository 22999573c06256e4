"""Narrow terminals, with the commands that take long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peerbayes.commands import Patch
from tests.peerbayes.test_layout import check_command


@pytest.mark.parametrize(
    "command",
    ["analyse p2-grid", "analyse rotating-star", "formula wheel", "place p2-grid --replicates 0"],
)
def test_no_command_cuts_a_number(command: str, tmp_path: Path, monkeypatch: Patch) -> None:
    check_command(command, tmp_path, monkeypatch)
