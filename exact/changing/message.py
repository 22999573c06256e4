"""What one agent says to the others in one round, what becomes of it, and what is made of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum

import numpy as np

from theory.robustness.behaviours import LARGEST_MESSAGE
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, as_float_array, as_integer, fail


@dataclass(frozen=True, eq=False)
class Message(Shown):
    """What one agent says in one round.

    Parameters
    ----------
    sender, round
        The agent's number, and the round t ≥ 0 it speaks of; round 0 is its prior.
    log_belief
        Shape (M,): log b, in nats; none beyond ±1e100, where sums of differences might overflow and
        no honest agent gets near. A constant common to all hypotheses has no meaning.
    digest
        SHA-256 of the three in hexadecimal; worked out if left out. One that came with the
        message is compared, so that damage on the way is found.

    Raises
    ------
    ValueError
        If a number is negative, a belief not finite or too large, or the digest another content's.

    Examples
    --------
    >>> import numpy as np
    >>> message = Message(2, 7, np.log([0.25, 0.75]))
    >>> Message(2, 7, np.log([0.75, 0.25]), message.digest)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: message: expected content of digest ..., got ...; ask for it to be sent again
    """

    sender: int
    round: int
    log_belief: FloatArray
    digest: str = ""

    def __post_init__(self) -> None:
        """Check the content and seal it, or compare it with its seal."""
        sender = as_integer("message.sender", self.sender, minimum=0)
        when = as_integer("message.round", self.round, minimum=0)
        belief = as_float_array("message.log_belief", self.log_belief, ndim=1)
        if belief.size == 0:
            raise fail("message.log_belief", "at least one hypothesis", "none", "state a belief")
        if np.abs(belief).max() > LARGEST_MESSAGE:
            raise fail(
                "message.log_belief",
                f"logarithms within {LARGEST_MESSAGE:g} nats",
                f"{belief[np.abs(belief).argmax()]:g}",
                "say what is believed",
            )
        content = hashlib.sha256(f"{sender} {when} ".encode() + belief.astype("<f8").tobytes())
        if self.digest and self.digest != content.hexdigest():
            raise fail(
                "message",
                f"content of digest {self.digest[:12]}…",
                f"{content.hexdigest()[:12]}…",
                "ask for it to be sent again",
            )
        object.__setattr__(self, "sender", sender)
        object.__setattr__(self, "round", when)
        object.__setattr__(self, "log_belief", belief)
        object.__setattr__(self, "digest", content.hexdigest())


class Receipt(Enum):
    """What became of a message.

    Only a ``NEW`` one changes what is held.
    """

    NEW = "new"
    DUPLICATE = "duplicate"  # the message that is held, again
    LATE = "late"  # of an earlier round than the one that is held
    CONFLICT = "conflict"  # of the same round, with other content: the first one stays
    EARLY = "early"  # of a round that has not begun: nobody can know that yet
    STRANGER = "stranger"  # from an agent this one gives no weight to, or from itself


@dataclass(frozen=True, eq=False)
class Pooled(Shown):
    """An agent's private belief, and what it was made of.

    Attributes
    ----------
    log_belief
        Shape (M,): normalised, floating point.
    weights
        Shape (N,): what each agent's message counted, non-negative; they sum to one.
    ages
        Shape (N,): how many rounds old the message used was, by a shared clock; by clocks of their
        own, how many of the agent's poolings had used it before. −1 where none was used.
    rounds
        Shape (N,): the round of which the message used speaks; −1 where none was used. For the
        agent itself its own round.
    """

    log_belief: FloatArray
    weights: FloatArray
    ages: IntArray
    rounds: IntArray
