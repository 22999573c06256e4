"""A step of all agents' Bayesian nets: gradients written out, against autograd in several forms.

784-200-200-10, mean-field Gaussian, batch 50, local reparameterisation, divergence to a Gaussian
prior, Adam; times are per agent and step.

And ``consensus``: pooling on a star, once a round whatever the number of steps.
"""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.limits import SinglePrecisionProduct, spread, turns
from benchmarks.tables import Options, Row
from empirical.nets.architecture import Architecture, perceptron
from empirical.nets.shares import Shares
from empirical.train.recipe import Recipe
from empirical.train.run import TrainingRun
from theory import Network

BATCH = 50
HELD = 600
LOCAL_STEPS = 5
RATE = 1e-3
STD = 0.03


@dataclass(frozen=True)
class Size:
    """One line of the table."""

    agents: int
    inputs: int = 784
    hidden: int = 200

    @property
    def architecture(self) -> Architecture:
        return perceptron(self.inputs, self.hidden, self.hidden, outputs=10)


SIZES = (Size(2), Size(9), Size(26), Size(101))
TOY_SIZES = (Size(3, inputs=12, hidden=6),)


def data(size: Size) -> Shares:
    """Random pixels, a fifth of them not black as in MNIST, and random labels."""
    rng = np.random.default_rng(0)
    count = size.agents * HELD
    pixels = rng.random((count, size.inputs), dtype=np.float32)
    pixels *= rng.random((count, size.inputs), dtype=np.float32) < 0.2
    labels = torch.from_numpy(rng.integers(0, 10, count))
    return Shares(torch.from_numpy(pixels), labels, torch.arange(count).split(HELD))


class Batches:
    """The next batch of each agent, in random order."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares
        self.rng = np.random.default_rng(1)

    def rows(self) -> Tensor:
        """Shape (N, B)."""
        own = torch.from_numpy(self.rng.integers(0, HELD, (self.shares.agents, BATCH)))
        return own + HELD * torch.arange(self.shares.agents)[:, None]

    def __call__(self) -> tuple[Tensor, Tensor]:
        rows = self.rows()
        return self.shares.inputs[rows], self.shares.labels[rows]


def widths(size: Size) -> Iterator[tuple[int, int]]:
    """Inputs and units of each layer."""
    for block in size.architecture.blocks:
        yield block.shape[0], block.shape[1]


# Autograd, tuned and as one would write it first ----------------------------------------------

Parameters = dict[str, Tensor]


def beginning(size: Size, agents: tuple[int, ...]) -> Parameters:
    """Means and log σ of each layer's weights and biases, for these many agents."""
    found = {}
    for layer, (fan_in, units) in enumerate(widths(size)):
        for kind, shape in (("weight", (fan_in, units)), ("bias", (1, units))):
            found[f"{kind}{layer} mean"] = torch.randn(*agents, *shape) * math.sqrt(2 / fan_in)
            found[f"{kind}{layer} log std"] = torch.full((*agents, *shape), math.log(STD))
    return found


def outputs(parameters: Parameters, variances: Parameters, x: Tensor) -> Tensor:
    """Local reparameterisation; `x` of shape (B, ·), or (N, B, ·) with stacked parameters."""
    layers = len(parameters) // 4
    for layer in range(layers):
        weight, bias = f"weight{layer} mean", f"bias{layer} mean"
        centre = x @ parameters[weight] + parameters[bias]
        variance = (x * x) @ variances[weight] + variances[bias]
        x = centre + variance.sqrt() * torch.randn_like(centre)
        if layer < layers - 1:
            x = torch.relu(x)
    return x


def objective(parameters: Parameters, prior: Parameters, x: Tensor, y: Tensor) -> Tensor:
    """Mean loss of a batch plus KL over the agent's examples; summed over agents if stacked.

    The prior's σ is the beginning's.
    """
    means = [name for name in parameters if name.endswith(" mean")]
    log_stds = {name: parameters[name.replace(" mean", " log std")] for name in means}
    variances = {name: torch.exp(2 * value) for name, value in log_stds.items()}
    out = outputs(parameters, variances, x)
    nll = torch.nn.functional.cross_entropy(out.reshape(-1, 10), y.reshape(-1), reduction="sum")
    divergence = torch.zeros(())
    for name in means:
        gap = parameters[name] - prior[name]
        spread_out = (variances[name] + gap * gap).sum() / (2 * STD**2)
        divergence = divergence + spread_out - log_stds[name].sum()
    return nll / BATCH + divergence / HELD


