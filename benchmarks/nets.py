"""A training step of all agents' nets, 784-200-200-10: ours, against torch in several forms.

CPU seconds on one thread, per agent and step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.contest import Task, contest, row_of, single_product
from benchmarks.tables import Options, Row
from empirical.kernels.noise import Noise, keys
from empirical.kernels.product import product
from empirical.kernels.products import chosen
from empirical.kernels.products import products as choosing
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import Architecture, perceptron
from empirical.nets.shares import Shares
from empirical.train.kernel_net import KernelNet, sequential
from empirical.train.learners import learner_of
from empirical.train.net import Net
from empirical.train.recipe import Recipe
from empirical.train.run import TrainingRun
from theory import Network

BATCH, HELD, RATE, STD = 50, 600, 1e-3, 0.03
LEARNERS = ("natural-gradient", "sites", "averaging", "averaging-adam")
# Agents of a plain loop at most: each takes as long as the others.
LOOPED = 9
cross_entropy = nn.functional.cross_entropy
Batch = tuple[Tensor, Tensor]
Parameters = dict[str, Tensor]


def net_of(inputs: int = 784, hidden: int = 200) -> Architecture:
    return perceptron(inputs, hidden, hidden, outputs=10)


def images(count: int, inputs: int, *, seed: int = 0) -> Batch:
    """Random pixels, a fifth of them not black as in MNIST, and random labels."""
    rng = np.random.default_rng(seed)
    pixels = rng.random((count, inputs), dtype=np.float32)
    pixels *= rng.random((count, inputs), dtype=np.float32) < 0.2
    return torch.from_numpy(pixels), torch.from_numpy(rng.integers(0, 10, count))


def multiplications(net: Architecture) -> int:
    """Of an example: forward, by the weights, and by the inputs of every layer but the first."""
    weights = [block.weight.stop - block.weight.start for block in net.blocks]
    return int(3 * sum(weights) - weights[0])


class Batches:
    """The next batch of each agent, in random order."""

    def __init__(self, shares: Shares) -> None:
        self.shares, self.rng = shares, np.random.default_rng(1)

    def __call__(self) -> Batch:
        """Of all agents, shapes (N, B, ·) and (N, B)."""
        own = torch.from_numpy(self.rng.integers(0, HELD, (self.shares.agents, BATCH)))
        rows = own + HELD * torch.arange(self.shares.agents)[:, None]
        return self.shares.inputs[rows], self.shares.labels[rows]


class Modules:
    """Agent after agent as one would write it first: a module, autograd, an optimiser if any."""

    def __init__(
        self, nets: Sequence[nn.Module], batches: Callable[[], Batch],
        optimiser: Callable[..., torch.optim.Optimizer] | None = None,
        loss: Callable[[Any, Tensor, Tensor], Tensor] = lambda net, x, y: cross_entropy(net(x), y),
    ) -> None:  # fmt: skip
        self.nets, self.batches, self.loss = nets, batches, loss
        self.optimisers = [optimiser(net.parameters()) if optimiser else None for net in nets]

    def __call__(self) -> None:
        for net, optimiser, x, y in zip(self.nets, self.optimisers, *self.batches(), strict=True):
            net.zero_grad()
            self.loss(net, x, y).backward()
            if optimiser is not None:
                optimiser.step()


# Bayesian nets by autograd --------------------------------------------------------------------


class BayesianLinear(nn.Module):
    """A layer as one would write it first."""

    def __init__(self, fan_in: int, units: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.randn(fan_in, units) * math.sqrt(2 / fan_in))
        self.bias_mean = nn.Parameter(torch.zeros(units))
        self.log_std = nn.Parameter(torch.full((fan_in, units), math.log(STD)))
        self.bias_log_std = nn.Parameter(torch.full((units,), math.log(STD)))
        self.prior = [
            torch.distributions.Normal(m.detach().clone(), s.detach().clone())
            for m, s in self.normals()
        ]

    def normals(self) -> list[Batch]:
        return [(self.mean, self.log_std.exp()), (self.bias_mean, self.bias_log_std.exp())]

    def forward(self, x: Tensor) -> Tensor:
        (mean, std), (bias, bias_std) = self.normals()
        centre = x @ mean + bias
        return centre + torch.sqrt((x**2) @ std**2 + bias_std**2) * torch.randn_like(centre)

    def divergence(self) -> Tensor:
        normals = [torch.distributions.Normal(mean, std) for mean, std in self.normals()]
        parts = zip(normals, self.prior, strict=True)
        return torch.stack([torch.distributions.kl_divergence(q, p).sum() for q, p in parts]).sum()


def bayesian(net: Architecture) -> nn.Sequential:
    layers = [BayesianLinear(*block.shape) for block in net.blocks]
    between = [one for layer in layers for one in (layer, nn.ReLU())]
    return nn.Sequential(*between[:-1])


def bayesian_loss(net: nn.Sequential, x: Tensor, y: Tensor) -> Tensor:
    layers = [layer for layer in net if isinstance(layer, BayesianLinear)]
    divergence = torch.stack([layer.divergence() for layer in layers]).sum()
    return cross_entropy(net(x), y) + divergence / HELD


def tuned_loss(parameters: Parameters, prior: Parameters, x: Tensor, y: Tensor) -> Tensor:
    """The same of a net's named parameters, σ² computed once; summed over agents if stacked.

    The prior's σ is the beginning's. `x` of shape (B, ·), or (N, B, ·) with stacked parameters.
    """
    means = [name for name in parameters if name.endswith(".mean")]
    divergence = torch.zeros(())
    for layer, weight in enumerate(means):
        prefix = weight.removesuffix("mean")
        names = {"": weight, "bias_": f"{prefix}bias_mean"}
        log_stds = {part: parameters[f"{prefix}{part}log_std"] for part in names}
        variances = {part: torch.exp(2 * value) for part, value in log_stds.items()}
        centre = x @ parameters[weight] + parameters[names["bias_"]][..., None, :]
        variance = (x * x) @ variances[""] + variances["bias_"][..., None, :]
        x = centre + variance.sqrt() * torch.randn_like(centre)
        x = torch.relu(x) if layer < len(means) - 1 else x
        for part, name in names.items():
            gap = parameters[name] - prior[name]
            divergence = divergence + (variances[part] + gap * gap).sum() / (2 * STD**2)
            divergence = divergence - log_stds[part].sum()
    nll = cross_entropy(x.reshape(-1, 10), y.reshape(-1), reduction="sum")
    return nll / BATCH + divergence / HELD


class Tuned:
    """Parameters under autograd and torch's fused Adam, by the tuned loss; stacked, if of many."""

    def __init__(self, net: Architecture, agents: int = 0) -> None:
        each = [dict(bayesian(net).named_parameters()) for _ in range(agents or 1)]
        self.prior = {
            name: (torch.stack([one[name] for one in each]) if agents else each[0][name]).detach()
            for name in each[0]
        }
        self.parameters = {k: v.clone().requires_grad_() for k, v in self.prior.items()}
        self.optimiser = torch.optim.Adam(self.parameters.values(), lr=RATE, fused=True)
        self.mapped = torch.func.vmap(torch.func.grad(tuned_loss), randomness="different")

    def step(self, x: Tensor, y: Tensor) -> None:
        self.optimiser.zero_grad()
        tuned_loss(self.parameters, self.prior, x, y).backward()
        self.optimiser.step()

    def step_of_all(self, x: Tensor, y: Tensor) -> None:
        """The gradient of one agent's loss, mapped over agents."""
        plain = {name: value.detach() for name, value in self.parameters.items()}
        gradients = self.mapped(plain, self.prior, x, y)
        for name, value in self.parameters.items():
            value.grad = gradients[name]
        self.optimiser.step()


