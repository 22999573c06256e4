"""Rounds of federated averaging, and steps of the nets of `gae`: ours, and one net after another.

CPU seconds on one thread; Flower's and two threads by the clock.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.contest import Task, contest, in_a_process, single_product
from benchmarks.nets import Modules, cross_entropy, images, multiplications, net_of
from benchmarks.tables import Options, Row
from empirical.data import Images
from empirical.gae.net import Passes, begin, initial, side_by_side, step
from empirical.gae.recipe import Recipe
from empirical.nets.shares import Shares
from empirical.nets.threads import one_thread
from empirical.train.kernel_net import sequential
from empirical.train.recipe import FedAvgRecipe

CLIENTS, RATE = 100, 0.01
# Of Flower, of which the first does not count; seconds after which it is given up.
FLOWER_ROUNDS, PATIENCE = 4, 150.0


# Federated averaging --------------------------------------------------------------------------


def train(net: nn.Module, inputs: Tensor, labels: Tensor, *, batch: int, seed: int) -> None:
    """One epoch of SGD as one would write it."""
    optimiser = torch.optim.SGD(net.parameters(), lr=RATE)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(labels)))
    for rows in order.split(batch):
        optimiser.zero_grad()
        cross_entropy(net(inputs[rows]), labels[rows]).backward()
        optimiser.step()


class Loop:
    """A round, client after client."""

    def __init__(self, net: nn.Module, shares: Shares, together: int, batch: int) -> None:
        self.net, self.shares, self.together, self.batch = net, shares, together, batch
        self.server = {k: v.clone() for k, v in net.state_dict().items()}
        self.round = 0

    def __call__(self) -> None:
        rng, shares = np.random.default_rng(self.round), self.shares
        total = {name: torch.zeros_like(value) for name, value in self.server.items()}
        for client in rng.choice(CLIENTS, self.together, replace=False).tolist():
            self.net.load_state_dict(self.server)
            rows, seed = shares.indices[client], self.round * CLIENTS + client
            train(self.net, shares.inputs[rows], shares.labels[rows], batch=self.batch, seed=seed)
            for name, value in self.net.state_dict().items():
                total[name] += value / self.together
        self.server = total
        self.round += 1


def flower(together: int, batch: int, inputs: int, hidden: int, held: int) -> list[float]:
    """Seconds of each round after the first, in Flower's simulation of this very client."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg as Strategy
    from flwr.simulation import run_simulation

    client_app, server_app, marks = ClientApp(), ServerApp(), []

    @client_app.train()
    def local(message: Any, context: Any) -> Any:
        torch.set_num_threads(1)
        client = int(context.node_config["partition-id"])
        net = sequential(net_of(inputs, hidden))
        net.load_state_dict(message.content["arrays"].to_torch_state_dict())
        train(net, *images(held, inputs, seed=client), batch=batch, seed=client)
        metrics = MetricRecord({"num-examples": held})
        content = {"arrays": ArrayRecord(net.state_dict()), "metrics": metrics}
        return Message(content=RecordDict(content), reply_to=message)

    @server_app.main()
    def serve(grid: Any, context: Any) -> None:
        Strategy(
            fraction_train=together / CLIENTS, fraction_evaluate=0.0, min_train_nodes=together,
            min_available_nodes=CLIENTS,
        ).start(
            grid=grid, num_rounds=FLOWER_ROUNDS,
            initial_arrays=ArrayRecord(sequential(net_of(inputs, hidden)).state_dict()),
            evaluate_fn=lambda round, arrays: marks.append(time.perf_counter()),
        )  # fmt: skip

    run_simulation(
        server_app=server_app, client_app=client_app, num_supernodes=CLIENTS,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": 2, "include_dashboard": False},
        },
    )  # fmt: skip
    # The marks are of the beginning and of every round's end; the first round starts the workers.
    return [after - before for before, after in itertools.pairwise(marks[1:])]


def flower_in_a_process(*given: int) -> dict[str, list[float]]:
    """Seconds of each round by Flower; nothing if it is absent, fails, or takes too long."""
    if not find_spec("flwr"):
        print("Flower is not installed: its column stays empty")
        return {}
    settings = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    try:
        found = in_a_process("federated:flower", *given, seconds=PATIENCE, settings=settings)
        return {"Flower": found}
    except subprocess.SubprocessError as error:
        print(f"Flower failed or was given up: its column stays empty\n{error}", file=sys.stderr)
        return {}


