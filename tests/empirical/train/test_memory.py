"""Memory: what is predicted is what is taken, and a run that cannot fit is refused first."""

import os
import weakref
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from empirical.likelihoods.laws import Classes
from empirical.messages.codecs import codec_named
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.averaging import Share
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import LEARNERS, learner_of
from empirical.train.plan import GIB, Vectors, check_memory, free_memory, vectors_of
from empirical.train.run import TrainingRun
from tests.empirical.support import refused
from tests.empirical.train.test_run import NETWORKS, run_of
from theory import Network


class Counted(TorchDispatchMode):
    """Bytes of the tensors that were made within and are not freed yet, and the most there were."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._alive: dict[int, Any] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for value in tree_leaves(found):
            if isinstance(value, torch.Tensor):
                self._count(value.untyped_storage())
        return found

    def _count(self, storage: torch.UntypedStorage) -> None:
        place, size = storage._cdata, storage.nbytes()
        if place in self._alive:
            return

        def freed(_: Any) -> None:
            del self._alive[place]
            self.now -= size

        self._alive[place] = weakref.ref(storage, freed)
        self.now += size
        self.peak = max(self.peak, self.now)


AGENTS = 24
INPUTS, LABELS = torch.rand(50, 196), torch.arange(50) % 10


LEARN = ("natural-gradient", "sites", "backprop", "averaging")
CODED = [
    ("natural-gradient", "difference+sign"),
    ("averaging", "difference+sign"),
    ("sites", "plain"),
]


@pytest.mark.parametrize(("name", "codec"), [*((name, None) for name in LEARN), *CODED])
def test_a_runs_tensors_take_what_was_predicted(name: str, codec: str | None) -> None:
    """Counted, not measured: the same bytes on every machine, whatever else it does."""
    net = KernelNet(perceptron(196, 60, outputs=10))
    shares = Shares(INPUTS, LABELS, (torch.arange(50),) * AGENTS)
    run = TrainingRun(
        net, Classes(10), shares, Network.from_topology("ring", agents=AGENTS), learner_of(name),
        rounds=2, local_steps=2, batch=10, seed=0, codec=codec and codec_named(codec),
    )  # fmt: skip
    with Counted() as counted:
        for _ in range(2 if codec else 1):
            run.run_round()
    if codec is None:
        # Batches and the net's passes come on top, less than a vector of one agent; and who draws
        # weights holds one such vector more than is counted. Averaging holds so few itself that
        # steps take the most, with their weights and gradient copied to lines of the cache.
        vectors = 1 + (name in ("natural-gradient", "sites")) + 2 * (name == "averaging")
        assert 0 <= counted.peak - run.footprint < 4 * net.parameters * vectors
    else:  # a bound: as if all were heard of all streams at once
        assert 0.45 * run.footprint < counted.peak <= run.footprint


def test_counting_sees_what_is_held_and_what_is_freed() -> None:
    with Counted() as counted:
        one = torch.zeros(1000)
        view = one[10:]
        assert (counted.now, counted.peak) == (4000, 4000)
        del one
        assert counted.now == 4000
        del view
        torch.ones(500)
        assert (counted.now, counted.peak) == (0, 4000)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_a_learner_keeps_is_counted(name: str) -> None:
    """Against the tensors of a run, whose nets have another number of weights."""
    run = run_of(NETWORKS["fixed"], name)
    kept = sum(v.shape == (5, 3) for v in run.state().values())
    share = Share(torch.tensor([[4.0]]), torch.tensor([[0.5]]), 8)
    assert vectors_of(learner_of(name), share).kept == kept


def test_what_is_said_without_copying_is_not_counted_twice() -> None:
    share = Share(torch.tensor([[4.0]]), torch.tensor([[0.5]]), 8)
    assert vectors_of(learner_of("averaging"), share) == Vectors(2, 1, 1, 0)
    assert vectors_of(learner_of("backprop"), share).fresh == 2


def test_too_large_a_run_is_refused_in_one_line(monkeypatch) -> None:
    message = (
        "memory: expected at most the 1.0 GiB that are free, got 2.5 GiB for 9 agents of 7 weights;"
    )
    refused(message, check_memory, 5 * GIB // 2, free=GIB, agents=9, parameters=7)
    check_memory(GIB, free=GIB, agents=9, parameters=7)
    check_memory(GIB, free=None, agents=9, parameters=7)
    monkeypatch.setattr("empirical.train.run.free_memory", lambda device: 100)
    refused(r"memory: .* for 5 agents of 3 weights", run_of, NETWORKS["fixed"], "averaging")


def test_too_large_passes_on_a_device_are_refused_in_one_line(monkeypatch) -> None:
    run = run_of(NETWORKS["fixed"], "averaging")

    def full(*given: Any, **named: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(run, "_walk", full)
    message = (
        r"memory: .* got none for the passes of 5 nets beside 0\.0 GiB; make the batch smaller"
    )
    refused(message, run.run_round)


def test_free_memory_is_some_but_not_more_than_there_is() -> None:
    free = free_memory()
    if free is not None:
        assert 0 < free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
