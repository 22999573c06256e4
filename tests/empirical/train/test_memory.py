"""Memory: what is predicted is what is taken, and a run that cannot fit is refused first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from empirical.train.learners import LEARNERS, learner_of  # noqa: E402
from empirical.train.learners.learner import Share  # noqa: E402
from empirical.train.memory import GIB, Vectors, check_memory, free_memory, vectors_of  # noqa: E402
from tests.empirical.train.test_run import NETWORKS, run_of  # noqa: E402

MEASURE = """
import sys
import torch

torch.set_num_threads(1)
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import learner_of
from empirical.train.likelihoods.classes import Classes
from empirical.train.run import TrainingRun
from theory import Network

codec = None
if sys.argv[2:]:
    from empirical.messages.codecs import codec_named

    codec = codec_named(sys.argv[2])


def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1]) * 1024


def run(agents):
    net, rows = KernelNet(perceptron(784, 200, 200, outputs=10)), torch.arange(50)
    shares = Shares(inputs, labels, (rows,) * agents)
    network = Network.from_topology("ring", agents=agents)
    made = TrainingRun(net, Classes(10), shares, network, learner_of(sys.argv[1]),
                       rounds=2, local_steps=2, batch=50, seed=0, codec=codec)
    for _ in range(2 if codec else 1):
        made.run_round()
    return made.footprint


inputs, labels = torch.rand(50, 784), torch.arange(50) % 10
run(3)  # what is loaded and compiled once
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = status("VmRSS")
predicted = run(60)
print(predicted, status("VmHWM") - before)
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="no peaks by Linux")
@pytest.mark.parametrize("name", ["natural-gradient", "sites", "backprop", "averaging"])
def test_a_run_takes_what_was_predicted(name: str) -> None:
    """Within a tenth, which is promised: buffers of batches and of torch are not counted."""
    assert 0.9 < measured(name) < 1.1


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="no peaks by Linux")
@pytest.mark.parametrize("codec", ["difference+sign", "plain"])
def test_a_run_with_a_codec_takes_no_more_than_was_predicted(codec: str) -> None:
    """Nor much less: that all was heard of all streams at once is assumed, and the sums' buffer."""
    assert 0.75 < measured("natural-gradient", codec) < 1.05


def measured(*arguments: str) -> float:
    """What a run took, in units of what was predicted."""
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    predicted, taken = map(int, done.stdout.split())
    return taken / predicted


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
    with pytest.raises(ValueError, match=message) as caught:
        check_memory(5 * GIB // 2, free=GIB, agents=9, parameters=7)
    assert "\n" not in str(caught.value)
    check_memory(GIB, free=GIB, agents=9, parameters=7)
    check_memory(GIB, free=None, agents=9, parameters=7)
    monkeypatch.setattr("empirical.train.run.free_memory", lambda: 100)
    with pytest.raises(ValueError, match=r"memory: .* for 5 agents of 3 weights"):
        run_of(NETWORKS["fixed"], "averaging")


def test_free_memory_is_some_but_not_more_than_there_is() -> None:
    free = free_memory()
    if free is not None:
        assert 0 < free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
