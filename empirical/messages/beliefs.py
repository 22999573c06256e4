"""Integers of a net's tensors, by how large their rows and columns run; replicas of beliefs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import ceil, log, log2, prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.messages.codec import Block, Heard, Layout, Memory, Said, TwoWay
from empirical.messages.entropy import LARGEST, Tape, integers
from empirical.messages.range_coder import contexts, counted, decided, sums
from empirical.messages.selected import PRECISION, SHIFT, nearest, powers
from theory.validation import FloatArray, IntArray, fail

# Blocks with fewer entries than this, and vectors, have one class for all.
LEAST = 64
# Larger integers count as this.
_CAP = 4095
# Sizes are in units of 1/256.
_FIXED = 256
_PER_OCTAVE = 2
# The largest class: that of _CAP.
_CLASSES = 20 * _PER_OCTAVE
# The context of a block whose integers are no larger here than there, in half octaves.
_LOWEST, _HIGHEST = 6 * _PER_OCTAVE, 40 * _PER_OCTAVE
# Nats of divergence that a bit is worth at high rate, in squared steps: ln 2 / 6 of c²/2.
_BIT = np.log(2.0) / 12


class Scales:
    """Row and column classes of the blocks of a message.

    Parameters
    ----------
    blocks
        In the order of their coordinates, which they cover without a gap.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._parts: list[tuple[slice, int, int]] = []
        self.size = sum(prod(block.shape) for block in blocks)
        for block in blocks:
            size = prod(block.shape)
            split = len(block.shape) > 1 and size >= LEAST
            rows = block.shape[0] if split else 1
            self._parts.append((slice(block.start, block.start + size), rows, size // rows))

    @property
    def count(self) -> int:
        """How many classes a message has."""
        return sum(1 if rows == 1 else 1 + rows + columns for _, rows, columns in self._parts)

    def of(self, values: IntArray) -> IntArray:
        """The classes of some integers, shape (count,): for an encoder."""
        found: list[FloatArray] = []
        for part, rows, columns in self._parts:
            across, down = np.zeros(rows, dtype=np.int64), np.zeros(columns, dtype=np.int64)
            sums(values[part], _CAP, across, down)
            found.append(np.array([across.sum() / (rows * columns)]))
            if rows > 1:
                found += [across / columns, down / rows]
        octaves = np.log2(_FIXED * np.concatenate(found) + 1)
        return np.asarray(np.ceil(_PER_OCTAVE * octaves), dtype=np.int64)

    def contexts(self, classes: IntArray) -> IntArray:
        """The context of each coordinate, shape (d,), from 1; 0: the integer is 0."""
        found, start = np.empty(self.size, dtype=np.int64), 0
        for part, rows, columns in self._parts:
            whole = classes[start]
            start += 1
            if rows == 1:
                found[part] = whole + _LOWEST if whole else 0
                continue
            across = classes[start : start + rows]
            down = classes[start + rows : start + rows + columns]
            contexts(across, down, _LOWEST - whole, _HIGHEST, found[part])
            start += rows + columns
        return found

    def classes(self, tape: Tape, values: IntArray | None, before: IntArray) -> IntArray:
        """The classes of some integers, written or read; `before` are those of the last message.

        Raises
        ------
        ValueError
            If what was read is no class.
        """
        moved = None if values is None else self.of(values) - before
        found = before + integers(tape, moved, count=self.count)
        if (found < 0).any() or (found > _CLASSES).any():
            raise fail("body", f"classes from 0 to {_CLASSES}", "others", "send it again")
        return found

    def integers(
        self, tape: Tape, values: IntArray | None, before: IntArray
    ) -> tuple[IntArray, IntArray]:
        """The integers, shape (d,), and their classes; `before` is the last message's classes.

        Raises
        ------
        ValueError
            If a number cannot be written, or what was read is no class.
        """
        classes = self.classes(tape, values, before)
        found = np.zeros(self.size, dtype=np.int64)
        if not classes.any():
            return found, classes
        contexts = self.contexts(classes)
        some = np.flatnonzero(contexts)
        own = None if values is None else values[some]
        found[some] = integers(tape, own, count=len(some), contexts=contexts[some])
        return found, classes


def worth_sending(steps: FloatArray, scales: Scales) -> IntArray:
    """Numbers of steps, rounded where the squared error that this saves is worth its bits.

    A bit is worth ln 2/6 squared steps times one half: the slope of the rate–distortion curve at
    high rate. Between k and k + 1 steps the larger number is taken beyond k + ½ + (ln 2/12) b, b
    what it costs more in bits by the frequencies of its context; for frequent zeros that is a dead
    zone.

    Parameters
    ----------
    steps
        Real numbers, shape (d,).
    scales
        Of the message's blocks.

    Returns
    -------
    IntArray
        Shape (d,), each within one of its number.

    Raises
    ------
    ValueError
        If a number is too large to be written, or none.
    """
    sizes = np.abs(steps)
    if not sizes.max(initial=0.0) <= LARGEST:
        raise fail("values", f"at most {LARGEST} in size", "larger ones", "take a wider step")
    first = np.rint(sizes).astype(np.int64)
    if not first.any():
        return first
    contexts = scales.contexts(scales.of(first))
    table = np.zeros((int(contexts.max()) + 1, 4), dtype=np.int64)
    counted(contexts, first, table)
    # Half of those that are not zero have each sign; one more of each keeps logarithms finite.
    zeros, ones, twos = (table.T[:3] + 1.0) / np.array([[1], [2], [2]])
    dear = np.clip(_BIT * np.log2(np.stack([zeros / ones, ones / twos])), 0.0, 0.49)
    decided(steps, contexts, 0.5 + dear, first)
    return first


# A replica of a Gaussian belief that two ends keep alike, and the standard deviations in it ------


Float32 = NDArray[np.float32]
GRADIENT = "gradient"


def double(values: Tensor) -> FloatArray:
    """A vector as float64."""
    return values.detach().cpu().numpy().astype(np.float64)


class BeliefCoder(TwoWay):
    """What codecs of beliefs share: a replica, and the standard deviations in it.

    They differ in how they move its means. The memory: ``mean``, float32; ``scale``, by how many
    steps of a logarithmic grid each standard deviation is above the first one, int16; ``gradient``,
    float32, if messages have one; ``classes``, how large the integers of the last message ran,
    int16, a row a vector.

    Parameters
    ----------
    codec
        It has `mixing`, γ of the replica form of pooling, and `gradient_step`.
    layout
        Of the messages.
    step
        Of a mean, in standard deviations; those of the grid are a quarter of it in logarithm, but
        no longer than an eighth of an octave and no shorter than 1/64.

    Raises
    ------
    ValueError
        If messages have other names.
    """

    def __init__(self, codec: Any, layout: Layout, *, step: float) -> None:
        super().__init__(codec, layout)
        self.mixing: float = codec.mixing
        self.step = np.float32(step)
        if not {PRECISION, SHIFT} <= set(layout.names) <= {PRECISION, SHIFT, GRADIENT}:
            raise fail(
                f"codec {codec.name!r}",
                "messages of precision and shift, and gradient if any",
                ", ".join(layout.names),
                "take another learner, or a codec such as 'quantised'",
            )
        self.scales = Scales(layout.blocks)
        self._vectors = ("scale", "mean", *(n for n in layout.names if n == GRADIENT))
        fine = min(max(4 * log(2) / step, 8.0), 64.0)
        self._divisions = 1 << ceil(log2(fine))
        self._precision = double(layout.begin[PRECISION]).astype(np.float32)
        # Refuses what the grid does not reach.
        nearest(self._precision.astype(np.float64), 1)
        self._first = 1 / np.sqrt(self._precision * np.float32(layout.examples))

    def memory(self) -> Memory:
        """The belief that all begin with."""
        begin = self.layout.begin
        count = len(self._vectors) * self.scales.count
        found = {
            "scale": torch.zeros(self.layout.size, dtype=torch.int16),
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
        return {name: found[name] for name in self.layout.names}

    def told(
        self, tape: Tape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> None:
        """All vectors, the standard deviations first; the replica moves."""
        if said is not None and (said[PRECISION] <= 0).any():
            raise fail(PRECISION, "numbers above 0", "others", "lower the learning rate")
        width = self._widths(tape, memory, said)
        self.means(tape, memory, said, width * self.step, seed=seed, pace=pace)
        if GRADIENT in self._vectors:
            # Over the number of examples, one unit of 1/σ moves the mean, by Newton's step, by σ.
            unit = np.float32(self.codec.gradient_step) * self.step / width
            target = None if said is None else double(said[GRADIENT])
            self.moved(tape, memory, target, GRADIENT, unit / np.float32(self.layout.examples))

    @abstractmethod
    def means(
        self,
        tape: Tape,
        memory: Memory,
        said: Said | None,
        unit: Float32,
        *,
        seed: int,
        pace: float,
    ) -> None:
        """Write or read the means, and move those of the replica; `unit` is c standard deviations.

        Raises
        ------
        ValueError
            As :meth:`told`.
        """

    def heard(self, memory: Memory, parts: None) -> Heard:
        """The replica after the message."""
        return Heard(self.replica(memory))

    def mean(self, said: Said) -> FloatArray:
        """What a message says of the means."""
        return double(said[SHIFT]) / double(said[PRECISION])

    def _widths(self, tape: Tape, memory: Memory, said: Said | None) -> Float32:
        """The standard deviations, written or read; the memory has them from then on."""
        place, target = memory["scale"].numpy().astype(np.int64), None
        if said is not None:
            change = double(said[PRECISION]) / self._precision
            target = nearest(change, self._divisions) / -2 - place
        place = place + self._steps(tape, memory, target, "scale")
        if (np.abs(place) > np.iinfo(np.int16).max).any():
            raise fail("body", "standard deviations on the grid", "others", "send it again")
        memory["scale"].copy_(torch.from_numpy(place))
        return np.asarray(powers(place, self._divisions) * self._first)

    def moved(
        self,
        tape: Tape,
        memory: Memory,
        target: FloatArray | None,
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
        steps = self._steps(tape, memory, wanted, name)
        self.move(memory, name, unit * steps.astype(np.float32))

    def _steps(self, tape: Tape, memory: Memory, target: FloatArray | None, name: str) -> IntArray:
        """By how many steps a vector moves, chosen from `target` where there is one."""
        taken = None if target is None else worth_sending(target, self.scales)
        row = self.row(memory, name)
        found, row[:] = self.scales.integers(tape, taken, row.astype(np.int64))
        return found

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

    def row(self, memory: Memory, name: str) -> NDArray[np.int16]:
        """Classes of the last message for one vector: a view of the memory."""
        start = self._vectors.index(name) * self.scales.count
        found: NDArray[np.int16] = memory["classes"][start : start + self.scales.count].numpy()
        return found
