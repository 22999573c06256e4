"""Integers of a net's tensors, with models chosen by how large their rows and columns run.

What moves in a round of training, and how far, depends on the input and on the unit that a weight
joins. A message therefore says first how large the integers of each row and each column of a
matrix are, in half octaves, as differences from the message before; the model of an integer is
then that of its row's size times its column's. One class each costs little beside the integers.
Of rows and columns whose class is 0 all integers are 0, and nothing more is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from empirical.messages.codec import Block
from empirical.messages.entropy import Tape, integers
from empirical.messages.steps_kernel import contexts, counted, decided, sums
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
        found: list[NDArray[np.float64]] = []
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
        end = self._parts[-1][0].stop
        found, start = np.empty(end, dtype=np.int64), 0
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
        self, tape: Tape, values: IntArray | None, before: IntArray, *, count: int
    ) -> tuple[IntArray, IntArray]:
        """The integers, shape (d,), and their classes; `before` is the last message's classes.

        Raises
        ------
        ValueError
            If a number cannot be written, or what was read is no class.
        """
        classes = self.classes(tape, values, before)
        found = np.zeros(count, dtype=np.int64)
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
    """
    first = np.rint(np.abs(steps)).astype(np.int64)
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
