"""What a GPU makes of it: rates of products, training steps, GAE's net, and GAE's runs.

    python -m benchmarks gpu --out FILE.jsonl [--only train] [--seconds 480]
    python -m benchmarks gpu --device cpu --quick    # toy sizes, to see that it runs

Seconds go by the clock. Work of the product's own commands goes on where the last call stopped it.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.federated import Stacked, image_operations, random_images
from benchmarks.nets import BATCH, multiplications, net_of, ring_run
from benchmarks.tables import Options, Row, Unavailable
from empirical.kernels.products import products as choosing
from empirical.nets.shares import Shares
from empirical.train.kernel_net import KernelNet, sequential
from empirical.train.module_net import ModuleNet
from empirical.train.net import Net
from tests.empirical.train.modules import ResNet20

SEEDS = 3


def seconds(task: Callable[[], object], how: Options) -> float:
    """Of a call by the clock, after three: what is compiled and recorded is so by then."""
    wait = torch.cuda.synchronize if how.device == "cuda" else lambda: None
    for _ in range(1 if how.quick else 3):
        task()
    wait()
    begin, calls = time.perf_counter(), 0
    while calls < 1 or (not how.quick and calls < 100 and time.perf_counter() - begin < 1.0):
        task()
        calls += 1
    wait()
    return (time.perf_counter() - begin) / calls


def rated(how: Options, spent: float, operations: float) -> Row:
    """Operations a second, and their shares of the products' rates that are known."""
    rate = operations / spent / 1e12
    products = {row["name"]: row["TFLOP/s"] for row in how.rows if row.get("part") == "products"}
    shares = {f"share of {name}": rate / whole for name, whole in products.items()}
    return {"TFLOP/s": rate, **shares}


def on(how: Options) -> str:
    """The device, which has to be there."""
    if how.device == "cuda" and not torch.cuda.is_available():
        raise Unavailable("gpu: expected a CUDA device, got none that torch can use")
    return how.device


def product(how: Options, *, name: str, size: int) -> Row:
    """A large product: the rate that others are shares of."""
    factors = [torch.rand(size, size, device=on(how)) for _ in range(2)]
    if name == "bfloat16":
        factors = [factor.bfloat16() for factor in factors]
    with choosing("medium" if name == "TensorFloat-32" else "highest"):
        spent = seconds(lambda: torch.mm(*factors), how)
    return {"TFLOP/s": 2 * size**3 / spent / 1e12}


# Training -------------------------------------------------------------------------------------


def shares(how: Options, agents: int, shape: tuple[int, ...]) -> Shares:
    """Random inputs that agents hold some hundred of."""
    count, held = (60, 30) if how.quick else (60_000, 600)
    first, device = torch.randint(count - held + 1, (agents,)), on(how)
    rows = tuple(torch.arange(k, k + held, device=device) for k in first.tolist())
    inputs = torch.rand(count, *shape, device=device)
    return Shares(inputs, torch.randint(3, (count,), device=device), rows)


def rounds(
    how: Options, net: Net, agents: int, shape: tuple[int, ...], operations: float, *,
    learner: str, products: str,
) -> Row:  # fmt: skip
    """Numbers of a round of nets on a ring, of so many operations an example."""
    steps, data = 2 if how.quick else 20, shares(how, agents, shape)
    run = ring_run(net, data, learner, local_steps=steps, products=products, device=how.device)
    spent = seconds(run.run_round, how)
    examples = agents * steps * BATCH
    return {
        "milliseconds an agent-step": 1e3 * spent / steps / agents,
        "examples/s": examples / spent,
        **rated(how, spent, examples * operations),
    }


def train(
    how: Options, *, agents: int, learner: str = "averaging", products: str = "",
    inputs: int = 784, hidden: int = 200,
) -> Row:  # fmt: skip
    """784-200-200-10; the same net as a module, if its products are chosen.

    Local reparameterisation multiplies by means and by variances.
    """
    net = net_of(inputs, hidden)
    once = 2 * multiplications(net) * (1 + (learner == "backprop"))
    kind: Net = KernelNet(net)
    if products:
        kind = ModuleNet(sequential(net), example_input=torch.rand(2, inputs))
    words = {"learner": learner, "products": products or "auto"}
    return rounds(how, kind, agents, (inputs,), once, **words)


def resnet(how: Options, *, products: str, agents: int, side: int = 32, channels: int = 16) -> Row:
    """ResNet-20 with GroupNorm, all nets together."""
    shape, net = (3, side, side), ResNet20(channels)
    with FlopCounterMode(display=False) as counter:
        net(torch.rand(2, *shape)).sum().backward()
    once, kind = counter.get_total_flops() / 2, ModuleNet(net, example_input=torch.rand(2, *shape))
    return rounds(how, kind, agents, shape, once, learner="averaging-adam", products=products)


# GAE ------------------------------------------------------------------------------------------


def gae(how: Options, *, products: str, batch: int) -> Row:
    """A step of the net of `gae`: gradient and Adam of one node."""
    node = Stacked(1, random_images(batch), device=on(how))
    with choosing(products, device=how.device):
        spent = seconds(node, how)
    return {"milliseconds": 1e3 * spent, **rated(how, spent, batch * image_operations())}


def command(how: Options, *, name: str) -> list[Row]:
    """A part of `peerbayes run gae`, the autoencoder or a run of Table 1, resumed; none if cut."""
    folder = how.out.with_suffix(".runs") if how.out else Path("peerbayes-out")
    size = ("--quick",) if how.quick else ("--replicates", str(SEEDS))
    words = ("run", "gae", "--part", name, "--device", on(how), "--resume", *size)
    begin = time.perf_counter()
    left = None if how.end == math.inf else max(how.end - time.monotonic(), 1.0)
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "peerbayes", *words, "--quiet", "--out", folder],
            check=True, stdout=subprocess.DEVNULL, timeout=left,
        )  # fmt: skip
        return [{"seconds": time.perf_counter() - begin}]
    return []
