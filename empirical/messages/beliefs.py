"""A replica of a Gaussian belief that two ends keep alike, and the standard deviations in it."""

from __future__ import annotations

from math import ceil, log, log2
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.messages.checks import check_said
from empirical.messages.codec import Layout, Memory, Said
from empirical.messages.coordinates import PRECISION, SHIFT
from empirical.messages.entropy import Tape
from empirical.messages.grids import nearest, powers
from empirical.messages.scales import Scales, worth_sending
from theory.validation import IntArray, fail

Float32 = NDArray[np.float32]
GRADIENT = "gradient"


def double(values: Tensor) -> NDArray[np.float64]:
    """A vector as float64."""
    return values.detach().cpu().numpy().astype(np.float64)


class BeliefReplica:
    """What both ends remember of a belief: the codecs of beliefs differ in how they move its means.

    Its memory: ``mean``, float32; ``scale``, by how many steps of a logarithmic grid each standard
    deviation is above the first one, int16; ``gradient``, float32, if messages have one;
    ``classes``, how large the integers of the last message ran, int16, a row a vector.

    Parameters
    ----------
    layout
        Of the messages.
    codec
        The codec's name, for errors.
    step
        Of a mean, in standard deviations; those of the grid are a quarter of it in logarithm, but
        no longer than an eighth of an octave and no shorter than 1/64.

    Raises
    ------
    ValueError
        If messages have other names.
    """

    def __init__(self, layout: Layout, codec: str, *, step: float) -> None:
        if not {PRECISION, SHIFT} <= set(layout.names) <= {PRECISION, SHIFT, GRADIENT}:
            raise fail(
                f"codec {codec!r}",
                "messages of precision and shift, and gradient if any",
                ", ".join(layout.names),
                "take another learner, or a codec such as 'quantised'",
            )
        self.scales = Scales(layout.blocks)
        self._layout = layout
        self._vectors = ("scale", "mean", *(n for n in layout.names if n == GRADIENT))
        fine = min(max(4 * log(2) / step, 8.0), 64.0)
        self._divisions = 1 << ceil(log2(fine))
        self._precision = double(layout.begin[PRECISION]).astype(np.float32)
        # Refuses what the grid does not reach.
        nearest(self._precision.astype(np.float64), 1)
        self._first = 1 / np.sqrt(self._precision * np.float32(layout.examples))

    def memory(self) -> Memory:
        """The belief that all begin with."""
        begin = self._layout.begin
        count = len(self._vectors) * self.scales.count
        found = {
            "scale": torch.zeros(self._layout.size, dtype=torch.int16),
            "mean": torch.from_numpy(self.mean(begin).astype(np.float32)),
            "classes": torch.zeros(count, dtype=torch.int16),
        }
        return {**found, **{name: begin[name].clone() for name in self._vectors[2:]}}

    def replica(self, memory: Memory) -> dict[str, Tensor]:
        """The belief that a memory holds, as a message."""
        place = memory["scale"].numpy().astype(np.int64)
        precision = torch.from_numpy(self._precision * powers(-2 * place, self._divisions))
        found = {PRECISION: precision, SHIFT: memory["mean"] * precision}
        found |= {name: memory[name].clone() for name in self._vectors[2:]}
        return {name: found[name] for name in self._layout.names}

    def check(self, said: Said) -> None:
        """Refuse what is no belief of the layout.

        Raises
        ------
        ValueError
            If a number is not finite, or a precision not positive.
        """
        check_said(said, self._layout)
        if (said[PRECISION] <= 0).any():
            raise fail(PRECISION, "numbers above 0", "others", "lower the learning rate")

    def mean(self, said: Said) -> NDArray[np.float64]:
        """What a message says of the means."""
        return double(said[SHIFT]) / double(said[PRECISION])

    def widths(self, tape: Tape, memory: Memory, said: Said | None) -> Float32:
        """The standard deviations, written or read; the memory has them from then on.

        Raises
        ------
        ValueError
            If one cannot be written, or what was read is none.
        """
        place, target = memory["scale"].numpy().astype(np.int64), None
        if said is not None:
            change = double(said[PRECISION]) / self._precision
            target = nearest(change, self._divisions) / -2 - place
        place = place + self.steps(tape, memory, target, "scale")
        if (np.abs(place) > np.iinfo(np.int16).max).any():
            raise fail("body", "standard deviations on the grid", "others", "send it again")
        memory["scale"].copy_(torch.from_numpy(place))
        return np.asarray(powers(place, self._divisions) * self._first)

    def moved(
        self,
        tape: Tape,
        memory: Memory,
        target: NDArray[np.float64] | None,
        name: str,
        unit: Float32,
    ) -> None:
        """Steps of so many units that bring a vector of the memory near `target`, and the move.

        Raises
        ------
        ValueError
            As :meth:`move`, or if there are too many steps.
        """
        wanted = None if target is None else (target - memory[name].numpy()) / unit
        steps = self.steps(tape, memory, wanted, name)
        self.move(memory, name, unit * steps.astype(np.float32))

    def gradient(self, tape: Tape, memory: Memory, said: Said | None, unit: Float32) -> None:
        """A gradient for one datum, if messages have one.

        Divided by the number of examples, one unit of 1/σ moves the mean, by Newton's step, by σ.
        """
        if GRADIENT in self._vectors:
            target = None if said is None else double(said[GRADIENT])
            own = unit / np.float32(self._layout.examples)
            self.moved(tape, memory, target, GRADIENT, own)

    def steps(
        self, tape: Tape, memory: Memory, target: NDArray[np.float64] | None, name: str
    ) -> IntArray:
        """By how many steps a vector moves, chosen from `target` where there is one."""
        taken = None if target is None else worth_sending(target, self.scales)
        before = self.classes(memory, name)
        found, classes = self.scales.integers(tape, taken, before, count=self._layout.size)
        self.remember(memory, name, classes)
        return found

    def classes(self, memory: Memory, name: str) -> IntArray:
        """Those of the last message for one vector."""
        found: Any = self._row(memory, name).numpy().astype(np.int64)
        return np.asarray(found)

    def remember(self, memory: Memory, name: str, classes: IntArray) -> None:
        """Those of this message."""
        self._row(memory, name).copy_(torch.from_numpy(classes))

    def move(self, memory: Memory, name: str, by: Float32) -> None:
        """Add to a vector of the memory.

        Raises
        ------
        ValueError
            If a number is not finite any more.
        """
        values = memory[name].numpy()
        with np.errstate(over="ignore", invalid="ignore"):
            np.add(values, by, out=values)
        if not np.isfinite(values).all():
            raise fail("body", "finite numbers", "others", "send it again")

    def _row(self, memory: Memory, name: str) -> Tensor:
        start = self._vectors.index(name) * self.scales.count
        return memory["classes"][start : start + self.scales.count]
