"""More streams that are closed or full, and more commands on narrow terminals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peerbayes.commands import Patch
from tests.peerbayes.test_terminal import check_closed, check_command, check_full, shell


@pytest.mark.parametrize("closed", ["2>&-", "<&-"])
def test_closed_errors_and_input_are_no_obstacle(closed: str, tmp_path: Path) -> None:
    check_closed(closed, tmp_path)


def test_errors_that_nobody_reads_are_errors_still() -> None:
    assert shell("peerbayes analyse nowhere 2>&-").returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line_or_none() -> None:
    check_full("list")
    check_full("--version")
    assert len(shell("peerbayes --help >/dev/full").stderr.splitlines()) == 1
    assert shell("peerbayes analyse nowhere 2>/dev/full").returncode == 2


@pytest.mark.parametrize(
    "command",
    ["analyse p2-grid", "analyse rotating-star", "formula wheel", "place p2-grid --replicates 0"],
)
def test_no_command_cuts_a_number(command: str, tmp_path: Path, monkeypatch: Patch) -> None:
    check_command(command, tmp_path, monkeypatch)
