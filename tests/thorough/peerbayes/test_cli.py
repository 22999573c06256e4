"""The command line as a process of its own: encoding, interruption, imports; and digits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peerbayes import test_cli as quick
from tests.peerbayes.commands import Capture, Patch
from tests.peerbayes.documents import TWO_COINS
from tests.peerbayes.test_cli import ROOT


def test_interrupted_as_a_process(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    script = (
        "import sys, os, signal\nfrom exact.task import Task\n"
        # A shell that starts the tests in the background has them ignore the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def interrupt(*a, **k): os.kill(os.getpid(), signal.SIGINT)\n"
        "Task.simulate = interrupt\n"
        "from peerbayes.cli import main\n"
        "sys.exit(main(['simulate', 'two-coins']))\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert outcome.returncode == 130
    assert outcome.stderr == "peerbayes: interrupted\n"


def test_output_in_a_narrow_encoding(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    path = tmp_path / "odd.toml"
    path.write_text(TWO_COINS.replace('"loaded"', '"geladen λ"'), encoding="utf-8")
    outcome = subprocess.run(
        [sys.executable, "-m", "peerbayes", "analyse", str(path)],
        capture_output=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert (outcome.returncode, outcome.stderr) == (0, b"")
    outcome.stdout.decode("ascii")


def test_digits_by_tables_and_json(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["analyse", "digits", "--quiet"]
    quick.test_json_alone_on_standard_output("analyse", arguments, tmp_path, capsys)
    quick.test_tables_are_plain_and_fit_80_columns(arguments, tmp_path, capsys)


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["analyse", "two-coins"], (*quick.DRAWING, *quick.SOLVING)),
        # A report is drawn, without what only reports of other kinds compute.
        (["run", "regression-2", "--replicates", "2"], ("torch", "sklearn", "scipy.stats")),
    ],
)
def test_a_command_loads_nothing_heavy_that_it_can_do_without(
    arguments: list[str], heavy: tuple[str, ...], tmp_path: Path
) -> None:
    quick.test_a_command_loads_nothing_heavy_that_it_can_do_without(arguments, heavy, tmp_path)


def test_a_reader_that_goes_away() -> None:
    quick.test_a_reader_that_goes_away(["list", "--json"])
