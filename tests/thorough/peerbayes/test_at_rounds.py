"""What is known after so many rounds, proved and exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peerbayes import test_proved as quick
from tests.peerbayes.commands import Capture


@pytest.mark.parametrize("rounds", [64, 100_000])
def test_logs_agree_and_reach_further(rounds: int) -> None:
    quick.test_logs_agree_and_reach_further(rounds)


@pytest.mark.parametrize("form", [["--certify"], ["--exact"]])
def test_the_command_line(form: list[str], tmp_path: Path, capsys: Capture) -> None:
    quick.test_rounds_on_the_command_line(form, tmp_path, capsys)