class Learner:
    """Parameters under autograd and torch's fused Adam."""

    def __init__(self, size: Size, agents: tuple[int, ...]) -> None:
        self.parameters = beginning(size, agents)
        self.prior = {name: value.clone() for name, value in self.parameters.items()}
        for value in self.parameters.values():
            value.requires_grad_()
        self.optimiser = torch.optim.Adam(self.parameters.values(), lr=RATE, fused=True)

    def step(self, x: Tensor, y: Tensor) -> None:
        self.optimiser.zero_grad()
        objective(self.parameters, self.prior, x, y).backward()
        self.optimiser.step()


class BayesianLinear(torch.nn.Module):
    """A layer as one would write it first."""

    def __init__(self, fan_in: int, units: int) -> None:
        super().__init__()
        self.mean = torch.nn.Parameter(torch.randn(fan_in, units) * math.sqrt(2 / fan_in))
        self.bias_mean = torch.nn.Parameter(torch.zeros(units))
        self.log_std = torch.nn.Parameter(torch.full((fan_in, units), math.log(STD)))
        self.bias_log_std = torch.nn.Parameter(torch.full((units,), math.log(STD)))
        self.prior = [
            torch.distributions.Normal(m.detach().clone(), s.detach().clone())
            for m, s in self.normals()
        ]

    def normals(self) -> list[tuple[Tensor, Tensor]]:
        return [
            (self.mean, self.log_std.exp()),
            (self.bias_mean, self.bias_log_std.exp()),
        ]

    def forward(self, x: Tensor) -> Tensor:
        (mean, std), (bias, bias_std) = self.normals()
        centre = x @ mean + bias
        return centre + torch.sqrt((x**2) @ std**2 + bias_std**2) * torch.randn_like(centre)

    def divergence(self) -> Tensor:
        normals = [torch.distributions.Normal(mean, std) for mean, std in self.normals()]
        parts = zip(normals, self.prior, strict=True)
        return sum(
            (torch.distributions.kl_divergence(q, p).sum() for q, p in parts), torch.zeros(())
        )


class Loop:
    """Agent after agent, each a module with torch's Adam."""

    def __init__(self, size: Size, shares: Shares) -> None:
        self.batches = Batches(shares)
        self.layers = [
            [BayesianLinear(*shape) for shape in widths(size)] for _ in range(size.agents)
        ]
        self.optimisers = [
            torch.optim.Adam([v for layer in own for v in layer.parameters()], lr=RATE)
            for own in self.layers
        ]

    def __call__(self) -> None:
        rows, shares = self.batches.rows(), self.batches.shares
        for layers, optimiser, own in zip(self.layers, self.optimisers, rows, strict=True):
            optimiser.zero_grad()
            x = shares.inputs[own]
            for layer in layers[:-1]:
                x = torch.relu(layer(x))
            nll = torch.nn.functional.cross_entropy(layers[-1](x), shares.labels[own])
            divergence = torch.stack([layer.divergence() for layer in layers]).sum()
            (nll + divergence / HELD).backward()
            optimiser.step()


class TunedLoop:
    """Agent after agent, by the tuned objective and the fused Adam."""

    def __init__(self, size: Size, shares: Shares) -> None:
        self.batches = Batches(shares)
        self.learners = [Learner(size, ()) for _ in range(size.agents)]

    def __call__(self) -> None:
        rows, shares = self.batches.rows(), self.batches.shares
        for learner, own in zip(self.learners, rows, strict=True):
            learner.step(shares.inputs[own], shares.labels[own])


class Stacked:
    """All agents in one tensor a layer."""

    def __init__(self, size: Size, shares: Shares) -> None:
        self.batches = Batches(shares)
        self.learner = Learner(size, (size.agents,))

    def __call__(self) -> None:
        self.learner.step(*self.batches())