# Tables of steps ------------------------------------------------------------------------------


def data(agents: int, inputs: int) -> Shares:
    torch.manual_seed(0)
    count = agents * HELD
    return Shares(*images(count, inputs), torch.arange(count).split(HELD))


def papers_step(how: Options, *, agents: int, inputs: int = 784, hidden: int = 200) -> Row:
    """The papers' step on a star, the first agent its centre, five steps a round."""
    net, shares = net_of(inputs, hidden), data(agents, inputs)
    star = Network.from_topology("star", agents=agents, edge_confidence=0.5)
    recipe = Recipe(
        rounds=10**6, local_steps=5, batch=BATCH, initial_std=STD, mean_rate=RATE, scale_rate=RATE
    )
    training = recipe.training(shares, star, architecture=net, seed=0)
    nets, adam = [bayesian(net) for _ in range(agents)], partial(torch.optim.Adam, lr=RATE)
    batches, tuned = Batches(shares), [Tuned(net) for _ in range(agents)]
    stacked, vmap = Tuned(net, agents), Tuned(net, agents)

    def tuned_loop() -> None:
        for own, x, y in zip(tuned, *batches(), strict=True):
            own.step(x, y)

    tasks: dict[str, Task] = {
        "engine": training.local_phase,
        "loop": Modules(nets, batches, adam, bayesian_loss),
        "tuned loop": tuned_loop,
        "stacked": lambda: stacked.step(*batches()),
        "vmap": lambda: vmap.step_of_all(*batches()),
        "consensus": lambda: training.pool(training.message()),
    }
    per = {**dict.fromkeys(tasks, agents), "engine": 5 * agents}
    # Products by means and by variances, forward and backward.
    work = 4.0 * BATCH * multiplications(net)
    found = contest(how, tasks, per=per, limit=single_product(), work=work)
    return found.row(spread_share=found.spread(*(n for n in tasks if n != "consensus")))


