"""One contract for all that is simulated: what the numbers of a run depend on, and what not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exact import Run, parallel, prepare, prepare_regression
from exact.checkpoint import Arrays, Checkpoint
from exact.parallel import run_units
from tests.exact.changing.test_simulation import NETWORKS, TRIO
from tests.exact.regression.test_simulation import PAIR, papers_model
from tests.exact.test_learning import mixed_model
from tests.models import coins
from theory import FiniteModel, Network
from theory.changing import RandomLinks
from theory.messages import Deadband, Uniform
from theory.robustness import Faults, Median, Push, RandomLies, Silent, TrimmedMean

MODEL = mixed_model(3)
ALIKE = FiniteModel(MODEL.hypotheses, MODEL.kinds, MODEL.assignment, 0 * MODEL.log_priors)
RING = Network.from_topology("ring", agents=12, sparse=True)
STAR = Network.from_topology("star", agents=9, edge_confidence=0.5)
COMPLETE = Network.from_topology("complete", agents=5)
LIARS = Faults({0: RandomLies(2.0), 3: Silent()}, TrimmedMean(2), pool_every=2)
STEPS = Uniform(step=0.25, mixing=0.5)
RUN = Run(rounds=6, replicates=4001, seed=3, record=[2, 6])


@dataclass(frozen=True)
class Kind:
    """A way to be simulated: a task for a run, and tasks of problems that differ in one thing."""

    task: Callable[[Run], Any]
    others: tuple[Callable[[Run], Any], ...] = ()


def finite(network: Any, model: FiniteModel, **options: Any) -> Callable[[Run], Any]:
    return lambda run: prepare(network, model, run=run, **options)


def regression(batch: int, **options: Any) -> Callable[[Run], Any]:
    return lambda run: prepare_regression(PAIR, papers_model(batch=batch), run=run, **options)


KINDS = {
    "fixed": Kind(
        finite(TRIO, MODEL), (finite(TRIO, ALIKE), finite(Network(TRIO.weights[::-1]), MODEL))
    ),
    "sparse": Kind(finite(RING, mixed_model(12))),
    **{
        name: Kind(finite(NETWORKS[name], MODEL), (finite(TRIO, MODEL),))
        for name in ("periodic", "markov", "away", "delays")
    },
    "last": Kind(finite(NETWORKS["last"], MODEL), (finite(RandomLinks(TRIO, 0.6, "own"), MODEL),)),
    "faulty": Kind(
        finite(COMPLETE, coins(5), faults=LIARS),
        tuple(
            finite(COMPLETE, coins(5), faults=replace(LIARS, **change))
            for change in (
                {"behaviours": {0: RandomLies(1.0), 3: Silent()}},
                {"rule": Median()},
                {"against": 0},
                {"pool_every": 1},
            )
        ),
    ),
    "messages": Kind(
        finite(STAR, coins(9), messages=STEPS),
        (finite(STAR, coins(9), messages=replace(STEPS, step=0.2500001)), finite(STAR, coins(9))),
    ),
    "deadband": Kind(finite(STAR, coins(9), messages=Deadband(step=1.0, threshold=3.0))),
    "regression": Kind(regression(2), (regression(1), regression(2, mode="alone"))),
    "shared inputs": Kind(regression(2, shared_inputs=True)),
}


@pytest.fixture(autouse=True)
def short_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many units as there are chunks, and a checkpoint after each."""
    monkeypatch.setattr("exact.propagation.STACK_BYTES", 1 << 16)
    monkeypatch.setattr("exact.cost.UNIT_SECONDS", 1e-9)
    monkeypatch.setattr("exact.regression.cost.UNIT_SECONDS", 1e-9)
    monkeypatch.setattr(parallel.Clock, "due", lambda self, now: True)


