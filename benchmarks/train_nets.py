"""The gradient of all agents' nets at a batch of 50, by every way there is; CPU time, per agent."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.limits import spread, turns
from benchmarks.tables import Options, Row
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import Architecture, perceptron
from empirical.train.kernel_net import KernelNet, aligned_rows, sequential
from empirical.train.module_net import ModuleNet
from empirical.train.net import Net

BATCH = 50
CLASSES = 10


@dataclass(frozen=True)
class Size:
    """One line of the table."""

    agents: int
    inputs: int = 784
    hidden: int = 200

    @property
    def architecture(self) -> Architecture:
        return perceptron(self.inputs, self.hidden, self.hidden, outputs=CLASSES)


SIZES = (Size(1), Size(9), Size(26), Size(26, inputs=20, hidden=32))
TOY_SIZES = (Size(3, inputs=12, hidden=6),)


class Plain:
    """A module an agent, as one would write it first."""

    def __init__(self, module: nn.Module, x: Tensor, y: Tensor) -> None:
        self.modules = [copy.deepcopy(module) for _ in y]
        self.x, self.y = x, y

    def __call__(self) -> None:
        for module, x, y in zip(self.modules, self.x, self.y, strict=True):
            module.zero_grad()
            nn.functional.cross_entropy(module(x), y).backward()


def gradient(net: Net, x: Tensor, y: Tensor) -> Callable[[], object]:
    """The gradients of all agents, to where a learner would keep them."""
    weights = aligned_rows(len(y), net.parameters).copy_(net.initial(0).expand(len(y), -1))
    into, likelihood = aligned_rows(len(y), net.parameters), Classes(CLASSES)
    return lambda: net.gradient(weights, x, y, likelihood=likelihood, into=into)


def measure(size: Size, *, repeats: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(size.agents, BATCH, size.inputs, generator=generator)
    y = torch.randint(CLASSES, (size.agents, BATCH), generator=generator)
    torch.manual_seed(0)
    module = sequential(size.architecture)
    example = x[0, :4]
    ways = {
        "kernels": KernelNet(size.architecture),
        "general": ModuleNet(module, example_input=example),
        "together": ModuleNet(module, example_input=example, way="together"),
        "one by one": ModuleNet(module, example_input=example, way="one by one"),
    }
    tasks = {name: gradient(net, x, y) for name, net in ways.items()}
    tasks["plain"] = Plain(module, x, y)
    found = turns(tasks, repeats=repeats)
    return {
        "agents": size.agents,
        "weights": size.architecture.parameters,
        "milliseconds": {
            name: 1e3 * statistics.median(values) / size.agents for name, values in found.items()
        },
        "times kernels": {
            name: statistics.median(
                mine / theirs for mine, theirs in zip(values, found["kernels"], strict=True)
            )
            for name, values in found.items()
            if name != "kernels"
        },
        "spread_share": spread(found),
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return [measure(s, repeats=how.repeats) for s in (TOY_SIZES if how.quick else SIZES)]
