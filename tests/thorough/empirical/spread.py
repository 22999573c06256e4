"""Rounds of every training, in however many processes: what the tests compare.

``torchrun --nproc-per-node 2 -m tests.thorough.empirical.spread FILE`` writes what came out, then
fails: an agent of the last process breaks in round 2.
"""

from __future__ import annotations

import sys
import zlib
from typing import Any

import torch
from safetensors.torch import save_file

from empirical.messages.codecs import codec_named
from empirical.nets.architecture import perceptron
from empirical.nets.exchange import Exchange, connect
from empirical.train.learners import LEARNERS, learner_of
from empirical.train.recipe import Recipe
from empirical.train.run import TrainingRun
from tests.empirical.train.linear import LinearNet, Unit, classified
from tests.empirical.train.test_rounds import NETWORKS as CHANGING
from tests.empirical.train.test_run import SHARES
from theory import Network
from theory.changing.mixing import rotating_star

ROUNDS = 3
NETWORKS: dict[str, Any] = {
    "star": Network.from_topology("star", agents=9, edge_confidence=0.5),
    "grid": Network.from_topology("grid", shape=[3, 3]),
    # In phases 1 and 2 of 4 the second of two processes has the centre's listeners or none.
    "rotating": rotating_star(groups=4, group_size=2, edge_confidence=0.3),
}
# As beliefs are; half as long; with a replica for each listener, where a network changes.
CODECS = {"none": None, "half": "plain:kind=bfloat16", "replica": "difference+sign"}


def trained(exchange: Exchange, *, broken: bool = False) -> dict[str, torch.Tensor]:
    """A few rounds of training of little nets by a recipe; one agent may break in round 2."""
    found = {}
    recipe = Recipe(rounds=ROUNDS, local_steps=2, batch=5, mean_rate=0.01)
    for name, network in NETWORKS.items():
        for kind, codec in CODECS.items():
            run = recipe.training(
                classified(9, 20, 16, seed=6), network,
                architecture=perceptron(16, 12, outputs=3), seed=3, exchange=exchange,
                codec=None if codec is None else codec_named(codec),
            )  # fmt: skip
            sent = torch.zeros(len(run.own), 1, dtype=torch.int64)
            for number in range(1, ROUNDS + 1):
                if broken and number == 2 and 8 in run.own:
                    run.belief().mean[8 - run.own.start, 7] = torch.nan
                sent[0] += run.run_round().bytes_sent
            belief = run.belief()
            assert belief.variance is not None
            place = f"trained.{name}.{kind}"
            found[f"{place}.mean"] = exchange.collect(belief.mean, 9)
            found[f"{place}.variance"] = exchange.collect(belief.variance, 9)
            found[f"{place}.sent"] = exchange.collect(sent, 9).sum()[None]
    return found


def lossy(frame: bytes) -> bytes | None:
    """A wire that loses one frame in five, and damages as many; which ones, they say themselves."""
    lot = zlib.crc32(frame[12:]) % 5
    return (None, frame[:-1] + bytes([frame[-1] ^ 1]))[lot] if lot < 2 else frame


def learnt(exchange: Exchange) -> dict[str, torch.Tensor]:
    """Beliefs and bytes after some rounds of learners and codecs, on networks of several kinds."""
    found = {}
    for kind in ("fixed", "periodic", "last", "presence", "delayed"):
        some = ("averaging", "sites")
        cases = [(name, None) for name in (LEARNERS if kind == "last" else some)]
        coded = ("plain", "sign", "difference+seeds", "difference+low-rank")
        cases += [(name, codec) for name in some for codec in coded]
        for name, codec in cases:
            run = TrainingRun(
                LinearNet(3), Unit(), SHARES, CHANGING[kind], learner_of(name),
                rounds=5, local_steps=2, batch=4, seed=3, exchange=exchange,
                codec=None if codec is None else codec_named(codec),
            )  # fmt: skip
            if codec == coded[-1]:
                run._pooling.streams.carry = lossy
            total = sum(run.run_round().bytes_sent for _ in range(5))
            sent = torch.zeros(len(run.own), 1, dtype=torch.float64)
            sent[0] = float(total)
            belief = run.belief()
            found[f"{kind}.{name}.{codec}.mean"] = exchange.collect(belief.mean.contiguous(), 5)
            found[f"{kind}.{name}.{codec}.sent"] = exchange.collect(sent, 5).sum()[None]
            if belief.variance is not None:
                found[f"{kind}.{name}.{codec}.variance"] = exchange.collect(belief.variance, 5)
    return found


def everything(exchange: Exchange) -> dict[str, torch.Tensor]:
    """All that the tests compare."""
    return {**trained(exchange), **learnt(exchange)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    with connect() as exchange:
        found = everything(exchange)
        if exchange.rank == 0:
            found["processes"] = torch.tensor(exchange.processes)
            save_file(found, sys.argv[1])
        trained(exchange, broken=True)
        raise AssertionError("a broken belief went through")
