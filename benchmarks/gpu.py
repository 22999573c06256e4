"""What a GPU makes of it: rates of products, training steps, GAE's net, and GAE's runs, in parts.

Each measurement is a line of JSON, printed and added to the file as soon as it is made. What the
file has already is not measured again, so that a call may end anywhere; after `--seconds` it begins
nothing more. What fails is said on standard error, and the call ends with 1. Work of the product's
own commands goes on where the last call stopped it.

==============  ==================================================================================
``products``    a large product in float32, TensorFloat-32 and bfloat16: the rates that others are
                shares of
``train``       rounds of 784-200-200-10, twenty steps of batches of 50 and a consensus on a ring
``module``      the same net as a module, its products in float32, TensorFloat-32 and bfloat16
``resnet``      ResNet-20 with GroupNorm, 32 × 32 pixels, all nets together
``gae``         a step of the net of `gae`: gradient and Adam of one node
``command``     the autoencoder, and the runs of Table 1 with three seeds
==============  ==================================================================================

    python -m benchmarks.gpu --out FILE [--parts train gae] [--seconds 480]
    python -m benchmarks.gpu --device cpu --quick    # toy sizes, to see that it runs
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.tables import Row
from empirical.data import Images
from empirical.gae.net import Passes, begin, initial, scores, step
from empirical.gae.recipe import Recipe
from empirical.kernels.products import products
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.kernel_net import KernelNet, sequential
from empirical.train.learners import learner_of
from empirical.train.module_net import ModuleNet
from empirical.train.net import Net
from empirical.train.run import TrainingRun
from tests.empirical.train.modules import ResNet20
from theory import Network

BATCH, LOCAL_STEPS = 50, 20
CHOICES = ("highest", "bfloat16")
LEARNERS = ("averaging", "averaging-adam", "natural-gradient", "sites", "backprop")
SEEDS = 3
# Runs of Table 1 by their parts' names.
TABLE_1 = (
    "central",
    *(
        f"{method} {split} {nodes}"
        for split, nodes in product(("balanced", "unbalanced"), (4, 16))
        for method in ("pruned", "GAE")
    ),
)


@dataclass(frozen=True)
class Setting:
    """Where it is measured, at which size, and how far a command may go."""

    device: str
    quick: bool
    folder: Path
    end: float

    def of(self, full: Any, toy: Any) -> Any:
        return toy if self.quick else full


@dataclass(frozen=True)
class Case:
    """One measurement: its part and name, and what gives its numbers; None if it was stopped."""

    part: str
    name: str
    measure: Callable[[], Row | None]


def seconds(task: Callable[[], object], setting: Setting) -> float:
    """Of a call by the clock, after three: what is compiled and recorded is so by then."""
    wait = torch.cuda.synchronize if setting.device == "cuda" else lambda: None
    for _ in range(setting.of(3, 1)):
        task()
    wait()
    begin, calls = time.perf_counter(), 0
    while calls < 1 or (calls < 100 and time.perf_counter() - begin < setting.of(1.0, 0.0)):
        task()
        calls += 1
    wait()
    return (time.perf_counter() - begin) / calls


def operations(task: Callable[[], object]) -> float:
    """Of all products and convolutions of a call."""
    with FlopCounterMode(display=False) as counter:
        task()
    return float(counter.get_total_flops())


def of_module(module: nn.Module, shape: tuple[int, ...]) -> float:
    """Operations of a gradient of one example."""
    return operations(lambda: module(torch.rand(2, *shape)).sum().backward()) / 2


# Cases ----------------------------------------------------------------------------------------


def of_products(setting: Setting) -> Iterator[Case]:
    size = setting.of(8192, 64)

    def measure(choice: str) -> Row:
        factors = [torch.rand(size, size, device=setting.device) for _ in range(2)]
        if choice == "bfloat16":
            factors = [factor.bfloat16() for factor in factors]
        with products("medium" if choice == "TensorFloat-32" else "highest"):
            spent = seconds(lambda: torch.mm(*factors), setting)
        return {"TFLOP/s": 2 * size**3 / spent / 1e12}

    for choice in ("float32", "TensorFloat-32", "bfloat16"):
        yield Case("products", choice, partial(measure, choice))


def shares(agents: int, shape: tuple[int, ...], setting: Setting) -> Shares:
    """Random inputs that agents hold some hundred of."""
    device, count, held = setting.device, setting.of(60_000, 60), setting.of(600, 30)
    first = torch.randint(count - held + 1, (agents,))
    rows = tuple(torch.arange(k, k + held, device=device) for k in first.tolist())
    inputs = torch.rand(count, *shape, device=device)
    return Shares(inputs, torch.randint(3, (count,), device=device), rows)


def rounds(
    make: Callable[[], Net], agents: int, shape: tuple[int, ...], flops: float, setting: Setting,
    *, learner: str, products: str = "auto",
) -> Row:  # fmt: skip
    """Numbers of a round of nets, of `flops` operations an example."""
    net, steps = make(), setting.of(LOCAL_STEPS, 2)
    network = Network([[1.0]]) if agents == 1 else Network.from_topology("ring", agents=agents)
    run = TrainingRun(
        net, Classes(net.outputs), shares(agents, shape, setting), network, learner_of(learner),
        rounds=10**6, local_steps=steps, batch=BATCH, seed=0, products=products,
        device=setting.device,
    )  # fmt: skip
    spent = seconds(run.run_round, setting)
    examples = agents * steps * BATCH / spent
    return {
        "agents": agents,
        "milliseconds an agent-step": 1e3 * spent / steps / agents,
        "examples/s": examples,
        "TFLOP/s": examples * flops / 1e12,
    }


def of_training(setting: Setting) -> Iterator[Case]:
    inputs, hidden = setting.of((784, 200), (12, 6))
    architecture, shape = perceptron(inputs, hidden, hidden, outputs=10), (inputs,)
    module = sequential(architecture)
    once, known = of_module(module, shape), partial(KernelNet, architecture)
    for agents in setting.of((100, 1000, 9, 1), (1, 3)):
        for learner in LEARNERS:
            # Local reparameterisation multiplies by means and by variances.
            flops = once * (1 + (learner == "backprop"))
            task = partial(rounds, known, agents, shape, flops, setting, learner=learner)
            yield Case("train", f"{learner}, agents: {agents}", task)
    agents = setting.of(100, 3)
    any_net = partial(ModuleNet, module, example_input=torch.rand(2, inputs))
    task = partial(rounds, any_net, agents, shape, once, setting, learner="averaging")
    for choice in ("highest", "medium", "bfloat16"):
        yield Case("module", f"{choice}, agents: {agents}", partial(task, products=choice))


def of_resnet(setting: Setting) -> Iterator[Case]:
    shape, module = setting.of((3, 32, 32), (3, 8, 8)), ResNet20(setting.of(16, 4))
    once = of_module(module, shape)
    make = partial(ModuleNet, module, example_input=torch.rand(2, *shape))
    for agents in setting.of((1, 9, 36), (3,)):
        task = partial(rounds, make, agents, shape, once, setting, learner="averaging-adam")
        for choice in CHOICES:
            yield Case("resnet", f"{choice}, agents: {agents}", partial(task, products=choice))


def of_gae(setting: Setting) -> Iterator[Case]:
    random, recipe = np.random.default_rng(0), Recipe()
    first = initial(random)
    loss = partial(scores, first.clone().requires_grad_(), torch.rand(2, 28, 28))
    once = operations(lambda: loss().sum().backward()) / 2

    def measure(batch: int, choice: str) -> Row:
        labels = random.integers(0, 10, batch)
        pixels = random.integers(0, 256, (batch, 28, 28)).astype(np.uint8)
        images = Images(pixels, labels, "random", tuple("0123456789"))
        passes, chosen = (
            Passes(images, device=setting.device),
            torch.arange(batch, device=setting.device),
        )
        state = begin(first[None].to(setting.device))

        def one() -> None:
            _, gradient = passes.gradient(state["weights"][0], chosen, recipe.dropout, random)
            step(state, 0, gradient, recipe)

        with products(choice, device=setting.device):
            spent = seconds(one, setting)
        return {"milliseconds": 1e3 * spent, "TFLOP/s": batch * once / spent / 1e12}

    for batch, choice in product(setting.of((2048, 6000), (4,)), CHOICES):
        yield Case("gae", f"{choice}, batch {batch}", partial(measure, batch, choice))


def of_commands(setting: Setting) -> Iterator[Case]:
    size = ("--quick",) if setting.quick else ("--replicates", str(SEEDS))

    def measure(part: str) -> Row | None:
        words = ("run", "gae", "--part", part, "--device", setting.device, "--resume", *size)
        begin = time.perf_counter()
        try:
            subprocess.run(
                [sys.executable, "-m", "peerbayes", *words, "--quiet", "--out", setting.folder],
                check=True, stdout=subprocess.DEVNULL,
                timeout=max(setting.end - time.monotonic(), 1.0),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        return {"seconds of the last call": time.perf_counter() - begin}

    runs = setting.of(product(range(SEEDS), TABLE_1), [(0, "GAE unbalanced 4")])
    for part in ("autoencoder", *(f"{run} seed {seed}" for seed, run in runs)):
        yield Case("command", part, partial(measure, part))


PARTS: dict[str, Callable[[Setting], Iterator[Case]]] = {
    "products": of_products,
    "train": of_training,
    "resnet": of_resnet,
    "gae": of_gae,
    "command": of_commands,
}


def recorded(out: Path | None) -> list[Row]:
    """The lines of a file; one that was cut off in its last is left with the others."""
    text = out.read_text(encoding="utf-8") if out and out.is_file() else ""
    whole = text[: text.rfind("\n") + 1]
    if out and whole != text:
        out.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def shared(row: Row, rows: list[Row]) -> Row:
    """The row with its shares of the products' rates, if it has a rate of its own."""
    rates = {r["name"]: r["TFLOP/s"] for r in rows if r["part"] == "products"}
    if row["part"] == "products" or "TFLOP/s" not in row:
        return row
    return {**row, **{f"share of {name}": row["TFLOP/s"] / rate for name, rate in rates.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="add the lines to this file")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=480.0, help="begin nothing after them")
    parser.add_argument("--quick", action="store_true", help="toy sizes, to see that it runs")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("gpu: expected a CUDA device, got none that torch can use", file=sys.stderr)
        return 2
    end = time.monotonic() + options.seconds
    folder = options.out.with_suffix(".runs") if options.out else Path("peerbayes-out")
    setting = Setting(options.device, options.quick, folder, end)
    rows = recorded(options.out)
    failed, done = False, {(row["part"], row["name"]) for row in rows}
    for part in options.parts:
        for case in PARTS[part](setting):
            if (case.part, case.name) in done:
                continue
            if time.monotonic() > end:
                return int(failed)
            try:
                found = case.measure()
            except Exception as error:  # the others are measured all the same
                print(f"{case.part}, {case.name}: {error!r}", file=sys.stderr, flush=True)
                failed, found = True, None
            if found is None:
                continue
            row = shared({"part": case.part, "name": case.name, **found}, rows)
            rows.append(row)
            print(json.dumps(row), flush=True)
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
