"""Gaussian beliefs in steps of their own uncertainty, against what was said before.

Both ends keep a replica of the sender's belief. A message says by how many steps each standard
deviation left the replica's, on a logarithmic grid; then, in units of the standard deviation that
the replica has now, by how many steps each mean did. Most weights did not move by more than they
are uncertain: their numbers are 0, which cost little. What was left out stays in the difference to
the replica, and is said when it is worth its bits.

With a step of c standard deviations the receiver's Gaussian is at most about c²/24 nats a weight
from the sender's where much moves. The standard deviations' steps are an eighth of an octave or
less, which adds little and costs little: they move slowly. See docs: mathematics/message-limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, log2, sqrt
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.messages.checks import check_said, words_of
from empirical.messages.codec import Heard, Layout, Memory, Said
from empirical.messages.entropy import Reader, Tape, Writer
from empirical.messages.grids import nearest, powers
from empirical.messages.scales import Scales, worth_sending
from theory.validation import IntArray, as_integer, as_positive, fail

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Posterior:
    """Means in steps of the posterior's own standard deviation.

    Parameters
    ----------
    step
        c: the step of a mean in standard deviations of the posterior; positive.
    examples
        How many examples the posterior has seen for each that a precision counts: 1 where
        messages are a posterior's own natural parameters, n for learners whose messages are for
        one datum.
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
    examples: int = 1
    gradient_step: float = 0.25
    mixing: float = 1.0

    name = "posterior"

    def __post_init__(self) -> None:
        as_positive("step", self.step)
        as_integer("examples", self.examples, minimum=1)
        as_positive("gradient_step", self.gradient_step)
        if not 0.0 < self.mixing <= 1.0:
            remedy = "1 takes in all that was said"
            raise fail("mixing", "a number above 0 and at most 1", self.mixing, remedy)

    words = words_of

    def coder(self, layout: Layout) -> PosteriorCoder:
        """See :class:`~empirical.messages.codec.Codec`; messages must be of Gaussian beliefs."""
        return PosteriorCoder(self, layout)


class PosteriorCoder:
    """The codec for messages of one layout.

    Its memory: ``mean``, float32; ``scale``, by how many steps of the grid the standard deviation
    is above the first one, int16; ``gradient``, float32, if messages have one; ``classes``, how
    large the integers of the last message ran.
    """

    def __init__(self, codec: Posterior, layout: Layout) -> None:
        if not {"precision", "shift"} <= set(layout.names) <= {"precision", "shift", "gradient"}:
            raise fail(
                "codec 'posterior'",
                "messages of precision and shift, and gradient if any",
                ", ".join(layout.names),
                "train by a Bayesian learner, or take the codec 'quantised'",
            )
        self.mixing = codec.mixing
        self._layout, self._d = layout, layout.size
        self._scales = Scales(layout.blocks)
        self._vectors = ("scale", "mean", *(("gradient",) if "gradient" in layout.names else ()))
        # Steps of at most c/4 in logarithm.
        fine = min(max(4 * log(2) / codec.step, 8.0), 64.0)
        self._divisions = 1 << ceil(log2(fine))
        self._precision = _double(layout.begin["precision"]).astype(np.float32)
        nearest(_double(layout.begin["precision"]), 1)
        root = sqrt(codec.examples)
        self._unit = np.float32(codec.step / root)
        self._gradient_unit = np.float32(codec.step * codec.gradient_step / root)

    def memory(self) -> Memory:
        """The belief that all begin with."""
        begin = self._layout.begin
        place = np.zeros(self._d, dtype=np.int16)
        mean = (_double(begin["shift"]) / _double(begin["precision"])).astype(np.float32)
        classes = np.zeros(len(self._vectors) * self._scales.count, dtype=np.int16)
        found = {"scale": place, "mean": mean, "classes": classes}
        if "gradient" in self._vectors:
            found["gradient"] = begin["gradient"].cpu().numpy()
        return {name: torch.from_numpy(values.copy()) for name, values in found.items()}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`; `seed` is not used."""
        check_said(said, self._layout)
        if (said["precision"] <= 0).any():
            raise fail("precision", "numbers above 0", "others", "lower the learning rate")
        writer = Writer()
        self._pass(writer, memory, said)
        return writer.done()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`; the replica after the message."""
        reader = Reader(body)
        self._pass(reader, memory, None)
        reader.end()
        return Heard(self.replica(memory))

    def replica(self, memory: Memory) -> dict[str, Tensor]:
        """The belief that a memory holds, as a message."""
        change = powers(-2 * _whole(memory["scale"]), self._divisions)
        precision = torch.from_numpy(self._precision * change)
        found = {"precision": precision, "shift": memory["mean"] * precision}
        if "gradient" in self._vectors:
            found["gradient"] = memory["gradient"].clone()
        return {name: found[name] for name in self._layout.names}

    def _pass(self, tape: Tape, memory: Memory, said: Said | None) -> None:
        """Write or read all vectors, the standard deviations first, and move the replica."""
        place = _whole(memory["scale"])
        target = None
        if said is not None:
            change = _double(said["precision"]) / self._precision
            target = nearest(change, self._divisions) / -2 - place
        place = place + self._steps(tape, memory, target, "scale")
        if (np.abs(place) > np.iinfo(np.int16).max).any():
            raise fail("body", "standard deviations on the grid", "others", "send it again")
        memory["scale"].copy_(torch.from_numpy(place))
        width = powers(place, self._divisions) / np.sqrt(self._precision)
        moves = [("mean", width * self._unit)]
        if "gradient" in self._vectors:
            moves.append(("gradient", self._gradient_unit / width))
        for name, unit in moves:
            values = memory[name].numpy()
            target = None
            if said is not None:
                now = _double(said["gradient" if name == "gradient" else "shift"])
                now = now if name == "gradient" else now / _double(said["precision"])
                target = (now - values) / unit
            taken = self._steps(tape, memory, target, name)
            with np.errstate(over="ignore", invalid="ignore"):
                np.add(values, unit * taken.astype(np.float32), out=values)
            if not np.isfinite(values).all():
                raise fail("body", "finite numbers", "others", "send it again")

    def _steps(
        self, tape: Tape, memory: Memory, target: NDArray[np.float64] | None, name: str
    ) -> IntArray:
        """Steps of one vector; they are chosen from `target` where there is one."""
        start = self._vectors.index(name) * self._scales.count
        mine = memory["classes"][start : start + self._scales.count]
        taken = None if target is None else worth_sending(target, self._scales)
        found, classes = self._scales.integers(tape, taken, _whole(mine), count=self._d)
        mine.copy_(torch.from_numpy(classes))
        return found


def _double(values: Tensor) -> NDArray[np.float64]:
    return values.detach().cpu().numpy().astype(np.float64)


def _whole(values: Tensor) -> Any:
    return values.numpy().astype(np.int64)
