"""Two processes on one machine give the numbers of one, and end together when one fails."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors.torch import load_file  # noqa: E402

from empirical.nets.consensus import OneProcess, block_of  # noqa: E402
from empirical.nets.distributed import connect, routes  # noqa: E402
from tests.empirical.nets.spread import everything  # noqa: E402

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
        [sys.executable, *launch, "-m", "tests.empirical.nets.spread", str(path)],
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
    said = (
        "ValueError: shift of agent 8 in round 2: expected finite numbers, got nan at parameter 7"
    )
    assert said in run.said
    assert "went through" not in run.said


def test_without_torchrun_all_is_in_one_process() -> None:
    with connect() as exchange:
        assert exchange == OneProcess()


@st.composite
def who_hears_whom(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    agents = draw(st.integers(2, 9))
    return tuple(
        tuple(sorted(draw(st.sets(st.integers(0, agents - 1))) - {i})) for i in range(agents)
    )


@settings(max_examples=40)
@given(heard=who_hears_whom(), processes=st.integers(2, 4))
def test_both_ends_agree_and_nothing_is_sent_in_vain(
    heard: tuple[tuple[int, ...], ...], processes: int
) -> None:
    agents = len(heard)
    processes = min(processes, agents)
    home = {
        agent: rank
        for rank in range(processes)
        for agent in block_of(agents, processes=processes, rank=rank)
    }
    ways = [routes(heard, processes=processes, rank=rank) for rank in range(processes)]
    sent = {
        (j, way.process) for rank in range(processes) for way in ways[rank] for j in way.outgoing
    }
    wanted = {(j, home[i]) for i in range(agents) for j in heard[i] if home[i] != home[j]}
    assert sent == wanted
    for rank in range(processes):
        for way in ways[rank]:
            (back,) = (other for other in ways[way.process] if other.process == rank)
            assert way.incoming == back.outgoing == tuple(sorted(way.incoming))
