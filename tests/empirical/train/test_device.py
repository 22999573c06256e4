"""A round where all agents go together: as many operations for a hundred as for ten, and no wait.

On the device `meta` tensors have no numbers: what a GPU would be told is counted, and what would
wait for one fails.
"""

from collections import Counter
from functools import cache
from itertools import product
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from empirical.kernels import noise
from empirical.likelihoods.laws import Classes, Gaussian
from empirical.nets.architecture import Architecture, Convolution, Dense, MaxPool, perceptron
from empirical.train import run as engine
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import LEARNERS, learner_of
from empirical.train.module_net import ModuleNet, with_constants
from empirical.train.run import TrainingRun
from tests.empirical.train.linear import classified
from tests.empirical.train.modules import ResNet20
from theory import Network


@cache
def module(way: Any = None) -> ModuleNet:
    layers = nn.Linear(6, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 3)
    return ModuleNet(nn.Sequential(*layers), example_input=torch.rand(4, 6), way=way)


CONVOLUTIONS = Architecture((1, 8, 8), (Convolution(3, 3), MaxPool(2), Dense(3)))
# What makes a net, its likelihood, and the shape of an input.
NETS: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "dense": (lambda: KernelNet(perceptron(6, 5, outputs=3)), Classes(3), (6,)),
    "convolutions": (lambda: KernelNet(CONVOLUTIONS), Classes(3), (1, 8, 8)),
    "module": (module, Classes(3), (6,)),
    "constants": (
        lambda: with_constants(KernelNet(perceptron(6, 5, outputs=1)), 1),
        Gaussian("learned"), (6,),
    ),
    "ResNet-20": (
        lambda: ModuleNet(ResNet20(), example_input=torch.rand(2, 3, 8, 8)), Classes(3), (3, 8, 8),
    ),
}  # fmt: skip


class Launches(TorchDispatchMode):
    """Counts operations by name, and those that take something of the host to the device."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.copies = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        host = [x.ndim for x in tensors if x.device.type == "cpu"]
        # A number of the host among tensors of the device is an argument of the launch.
        self.copies += any(host) or (bool(host) and "copy" in str(func))
        self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    """Runs on a device without numbers, whose indices cannot be checked; noise is one launch."""
    monkeypatch.setattr(noise, "_fused", lambda device: lambda keys, steps, out, lanes: out.zero_())
    monkeypatch.setattr(engine, "check_device", lambda device: device)
    monkeypatch.setattr(type(classified(1, 4, 2)), "__post_init__", lambda self: None)


def launches(net: Any, likelihood: Any, shape: tuple[int, ...], learner: str, agents: int) -> Any:
    """Those of a round, and copies to the device within its local steps."""
    shares = type(classified(1, 4, 2))(
        torch.rand(20, *shape, device="meta"),
        torch.zeros(20, dtype=torch.int64, device="meta"),
        (torch.arange(20, device="meta"),) * agents,
    )
    run = TrainingRun(
        net, likelihood, shares, Network.from_topology("ring", agents=agents), learner_of(learner),
        rounds=5, local_steps=2, batch=4, seed=0, products="highest", device="meta",
    )  # fmt: skip
    run._train()  # a first round sets up what all others find
    local, within = run._replayed, []
    with Launches() as found:

        def walk(*given):
            before = found.copies
            losses = local(*given)
            within.append(found.copies - before)
            return losses

        run._replayed = walk
        losses, _ = run._train()
        messages = run.message()
        run._pooling.pool(messages, number=run.round)
        run._hear(messages)
    assert losses.device.type == "meta"
    return found.counts, within


@pytest.mark.parametrize(
    ("name", "learner"),
    [pair for pair in product(NETS, LEARNERS) if pair[0] != "ResNet-20" or pair[1] == "sites"],
)
def test_a_round_is_as_many_launches_for_any_number_of_agents(name: str, learner: str) -> None:
    make, likelihood, shape = NETS[name]
    few, many = (launches(make(), likelihood, shape, learner, agents) for agents in (10, 100))
    assert few[0].total() > 50
    assert many[0] == few[0]
    assert few[1] == many[1] == [0]


def test_noise_without_triton_is_as_many_launches_for_any_number_of_agents(monkeypatch) -> None:
    monkeypatch.setattr(noise, "_fused", lambda device: None)
    counts = []
    for agents in (10, 100):
        given = noise.on(torch.device("meta"), noise.keys(0, range(agents)))
        with Launches() as found:
            noise.Noise(given, given[:, 0]).normals(torch.empty(agents, 1000, device="meta"))
        counts.append((found.counts, found.copies))
    assert counts[0] == counts[1]


def test_agents_one_by_one_are_seen() -> None:
    given = Classes(3), (6,), "averaging"
    few, many = (launches(module("one by one"), *given, agents)[0] for agents in (4, 8))
    assert many.total() > 1.5 * few.total()


def test_a_wait_is_seen() -> None:
    numbers = torch.ones(3, device="meta")
    for waits in (numbers.sum().item, numbers.cpu, numbers.tolist, lambda: bool(numbers[0] > 0)):
        with pytest.raises((NotImplementedError, RuntimeError)):
            waits()
