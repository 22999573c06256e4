"""Gaussian beliefs in steps of their own uncertainty, against what was said before.

Both ends keep a replica of the sender's belief. A message says by how many steps each standard
deviation left the replica's, on a logarithmic grid; then, in units of the standard deviation that
the replica has now, by how many steps each mean did. Most weights did not move by more than they
are uncertain: their numbers are 0, which cost little. What was left out stays in the difference to
the replica, and is said when it is worth its bits.

With a step of c standard deviations the receiver's Gaussian is about c²/24 nats a weight
from the sender's where much moves. The standard deviations' steps are an eighth of an octave or
less, which adds little and costs little: they move slowly. See docs: mathematics/message-limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from empirical.messages.beliefs import BeliefReplica
from empirical.messages.checks import check_fraction, words_of
from empirical.messages.codec import Heard, Layout, Memory, Said
from empirical.messages.entropy import Reader, Tape, Writer
from theory.validation import as_integer, as_positive, fail

_MOST_HALVINGS = 15


@dataclass(frozen=True)
class Posterior:
    """Means in steps of the posterior's own standard deviation.

    Parameters
    ----------
    step
        c: the step of a mean in standard deviations of the posterior; positive.
    halvings
        How often a sender halves its steps, 0 to 15: each time its learning rate has fallen by
        another factor of four. Where rates fall, moves do: agents whose data differ drift apart by
        what they do not say, and come back when steps are small. 0: steps stay.
    gradient_step
        The step of a vector ``gradient``, in units of what moves a mean by c standard deviations;
        positive.
    mixing
        γ of the replica form of pooling; in (0, 1].

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    step: float = 1.0
    halvings: int = 0
    gradient_step: float = 0.25
    mixing: float = 1.0

    name = "posterior"

    def __post_init__(self) -> None:
        as_positive("step", self.step)
        as_positive("gradient_step", self.gradient_step)
        if as_integer("halvings", self.halvings, minimum=0) > _MOST_HALVINGS:
            raise fail("halvings", f"0 to {_MOST_HALVINGS}", self.halvings, "2 or 3 are enough")
        check_fraction("mixing", self.mixing, "1 takes in all that was said")

    words = words_of

    def coder(self, layout: Layout) -> PosteriorCoder:
        """See :class:`~empirical.messages.codec.Codec`; messages must be of Gaussian beliefs."""
        return PosteriorCoder(self, layout)


class PosteriorCoder:
    """The codec for messages of one layout; its memory is that of a :class:`BeliefReplica`.

    See :class:`~empirical.messages.codec.Paced` and
    :class:`~empirical.messages.codec.Replicating`.
    """

    def __init__(self, codec: Posterior, layout: Layout) -> None:
        self._codec, self.mixing = codec, codec.mixing
        self._belief = BeliefReplica(layout, codec.name, step=codec.step)
        self.memory, self.replica = self._belief.memory, self._belief.replica

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`; `seed` is not used."""
        return self.encode_paced(said, memory, seed=seed, pace=1.0)

    def encode_paced(self, said: Said, memory: Memory, *, seed: int, pace: float) -> bytes:
        """The body of a message whose step has been halved as often as `pace` wants."""
        self._belief.check(said)
        writer = Writer()
        self._pass(writer, memory, said, pace)
        return writer.done()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`; the replica after the message."""
        reader = Reader(body)
        self._pass(reader, memory, None, 1.0)
        reader.end()
        return Heard(self.replica(memory))

    def _pass(self, tape: Tape, memory: Memory, said: Said | None, pace: float) -> None:
        """Write or read all vectors, the standard deviations first, and move the replica."""
        width, step = self._belief.widths(tape, memory, said), np.float32(self._codec.step)
        mean = None if said is None else self._belief.mean(said)
        unit = width * step
        if self._codec.halvings:
            own = None if said is None else np.array([halvings(pace, self._codec.halvings)])
            (often,) = tape.plain(own, 1, bits=4)
            unit = unit * np.float32(2.0 ** -int(often))
        self._belief.moved(tape, memory, mean, "mean", unit)
        self._belief.gradient(
            tape, memory, said, np.float32(self._codec.gradient_step) * step / width
        )


def halvings(pace: float, most: int) -> int:
    """How often steps are halved where rates have fallen to a share `pace` of the highest.

    Examples
    --------
    >>> [halvings(pace, 3) for pace in (1.0, 0.26, 0.25, 0.06, 0.01, 0.0)]
    [0, 0, 1, 2, 3, 3]
    """
    return next((k for k in range(most) if pace > 0.25 ** (k + 1)), most)
