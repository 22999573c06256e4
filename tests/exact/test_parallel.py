"""The same numbers whoever runs the units, and however often the run is killed and resumed."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exact import Run, Simulation, prepare, simulate
from exact.checkpoint import Arrays
from exact.parallel import _run, check_backend, one_thread, run_units
from tests.models import coins
from theory import FiniteModel, Network

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


@pytest.mark.parametrize(("workers", "backend"), [(1, None), (2, "threading")])
def test_progress_is_that_of_the_units(workers: int, backend: str | None) -> None:
    seen: list[tuple[int, int]] = []
    hear = lambda done, total: seen.append((done, total))  # noqa: E731
    run_units(Sums(), workers=workers, backend=backend, progress=hear)
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


def test_backends_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^backend: expected one of dask, loky, .*, got 'slurm';"):
        simulate(TRIANGLE, coins(3), run=Run(rounds=2, replicates=2, seed=0, backend="slurm"))
    monkeypatch.setattr("exact.parallel.find_spec", lambda name: None)
    for name, remedy in (("dask", r"install .* '\.\[cluster\]'"), ("ray", "install")):
        with pytest.raises(ValueError, match=f"'{name}', which is not; {remedy}"):
            check_backend(name)


@dataclass(frozen=True)
class Broken(Sums):
    """One unit finds the pool of processes broken, as where one of them was killed."""

    def run(self, unit: int, advanced: Callable[[int], None]) -> Arrays:
        if unit == 3:
            raise BrokenProcessPool
        return super().run(unit, advanced)


def test_a_killed_worker_is_reported_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^workers: expected processes that live") as reported:
        run_units(Broken(), workers=2, backend="threading")
    assert "\n" not in str(reported.value)
