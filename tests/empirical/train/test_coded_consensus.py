"""Pooling of beliefs that a codec writes: beside pooling as they are, and in training."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from empirical.messages.codec import Block, Layout
from empirical.messages.codecs import codec_from_words, codec_named
from empirical.messages.codecs.plain import Plain
from empirical.nets.architecture import perceptron
from empirical.nets.consensus import Consensus
from empirical.nets.descent import Shares
from empirical.nets.recipe import Recipe
from empirical.nets.training import Training, TrainingFailed
from empirical.train.coded_pooling import CodedConsensus, layout_of_beliefs
from tests.empirical.support import refused
from tests.empirical.train.linear import classified
from theory import Network
from theory.changing.mixing import PeriodicNetwork, rotating_star
from theory.changing.phase import Phase

ROTATING = rotating_star(groups=2, group_size=2, edge_confidence=0.3)
STAR = Network.from_topology("star", agents=4, edge_confidence=0.5)
LINE = Network([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0.6, 0.4]])
NET = perceptron(5, 4, outputs=3)
SIZE, HEADER, U = 6, 40, 2.0**-24


def drawn(agents: int) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(agents)
    mean = torch.randn(agents, SIZE, generator=generator)
    return mean, torch.exp(torch.randn(agents, SIZE, generator=generator))


def coded(network: Any, codec: Any, names: tuple[str, ...] = ("precision", "shift")) -> Any:
    begin = {name: torch.full((SIZE,), 1.0 - k) for k, name in enumerate(names)}
    return CodedConsensus(network, codec, Layout(begin, (Block("w", 0, (SIZE,)),)), seed=3)


@pytest.mark.parametrize("network", [STAR, LINE, ROTATING])
def test_without_loss_it_is_the_plain_consensus_in_frames(network: Any) -> None:
    mean, variance = drawn(network.agents)
    consensus, plain = coded(network, Plain()), Consensus(network)
    assert consensus.own == plain.own
    for number in (1, 2, 3):
        assert consensus.observes(number) == plain.observes(number)
        other, wide = mean.clone(), variance.clone()
        sent = consensus.pool_in_place(mean, variance, round=number)
        bare = plain.pool_in_place(other, wide, round=number)
        # Natural parameters are rounded once more; the mean's error is against the average of |μ|.
        assert torch.allclose(variance, wide, rtol=6 * U, atol=0.0)
        assert torch.allclose(mean, other, rtol=6 * U, atol=8 * U * float(other.abs().max()))
        assert sent == bare // (8 * SIZE) * (8 * SIZE + HEADER)
        mean, variance = other, wide


def test_who_rests_keeps_every_bit() -> None:
    network = PeriodicNetwork([Phase([[0.5, 0.5], [0.5, 0.5]]), Phase([[1, 0], [0, 1]], active=[])])
    mean, variance = drawn(2)
    before = mean.clone(), variance.clone()
    assert coded(network, Plain()).pool_in_place(mean, variance, round=2) == 0
    assert torch.equal(mean, before[0])
    assert torch.equal(variance, before[1])


def test_means_alone_leave_variances_alone() -> None:
    mean, variance = drawn(3)
    variance.fill_(0.25)
    other = mean.clone()
    sent = coded(LINE, Plain(), names=("mean",)).pool_in_place(mean, variance, round=1)
    weights = torch.from_numpy(LINE.weights.copy())
    assert torch.allclose(mean.double(), weights @ other.double(), rtol=U, atol=U)
    assert (variance == 0.25).all()
    assert sent == 4 * (4 * SIZE + HEADER)


class Counting:
    """`plain`, and who asked it for what."""

    def __init__(self) -> None:
        self.encoded = self.decoded = 0
        self.name, self.words = "plain", Plain().words

    def coder(self, layout: Layout) -> Any:
        self._coder = Plain().coder(layout)
        return self

    def memory(self) -> Any:
        return {}

    def encode(self, said: Any, memory: Any, *, seed: int) -> bytes:
        self.encoded += 1
        return self._coder.encode(said, memory, seed=seed)

    def decode(self, body: bytes, memory: Any, *, seed: int) -> Any:
        self.decoded += 1
        return self._coder.decode(body, memory, seed=seed)


def test_each_sender_encodes_once_and_who_listens_decodes() -> None:
    codec = Counting()
    consensus = coded(LINE, codec)
    codec.encoded = codec.decoded = 0  # of trying whether it fits
    consensus.pool_in_place(*drawn(3), round=1)
    assert (codec.encoded, codec.decoded) == (3, 3)  # all who listen hear the same


@pytest.mark.parametrize("codec", ["plain", "difference+sign"])
def test_a_broken_belief_names_agent_and_round(codec: str) -> None:
    mean, variance = drawn(4)
    mean[2, 3] = torch.nan
    said = r"^shift of agent 2 in round 12: expected finite numbers, got nan at parameter 3;"
    refused(said, coded(STAR, codec_named(codec)).pool_in_place, mean, variance, round=12)


# In training ------------------------------------------------------------------------------------


def training(codec: Any, **recipe: Any) -> Training:
    shares = classified(4, 20, 5, seed=6)
    plan = Recipe(rounds=6, local_steps=2, batch=5, mean_rate=0.02, scale_rate=0.01, **recipe)
    consensus = None
    if codec is not None:
        layout = layout_of_beliefs(NET, plan, seed=3)
        consensus = CodedConsensus(STAR, codec_from_words(codec), layout, seed=3, pace=plan.rate)
    return Training(shares, STAR, plan, architecture=NET, seed=3, consensus=consensus)


@pytest.mark.parametrize("estimator", ["local", "point"])
def test_a_lossless_codec_trains_the_same_nets(estimator: str) -> None:
    with_codec, without = (training(c, estimator=estimator) for c in ({"codec": "plain"}, None))
    vectors = 1 if estimator == "point" else 2
    for _ in range(6):
        sent = with_codec.run_round().bytes_sent
        assert without.run_round().bytes_sent == 6 * 4 * vectors * NET.parameters
        assert sent == 6 * (4 * vectors * NET.parameters + HEADER)
    a, b = with_codec.posterior, without.posterior
    # Roundings of 1e-7 a round, which gradients of nets this small magnify a hundredfold at most.
    assert torch.allclose(a.mean, b.mean, atol=1e-5)
    assert torch.allclose(a.variance, b.variance, rtol=1e-4)
    if estimator == "point":
        assert torch.equal(a.variance, b.variance)


def test_layouts_begin_with_what_all_begin_with() -> None:
    for estimator in ("local", "point"):
        plan = Recipe(rounds=1, local_steps=1, batch=5, estimator=estimator)  # type: ignore[arg-type]
        layout = layout_of_beliefs(NET, plan, seed=3)
        start = training(None, estimator=estimator).posterior
        assert [block.shape for block in layout.blocks] == [(4, 5), (4,), (3, 4), (3,)] or (
            [block.shape for block in layout.blocks] == [(5, 4), (4,), (4, 3), (3,)]
        )
        if estimator == "point":
            assert layout.names == ("mean",)
            assert torch.equal(layout.begin["mean"], start.mean[0])
        else:
            assert layout.names == ("precision", "shift")
            assert torch.equal(layout.begin["precision"], 1 / start.variance[0])


def test_what_cannot_be_written_ends_the_training() -> None:
    run = training({"codec": "plain"})
    run.posterior.mean[1, 0] = torch.inf
    with pytest.raises(TrainingFailed, match="agent 1 in round 1"):
        run.run_round()


def test_a_consensus_brings_its_own_exchange() -> None:
    from empirical.nets.consensus import OneProcess

    run, rows = training({"codec": "plain"}), tuple(torch.arange(4)[:, None])
    with pytest.raises(ValueError, match=r"^exchange: expected none beside a consensus, got both;"):
        Training(
            Shares(torch.rand(4, 5), torch.zeros(4, dtype=torch.int64), rows),
            STAR, run.recipe, architecture=NET, seed=3,
            consensus=run.consensus, exchange=OneProcess(),
        )  # fmt: skip
