"""What a GPU's sweeps over the weights are compiled from: one graph, traced once, same numbers."""

from functools import cache

import pytest
import torch
from torch._dynamo.utils import counters

from empirical.kernels import natural_sweep, sweeps
from empirical.likelihoods.laws import Classes
from empirical.nets import dense_pass
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.nets.update import update_by_torch
from empirical.train import backprop
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import LEARNERS, learner_of
from empirical.train.run import TrainingRun
from theory import Network


@cache
def traced(function):
    """The function by torch's tracer, without its compiler; a break of the graph is an error."""
    return torch.compile(function, fullgraph=True, backend="aot_eager")


def run_of(learner: str) -> TrainingRun:
    inputs, labels = torch.arange(120.0).reshape(20, 6) / 120, torch.arange(20) % 3
    shares = Shares(inputs, labels, (torch.arange(20),) * 3)
    return TrainingRun(
        KernelNet(perceptron(6, 5, outputs=3)), Classes(3), shares,
        Network.from_topology("ring", agents=3), learner_of(learner),
        rounds=6, local_steps=2, batch=4, seed=0, at_once=3,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # torch traces by what it calls outdated
@pytest.mark.parametrize("learner", LEARNERS)
def test_sweeps_are_traced_once(learner: str, monkeypatch) -> None:
    torch._dynamo.reset()
    plain = run_of(learner)
    for _ in range(3):
        plain.run_round()
    walk = TrainingRun._walk

    def as_on_a_device(self, some, places, taken, rate):
        return walk(self, some, places, taken, torch.tensor(rate, dtype=torch.float64))

    monkeypatch.setattr(TrainingRun, "_walk", as_on_a_device)
    monkeypatch.setattr(dense_pass, "fits", lambda *given: False)
    monkeypatch.setattr(backprop, "update", traced(update_by_torch))
    for module in (sweeps, natural_sweep):
        monkeypatch.setattr(module, "compiled", lambda *tensors: False)
        monkeypatch.setattr(module, "fused", lambda function, like: traced(function))
    run, graphs = run_of(learner), []
    for _ in range(3):
        run.run_round()
        graphs.append(counters["stats"]["unique_graphs"])
    assert graphs[0] > 0
    assert len(set(graphs)) == 1  # a rate that falls makes no new one
    # Six steps in float32, in two orders of additions; weights and precisions are about 1.
    for name, expected in plain.state().items():
        assert torch.allclose(run.state()[name], expected, rtol=1e-4, atol=1e-5), name
