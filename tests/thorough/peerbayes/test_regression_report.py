"""The page of a regression of which there is one replicate."""

from pathlib import Path

from tests.peerbayes.commands import Capture
from tests.peerbayes.test_regression_report import check_simulated


def test_one_replicate_has_a_page(tmp_path: Path, capsys: Capture) -> None:
    check_simulated(1, tmp_path, capsys)
