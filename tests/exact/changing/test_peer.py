"""One agent by itself: rounds, messages ahead, neighbours that go and come, rules, its state."""

from __future__ import annotations

import json

import numpy as np
import pytest

from exact.beliefs import normalise
from exact.changing import Message, Peer, PeerState, Receipt
from exact.changing.peer import KEPT_AHEAD
from exact.faults.process import FaultyProcess
from tests.exact.changing.runs import log_ratios, run_on_own_clocks
from theory import FiniteAgent, FiniteModel, Network
from theory.robustness import Average, Clip, Median, TrimmedMean
from theory.robustness.faults import Rule

WEIGHTS = [0.5, 0.3, 0.2, 0.0]
HEAD = np.log([0.8, 0.4])
PRIORS = np.log([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1], [0.5, 0.5]])


def three_coins(agents: int) -> FiniteModel:
    coin = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[c, 1 - c]] for c in (0.5, 0.7, 0.2)]
    )
    return FiniteModel.from_agents(["fair", "heads", "tails"], [coin], counts=[agents])


def peer(**options: object) -> Peer:
    return Peer(0, WEIGHTS, log_priors=PRIORS, **options)


def says(sender: int, when: int, chance: float = 0.3) -> Message:
    return Message(sender, when, np.log([chance, 1 - chance]))


def test_a_round() -> None:
    one = peer()
    assert (one.round, one.is_open) == (0, False)
    said = one.observe(HEAD)
    np.testing.assert_allclose(np.exp(said.log_belief), [2 / 3, 1 / 3], rtol=1e-15)
    assert (said.sender, said.round, one.is_open) == (0, 1, True)
    assert one.log_belief is said.log_belief
    assert one.missing() == {1, 2}
    assert one.deliver(says(1, 1)) is Receipt.NEW
    assert one.missing() == {2}
    pooled = one.pool()
    assert pooled.weights.tolist() == pytest.approx([0.7, 0.3, 0, 0])
    assert pooled.rounds.tolist() == [1, 1, -1, -1]
    assert one.log_belief is pooled.log_belief
    assert not one.is_open


def test_a_message_of_a_later_round_waits_for_it() -> None:
    one = peer()
    one.observe(HEAD)
    fates = [one.deliver(m) for m in (says(1, 2), says(1, 2), says(1, 2, 0.9), says(3, 2))]
    assert fates == [Receipt.EARLY, Receipt.DUPLICATE, Receipt.CONFLICT, Receipt.STRANGER]
    # It is no message of this round.
    assert one.missing() == {1, 2}
    assert one.pool().weights[1] == 0
    one.observe(HEAD)
    assert one.missing() == {2}
    pooled = one.pool()
    assert (pooled.weights[1], pooled.ages[1]) == (0.3, 0)
    # The first that came stays, and counts when its round begins.
    assert one.mailbox.held[1].digest == says(1, 2).digest
    assert one.mailbox.counts[Receipt.NEW] == 1
    assert one.mailbox.counts[Receipt.EARLY] == 0


def test_no_more_than_the_newest_are_kept_ahead() -> None:
    one = peer(on_loss="last")
    for when in range(2, 3 * KEPT_AHEAD):
        assert one.deliver(says(1, when)) is Receipt.EARLY
    assert len(one.state().ahead) == KEPT_AHEAD
    assert one.mailbox.counts[Receipt.EARLY] == 2 * KEPT_AHEAD - 2
    one.skip(3 * KEPT_AHEAD - 1)
    one.observe(HEAD)
    assert one.missing() == {2}
    assert one.mailbox.counts[Receipt.NEW] == KEPT_AHEAD


def test_being_away() -> None:
    one = peer()
    one.observe(HEAD)
    public = one.log_belief
    one.skip(9)  # the open round ends without pooling
    assert (one.round, one.is_open) == (8, False)
    np.testing.assert_array_equal(one.log_belief, public)
    assert one.observe(HEAD).round == 9
    with pytest.raises(ValueError, match=r"^round: expected a whole number of at least 10, got 9"):
        one.skip(9)


