"""Journals: the same events give the same beliefs, to the last bit, also over crashes."""

from __future__ import annotations

import numpy as np
import pytest

from exact.changing import Event, Message, Peer, replay
from tests.exact.changing.runs import run_on_own_clocks
from theory import Network

HEAD = np.log([0.8, 0.4])


@pytest.mark.parametrize("rule", ["own", "renormalise", "last"])
def test_a_run_again(rule: str) -> None:
    rng = np.random.default_rng(1)
    run = run_on_own_clocks(
        np.array(Network.from_topology("ring", agents=4).weights),
        lambda i: rng.normal(size=3),
        lambda i: rng.exponential(1 + i),
        priors=np.zeros(3),
        until=40,
        delay=lambda: rng.exponential(0.5),
        lost=lambda: rng.random() < 0.2,
        on_loss=rule,
    )
    for i in range(4):
        again = replay(run.journals[i])
        mine = run.of(i)
        np.testing.assert_array_equal(again.rounds, [row.round for row in mine])
        np.testing.assert_array_equal(again.log_beliefs, [r.pooled.log_belief for r in mine])
        for one, other in zip(again.pooled, mine, strict=True):
            np.testing.assert_array_equal(one.weights, other.pooled.weights)
            np.testing.assert_array_equal(one.rounds, other.pooled.rounds)
        assert again.state.meta == run.peers[i].state().meta


def test_a_crash_and_a_return() -> None:
    """Written down after round 2, lost in round 4, back in round 10: what went on from what."""
    one = Peer(0, [0.5, 0.5], log_priors=np.log([0.5, 0.5]))
    events = [Event("start", state=one.state())]
    for when in range(1, 4):
        one.observe(HEAD)
        one.pool()
        events += [Event("observe", log_likelihood=HEAD), Event("pool")]
        if when == 2:
            kept = one.state()
    events.append(Event("observe", log_likelihood=HEAD))  # round 4, which is not pooled
    back = Peer.from_state(kept)
    back.skip(10)
    back.observe(HEAD)
    news = Message(1, 10, np.log([0.3, 0.7]))
    back.deliver(news)
    back.lose(1)
    back.reweigh([0.4, 0.6], np.zeros(2))
    back.pool()
    events += [
        Event("start", state=kept),
        Event("skip", round=10),
        Event("observe", log_likelihood=HEAD),
        Event("deliver", message=news),
        Event("lose", sender=1),
        Event("reweigh", weights=[0.4, 0.6], log_priors=[0.0, 0.0]),
        Event("pool"),
    ]
    again = replay(events)
    assert again.rounds.tolist() == [1, 2, 3, 4, 10]
    assert again.bases.tolist() == [-1, 0, 1, 2, 1]
    np.testing.assert_array_equal(again.log_beliefs[-1], back.log_belief)
    # Round 4 ended without pooling; its belief has one observation more than round 3.
    assert again.pooled[3].weights.tolist() == [1, 0]
    ratios = again.log_beliefs[:, 0] - again.log_beliefs[:, 1]
    np.testing.assert_allclose(ratios, np.log(2) * np.array([1, 2, 3, 4, 3]), rtol=1e-14)


def test_a_round_that_is_never_pooled() -> None:
    one = Peer(0, [1.0], log_priors=[0.0, 0.0])
    start, see = Event("start", state=one.state()), Event("observe", log_likelihood=HEAD)
    for end in ([], [Event("skip", round=5)]):
        again = replay([start, see, *end])
        assert again.rounds.tolist() == [1]
        np.testing.assert_allclose(np.exp(again.log_beliefs), [[2 / 3, 1 / 3]])
        assert again.pooled[0].rounds.tolist() == [1]
    assert replay([start]).log_beliefs.shape == (0, 2)


def opened() -> Event:
    one = Peer(0, [1.0], log_priors=[0.0, 0.0])
    one.observe(HEAD)
    return Event("start", state=one.state())


START = Event("start", state=Peer(0, [1.0], log_priors=[0.0, 0.0]).state())
SEE = Event("observe", log_likelihood=HEAD)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Event("hope"), "kind: expected one of start, observe, .*, got 'hope'"),
        (lambda: Event("skip"), "skip: expected round, got nothing"),
        (lambda: Event("pool", round=3), "pool: expected nothing else, got round"),
        (lambda: Event("skip", round=-1), "round: expected a whole number"),
        (lambda: Event("observe", log_likelihood=[np.nan]), "log_likelihood: expected finite"),
        (lambda: replay([]), "events: expected at least one, got none"),
        (lambda: replay([SEE]), "events: expected a start, got observe"),
        (lambda: replay([START, Event("pool")]), "pool: expected a round that is open"),
        (lambda: replay([opened()]), "start: expected a state between two rounds"),
        (
            lambda: replay([START, SEE, START, SEE]),
            "events: expected a round after 1, got 1; skip",
        ),
    ],
)
def test_what_cannot_have_happened(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        build()
