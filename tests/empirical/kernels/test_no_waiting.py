"""The way of devices: nothing waits for one within a round, and no agent is taken alone.

There need be no such device: what is compiled for the CPU is put aside, torch's operations run on
the CPU instead, and every call that would wait for a device is counted.
"""

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from empirical.kernels import cross_entropy, natural_sweep, noise, sweeps
from empirical.kernels.natural_sweep import (
    Cavity,
    Gaussians,
    Natural,
    draw,
    natural_step,
)
from empirical.kernels.noise import Noise, keys
from empirical.nets import likelihood as passes
from empirical.nets import update
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train import steps
from empirical.train.learners import backprop
from empirical.train.recipe import Recipe
from empirical.train.steps import Steps
from theory import Network

WAITING = {"item", "cpu", "numpy", "tolist", "__bool__", "__int__", "__float__", "nonzero"}


class Calls(TorchFunctionMode):
    """Counts calls of torch's functions by name."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", str(function))
        self.counts[name] = self.counts.get(name, 0) + 1
        return function(*args, **(kwargs or {}))

    @property
    def waits(self) -> dict[str, int]:
        return {name: count for name, count in self.counts.items() if name in WAITING}


@pytest.fixture
def elsewhere(monkeypatch):
    """As on a device that is not the CPU."""

    def fill(keys, steps, out, stream, *, normal):
        given = torch.from_numpy(keys.astype(np.int64)), torch.from_numpy(np.int64(steps))
        return out.copy_(noise.drawn_by_torch(*given, out.shape[1], stream=stream, normal=normal))

    monkeypatch.setattr(noise, "_fill", fill)
    for module in (sweeps, natural_sweep):
        monkeypatch.setattr(module, "compiled", lambda *tensors: False)
    monkeypatch.setattr(passes.dense_pass, "fits", lambda *given: False)
    monkeypatch.setattr(cross_entropy, "fits", lambda *given: False)
    monkeypatch.setattr(steps, "APART", ())
    monkeypatch.setattr(backprop, "update", update.update_by_torch)


def calls_of_papers(agents: int) -> Calls:
    shares = Shares(torch.rand(20, 6), torch.arange(20) % 3, (torch.arange(20),) * agents)
    run = Recipe(rounds=1, local_steps=3, batch=4).training(
        shares, Network.from_topology("complete", agents=agents),
        architecture=perceptron(6, 5, outputs=3), seed=0,
    )  # fmt: skip
    learner, rows = run.learner, list(range(agents))
    state, share = learner.start(run._begin, run._share), run._share
    taken = Steps(
        run.net, run.likelihood, shares, places=run._places(rows), agents=rows,
        taken=np.zeros(agents, dtype=np.int64), seed=0, rate=1.0,
    )  # fmt: skip
    work = learner.begin(state, share)
    with Calls() as calls:
        while taken.next():
            learner.step(state, work, taken, share)
    return calls


def calls_of_natural(agents: int) -> Calls:
    many = [torch.rand(agents, 100) + 0.1 for _ in range(9)]
    beliefs, beside = Gaussians(*many[:3]), Cavity(*many[3:7], 0.5)
    own = keys(0, range(agents))
    with Calls() as calls:
        draw(*many[:2], data=10.0, noise=Noise(own, [0] * agents), out=many[7])
        step = Natural(
            0.1, 0.9, 0.9, 0.1, 0.0, 0.1, 10.0,
            torch.ones(agents, 1), torch.ones(agents, 1, dtype=torch.float64),
        )  # fmt: skip
        following = Noise(own, [1] * agents)
        natural_step(beliefs, many[8], many[7], step, cavity=beside, following=following)
    return calls


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("calls_of", [calls_of_papers, calls_of_natural])
def test_nothing_waits_and_agents_go_together(calls_of) -> None:
    few, many = calls_of(2), calls_of(12)
    assert sum(few.counts.values()) > 20
    assert few.waits == {}
    assert many.counts == few.counts  # no work in Python that grows with the agents


@pytest.mark.usefixtures("elsewhere")
def test_a_wait_is_seen() -> None:
    with Calls() as calls:
        float(torch.ones(1).sum())
        torch.ones(1).cpu()
    assert set(calls.waits) & {"__float__", "item"}
    assert calls.waits["cpu"] == 1
