"""Work that could never end and memory that is not there are refused before anything starts."""

from __future__ import annotations

import os
import tracemalloc
import warnings
from itertools import islice

import numpy as np
import pytest

from exact import Run, simulate
from exact.cost import (
    LARGEST_WORK,
    UNKNOWN_MEMORY,
    Extent,
    check_work,
    memory_limit,
)
from exact.learning import chunks
from exact.propagation import Plan
from tests.models import coins
from theory import Network

PAIR = Network([[0.9, 0.1], [0.6, 0.4]])


class StoppedError(Exception):
    """Raised by a progress callback to end a run that would take hours."""


def stop(done: int, total: int) -> None:
    raise StoppedError(done, total)


@pytest.mark.parametrize(("replicates", "largest"), [(1, 4), (8, 4), (11, 4), (200, 1)])
def test_chunks_are_those_of_one_spawn(replicates: int, largest: int) -> None:
    parts = list(chunks(replicates, largest=largest, seed=12))
    streams = np.random.SeedSequence(12).spawn(len(parts))
    for part, stream in zip(parts, streams, strict=True):
        assert part.stream.spawn_key == stream.spawn_key
        np.testing.assert_array_equal(
            part.stream.generate_state(8), stream.generate_state(8), strict=True
        )
        # The sampler spawns from the child in turn.
        for a, b in zip(part.stream.spawn(2), stream.spawn(2), strict=True):
            np.testing.assert_array_equal(a.generate_state(8), b.generate_state(8))
    assert [part.begin for part in parts] == list(range(0, replicates, largest))
    assert sum(part.size for part in parts) == replicates
    assert all(0 < part.size <= largest for part in parts)


def test_chunks_are_made_one_at_a_time() -> None:
    first = list(islice(chunks(10**30, largest=10, seed=0), 3))
    assert [part.begin for part in first] == [0, 10, 20]


def test_many_replicates_take_no_memory_before_they_run() -> None:
    """The children of a seed used to be spawned in advance, half a kilobyte each."""
    with pytest.raises(StoppedError):
        simulate(PAIR, coins(2), run=Run(rounds=1, replicates=10**4, seed=0, progress=stop))
    tracemalloc.start()
    with pytest.raises(StoppedError) as stopped:
        simulate(PAIR, coins(2), run=Run(rounds=1, replicates=10**9, seed=0, progress=stop))
    _, top = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert top < 20 << 20  # a chunk is a few times 640 KiB; 10⁹ replicates are 2·10⁵ chunks
    assert stopped.value.args[1] == 10**9


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"replicates": 10**18}, "5 × 1000000000000000000 × 2 = 1e+19"),
        ({"rounds": 10**18}, "1000000000000000000 × 3 × 2 = 6e+18"),
        ({"rounds": 10**19}, "10000000000000000000 × 3 × 2 = 6e+19"),
        ({"rounds": 10**400}, f"{10**400} × 3 × 2 = 6e+400"),
        (
            {"rounds": 10**19, "record": range(1, 10**19 + 1)},
            "10000000000000000000 × 3 × 2 = 6e+19",
        ),
        ({"rounds": 10**19, "record": [10**19]}, "10000000000000000000 × 3 × 2 = 6e+19"),
    ],
)
def test_hopeless_work_is_refused(options: dict[str, object], got: str) -> None:
    good: dict[str, object] = {"rounds": 5, "replicates": 3, "seed": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"^rounds × replicates × agents: ") as refused:
            simulate(PAIR, coins(2), run=Run(**(good | options)))  # type: ignore[arg-type]
    message = str(refused.value)
    assert "\n" not in message
    assert f"at most 1e+14 observations, about a month of one core, got {got};" in message
    assert message.endswith("ask for fewer rounds or replicates, or a smaller network")


def test_work_counts_to_the_last_recorded_round() -> None:
    """Rounds after it are never run."""
    run = simulate(PAIR, coins(2), run=Run(rounds=10**18, replicates=3, seed=0, record=[2]))
    assert run.rounds.tolist() == [2]


def test_the_limit_itself_is_allowed() -> None:
    check_work(rounds=LARGEST_WORK // 2, replicates=1, agents=2)
    with pytest.raises(ValueError, match="observations"):
        check_work(rounds=LARGEST_WORK // 2 + 1, replicates=1, agents=2)


@pytest.mark.parametrize(
    "options",
    [
        {"rounds": 10**9, "record": range(1, 10**9)},
        {"rounds": 100, "replicates": 10**9, "paths": 10**9},
    ],
)
def test_memory_is_refused_before_it_is_taken(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exact.cost.memory_limit", lambda: 8 << 30)
    good: dict[str, object] = {"rounds": 5, "replicates": 3, "seed": 0}
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"^memory: expected at most 8 GiB") as refused:
        simulate(PAIR, coins(2), run=Run(**(good | options)))  # type: ignore[arg-type]
    _, top = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert top < 20 << 20
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(
        ("; record fewer rounds, or take fewer agents or hypotheses", "; keep fewer paths")
    )


def test_repeated_rounds_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exact.cost.memory_limit", lambda: 16 << 20)
    run = simulate(
        PAIR, coins(2), run=Run(rounds=5, replicates=3, seed=0, record=[5] * (3 * 10**5))
    )
    assert run.rounds.tolist() == [5]


def test_a_share_of_the_machine_or_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert memory_limit() == 3_072_000
    monkeypatch.setattr(os, "sysconf", lambda name: -1)
    assert memory_limit() == UNKNOWN_MEMORY
    monkeypatch.delattr(os, "sysconf")
    assert memory_limit() == UNKNOWN_MEMORY


def test_the_cost_of_huge_numbers_is_a_whole_one() -> None:
    extent = Extent(
        agents=2,
        links=4,
        sparse=False,
        hypotheses=2,
        columns=1,
        rounds=10**30,
        replicates=10**30,
        times=10**30,
        paths=10**30,
        plan=Plan(10, 1, 1),
        group=1,
        table=4,
        gaussian=False,
    )
    size = extent.cost().bytes
    assert isinstance(size, int)
    assert size > 8 * 10**60 * 4
