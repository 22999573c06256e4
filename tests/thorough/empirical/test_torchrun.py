"""Two processes on one machine give the numbers of one, and end together when one fails."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from empirical.nets.exchange import OneProcess
from tests.thorough.empirical.spread import everything

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Run:
    """What two processes left: what the first wrote, and what was said when one failed."""

    found: dict[str, Any]
    returned: int
    said: str


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The module `spread` in two processes of this machine; once, for it takes seconds."""
    path = tmp_path_factory.mktemp("spread") / "found"
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *launch, "-m", "tests.thorough.empirical.spread", str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=300,  # against hanging for ever
        check=False,
    )
    assert path.exists(), done.stderr
    return Run(load_file(path), done.returncode, done.stderr)


def test_two_processes_give_the_same_bits_as_one(run: Run) -> None:
    found = dict(run.found)
    assert found.pop("processes") == 2
    alone = everything(OneProcess())
    assert found.keys() == alone.keys()
    for name, values in alone.items():
        assert torch.equal(found[name], values), name


def test_a_process_that_fails_says_why_and_ends_the_others(run: Run) -> None:
    assert run.returned != 0
    assert (
        "TrainingFailed: training: expected finite losses, got nan at agent 8 in round 2"
        in run.said
    )
    assert "went through" not in run.said
