"""Small networks run message by message, over a post that does what it can to spoil them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from exact import draw_log_likelihoods
from exact.changing import (
    Exchange,
    Post,
    Receipt,
    draw_rounds,
    exchange,
    learn_changing,
    process_for,
)
from tests.exact.test_learning import assert_same
from tests.models import coins
from theory import FiniteModel, Network
from theory.changing import DelayedNetwork, Phase, RandomLinks
from theory.validation import FloatArray

RULES = ("own", "renormalise", "last")
TRIO = Network([[0.5, 0.5, 0.0], [0.1, 0.6, 0.3], [0.2, 0.0, 0.8]])


def priors_of(model: FiniteModel) -> FloatArray:
    return model.log_priors[model.assignment]


@st.composite
def posts(draw: st.DrawFn, *, losses: bool = True) -> Post:
    chance = st.sampled_from([0.0, 0.3, 0.9])
    return Post(
        drop=draw(chance) if losses else 0.0,
        delay=draw(chance),
        longest_delay=draw(st.integers(1, 4)),
        duplicate=draw(chance),
        reorder=draw(st.booleans()),
    )


def evidence(run: Exchange) -> FloatArray:
    """What z_k of round s counts in each private belief at the end, shape (N, T, N)."""
    rounds, agents = run.weights.shape[:2]
    said = [np.zeros((agents, rounds, agents))]
    private = said[0]
    for t in range(rounds):
        public = private.copy()
        public[np.arange(agents), t, np.arange(agents)] += 1
        said.append(public)
        private = np.zeros_like(public)
        for i, j in np.argwhere(run.weights[t] > 0):
            private[i] += run.weights[t, i, j] * said[t + 1 - run.ages[t, i, j]][j]
    return private


def test_copies_are_delivered_and_counted() -> None:
    """In the long run every copy meets its fate: a test that the others are not empty."""
    observed = draw_log_likelihoods(coins(3), rounds=200, seed=4)
    post = Post(drop=0.2, delay=0.5, longest_delay=3, duplicate=0.5, reorder=True)
    run = exchange(TRIO, observed, seed=1, post=post, on_loss="last")
    sent = 200 * 4
    assert 0.7 * sent < sum(run.receipts.values()) - run.receipts[Receipt.DUPLICATE] < 1.3 * sent
    assert run.receipts[Receipt.DUPLICATE] > 0.05 * sent
    assert run.receipts[Receipt.LATE] > 0.1 * sent
    assert run.ages.max() >= 4
    assert run.receipts[Receipt.CONFLICT] == run.receipts[Receipt.STRANGER] == 0
    assert run.receipts[Receipt.EARLY] == 0


@pytest.mark.parametrize("rule", RULES)
def test_lost_messages_are_links_that_are_down(rule: str) -> None:
    """The quick process of failing links, in its own arithmetic, with the masks of the post."""
    model = coins(3)
    observed = draw_log_likelihoods(model, rounds=30, seed=6)
    run = exchange(TRIO, observed, seed=2, post=Post(drop=0.4), on_loss=rule)
    process = process_for(RandomLinks(TRIO, 0.6, rule))
    links = list(zip(process._links.listener, process._links.indices, strict=True))
    masks = [[run.ages[t, i, j] == 0 for i, j in links] for t in range(30)]
    process.restart(np.random.SeedSequence(0), replicates=1, columns=2)
    process._random = Scripted(masks)
    state = np.zeros((3, 1, 2))
    for t in range(30):
        state = process.advance(state, (observed[t][:, [0]] - observed[t])[:, None, :])
        private = run.beliefs.private[t]
        assert_same(state[:, 0], private[:, [0]] - private)


class Scripted:
    """Uniform numbers that make the masks come out as written."""

    def __init__(self, masks: list[list[bool]]) -> None:
        self.masks = iter(masks)

    def random(self, shape: tuple[int, int]) -> FloatArray:
        return np.where(np.array(next(self.masks))[:, None], 0.0, 1 - 2.0**-53).reshape(shape)


def test_late_messages_are_delays() -> None:
    """All messages one round late, newest used: a delay of one on every link."""
    observed = draw_log_likelihoods(coins(3), rounds=20, seed=6)
    run = exchange(TRIO, observed, seed=2, post=Post(delay=1.0, longest_delay=1), on_loss="last")
    process = process_for(DelayedNetwork(TRIO, 1))
    process.restart(np.random.SeedSequence(0), replicates=1, columns=2)
    state = np.zeros((3, 1, 2))
    for t in range(20):
        state = process.advance(state, (observed[t][:, [0]] - observed[t])[:, None, :])
        assert_same(state[:, 0], run.beliefs.private[t][:, [0]] - run.beliefs.private[t])


@pytest.mark.parametrize("rule", RULES)
def test_leaving_and_returning(rule: str) -> None:
    """Agent 1 is away in rounds 3 to 6; it goes on from where it was, with the newest mail."""
    observed = draw_log_likelihoods(coins(3), rounds=10, seed=6)
    present = np.ones((10, 3), dtype=np.bool_)
    present[2:6, 1] = False
    run = exchange(TRIO, observed, seed=0, on_loss=rule, present=present)
    for t in range(2, 6):
        np.testing.assert_array_equal(run.beliefs.private[t, 1], run.beliefs.private[1, 1])
        assert run.weights[t, 1].tolist() == [0.0, 1.0, 0.0]
        # Agent 0 weighs it by 1/2, and does not hear it.
        assert run.weights[t, 0].tolist() == ([0.5, 0.5, 0] if rule == "last" else [1, 0, 0])
        assert run.ages[t, 0, 1] == (t - 1 if rule == "last" else -1)
    # What it observed meanwhile is nobody's; all the rest is as the weights say.
    phases = [Phase(w, here) for w, here in zip(run.weights, present, strict=True)]
    papers = learn_changing(phases, observed, ages=np.maximum(run.ages, 0))
    np.testing.assert_allclose(run.beliefs.private, papers.private, rtol=1e-12, atol=1e-12)
    # Back in round 7, all mail is of that round.
    assert run.ages[6].max() == 0


def test_mail_that_waited_is_sorted_by_its_round() -> None:
    """Agent 1 returns in a round in which all mail is lost: it uses the newest that came."""
    observed = draw_log_likelihoods(coins(3), rounds=12, seed=6)
    present = np.ones((12, 3), dtype=np.bool_)
    present[:11, 1] = False
    post = Post(drop=0.3, delay=0.7, longest_delay=5, duplicate=0.5, reorder=True)
    run = exchange(TRIO, observed, seed=5, post=post, on_loss="last", present=present)
    assert 0 <= run.ages[11, 1, 0] < 12
    papers = learn_changing(
        [Phase(w, here) for w, here in zip(run.weights, present, strict=True)],
        observed,
        ages=np.maximum(run.ages, 0),
    )
    np.testing.assert_allclose(run.beliefs.private, papers.private, rtol=1e-12, atol=1e-12)


def test_a_network_too_large_is_refused() -> None:
    network = Network.from_topology("ring", agents=100_000)
    observed = np.broadcast_to(0.0, (1000, 100_000, 1))
    with pytest.raises(ValueError, match=r"^network: expected few enough agents for 1000"):
        exchange(network, observed, seed=0)
    with pytest.raises(ValueError, match=r"^network: expected few enough agents for 1000"):
        draw_rounds(RandomLinks(network, 0.5), rounds=1000, seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
        ({"on_loss": "hope"}, "on_loss: expected one of own, renormalise, last"),
        ({"log_likelihoods": np.zeros((2, 2, 2))}, "log_likelihoods: expected shape"),
        ({"log_likelihoods": np.full((2, 3, 2), np.nan)}, "log_likelihoods: expected finite"),
        ({"present": np.ones((2, 3))}, "present: expected truth values of shape"),
        ({"present": np.ones((2, 2), dtype=bool)}, "present: expected truth values of shape"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"log_likelihoods": np.zeros((2, 3, 2)), "seed": 0}
    with pytest.raises(ValueError, match=f"^{message}"):
        exchange(TRIO, **(good | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": 1.5}, r"drop: expected a number in \[0, 1\], got 1.5"),
        ({"duplicate": -0.1}, r"duplicate: expected a number in \[0, 1\]"),
        ({"longest_delay": 0}, "longest_delay: expected a whole number of at least 1"),
    ],
)
def test_bad_posts_are_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Post(**options)
