"""Messages in any order, any number of times: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from exact import draw_log_likelihoods, exchange
from exact.changing import Mailbox, Message, Post, Receipt, learn_changing
from tests.properties.pinned import COUPLED, RESET, pinned
from tests.properties.support import assert_close, often
from tests.strategies import Problem, problems, seeds
from theory.changing import ON_LOSS, Phase

chances = st.sampled_from([0.0, 0.2, 0.7, 1.0])
rules = st.sampled_from(ON_LOSS)


@often(20)
@given(
    problem=problems(max_agents=5),
    rule=rules,
    drop=chances,
    delay=chances,
    longest=st.integers(1, 4),
    duplicate=chances,
    seed=seeds,
)
@example(pinned(COUPLED), "last", 0.2, 0.7, 3, 1.0, 0)
@example(pinned(RESET), "renormalise", 0.7, 0.2, 3, 1.0, 0)
def test_copies_and_order_change_no_bit(
    problem: Problem,
    rule: str,
    drop: float,
    delay: float,
    longest: int,
    duplicate: float,
    seed: int,
) -> None:
    """And what is pooled are averages: the papers' form with the weights and ages that were met."""
    observed = draw_log_likelihoods(problem.model, rounds=6, seed=seed)
    options: dict[str, Any] = {
        "seed": seed,
        "on_loss": rule,
        "log_priors": problem.log_priors,
    }
    faults = {"drop": drop, "delay": delay, "longest_delay": longest}
    plain = exchange(problem.network, observed, post=Post(**faults), **options)
    for reorder, copies in ((True, 0.0), (False, duplicate), (True, duplicate)):
        post = Post(**faults, reorder=reorder, duplicate=copies)
        again = exchange(problem.network, observed, post=post, **options)
        for name in ("private", "public", "estimates"):
            np.testing.assert_array_equal(
                getattr(again.beliefs, name), getattr(plain.beliefs, name)
            )
        np.testing.assert_array_equal(again.weights, plain.weights)
        np.testing.assert_array_equal(again.ages, plain.ages)
        # In another order a message may come too late to be taken in before it is superseded.
        if not reorder:
            assert again.receipts[Receipt.NEW] == plain.receipts[Receipt.NEW]
        assert again.receipts[Receipt.CONFLICT] == again.receipts[Receipt.EARLY] == 0
    assert (plain.weights >= 0).all()
    assert rule == "last" or plain.ages.max() == 0
    np.testing.assert_allclose(plain.weights.sum(axis=2), 1, rtol=1e-14)
    papers = learn_changing(
        [Phase(weights) for weights in plain.weights],
        observed,
        log_priors=problem.log_priors,
        ages=np.maximum(plain.ages, 0),
    )
    assert_close(plain.beliefs.private, papers.private)


@st.composite
def schedules(draw: st.DrawFn) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """Deliveries (round of delivery, sender, round of sending), and the same with copies, shuffled.

    Each message is first delivered in the same round in both; copies come then or later.
    """
    letters = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(0, 3))
    first = [
        (sent + late, sender, sent)
        for sent, sender, late in draw(
            st.lists(letters, max_size=14, unique_by=lambda letter: letter[:2])
        )
    ]
    copies = (
        [
            (now + draw(st.integers(0, 3)), sender, sent)
            for now, sender, sent in draw(st.lists(st.sampled_from(first), max_size=14))
        ]
        if first
        else []
    )
    return first, draw(st.permutations(first + copies))


@often(40)
@given(schedule=schedules(), rule=rules, seed=seeds)
def test_any_schedule(
    schedule: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]], rule: str, seed: int
) -> None:
    """One mailbox, round by round, once with each message once and in order."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(5)) * (rng.random(5) < 0.8)
    weights[0] += 1 - weights.sum()
    said = rng.normal(size=(10, 5, 3))
    boxes = [Mailbox(0, weights, log_priors=said[0], on_loss=rule) for _ in schedule]
    for now in range(1, 10):
        pooled = []
        for box, letters in zip(boxes, schedule, strict=True):
            for when, sender, sent in letters:
                if when == now:
                    box.deliver(Message(sender, sent, said[sent, sender]), now=now)
            pooled.append(box.pool(said[now, 0], now=now))
        np.testing.assert_array_equal(pooled[0].log_belief, pooled[1].log_belief)
        np.testing.assert_array_equal(pooled[0].weights, pooled[1].weights)
        np.testing.assert_array_equal(pooled[0].ages, pooled[1].ages)
        assert pooled[0].weights.min() >= 0
        assert abs(pooled[0].weights.sum() - 1) < 1e-14
        # The newest of what came is held.
        for sender, held in boxes[0].held.items():
            came = [sent for when, j, sent in schedule[0] if j == sender and when <= now]
            assert held.round == max(came, default=0)