def bits(value: Any) -> Any:
    """All of a result, to be compared to the last bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value):
        return {entry.name: bits(getattr(value, entry.name)) for entry in fields(value)}
    return repr(value)


def work_of(task: Any) -> Any:
    return task.work() if callable(task.work) else task.work


class StoppedError(Exception):
    """Ends a run early."""


def stopped(task: Callable[[Run], Any], run: Run, units: int) -> None:
    """Run a task until its checkpoint holds so many units."""
    save = Checkpoint.save

    def save_and_stop(self: Checkpoint, done: int, total: Arrays) -> None:
        save(self, done, total)
        if done == units:
            raise StoppedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save_and_stop)
        with pytest.raises(StoppedError):
            task(run).simulate()


@pytest.mark.parametrize("name", KINDS)
def test_neither_who_runs_it_nor_a_stop_changes_a_bit(name: str, tmp_path: Path) -> None:
    """Threads, a copy sent to a process, and two stops; progress counts on from where it was."""
    kind, path = KINDS[name], tmp_path / "deep" / "sums"
    task = kind.task(RUN)
    work = work_of(task)
    assert work.units > 3
    whole = task.simulate()
    assert bits(whole) == bits(kind.task(replace(RUN, workers=2, backend="threading")).simulate())
    sums, again = run_units(work), run_units(pickle.loads(pickle.dumps(work)))
    assert {k: bits(v) for k, v in sums.items()} == {k: bits(v) for k, v in again.items()}

    heard: list[tuple[int, int]] = []
    kept = replace(RUN, checkpoint=path, progress=lambda done, total: heard.append((done, total)))
    stopped(kind.task, kept, 1)
    stopped(kind.task, replace(kept, resume=True), 3)
    before, half = len(heard), path.read_bytes()
    for other in (*kind.others, lambda run: kind.task(replace(run, seed=4))):
        with pytest.raises(ValueError, match="sums: expected a checkpoint of this run") as error:
            other(replace(kept, resume=True)).simulate()
        assert "\n" not in str(error.value)
    for change in ({"record": [3, 6]}, {"replicates": 4002}):
        with pytest.raises(ValueError, match="sums: expected a checkpoint of this run"):
            kind.task(replace(kept, resume=True, **change)).simulate()
    assert path.read_bytes() == half
    assert len(heard) == before
    assert bits(kind.task(replace(kept, resume=True)).simulate()) == bits(whole)
    assert not path.exists()
    done = [count for count, _ in heard]
    assert done[before] > done[before - 1] > 0
    assert done == sorted(done)
    assert heard[-1] == (6 * 4001, 6 * 4001)


@pytest.mark.parametrize("name", KINDS)
def test_the_seed_decides_and_what_is_recorded_does_not(name: str) -> None:
    kind = KINDS[name]
    few = replace(RUN, replicates=40)
    means = []
    for how in (few, few, replace(few, record=[1, 2, 5, 6]), replace(few, seed=5)):
        found = kind.task(how).simulate()
        means.append(found.excess_error if hasattr(found, "excess_error") else found.mean)
    np.testing.assert_array_equal(means[1], means[0])
    # Blocks of rounds end elsewhere: sums of six rounds are rounded in another order.
    np.testing.assert_allclose(means[2][[1, 3]], means[0], rtol=1e-12, atol=1e-12)
    assert (means[3] != means[0]).any()


@pytest.mark.parametrize("rule", ["average", TrimmedMean(0)])
def test_nobody_faulty_is_plain_learning(rule: Any) -> None:
    """The same data with the same seed, and so the same statistics up to rounding."""
    how = replace(RUN, replicates=400, paths=3)
    plain = prepare(COMPLETE, mixed_model(5), run=how).simulate()
    found = prepare(COMPLETE, mixed_model(5), faults=Faults({}, rule), run=how).simulate()
    for name in ("mean", "standard_error", "paths", "network_mean"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), 1e-9, 1e-9)
    np.testing.assert_array_equal(found.agent_errors, plain.agent_errors)
    assert found.watched.tolist() == plain.watched.tolist() == list(range(5))
    assert found.discarded.tolist() == plain.discarded.tolist() == [0] * 5


def test_a_liar_is_no_plain_learning() -> None:
    """Or the test before would say nothing."""
    liar = Faults({4: Push(1, 3.0)})
    plain, found = (
        prepare(COMPLETE, coins(5), faults=faults, run=RUN).simulate() for faults in (None, liar)
    )
    assert (found.mean[-1, :, 1] < plain.mean[-1, :4, 1] - 1).all()