def by(choice: str, task: Task) -> Task:
    """The same task with torch's products chosen."""

    def run() -> None:
        with choosing(choice):
            task()

    return run


def ring_run(
    net: Net, shares: Shares, learner: str, *, rate: float | None = None, **how: Any
) -> TrainingRun:
    """Agents on a ring, or one alone, who learn batch by batch."""
    agents = shares.agents
    network = Network([[1.0]]) if agents == 1 else Network.from_topology("ring", agents=agents)
    knobs = {} if rate is None else {"rate": rate}
    return TrainingRun(
        net, Classes(net.outputs), shares, network, learner_of(learner, **knobs), rounds=10**6,
        batch=BATCH, seed=0, **how,
    )  # fmt: skip


def steps(how: Options, *, agents: int, inputs: int = 784, hidden: int = 200) -> Iterator[Row]:
    """A round of each learner on a ring, twenty steps and the consensus."""
    net, shares = net_of(inputs, hidden), data(agents, inputs)
    local_steps, some = 20, shares.of(range(min(agents, LOOPED)))

    def plain(optimiser: Callable[..., torch.optim.Optimizer]) -> Modules:
        return Modules([sequential(net) for _ in range(some.agents)], Batches(some), optimiser)

    sgd = plain(partial(torch.optim.SGD, lr=RATE, momentum=0.9, fused=True))
    adam = plain(partial(torch.optim.Adam, lr=RATE, fused=True))
    tasks: dict[str, Task] = {}
    per: dict[str, float] = {}
    for name in LEARNERS:
        run = ring_run(KernelNet(net), shares, name, rate=RATE, local_steps=local_steps)
        tasks[name], per[name] = run.run_round, local_steps * agents
        loop = sgd if name == "averaging" else adam
        for choice, word in (("highest", "plain"), (chosen("auto"), "fast plain")):
            tasks[f"{name}, {word}"], per[f"{name}, {word}"] = by(choice, loop), some.agents
    found = contest(how, tasks, per=per)
    for name in LEARNERS:
        times = {
            "limit": 2.0 * BATCH * multiplications(net) / fastest(how),
            "engine": found.seconds[name],
            **{word: found.seconds[f"{name}, {word}"] for word in ("plain", "fast plain")},
        }
        yield row_of(how.columns, times, learner=name, spread_share=found.spread(name))


# What a step is made of -----------------------------------------------------------------------


def of_shape(how: Options, *, rows: int, columns: int, inner: int) -> Row:
    """Rates of a product by torch's three choices, and of the compiled one."""
    flops = 2.0 * rows * columns * inner
    calls = 1 if flops > 1e9 else 20  # so that setting torch's choice does not count
    left, right, out = (
        torch.rand(rows, inner),
        torch.rand(inner, columns),
        torch.empty(rows, columns),
    )

    def torches(*factors: Tensor) -> Task:
        result = out.to(factors[0].dtype)

        def run() -> None:
            for _ in range(calls):
                torch.mm(*factors, out=result)

        return run

    arguments = (
        *(left.data_ptr(), inner, 1, right.data_ptr(), columns),
        *(out.data_ptr(), columns, rows, columns, inner, 1),
    )
    found = contest(
        how,
        {
            "highest": by("highest", torches(left, right)),
            "medium": by("medium", torches(left, right)),
            "bfloat16": torches(left.bfloat16(), right.bfloat16()),
            "compiled": lambda: product.ctypes(*arguments),
        },
        per=dict.fromkeys(("highest", "medium", "bfloat16"), calls),
    )
    return {"GFLOP/s": {name: flops / value / 1e9 for name, value in found.seconds.items()}}


@cache
def fastest(how: Options) -> float:
    """The rate of the fastest product that is as accurate as float32, operations a second."""
    how.conditions.append(f"products by {chosen('auto')!r} where chosen")
    rates = of_shape(how, rows=1200, columns=1200, inner=1200)["GFLOP/s"]
    return 1e9 * max(rates[name] for name in {"highest", "compiled", chosen("auto")})


def noise(how: Options, *, normals: int) -> Row:
    """Normals drawn by torch and by counter, and copying as many numbers."""
    out, source = torch.empty(1, normals), torch.randn(1, normals)
    own = Noise(keys(0, [0]), [0])
    tasks: dict[str, Task] = {
        "torch": lambda: out.normal_(),
        "counter": lambda: own.normals(out),
        "copy": lambda: out.copy_(source),
    }
    return contest(how, tasks).row()
