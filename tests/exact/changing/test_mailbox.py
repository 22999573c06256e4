"""Messages: what is new, repeated, late, damaged or strange, and what a belief is made of."""

from __future__ import annotations

import numpy as np
import pytest

from exact.beliefs import normalise
from exact.changing import Mailbox, Message, Receipt

WEIGHTS = [0.5, 0.3, 0.2, 0.0]
PRIORS = np.log([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1], [0.5, 0.5]])


def box(on_loss: str = "own") -> Mailbox:
    return Mailbox(0, WEIGHTS, log_priors=PRIORS, on_loss=on_loss)


def says(sender: int, when: int, chance: float) -> Message:
    return Message(sender, when, np.log([chance, 1 - chance]))


def test_each_fate() -> None:
    mail = box()
    fates = [
        (says(1, 1, 0.3), Receipt.NEW),
        (says(1, 1, 0.3), Receipt.DUPLICATE),
        (says(1, 1, 0.4), Receipt.CONFLICT),
        (says(1, 3, 0.4), Receipt.NEW),
        (says(1, 2, 0.6), Receipt.LATE),
        (says(1, 1, 0.3), Receipt.LATE),  # a copy of one that is no longer held
        (says(1, 4, 0.4), Receipt.EARLY),
        (says(3, 1, 0.4), Receipt.STRANGER),
        (says(0, 1, 0.4), Receipt.STRANGER),
        (says(9, 1, 0.4), Receipt.STRANGER),
    ]
    held = {}
    for message, fate in fates:
        held = dict(mail.held)
        assert mail.deliver(message, now=3) is fate
        # Only a new one changes what is held.
        assert (dict(mail.held) == held) == (fate is not Receipt.NEW)
    assert mail.held[1].round == 3
    assert mail.counts == {
        Receipt.NEW: 2,
        Receipt.DUPLICATE: 1,
        Receipt.CONFLICT: 1,
        Receipt.LATE: 2,
        Receipt.EARLY: 1,
        Receipt.STRANGER: 3,
    }


def test_what_takes_the_place_of_a_missing_message() -> None:
    """Agent 2 was heard in round 3, agent 1 in round 2 only."""
    mine = np.log([0.6, 0.4])
    expected = {
        "own": ([0.8, 0.0, 0.2, 0.0], [0, -1, 0, -1]),
        "renormalise": ([0.5 / 0.7, 0.0, 0.2 / 0.7, 0.0], [0, -1, 0, -1]),
        "last": ([0.5, 0.3, 0.2, 0.0], [0, 1, 0, -1]),
    }
    for rule, (weights, ages) in expected.items():
        mail = box(rule)
        mail.deliver(says(1, 2, 0.3), now=3)
        mail.deliver(says(2, 3, 0.1), now=3)
        pooled = mail.pool(mine, now=3)
        np.testing.assert_allclose(pooled.weights, weights, rtol=1e-15)
        assert pooled.ages.tolist() == ages
        beliefs = np.array([mine, np.log([0.3, 0.7]), np.log([0.1, 0.9]), [0, 0]])
        np.testing.assert_allclose(pooled.log_belief, normalise(weights @ beliefs), rtol=1e-14)


def test_damage_on_the_way_is_found() -> None:
    message = says(1, 1, 0.3)
    assert Message(1, 1, message.log_belief, message.digest).digest == message.digest
    for sender, when, belief in (
        (2, 1, message.log_belief),
        (1, 2, message.log_belief),
        (1, 1, np.add(message.log_belief, [0.0, 1e-15])),
    ):
        with pytest.raises(ValueError, match=r"^message: expected content of digest"):
            Message(sender, when, belief, message.digest)
    with pytest.raises(ValueError, match="read-only"):
        message.log_belief[0] = 1.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Message(-1, 0, [0.0]), "message.sender: expected"),
        (lambda: Message(0, -1, [0.0]), "message.round: expected"),
        (lambda: Message(0, 0, [np.nan]), "message.log_belief: expected finite numbers"),
        (lambda: Message(0, 0, []), "message.log_belief: expected at least one hypothesis"),
        (lambda: Mailbox(0, [0.5, 0.4], log_priors=PRIORS[:2]), "weights: expected probabilities"),
        (lambda: Mailbox(2, [0.5, 0.5], log_priors=PRIORS[:2]), "owner: expected"),
        (lambda: Mailbox(0, [1.0], log_priors=PRIORS), "log_priors: expected shape"),
        (
            lambda: Mailbox(0, [1.0], log_priors=PRIORS[0], on_loss="hope"),
            "on_loss: expected one of own, renormalise, last, got 'hope'",
        ),
        (
            lambda: box().deliver(Message(1, 1, [0.0]), now=1),
            "message.log_belief: expected 2 hypotheses, got 1",
        ),
        (lambda: box().pool([0.0], now=1), "log_public: expected 2 hypotheses, got 1"),
    ],
)
def test_bad_arguments_are_named(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        build()
