"""The loop that runs any process: streams, what is reported, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from exact import Run, simulate
from exact.changing import process_for, run_process
from exact.changing.process import ProcessRunner
from exact.learning import chunks
from exact.propagation import Plan
from tests.exact.test_learning import mixed_model
from tests.models import coins
from tests.runs import arguments
from theory import FiniteAgent, FiniteModel, Network
from theory.changing import RandomLinks, RandomPresence
from theory.validation import FloatArray

PAIR = Network([[0.9, 0.1], [0.6, 0.4]])


class Alone:
    """Nobody talks."""

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        self.columns = columns

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        return private + observed


class Listening:
    """Another process, and what it was shown and given to draw from."""

    def __init__(self, inner: object) -> None:
        self.inner = inner
        self.seen: list[FloatArray] = []
        self.keys: list[tuple[int, ...]] = []

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        self.keys.append(tuple(stream.spawn_key))
        self.inner.restart(stream, replicates=replicates, columns=columns)

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        self.seen.append(observed.copy())
        return self.inner.advance(private, observed)


def test_processes_of_one_seed_see_the_same_data() -> None:
    """Whatever they draw themselves; and with chunks of their own streams."""
    heard = []
    for network in (RandomLinks(PAIR, 0.5), RandomPresence(PAIR, 0.5), PAIR):
        process = Listening(process_for(network))
        run_process(
            process,
            mixed_model(2),
            run=Run(rounds=4, replicates=9000, seed=7, record=[1, 4]),
            reference=[0],
        )
        heard.append(process)
    for process in heard[1:]:
        assert process.keys == heard[0].keys
        for one, other in zip(heard[0].seen, process.seen, strict=True):
            np.testing.assert_array_equal(one, other)
    assert len(heard[0].keys) > 1
    assert len(set(heard[0].keys)) == len(heard[0].keys)
    first, second = heard[0].seen[0], heard[0].seen[4]  # round 1 of two chunks
    assert (first[:, :50] != second[:, :50]).any()


def test_the_process_draws_from_a_stream_of_its_own() -> None:
    """Not from those of the observations, which are the chunk's first two children."""
    process = Listening(Alone())
    run_process(process, coins(2), run=Run(rounds=1, replicates=1, seed=7), reference=[0])
    chunk = np.random.SeedSequence(7, spawn_key=(0,))
    assert process.keys[0] not in {child.spawn_key for child in chunk.spawn(2)}


def test_alone_is_a_network_of_one() -> None:
    """Each agent's row is that of a single agent with the same data."""
    run = run_process(Alone(), coins(1), run=Run(rounds=30, replicates=200, seed=3), reference=[0])
    single = simulate(Network([[1.0]]), coins(1), run=Run(rounds=30, replicates=200, seed=3))
    np.testing.assert_allclose(run.mean, single.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(run.errors, single.errors)


def test_only_the_agents_asked_for_are_reported_and_judged() -> None:
    """In the order asked for; their mistakes alone count."""
    how = Run(rounds=25, replicates=100, seed=3, paths=100)
    every = run_process(Alone(), mixed_model(4), reference=[0], run=how)
    some = run_process(Alone(), mixed_model(4), reference=[0], run=how, agents=[3, 1])
    np.testing.assert_array_equal(some.paths, every.paths[:, :, [3, 1]])
    np.testing.assert_allclose(some.mean, every.mean[:, [3, 1]], rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(some.agent_errors, every.agent_errors[:, [3, 1]])
    np.testing.assert_allclose(some.network_mean, every.mean[:, [3, 1]].mean(axis=1), atol=1e-12)
    assert (some.errors < every.errors).any()


def test_reference_decides_what_is_wrong_and_the_ratios() -> None:
    how = Run(rounds=25, replicates=100, seed=3, paths=100)
    one = run_process(Alone(), mixed_model(3), run=how, reference=[1, 0])
    zero = run_process(Alone(), mixed_model(3), run=how, reference=[0])
    assert one.best == 1
    np.testing.assert_allclose(one.paths, zero.paths - zero.paths[..., [1]], rtol=1e-12, atol=1e-12)
    wrong = zero.paths[..., 2] <= np.minimum(zero.paths[..., 0], zero.paths[..., 1])
    np.testing.assert_array_equal(one.errors, wrong.any(axis=2).sum(axis=0))


def test_columns_are_all_hypotheses_unless_rounds_are_linear() -> None:
    table = np.log(np.random.default_rng(0).dirichlet([1, 1], size=50))
    model = FiniteModel.from_agents([f"h{m}" for m in range(50)], [FiniteAgent([0.5, 0.5], table)])
    widths = []
    for linear in (False, True):
        process = Alone()
        listening = Listening(process)
        run_process(
            listening, model, run=Run(rounds=2, replicates=3, seed=0), reference=[4], linear=linear
        )
        widths.append(process.columns)
    assert widths == [49, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": []}, "reference: expected at least one index, got none"),
        ({"reference": [2]}, "reference: expected a whole number of at most 1, got 2"),
        ({"reference": [0, 0]}, "reference: expected distinct indices, got"),
        ({"agents": [2]}, "agents: expected a whole number of at most 1, got 2"),
        ({"agents": []}, "agents: expected at least one index, got none"),
        ({"rounds": 0}, "rounds: expected a whole number of at least 1, got 0"),
        ({"workers": 0}, "workers: expected a whole number of at least 1, got 0"),
        ({"memory": 10}, ".*expected at most .* GiB"),
        ({"checkpoint": "sums"}, "checkpoint: expected none for a process of one's own, got sums"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"reference": [0], "rounds": 10, "replicates": 4, "seed": 0}
    with pytest.raises(ValueError, match=f"^{message}"):
        run_process(Alone(), coins(2), **arguments(good | options))


def test_chunks_do_not_disturb_each_other() -> None:
    """Two chunks of one process in turns, as threads may run them, and one after the other."""
    network = RandomLinks(PAIR, 0.5, "last")
    runner = ProcessRunner(
        process_for(network),
        mixed_model(2),
        best=0,
        recorded=np.arange(1, 9),
        watched=np.arange(2),
        plan=Plan(4, 1, 1),
        group=1,
        linear=True,
    )
    first, second = chunks(8, largest=4, seed=0)
    in_turns = zip(runner.states(first, int), runner.states(second, int), strict=True)
    pairs = [(a.copy(), b.copy()) for a, b in in_turns]
    for k, chunk in enumerate((first, second)):
        for pair, alone in zip(pairs, runner.states(chunk, int), strict=True):
            np.testing.assert_array_equal(pair[k], alone)
