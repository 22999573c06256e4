"""A round's exchange: who sends what to whom, and what it costs."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from empirical.nets.exchange import Consensus, OneProcess, block_of
from tests.empirical.support import refused
from theory import Network
from theory.changing.mixing import PeriodicNetwork, rotating_star
from theory.changing.phase import Phase

STAR = Network.from_topology("star", agents=9, edge_confidence=0.5)


def drawn(agents: int, parameters: int = 6) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(agents)
    mean = torch.randn(agents, parameters, generator=generator)
    return mean, torch.exp(torch.randn(agents, parameters, generator=generator))


@given(agents=st.integers(1, 40), processes=st.integers(1, 40))
def test_blocks_follow_each_other_and_hold_everybody(agents: int, processes: int) -> None:
    if processes > agents:
        said = rf"^processes: expected at most {agents}, .*, got {processes}; start fewer"
        refused(said, block_of, agents, processes=processes, rank=0)
        return
    blocks = [block_of(agents, processes=processes, rank=rank) for rank in range(processes)]
    assert [agent for block in blocks for agent in block] == list(range(agents))
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1


def test_a_round_is_w_times_natural_parameters_and_costs_its_links() -> None:
    mean, variance = drawn(9)
    consensus = Consensus(STAR)
    assert consensus.own == range(9)
    done = consensus.pool(mean, variance, round=1)
    w = torch.from_numpy(np.array(STAR.weights))
    precision = w @ (1 / variance.double())
    shift = w @ (mean / variance).double()
    assert torch.allclose(done.variance.double(), 1 / precision, rtol=1e-6)
    assert torch.allclose(done.mean.double(), shift / precision, rtol=1e-5, atol=1e-6)
    # 8 links each way, 6 parameters of 8 bytes; the centre's message goes over 8 of them.
    assert done.sent.tolist() == [8 * 48, *[48] * 8]
    assert done.bytes_sent == 16 * 48
    assert torch.equal(consensus.collect(done.mean), done.mean)


def test_phases_in_turn_and_who_rests() -> None:
    network = rotating_star(groups=2, group_size=2, edge_confidence=0.3)
    consensus = Consensus(network)
    mean, variance = drawn(5)
    assert consensus.observes(1) == (True, True, True, False, False)
    assert consensus.observes(2) == (True, False, False, True, True)
    for rounds in (1, 2, 3):
        done = consensus.pool(mean, variance, round=rounds)
        resting = [agent for agent, on in enumerate(consensus.observes(rounds)) if not on]
        assert torch.equal(done.mean[resting], mean[resting])
        assert torch.equal(done.variance[resting], variance[resting])
        assert done.sent[resting].tolist() == [0, 0]
        assert done.bytes_sent == 4 * 48
        alone = PeriodicNetwork(network.phases[(rounds - 1) % 2 :] + network.phases[:1])
        same = Consensus(alone).pool(mean, variance, round=1)
        assert torch.equal(done.mean, same.mean)


def test_a_phase_in_which_all_rest() -> None:
    network = PeriodicNetwork([Phase([[0.5, 0.5], [0.5, 0.5]]), Phase(np.eye(2), active=[])])
    mean, variance = drawn(2)
    done = Consensus(network).pool(mean, variance, round=2)
    assert torch.equal(done.mean, mean)
    assert done.bytes_sent == 0


def test_in_place_and_apart_agree() -> None:
    mean, variance = drawn(9)
    consensus = Consensus(STAR)
    apart = consensus.pool(mean, variance, round=1)
    assert consensus.pool_in_place(mean, variance, round=1) == apart.bytes_sent
    assert torch.equal(mean, apart.mean)
    assert torch.equal(variance, apart.variance)


LINE = Network([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0.6, 0.4]])


@pytest.mark.parametrize("known", [None, 0.25])
def test_messages_that_travel_say_what_the_sweep_says(known: float | None) -> None:
    mean, variance = drawn(4)
    if known is not None:
        variance.fill_(known)
    # The second process's agents keep to themselves, so that nothing is missing here.
    apart = [[0.5, 0.5, 0, 0], [0.2, 0.8, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    pairs = PeriodicNetwork([Phase(apart), Phase([[0.25] * 4] * 4)])
    spread = Consensus(pairs, variance=known, exchange=OneProcess(processes=2))
    assert spread.own == range(2)
    done = spread.pool(mean[:2], variance[:2], round=3)
    plain = Consensus(pairs, variance=known).pool(mean, variance, round=3)
    # Sent as it is, it is the sweep without messages, bit by bit.
    assert torch.equal(done.mean, plain.mean[:2])
    assert torch.equal(done.variance, plain.variance[:2])
    # 6 parameters of 8 bytes each, of 4 where all know the variance.
    size = 48 if known is None else 24
    assert done.sent.tolist() == plain.sent.tolist()[:2] == [size, size]


def test_plain_messages_remember_nothing() -> None:
    consensus = Consensus(LINE)
    assert consensus.state() == {}
    consensus.restore({})
    with pytest.raises(ValueError, match=r"^state: expected none of a codec, got streams.codec;"):
        consensus.restore({"streams.codec": torch.zeros(1)})


def test_equal_beliefs_stay() -> None:
    mean, variance = drawn(1, 500)
    consensus = Consensus(STAR)
    m, v = mean.repeat(9, 1), variance.repeat(9, 1)
    for rounds in range(1, 101):
        consensus.pool(m, v, round=rounds, out=(m, v))
    # A rounding or two a round, up as often as down: 100 rounds wander a few units of 2⁻²⁴.
    assert torch.allclose(v, variance.expand(9, -1), rtol=40 * 2.0**-24, atol=0.0)
    assert torch.allclose(m, mean.expand(9, -1), rtol=40 * 2.0**-24, atol=0.0)


def test_what_does_not_fit_the_network() -> None:
    mean, variance = drawn(8)
    with pytest.raises(ValueError, match=r"^mean: expected beliefs of the 9 agents"):
        Consensus(STAR).pool(mean, variance, round=1)
    mean, variance = drawn(9)
    with pytest.raises(ValueError, match=r"^round: expected a whole number of at least 1, got 0"):
        Consensus(STAR).pool(mean, variance, round=0)
    refused(r"^processes: expected at most 9", Consensus, STAR, exchange=OneProcess(processes=10))
