"""Rounds of training in however many processes: what the tests compare.

``torchrun --nproc-per-node 2 -m tests.empirical.train.spread FILE`` writes what came out.
"""

from __future__ import annotations

import sys

import torch
from safetensors.torch import save_file

from empirical.nets.consensus import Exchange
from empirical.nets.distributed import connect
from empirical.train.learners import LEARNERS, learner_of
from empirical.train.run import TrainingRun
from tests.empirical.train.linear import LinearNet, Unit, regression

SHARES = regression([12, 7, 9, 12, 5])


def everything(exchange: Exchange) -> dict[str, torch.Tensor]:
    """Beliefs after some rounds of every learner, on networks of several kinds."""
    from tests.empirical.train.test_rounds import NETWORKS

    found = {}
    for kind in ("fixed", "periodic", "last", "presence", "delayed"):
        for name in LEARNERS if kind == "last" else ("averaging", "sites"):
            run = TrainingRun(
                LinearNet(3), Unit(), SHARES, NETWORKS[kind], learner_of(name),
                rounds=6, local_steps=2, batch=4, seed=3, exchange=exchange,
            )  # fmt: skip
            for _ in range(6):
                report = run.run_round()
            belief = run.belief()
            mean = exchange.collect(belief.mean.contiguous(), 5)
            sent = torch.full((len(run.own), 1), float(report.bytes_sent)) / len(run.own)
            found[f"{kind}.{name}.mean"] = mean
            found[f"{kind}.{name}.sent"] = exchange.collect(sent, 5).sum()[None]
            if belief.variance is not None:
                found[f"{kind}.{name}.variance"] = exchange.collect(belief.variance, 5)
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
