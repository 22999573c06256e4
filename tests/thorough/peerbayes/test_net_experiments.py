"""Every row of the papers' experiments, tiny; and a quick run on Fashion-MNIST itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from peerbayes import cli
from peerbayes.experiments.net_rows import ROWS
from tests.peerbayes.commands import Capture, Patch, json_of
from tests.peerbayes.test_net_experiments import (  # noqa: F401
    QUICK_ROWS,
    Run,
    check_resumption,
    check_row,
    digits,
    run,
)

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", [name for name in ROWS if name not in QUICK_ROWS])
def test_every_row_runs_and_has_a_page(name: str, run: Run) -> None:  # noqa: F811
    check_row(name, run)


def test_parts_of_more_seeds_are_read_back(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """With a third seed the numbers of the first two stay."""
    options = ("fmnist-2-balanced-a", "--part", "best seed", "--replicates")
    first = run(*options, "2")
    before = Path(first["record"]).read_bytes()
    again = run(*options, "2", "--resume")
    assert again["reused"] == ["best seed 0", "best seed 1"]
    assert Path(first["record"]).read_bytes() == before
    more = run(*options, "3", "--resume")
    assert more["reused"] == ["best seed 0", "best seed 1"]
    assert more["parts"][-1] == "best seed 2"
    assert cli.main(["report", "--out", str(tmp_path)]) == 0


def test_a_stopped_part_is_gone_on_with(
    run: Run,  # noqa: F811
    tmp_path: Path,
    monkeypatch: Patch,
    capsys: Capture,
) -> None:
    check_resumption("none", run, tmp_path, monkeypatch, capsys)


def test_a_real_one(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    """Fashion-MNIST: each node learns labels that only the other has; alone neither can."""
    pytest.importorskip("torch")
    from empirical.data import DataNotFound, locate

    try:
        locate("fashion-mnist")
    except DataNotFound:
        pytest.skip("no Fashion-MNIST on this machine")
    arguments = ["run", "fmnist-2-balanced-a", "--quick", "--json", "--quiet"]
    results = {}
    for words in ("best seed", "best alone"):
        results = json_of(capsys, [*arguments, "--out", str(tmp_path), "--part", words])
    measured = {line["what"]: line["measured"] for line in results["lines"]}
    for node in ("node 1", "node 2"):
        # Half of the labels are half of the images; no guess at the others is right.
        assert measured[f"accuracy [%], best, each alone, {node}"] <= 50
        # A quick run reaches 78 to 82; linear readers of raw pixels about 80.
        for when in ("before", "after"):
            assert measured[f"accuracy [%], best, {node}, {when} consensus"] > 70


PROGRAM = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "safetensors"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
from peerbayes.cli import main

assert main(["list", "--out", sys.argv[1]]) == 0
assert main(["report", "--out", sys.argv[1]]) == 0
"""


def test_list_and_report_need_no_torch(run: Run, tmp_path: Path) -> None:  # noqa: F811
    run("fmnist-central", "--replicates", "1")
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "2 parts, seed 0" in " ".join(ended.stdout.split())
    assert "MB sent" in (tmp_path / "report.html").read_text(encoding="utf-8")
