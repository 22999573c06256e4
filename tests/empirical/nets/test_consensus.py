"""A round's exchange: who sends what to whom, what it costs, and encodings other than the plain."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from empirical.nets.consensus import Consensus, OneProcess, block_of  # noqa: E402
from empirical.nets.messages import Message, Natural, PlainMessages  # noqa: E402
from tests.empirical.nets.encodings import HalfMessages, PrivateMessages  # noqa: E402
from theory import Network  # noqa: E402
from theory.changing.periodic import PeriodicNetwork, rotating_star  # noqa: E402
from theory.changing.phase import Phase  # noqa: E402

STAR = Network.from_topology("star", agents=9, edge_confidence=0.5)


def drawn(agents: int, parameters: int = 6) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(agents)
    mean = torch.randn(agents, parameters, generator=generator)
    return mean, torch.exp(torch.randn(agents, parameters, generator=generator))


@given(agents=st.integers(1, 40), processes=st.integers(1, 40))
def test_blocks_follow_each_other_and_hold_everybody(agents: int, processes: int) -> None:
    if processes > agents:
        said = rf"^processes: expected at most {agents}, .*, got {processes}; start fewer"
        with pytest.raises(ValueError, match=said):
            block_of(agents, processes=processes, rank=0)
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
    for encoding in (PlainMessages(), HalfMessages()):
        done = Consensus(network, encoding=encoding).pool(mean, variance, round=2)
        assert torch.equal(done.mean, mean)
        assert done.bytes_sent == 0


def test_in_place_and_apart_agree() -> None:
    for encoding in (PlainMessages(), HalfMessages(), PrivateMessages()):
        mean, variance = drawn(9)
        consensus = Consensus(STAR, encoding=encoding)
        apart = consensus.pool(mean, variance, round=1)
        done = consensus.pool(mean, variance, round=1, out=(mean, variance))
        assert done.mean is mean
        assert torch.equal(mean, apart.mean)
        assert torch.equal(variance, apart.variance)


class Recorded:
    """Plain messages, which no shortcut recognises as such, and a record of what was asked for."""

    def __init__(self, *, broadcast: bool) -> None:
        self.broadcast = broadcast
        self.encoded: list[tuple[int, int]] = []
        self.decoded: list[tuple[int, int]] = []

    def encode(self, natural: Natural, *, sender: int, round: int) -> Message:
        self.encoded.append((sender, round))
        return Message(
            {"who": torch.tensor(sender), "both": torch.stack([natural.precision, natural.shift])},
            7,
        )

    def decode(self, message: Message, *, receiver: int) -> Natural:
        self.decoded.append((int(message.payload["who"]), receiver))
        return Natural(*message.payload["both"])

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass


LINE = Network([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0.6, 0.4]])


@pytest.mark.parametrize("broadcast", [True, False])
def test_each_sender_encodes_once_and_who_listens_decodes(broadcast: bool) -> None:
    mean, variance = drawn(3)
    encoding = Recorded(broadcast=broadcast)
    done = Consensus(LINE, encoding=encoding).pool(mean, variance, round=4)
    plain = Consensus(LINE).pool(mean, variance, round=4)
    # Encoded as it is, it is the sweep without messages, bit by bit.
    assert torch.equal(done.mean, plain.mean)
    assert torch.equal(done.variance, plain.variance)
    assert encoding.encoded == [(0, 4), (1, 4), (2, 4)]
    links = [(1, 0), (0, 1), (2, 1), (1, 2)]  # sender, receiver
    assert encoding.decoded == (links if not broadcast else [(0, 0), (1, 0), (2, 0)])
    assert done.sent.tolist() == [7, 14, 7]


def test_half_precision_costs_half_and_shows() -> None:
    mean, variance = drawn(3)
    done = Consensus(LINE, encoding=HalfMessages()).pool(mean, variance, round=1)
    plain = Consensus(LINE).pool(mean, variance, round=1)
    assert 2 * done.bytes_sent == plain.bytes_sent == 4 * 48
    ratio = done.variance / plain.variance
    assert not torch.equal(ratio, torch.ones_like(ratio))
    assert torch.allclose(ratio, torch.ones_like(ratio), rtol=2.0**-8)  # bfloat16: 8 bits


def test_a_message_may_say_something_else_to_each() -> None:
    mean, variance = drawn(3)
    done = Consensus(LINE, encoding=PrivateMessages()).pool(mean, variance, round=1)
    w = torch.from_numpy(np.array(LINE.weights))
    factor = 1 + torch.arange(3.0, dtype=torch.float64)[:, None]  # row i hears (1 + i) times p
    factor = torch.where(torch.eye(3, dtype=torch.bool), torch.ones(()), factor)
    precision = (w * factor) @ (1 / variance.double())
    assert torch.allclose(done.variance.double(), 1 / precision, rtol=1e-6)


def test_equal_beliefs_stay() -> None:
    mean, variance = drawn(1, 500)
    consensus = Consensus(STAR)
    m, v = mean.repeat(9, 1), variance.repeat(9, 1)
    for rounds in range(1, 101):
        consensus.pool(m, v, round=rounds, out=(m, v))
    # A rounding or two a round, up as often as down: 100 rounds wander a few units of 2⁻²⁴.
    assert torch.allclose(v, variance.expand(9, -1), rtol=40 * 2.0**-24, atol=0.0)
    assert torch.allclose(m, mean.expand(9, -1), rtol=40 * 2.0**-24, atol=0.0)


@pytest.mark.parametrize("encoding", [PlainMessages(), HalfMessages(), PrivateMessages()])
def test_a_broken_belief_names_agent_and_round(encoding: Any) -> None:
    mean, variance = drawn(9)
    mean[4, 2] = torch.nan
    said = r"^shift of agent 4 in round 12: expected finite numbers, got nan at parameter 2;"
    with pytest.raises(ValueError, match=said):
        Consensus(STAR, encoding=encoding).pool(mean, variance, round=12)


def test_what_does_not_fit_the_network() -> None:
    mean, variance = drawn(8)
    with pytest.raises(ValueError, match=r"^mean: expected beliefs of the 9 agents"):
        Consensus(STAR).pool(mean, variance, round=1)
    mean, variance = drawn(9)
    with pytest.raises(ValueError, match=r"^round: expected a whole number of at least 1, got 0"):
        Consensus(STAR).pool(mean, variance, round=0)
    with pytest.raises(ValueError, match=r"^processes: expected at most 9"):
        Consensus(STAR, exchange=OneProcess(processes=10))
