"""A round of federated averaging: clients' nets stacked, against one client after the other.

784-200-200-10, ten of a hundred clients with 600 random images each, one epoch.

CPU seconds on one thread; Flower's are seconds of the clock, with two workers of one core each, and
those of the rounds after the first.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.limits import SinglePrecisionProduct, in_a_process, spread, turns
from benchmarks.tables import Options, Row
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.recipe import FedAvgRecipe

CLIENTS = 100
HELD = 600
RATE = 0.01
# Seconds after which Flower is given up.
PATIENCE = 150.0


@dataclass(frozen=True)
class Size:
    """One line of the table: clients in a round, their batches, and the net."""

    together: int
    batch: int
    inputs: int = 784
    hidden: int = 200
    held: int = HELD
    flower: bool = False

    @property
    def name(self) -> str:
        return f"{self.together} of {CLIENTS} clients, B = {self.batch}"


SIZES = (Size(10, 10, flower=True), Size(10, 50), Size(50, 10))
# Of Flower, of which the first does not count.
FLOWER_ROUNDS = 4
TOY_SIZES = (Size(4, 10, inputs=20, hidden=8, held=25),)


def images(size: Size, *, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Random pixels, a fifth of them not black as in MNIST, and random labels."""
    rng = np.random.default_rng(seed)
    pixels = rng.random((count, size.inputs), dtype=np.float32)
    pixels *= rng.random((count, size.inputs), dtype=np.float32) < 0.2
    return torch.from_numpy(pixels), torch.from_numpy(rng.integers(0, 10, count))


def module(size: Size) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(size.inputs, size.hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(size.hidden, size.hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(size.hidden, 10),
    )


def train(net: torch.nn.Module, inputs: Tensor, labels: Tensor, *, batch: int, seed: int) -> None:
    """One epoch of SGD as one would write it."""
    optimiser = torch.optim.SGD(net.parameters(), lr=RATE)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(labels)))
    for rows in order.split(batch):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(inputs[rows]), labels[rows])
        loss.backward()
        optimiser.step()


class Loop:
    """A round, client after client."""

    def __init__(self, size: Size, shares: Shares) -> None:
        self.size, self.shares = size, shares
        self.net = module(size)
        self.server = {k: v.clone() for k, v in self.net.state_dict().items()}
        self.round = 0

    def __call__(self) -> None:
        size, shares = self.size, self.shares
        chosen = np.random.default_rng(self.round).choice(CLIENTS, size.together, replace=False)
        total = {name: torch.zeros_like(value) for name, value in self.server.items()}
        for client in chosen.tolist():
            self.net.load_state_dict(self.server)
            rows = shares.indices[client]
            inputs, labels = shares.inputs[rows], shares.labels[rows]
            train(self.net, inputs, labels, batch=size.batch, seed=self.round * CLIENTS + client)
            for name, value in self.net.state_dict().items():
                total[name] += value / size.together
        self.server = total
        self.round += 1


# Flower ---------------------------------------------------------------------------------------


def flower(words: Sequence[Any], rounds: int) -> list[float]:
    """Seconds of each round after the first, in Flower's simulation of this very client."""
    size = Size(*words)
    from flwr.app import ArrayRecord, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg as Strategy
    from flwr.simulation import run_simulation

    client_app, server_app = ClientApp(), ServerApp()
    marks: list[float] = []

    @client_app.train()
    def local(message: Any, context: Any) -> Any:
        from flwr.app import Message

        torch.set_num_threads(1)
        client = int(context.node_config["partition-id"])
        net = module(size)
        net.load_state_dict(message.content["arrays"].to_torch_state_dict())
        inputs, labels = images(size, count=size.held, seed=client)
        train(net, inputs, labels, batch=size.batch, seed=client)
        content = {
            "arrays": ArrayRecord(net.state_dict()),
            "metrics": MetricRecord({"num-examples": size.held}),
        }
        return Message(content=RecordDict(content), reply_to=message)

    @server_app.main()
    def serve(grid: Any, context: Any) -> None:
        strategy = Strategy(
            fraction_train=size.together / CLIENTS,
            fraction_evaluate=0.0,
            min_train_nodes=size.together,
            min_available_nodes=CLIENTS,
        )
        strategy.start(
            grid=grid,
            initial_arrays=ArrayRecord(module(size).state_dict()),
            num_rounds=rounds,
            evaluate_fn=lambda round, arrays: marks.append(time.perf_counter()),
        )

    run_simulation(
        server_app=server_app,
        client_app=client_app,
        num_supernodes=CLIENTS,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": 2, "include_dashboard": False},
        },
    )
    # The marks are of the beginning and of every round's end; the first round starts the workers.
    return [after - before for before, after in itertools.pairwise(marks[1:])]


def flower_in_a_process(size: Size, rounds: int) -> float | None:
    """Median seconds of a round; None if Flower is absent, fails, or takes too long."""
    try:
        importlib.metadata.version("flwr")
    except importlib.metadata.PackageNotFoundError:
        print("Flower is not installed: its column stays empty")
        return None
    settings = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    try:
        seconds = in_a_process("fedavg:flower", size, rounds, seconds=PATIENCE, settings=settings)
    except subprocess.SubprocessError as error:
        print(f"Flower failed or was given up: its column stays empty\n{error}", file=sys.stderr)
        return None
    return float(statistics.median(seconds))


# The table ------------------------------------------------------------------------------------


def measure(size: Size, *, repeats: int, flower_rounds: int) -> dict[str, Any]:
    pixels, labels = images(size, count=CLIENTS * size.held, seed=0)
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(labels)))
    shares = Shares(pixels, labels, tuple(order.split(size.held)))
    recipe = FedAvgRecipe(
        rounds=1000, fraction=size.together / CLIENTS, batch=size.batch, rate=RATE
    )
    architecture = perceptron(size.inputs, size.hidden, size.hidden, outputs=10)
    run = recipe.training(shares, architecture=architecture, seed=0)
    limit = SinglePrecisionProduct()
    found = turns(
        {"limit": limit, "stacked": run.run_round, "loop": Loop(size, shares)}, repeats=repeats
    )
    seconds = {name: statistics.median(values) for name, values in found.items()}
    rate = limit.flops / seconds["limit"]
    weights = [block.weight.stop - block.weight.start for block in architecture.blocks]
    # Forward, by the weights, and by the inputs of every layer but the first.
    operations = 2.0 * size.together * size.held * (3 * sum(weights) - weights[0])
    floor = operations / rate
    others = flower_in_a_process(size, flower_rounds) if size.flower else None
    return {
        "size": size.name,
        "limit rate": rate / 1e9,
        "stacked_share": floor / seconds["stacked"],
        "loop_share": floor / seconds["loop"],
        "milliseconds": {
            "limit": 1e3 * floor,
            "stacked": 1e3 * seconds["stacked"],
            "loop": 1e3 * seconds["loop"],
            "Flower": 1e3 * others if others is not None else None,
        },
        "times stacked": {
            "loop": seconds["loop"] / seconds["stacked"],
            "Flower": others / seconds["stacked"] if others is not None else None,
        },
        "spread_share": spread(found),
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return [
        measure(size, repeats=how.repeats, flower_rounds=FLOWER_ROUNDS)
        for size in (TOY_SIZES if how.quick else SIZES)
    ]