def fedavg(
    how: Options, *, together: int, batch: int, inputs: int = 784, hidden: int = 200,
    held: int = 600, with_flower: bool = False,
) -> Row:  # fmt: skip
    """A round: the engine, client after client, and Flower."""
    net = net_of(inputs, hidden)
    order = torch.from_numpy(np.random.default_rng(0).permutation(CLIENTS * held))
    shares = Shares(*images(CLIENTS * held, inputs), tuple(order.split(held)))
    recipe = FedAvgRecipe(rounds=1000, fraction=together / CLIENTS, batch=batch, rate=RATE)
    found = contest(
        how,
        {
            "stacked": recipe.training(shares, architecture=net, seed=0).run_round,
            "loop": Loop(sequential(net), shares, together, batch),
        },
        limit=single_product(),
        work=2.0 * together * held * multiplications(net),
    )
    spread = found.spread()
    if with_flower:
        found.turns.update(flower_in_a_process(together, batch, inputs, hidden, held))
    return found.row(spread_share=spread)


# GAE ------------------------------------------------------------------------------------------

_DROPOUT = 0.25


def image_operations() -> float:
    """Of an image: forward, by the weights, and by the inputs of all layers but the first."""
    first, rest = 26 * 26 * 9 * 32, 24 * 24 * 288 * 64 + 9216 * 64 + 64 * 64 + 640
    return 2.0 * (2 * first + 3 * rest)


def random_images(count: int) -> Images:
    """Random pixels, a fifth of them not black, and random labels."""
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (count, 28, 28)) * (random.random((count, 28, 28)) < 0.2)
    digits, classes = random.integers(0, 10, count), tuple("0123456789")
    return Images(pixels.astype(np.uint8), digits, "random", classes)


def convolutional() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(_DROPOUT), nn.Flatten(), nn.Linear(9216, 64), nn.ReLU(), nn.Linear(64, 64),
        nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


class Stacked:
    """All nodes as `gae` trains them."""

    def __init__(self, nodes: int, pixels: Images, *, device: str = "cpu") -> None:
        self.passes, self.nodes = Passes(pixels, device=device), nodes
        self.state = begin(initial(np.random.default_rng(0)).repeat(nodes, 1).to(device))
        self.random = [np.random.Generator(np.random.SFC64(node)) for node in range(nodes)]
        self.rows = torch.arange(len(pixels), device=device).view(nodes, -1)

    def __call__(self, workers: int = 1) -> None:
        side_by_side(self.one, range(self.nodes), workers=workers)

    def one(self, node: int) -> None:
        weights, random = self.state["weights"][node], self.random[node]
        _, found = self.passes.gradient(weights, self.rows[node], _DROPOUT, random)
        step(self.state, node, found, Recipe())


def in_bfloat16(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return cross_entropy(net(x), y)


def gae(how: Options, *, nodes: int, batch: int) -> Row:
    """A step of all nodes: rows of one tensor, against modules one by one."""
    count = nodes * batch
    shown = random_images(count)
    pixels = torch.from_numpy(shown.pixels.astype(np.float32) / 255)
    inputs, labels = pixels.view(nodes, batch, 1, 28, 28), torch.tensor(shown.labels)
    labels = labels.view(nodes, batch)

    def loop(layout: Any, **loss: Any) -> Modules:
        nets = [convolutional().to(memory_format=layout) for _ in range(nodes)]
        return Modules(nets, lambda: (inputs, labels), torch.optim.Adam, **loss)

    others: dict[str, Task] = {
        "loop": loop(torch.contiguous_format),
        "channels last": loop(torch.channels_last),
        "channels last, bf16": loop(torch.channels_last, loss=in_bfloat16),
    }
    stacked = Stacked(nodes, shown)
    with one_thread():
        found = contest(
            how, {"stacked": stacked, **others}, limit=single_product(),
            work=count * image_operations(),
        )  # fmt: skip
        threads: dict[str, Task] = {"one": stacked, "two": lambda: stacked(workers=2)}
        seconds = contest(how, threads, clock=time.perf_counter).seconds
    return {
        **found.row(spread_share=found.spread()),
        "two threads": seconds["one"] / seconds["two"],
    }
