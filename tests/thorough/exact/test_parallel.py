"""Runs on a cluster, and runs whose process is killed: the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from exact import Run, Simulation, prepare, simulate
from exact.checkpoint import Arrays, Checkpoint, fingerprint
from exact.parallel import run_units
from tests.exact.test_parallel import (
    ROOT,
    TRIANGLE,
    Sums,
    assert_identical,
    many_coins,
    short_units,
)
from tests.models import coins
from tests.peerbayes.test_many import NAMES, SETTINGS

__all__ = ["short_units"]


@pytest.mark.filterwarnings("ignore")  # dask's and its web server's own
def test_a_dask_cluster_of_two_processes() -> None:
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    from distributed import Client, LocalCluster

    options = many_coins(60)
    alone = simulate(TRIANGLE, coins(3), run=Run(**options))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        spread = simulate(TRIANGLE, coins(3), run=Run(workers=2, backend="dask", **options))
        for question, settings in SETTINGS.items():
            found = pb.many(question, NAMES, workers=2, backend="dask", **settings)
            expected = [question(name, **settings).as_json() for name in NAMES]
            assert [answer.as_json() for answer in found] == expected
    assert_identical(alone, spread)


PROGRAM = """
import os, signal, sys
from dataclasses import asdict
import numpy as np
import exact.checkpoint, exact.cost, exact.parallel
from exact import Run, simulate
from tests.exact.test_parallel import SHORT, TRIANGLE, many_coins
from tests.models import coins
from tests.peerbayes.test_many import NAMES, SETTINGS

exact.cost.UNIT_SECONDS = SHORT
exact.parallel.EVERY_SECONDS = exact.checkpoint.EVERY_SECONDS = exact.checkpoint.SHARE = 0
kill_after, workers, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
save, saved = exact.checkpoint.Checkpoint.save, 0

def save_and_die(self, done, total):
    global saved
    save(self, done, total)
    saved += 1
    if saved == kill_after:
        os.kill(os.getpid(), signal.SIGKILL)

exact.checkpoint.Checkpoint.save = save_and_die
how = Run(**many_coins(400), workers=workers, checkpoint=path, resume=True)
run = simulate(TRIANGLE, coins(3), run=how)
with open(path + ".result", "wb") as file:
    np.savez(file, **asdict(run))
"""


def test_killed_twice_and_resumed_to_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.checkpoint"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}

    def run(kill_after: int, workers: int) -> int:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, str(kill_after), str(workers), str(path)],
            env=environment,
            timeout=120,
            check=False,
        ).returncode

    options = many_coins(400)
    reference = simulate(TRIANGLE, coins(3), run=Run(**options))
    assert run(2, 1) == -signal.SIGKILL
    assert path.exists()
    assert not path.with_suffix(".checkpoint.result").exists()
    assert run(1, 2) == -signal.SIGKILL
    # The first process was killed after two units, the second after the third.
    assert Checkpoint(path, _fingerprint(options)).done() == 3
    path.with_name(f".{path.name}.0123abcd").write_bytes(b"half a checkpoint")
    assert run(-1, 1) == 0
    with np.load(f"{path}.result", allow_pickle=False) as finished:
        assert reference.messages is None
        for entry in fields(Simulation):
            if entry.name == "messages":
                continue
            one = np.asarray(getattr(reference, entry.name))
            assert one.dtype == finished[entry.name].dtype
            assert one.tobytes() == finished[entry.name].tobytes(), entry.name
    assert [entry.name for entry in path.parent.iterdir()] == ["run.checkpoint.result"]


def _fingerprint(options: dict[str, Any]) -> str:
    return fingerprint(*prepare(TRIANGLE, coins(3), run=Run(**options)).identity())


@dataclass(frozen=True)
class Deadly(Sums):
    """One unit kills the process that runs it."""

    def run(self, unit: int, advanced: Callable[[int], None]) -> Arrays:
        if unit == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(unit, advanced)


def test_a_killed_worker_is_reported_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^workers: expected processes that live") as reported:
        run_units(Deadly(), workers=2)
    assert "\n" not in str(reported.value)
