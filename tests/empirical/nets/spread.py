"""Rounds of consensus and of training, in however many processes: what the tests compare.

``torchrun --nproc-per-node 2 -m tests.empirical.nets.spread FILE`` writes what came out, then
fails: an agent of the last process breaks in round 2.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from safetensors.torch import save_file

from empirical.messages.codec import Block, Layout
from empirical.messages.codecs import codec_from_words
from empirical.nets.architecture import perceptron
from empirical.nets.consensus import Consensus, Exchange
from empirical.nets.distributed import connect
from empirical.nets.recipe import Recipe
from empirical.nets.shares import Shares
from empirical.nets.training import Training
from empirical.train.coded_consensus import CodedConsensus
from theory import Network
from theory.changing.periodic import rotating_star

ROUNDS = 3
NETWORKS: dict[str, Any] = {
    "star": Network.from_topology("star", agents=9, edge_confidence=0.5),
    "grid": Network.from_topology("grid", shape=[3, 3]),
    # In phases 1 and 2 of 4 the second of two processes has the centre's listeners or none.
    "rotating": rotating_star(groups=4, group_size=2, edge_confidence=0.3),
}
SIZE = 1500
# As beliefs are; half as long; with a replica for each listener, where a network changes.
CODECS: dict[str, dict[str, Any] | None] = {
    "plain": None,
    "half": {"codec": "plain", "kind": "bfloat16"},
    "replica": {"codec": "difference", "inner": "sign"},
}


def consensus_of(kind: str, network: Any, exchange: Exchange) -> Any:
    """What pools in a round."""
    words = CODECS[kind]
    if words is None:
        return Consensus(network, exchange=exchange)
    ones = torch.ones(SIZE)
    layout = Layout({"precision": ones, "shift": 0 * ones}, (Block("w", 0, (SIZE,)),))
    codec = codec_from_words(words)
    return CodedConsensus(network, codec, layout, seed=1, exchange=exchange)


def consensus_only(exchange: Exchange, *, broken: bool) -> dict[str, torch.Tensor]:
    """Beliefs after rounds of pooling with a nudge before each, and what was sent."""
    found = {}
    for name, network in NETWORKS.items():
        for kind in CODECS:
            consensus = consensus_of(kind, network, exchange)
            own = torch.tensor(list(consensus.own))
            generator = torch.Generator().manual_seed(5)
            shape = (network.agents, SIZE)
            mean = torch.randn(shape, generator=generator)[own]
            variance = torch.exp(torch.randn(shape, generator=generator))[own]
            for rounds in range(1, ROUNDS + 1):
                mean += 0.1 * own[:, None]
                if broken and rounds == 2:
                    mean[own == network.agents - 1, 7] = torch.nan
                sent = torch.zeros(len(own), 1, dtype=torch.int64)
                sent[0] = consensus.pool_in_place(mean, variance, round=rounds)
            found[f"{name}.{kind}.mean"] = consensus.collect(mean)
            found[f"{name}.{kind}.variance"] = consensus.collect(variance)
            found[f"{name}.{kind}.sent"] = consensus.collect(sent).sum()[None]
    return found


def trained(exchange: Exchange) -> dict[str, torch.Tensor]:
    """A few rounds of training of little nets."""
    generator = torch.Generator().manual_seed(6)
    inputs = torch.rand(180, 16, generator=generator)
    labels = torch.randint(0, 3, (180,), generator=generator)
    indices = torch.arange(180).reshape(9, 20)
    run = Training(
        Shares(inputs, labels, tuple(indices)),
        NETWORKS["star"],
        Recipe(rounds=ROUNDS, local_steps=2, batch=5, mean_rate=0.01),
        architecture=perceptron(16, 12, outputs=3),
        seed=3,
        exchange=exchange,
    )
    for _ in range(ROUNDS):
        run.run_round()
    collect = run.consensus.collect
    return {
        "trained.mean": collect(run.posterior.mean),
        "trained.variance": collect(run.posterior.variance),
    }


def everything(exchange: Exchange) -> dict[str, torch.Tensor]:
    """All that the tests compare."""
    return {**consensus_only(exchange, broken=False), **trained(exchange)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    with connect() as exchange:
        found = everything(exchange)
        if exchange.rank == 0:
            found["processes"] = torch.tensor(exchange.processes)
            save_file(found, sys.argv[1])
        consensus_only(exchange, broken=True)
        raise AssertionError("a broken belief went through")