def test_other_weights() -> None:
    """A neighbour leaves, another joins and is not waited for, and a fifth agent comes."""
    one = peer(on_loss="last")
    one.observe(HEAD)
    one.deliver(says(2, 1))
    one.deliver(says(1, 2))
    priors = np.log(np.full((5, 2), 0.5))
    one.reweigh([0.4, 0.0, 0.2, 0.1, 0.3], priors)
    assert one.missing() == frozenset()
    np.testing.assert_allclose(one.pool().weights, [0.8, 0, 0.2, 0, 0], rtol=1e-15)
    one.observe(HEAD)
    assert one.deliver(says(1, 2)) is Receipt.STRANGER
    assert one.deliver(says(4, 2)) is Receipt.NEW
    assert one.missing() == {2}
    np.testing.assert_allclose(one.pool().weights, [0.5, 0, 0.2, 0, 0.3], rtol=1e-15)
    with pytest.raises(ValueError, match=r"^owner: expected"):
        Peer(1, [0.5, 0.5], log_priors=[0.0, 0.0]).reweigh([1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"^log_priors: expected shape"):
        one.reweigh(WEIGHTS, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "rule",
    [
        Average(),
        Median(),
        Clip(0.4),
        *(TrimmedMean(f, w) for f in (1, 2) for w in ("own", "renormalise")),
    ],
)
def test_rules_are_those_of_faulty_networks(rule: Rule) -> None:
    """The compiled round of networks with liars, and peers, hypothesis 0 against the others."""
    rng = np.random.default_rng(5)
    weights = rng.choice([0.5, 0.25, 0.25, 0.125], size=(6, 6))
    weights /= weights.sum(axis=1, keepdims=True)
    process = FaultyProcess(Network(weights), three_coins(6), {}, rule, best=0, against=0)
    peers = [Peer(i, weights[i], log_priors=np.zeros(3), rule=rule) for i in range(6)]
    state = np.zeros((6, 1, 2))
    process.restart(np.random.SeedSequence(0), replicates=1, columns=2)
    for _ in range(12):
        # Coarse numbers, so that ties are met.
        seen = rng.integers(-2, 3, size=(6, 3)) * 1.0
        state = process.advance(state, log_ratios(seen)[:, None, 1:])
        said = [one.observe(row) for one, row in zip(peers, seen, strict=True)]
        for one in peers:
            for message in said:
                one.deliver(message)
            one.pool()
        after = log_ratios(np.array([one.log_belief for one in peers]))[:, 1:]
        np.testing.assert_allclose(after, state[:, 0], rtol=1e-12, atol=1e-12)


def test_who_is_not_heard_has_no_vote() -> None:
    one = peer(rule="median")
    one.observe([0.0, 0.0])
    one.deliver(says(1, 1, 0.9))
    one.pool()
    # The median of itself, Λ = 0, and one other; the third is missing.
    assert log_ratios(one.log_belief)[1] == pytest.approx(np.log(9) / 2, rel=1e-14)


def test_a_peer_goes_on_from_what_was_written_down() -> None:
    """Through JSON and arrays, in the middle of everything, and on to the last bit."""
    rng = np.random.default_rng(3)
    for clocks in ("shared", "own"):
        one = peer(on_loss="last", clocks=clocks, rule=TrimmedMean(1, "renormalise"))
        one.lose(2)
        assert Peer.from_state(one.state()).mailbox.lost == {2}
        other: Peer | None = None
        for step in range(40):
            if step % 7 == 3:
                state = one.state()
                numbers = {k: v.copy() for k, v in state.tensors.items()}
                written = PeerState.from_parts(json.loads(json.dumps(state.meta)), numbers)
                other = Peer.from_state(written)
                assert other.state().meta == state.meta
                assert (other.state().used, other.state().lost) == (state.used, state.lost)
            both = [one] if other is None else [one, other]
            if one.is_open:
                results = [p.pool().log_belief for p in both]
            else:
                seen = rng.normal(size=2)
                results = [p.observe(seen).log_belief for p in both]
            for result in results:
                np.testing.assert_array_equal(result, results[0])
            news = says(int(rng.integers(1, 3)), one.round + int(rng.integers(-1, 3)))
            assert len({p.deliver(news) for p in both}) == 1
            assert len({tuple(p.mailbox.counts.values()) for p in both}) == 1
    with pytest.raises(ValueError, match=r"^state: expected what a peer wrote down"):
        PeerState.from_parts({}, {})


def test_beliefs_on_own_clocks_are_those_of_their_weights() -> None:
    """Whoever ticks when, a belief is the mean of what was said, by rounds and weights."""
    rng = np.random.default_rng(8)
    weights = np.array(Network.from_topology("star", agents=4, edge_confidence=0.5).weights)
    for rule in ("own", "renormalise", "last"):
        run = run_on_own_clocks(
            weights,
            lambda i: rng.normal(size=3),
            lambda i: rng.exponential(1 + i),
            priors=rng.normal(size=(4, 3)),
            until=60,
            delay=lambda: rng.exponential(0.5),
            lost=lambda: rng.random() < 0.2,
            on_loss=rule,
        )
        said = {(i, 0): normalise(run.priors)[i] for i in range(4)}
        before = dict(said)
        for row in run.rows:
            i, k = row.agent, row.round
            said[i, k] = normalise(before[i, k - 1] + row.observed)
            used = np.flatnonzero(row.pooled.rounds >= 0)
            mixed = sum(row.pooled.weights[j] * said[j, row.pooled.rounds[j]] for j in used)
            before[i, k] = normalise(mixed)
            np.testing.assert_allclose(row.pooled.log_belief, before[i, k], rtol=1e-12, atol=1e-12)
            assert row.pooled.weights.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: peer().pool(), "pool: expected a round that is open, got round 0; observe first"),
        (lambda: peer().observe([0.0]), r"log_likelihood: expected shape \(2,\), got shape"),
        (lambda: peer().observe([0.0, np.nan]), "log_likelihoods: expected finite numbers"),
        (lambda: peer(clocks="wall"), "clocks: expected one of shared, own, got 'wall'"),
        (lambda: peer(rule="mode"), "rule: expected one of"),
        (lambda: peer(against=2), "against: expected a whole number of at most 1, got 2"),
        (lambda: peer().deliver(Message(1, 1, [0.0])), "message.log_belief: expected 2"),
        (lambda: peer().deliver(Message(1, 0, [0.0])), "message.log_belief: expected 2"),
        (lambda: Message(1, 1, [0.0, -1e101]), r"message.log_belief: expected .*1e\+100 nats"),
    ],
)
def test_bad_arguments_are_named(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        build()


def test_a_round_is_closed_before_the_next() -> None:
    one = peer()
    one.observe(HEAD)
    with pytest.raises(ValueError, match=r"^observe: expected a round that is over, got round 1"):
        one.observe(HEAD)
