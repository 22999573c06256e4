"""Every row of the papers' experiments, tiny; and a quick run on Fashion-MNIST itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerbayes.experiments.net_rows import ROWS
from tests.peerbayes.commands import Capture, Patch, json_of
from tests.peerbayes.test_net_experiments import (  # noqa: F401
    QUICK_ROWS,
    Run,
    check_row,
    digits,
    run,
)


@pytest.mark.parametrize("name", [name for name in ROWS if name not in QUICK_ROWS])
def test_every_row_runs_and_has_a_page(name: str, run: Run) -> None:  # noqa: F811
    check_row(name, run)


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
