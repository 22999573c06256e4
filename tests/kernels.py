"""Compile what numba compiles, before test processes would each compile the same.

    python -m tests.kernels 2        # by two processes

Small runs of everything that has kernels. What is missed here is compiled by the test that needs
it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

BRIEFLY = ("--rounds", "20", "--replicates", "20")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("analyse", "two-coins", "--delta", "0.01", "--rounds", "30"),
    ("place", "p2-grid", "--objective", "exponent", "--replicates", "0"),
    *(
        ("simulate", problem, *BRIEFLY)
        for problem in (
            "p2-grid centre",
            "p1-regression",
            "rotating-star 25",
            "restless-ring links",
            "restless-ring links last",
            "restless-ring presence",
            "restless-ring delays",
            "restless-ring clocks",
            "liars-torus average 1",
            "liars-torus trimmed-mean 1",
        )
    ),
)
# Learners with the codecs of their messages.
TRAININGS: tuple[tuple[str, str | None], ...] = (
    ("natural-gradient", None),
    ("natural-gradient", "samples"),
    ("natural-gradient", "posterior"),
    ("averaging", "quantised"),
    ("averaging", "topk"),
    ("backprop", None),
)


def command(*words: str) -> None:
    """Run one of our commands."""
    from peerbayes.cli import main

    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = main([*words, "--json"])
    assert code == 0, said.getvalue()


def training(learner: str, codec: str | None) -> None:
    """Train nets in torch for two rounds."""
    import numpy as np
    import torch

    import peerbayes as pb

    rng = np.random.default_rng(0)
    rows = [(x, (x[:, 0] > 0).astype(int)) for x in rng.normal(size=(3, 40, 2))]
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    ring = pb.Network.from_topology("ring", agents=3)
    pb.train(
        lambda: net,
        rows,
        ring,
        rounds=2,
        local_steps=2,
        learner=learner,
        method=pb.Method(codec=codec),
    )


def training_of_the_papers() -> None:
    """Train the papers' nets for two rounds."""
    import torch

    from empirical.nets.architecture import perceptron
    from empirical.nets.shares import Shares
    from empirical.train.recipe import Recipe
    from theory import Network

    shares = Shares(torch.ones(20, 2), torch.zeros(20, dtype=torch.int64), (torch.arange(20),) * 2)
    recipe = Recipe(rounds=2, local_steps=2, batch=10, mean_rate=1e-2, scale_rate=1e-2)
    network = Network([[0.5, 0.5], [0.5, 0.5]])
    run = recipe.training(shares, network, architecture=perceptron(2, 8, outputs=3), seed=0)
    for _ in range(2):
        run.run_round()


def sparse_simulation() -> None:
    """Simulate a network whose weights are kept sparse."""
    from exact import Run, simulate
    from tests.models import coins
    from theory import Network

    ring = Network.from_topology("ring", agents=300)
    simulate(ring, coins(300), run=Run(rounds=3, replicates=3, seed=0))


def autoencoder() -> None:
    """Train the net of the fourth source for a round."""
    import numpy as np

    from empirical.data import Images
    from empirical.gae.net import Passes, initial, stream
    from empirical.gae.recipe import Recipe
    from empirical.gae.rounds import Gossip, coder_of

    images = Images(np.ones((16, 28, 28), np.uint8), np.arange(16) % 10, "", tuple("0123456789"))
    recipe = Recipe(rounds=1, batch=16, kept=1000, dropout=0.25, exchange="pruned", nodes=2)
    start = initial(stream(0, 9))
    shares = [np.arange(8), np.arange(8, 16)]
    coder = coder_of(recipe, start, autoencoder=None)
    Gossip(Passes(images), shares, coder, recipe, begin=start, seed=0).run_round()


def compiled(work: Callable[[], None]) -> str:
    """Run in an empty folder; return what went wrong, if anything."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        try:
            work()
        except Exception as error:  # that it fails is for the tests to say
            return f"{work}: {error}"
    return ""


def main(processes: int) -> None:
    """Compile by this many processes."""
    works: list[Callable[[], None]] = [
        training_of_the_papers,
        autoencoder,
        sparse_simulation,
        *(partial(training, learner, codec) for learner, codec in TRAININGS),
        *(partial(command, *words) for words in COMMANDS),
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for wrong in filter(None, pool.map(compiled, works)):
            print(wrong, file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("processes", nargs="?", type=int, default=2)
    asked = parser.parse_args().processes
    if asked < 1:
        parser.error(f"processes: expected at least 1, got {asked}")
    main(asked)
