"""The same numbers whoever runs the units, and however often the run is killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exact import Run, Simulation, prepare, simulate
from exact.checkpoint import Arrays, Checkpoint, fingerprint
from exact.parallel import _run, check_backend, one_thread, run_units
from tests.models import coins
from tests.runs import arguments
from theory import FiniteAgent, FiniteModel, Network

ROOT = Path(__file__).parents[2]
TRIANGLE = Network([[0.5, 0.5, 0.0], [0.1, 0.6, 0.3], [0.2, 0.0, 0.8]])
# So that runs of a fraction of a second have several units.
SHORT = 0.03


@pytest.fixture(autouse=True)
def short_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exact.cost.UNIT_SECONDS", SHORT)


@dataclass(frozen=True)
class Sums:
    """Units that add numbers of very different sizes, so that the order of adding shows."""

    units: int = 7

    def amount(self, units: int) -> int:
        return 10 * units

    def empty(self) -> Arrays:
        return {"sum": np.zeros(3), "seen": np.zeros(self.units, dtype=np.int64)}

    def run(self, unit: int, advanced: Callable[[int], None]) -> Arrays:
        advanced(4)
        advanced(6)
        rng = np.random.default_rng([3, unit])
        seen = np.zeros(self.units, dtype=np.int64)
        seen[unit] = 1
        return {"sum": rng.normal(size=3) * 10.0 ** rng.integers(-9, 9, size=3), "seen": seen}

    def merge(self, total: Arrays, part: Arrays) -> None:
        unit = int(part["seen"].argmax())
        assert (total["seen"][:unit] == 1).all()
        assert (total["seen"][unit:] == 0).all()
        total["sum"] += part["sum"]
        total["seen"] += part["seen"]


def many_coins(rounds: int) -> dict[str, Any]:
    """A run of several units, the last one shorter than the others."""
    return {"rounds": rounds, "replicates": 30_000, "seed": 4, "record": [1, 7, rounds], "paths": 9}


def assert_identical(a: Simulation, b: Simulation) -> None:
    for entry in fields(Simulation):
        one, other = getattr(a, entry.name), getattr(b, entry.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            assert one.tobytes() == other.tobytes(), entry.name
        else:
            assert one == other


def unit_count(model: FiniteModel, options: dict[str, Any]) -> int:
    return prepare(TRIANGLE, model, run=Run(**options)).cost().units


def test_units_are_merged_in_order_whoever_runs_them() -> None:
    alone = run_units(Sums())
    assert alone["seen"].all()
    # The order of adding shows in the last digits: otherwise this would test nothing.
    backwards = sum((Sums().run(k, lambda _: None)["sum"] for k in reversed(range(7))), np.zeros(3))
    assert (backwards != alone["sum"]).any()
    for workers, backend in ((2, None), (3, "loky"), (3, "threading"), (2, "multiprocessing")):
        with warnings.catch_warnings():
            # multiprocessing forks, and Python warns of forks beside threads.
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            spread = run_units(Sums(), workers=workers, backend=backend)
        assert spread["sum"].tobytes() == alone["sum"].tobytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_that_of_the_units(workers: int) -> None:
    seen: list[tuple[int, int]] = []
    run_units(Sums(), workers=workers, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (70, 70)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(seen) == (14 if workers == 1 else 7)


def test_simulations_are_the_same_to_the_last_bit() -> None:
    options = many_coins(400)
    assert unit_count(coins(3), options) > 3
    alone = simulate(TRIANGLE, coins(3), run=Run(**options))
    for workers, backend in ((2, None), (3, None), (3, "threading")):
        spread = simulate(TRIANGLE, coins(3), run=Run(workers=workers, backend=backend, **options))
        assert_identical(alone, spread)
    whole = simulate(TRIANGLE, coins(3), run=Run(**(options | {"paths": 30_000})))
    # Means of 3·10⁴ numbers of up to 100, whose rounding errors grow like their count at worst.
    np.testing.assert_allclose(alone.mean, whole.paths.mean(axis=0), rtol=0, atol=1e-9)
    deviation = whole.paths.std(axis=0, ddof=1) / np.sqrt(30_000)
    np.testing.assert_allclose(alone.standard_error, deviation, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(alone.paths, whole.paths[:9])


def test_threads_share_no_state() -> None:
    """Two threads that are handed the same object each run a copy of it."""
    model = coins(3)
    run_once = Run(rounds=5, replicates=50, seed=1, record=[5])
    work = prepare(TRIANGLE, model, run=run_once).work()
    barrier = threading.Barrier(2)

    def run() -> None:
        barrier.wait(timeout=60)
        _run("token", work, 0)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "sampler" not in vars(work.runner)


def test_one_thread_for_linear_algebra() -> None:
    from threadpoolctl import threadpool_info

    def threads() -> list[int]:
        return [entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"]

    before = threads()
    assert before
    with one_thread(), one_thread():
        assert set(threads()) == {1}
    assert threads() == before


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_workers_are_counted(workers: object) -> None:
    with pytest.raises(ValueError, match=r"^workers: expected a whole number of at least 1, got"):
        simulate(TRIANGLE, coins(3), run=Run(rounds=2, replicates=2, seed=0, workers=workers))  # type: ignore[arg-type]


def test_backends_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^backend: expected one of dask, loky, .*, got 'slurm';"):
        simulate(TRIANGLE, coins(3), run=Run(rounds=2, replicates=2, seed=0, backend="slurm"))
    monkeypatch.setattr("exact.parallel.find_spec", lambda name: None)
    for name, remedy in (("dask", r"install .* '\.\[cluster\]'"), ("ray", "install")):
        with pytest.raises(ValueError, match=f"'{name}', which is not; {remedy}"):
            check_backend(name)


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
    assert_identical(alone, spread)


PROGRAM = """
import os, signal, sys
from dataclasses import asdict
import numpy as np
import exact.checkpoint, exact.cost, exact.parallel
from exact import Run, simulate
from tests.exact.test_parallel import SHORT, TRIANGLE, many_coins
from tests.models import coins

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


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 5},
        {"record": [1, 6, 400]},
        {"paths": 8},
        {"replicates": 30_001},
        {"model": "loaded"},
        {"network": "other"},
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    options: dict[str, Any] = {"network": TRIANGLE, "model": coins(3), **many_coins(400)}
    path = tmp_path / "run.checkpoint"
    stopped = _stopped_run(path, options)
    if change.get("model"):
        biased = FiniteAgent([0.5, 0.5], np.log([[0.5, 0.5], [0.25, 0.75]]))
        change = {"model": FiniteModel.from_agents(["fair", "loaded"], [biased], counts=[3])}
    if change.get("network"):
        change = {"network": Network([[0.5, 0.5, 0.0], [0.1, 0.6, 0.3], [0.3, 0.0, 0.7]])}
    with pytest.raises(ValueError, match=r"run\.checkpoint: expected a checkpoint of this run"):
        simulate(**arguments(options | change | {"checkpoint": path, "resume": True}))
    assert path.read_bytes() == stopped
    # Without resuming it is no obstacle.
    simulate(**arguments(options | {"replicates": 5, "paths": 0, "checkpoint": path}))
    assert not path.exists()


class StoppedError(Exception):
    """Raised to end a run early."""


def _stopped_run(path: Path, options: dict[str, Any]) -> bytes:
    """Leave the checkpoint of a run that was stopped after its first unit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exact.parallel.EVERY_SECONDS", 0.0)
        patch.setattr("exact.parallel.Clock.due", lambda self, now: True)
        save = Checkpoint.save

        def save_and_stop(self: Checkpoint, done: int, total: Arrays) -> None:
            save(self, done, total)
            raise StoppedError

        patch.setattr(Checkpoint, "save", save_and_stop)
        with pytest.raises(StoppedError):
            simulate(**arguments(options | {"checkpoint": path}))
    return path.read_bytes()