class Vmap:
    """The gradient of one agent's objective, mapped over agents."""

    def __init__(self, size: Size, shares: Shares) -> None:
        self.batches = Batches(shares)
        self.learner = Learner(size, (size.agents,))
        self.gradient = torch.func.vmap(torch.func.grad(objective), randomness="different")

    def __call__(self) -> None:
        learner = self.learner
        plain = {name: value.detach() for name, value in learner.parameters.items()}
        gradients = self.gradient(plain, learner.prior, *self.batches())
        for name, value in learner.parameters.items():
            value.grad = gradients[name]
        learner.optimiser.step()


def of_posteriors(size: Size, shares: Shares) -> Callable[[], object] | None:
    """One agent by posteriors' vi.diag with Adam; None where the package is absent."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torchopt
            from posteriors.vi import diag
    except ImportError:
        return None
    batches = Batches(shares.of([0]))
    layers = list(widths(size))
    means = {name: v for name, v in beginning(size, ()).items() if name.endswith("mean")}

    def log_posterior(weights: Parameters, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, y = batch
        prior = x.new_zeros(())
        for layer in range(len(layers)):
            weight, bias = weights[f"weight{layer} mean"], weights[f"bias{layer} mean"]
            x = x @ weight + bias
            x = torch.relu(x) if layer < len(layers) - 1 else x
            prior = prior - 0.5 * ((weight**2).sum() + (bias**2).sum()) / STD**2
        return -torch.nn.functional.cross_entropy(x, y) + prior / HELD, x

    transform = diag.build(
        log_posterior, torchopt.adam(lr=RATE), temperature=1 / HELD, init_log_sds=math.log(STD)
    )
    state = transform.init(means)

    def step() -> None:
        nonlocal state
        x, y = batches()
        state = transform.update(state, (x[0], y[0]))[0]

    return step


# The table ------------------------------------------------------------------------------------


def engine(size: Size, shares: Shares) -> TrainingRun:
    """The engine on a star, the first agent its centre."""
    recipe = Recipe(
        rounds=10**6,
        local_steps=LOCAL_STEPS,
        batch=BATCH,
        initial_std=STD,
        mean_rate=RATE,
        scale_rate=RATE,
    )
    network = Network.from_topology("star", agents=size.agents, edge_confidence=0.5)
    return recipe.training(shares, network, architecture=size.architecture, seed=0)


def operations(size: Size) -> float:
    """Of the matrix products in an agent's step.

    Two forward, by means and by variances, two to the gradients of both, and two to the inputs of
    every layer but the first.
    """
    weights = [fan_in * units for fan_in, units in widths(size)]
    return 4.0 * BATCH * (3 * sum(weights) - weights[0])


def measure(size: Size, *, repeats: int) -> dict[str, Any]:
    torch.manual_seed(0)
    shares = data(size)
    training, limit = engine(size, shares), SinglePrecisionProduct()
    tasks: dict[str, Callable[[], object]] = {
        "limit": limit,
        "engine": training.local_phase,
        "loop": Loop(size, shares),
        "tuned loop": TunedLoop(size, shares),
        "stacked": Stacked(size, shares),
        "vmap": Vmap(size, shares),
        "consensus": lambda: training.pool(training.message()),
    }
    one = of_posteriors(size, shares)
    if one is not None:
        tasks["posteriors"] = one
    found = turns(tasks, repeats=repeats)
    # The bare product and the consensus are not what is compared.
    steps = {name: v for name, v in found.items() if name not in ("limit", "consensus")}
    seconds = {name: statistics.median(values) for name, values in found.items()}
    rate = limit.flops / seconds["limit"]
    floor = operations(size) / rate
    seconds["engine"] /= LOCAL_STEPS
    for name in ("engine", "loop", "tuned loop", "stacked", "vmap", "consensus"):
        seconds[name] /= size.agents
    contenders = ("loop", "tuned loop", "stacked", "vmap", "posteriors")
    return {
        "agents": size.agents,
        "limit rate": rate / 1e9,
        "engine_share": floor / seconds["engine"],
        "loop_share": floor / seconds["loop"],
        "milliseconds": {
            "limit": 1e3 * floor,
            **{
                name: 1e3 * seconds[name] if name in seconds else None
                for name in ("engine", *contenders, "consensus")
            },
        },
        "times engine": {
            name: seconds[name] / seconds["engine"] if name in seconds else None
            for name in contenders
        },
        "spread_share": spread(steps),
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return [measure(s, repeats=how.repeats) for s in (TOY_SIZES if how.quick else SIZES)]
