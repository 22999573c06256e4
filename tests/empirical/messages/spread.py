"""Rounds of coded training in however many processes: what the tests compare.

``torchrun --nproc-per-node 2 -m tests.empirical.messages.spread FILE`` writes what came out.
"""

from __future__ import annotations

import sys

import torch
from safetensors.torch import save_file

from empirical.messages.codecs import codec_named
from empirical.nets.consensus import Exchange
from empirical.nets.distributed import connect
from empirical.train.learners import learner_of
from empirical.train.run import TrainingRun
from tests.empirical.train.linear import LinearNet, Unit
from tests.empirical.train.spread import SHARES
from tests.empirical.train.test_rounds import NETWORKS

CODECS = ("plain", "sign", "difference+seeds", "difference+low-rank")


def everything(exchange: Exchange) -> dict[str, torch.Tensor]:
    """Beliefs and bytes after some rounds, on networks of several kinds."""
    found = {}
    for kind in ("fixed", "periodic", "last", "presence", "delayed"):
        for codec in CODECS:
            for learner in ("averaging", "sites"):
                run = TrainingRun(
                    LinearNet(3), Unit(), SHARES, NETWORKS[kind], learner_of(learner),
                    rounds=5, local_steps=2, batch=4, seed=3, exchange=exchange,
                    codec=codec_named(codec),
                )  # fmt: skip
                total = sum(run.run_round().bytes_sent for _ in range(5))
                sent = torch.zeros(len(run.own), 1, dtype=torch.float64)
                sent[0] = float(total)
                name = f"{kind}.{codec}.{learner}"
                mean = run.belief().mean.contiguous()
                found[f"{name}.mean"] = exchange.collect(mean, 5)
                found[f"{name}.sent"] = exchange.collect(sent, 5).sum()[None]
    return found


def main() -> None:
    """Write what came out, on the first process."""
    with connect() as exchange:
        found = everything(exchange)
        found["processes"] = torch.tensor(exchange.processes)
        if exchange.rank == 0:
            save_file(found, sys.argv[1])


if __name__ == "__main__":
    main()
