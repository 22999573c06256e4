"""Some coordinates of a message, and what is said of them: sets and values with a memory.

Values travel to the last bit, in float32 or float16, or in steps. A value in steps is a multiple of
its vector's step, and what is written is by how many steps it differs from what was last said of
its coordinate, or at first from what all begin with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from empirical.messages.codec import Layout, Memory
from empirical.messages.coordinates import LOG_PRECISION, PRECISION, SHIFT
from empirical.messages.entropy import LARGEST, Tape, floats, integers
from empirical.messages.grids import nearest, powers
from empirical.messages.sets import FORMER, MEMBER, Flags, Kinds, subset
from theory.validation import as_positive, fail

VALUES = ("steps", "float32", "float16")
# Steps are 2^(k/8).
_DIVISIONS = 8

Vectors = dict[str, NDArray[np.float32]]


def check_values(values: str, step: float) -> None:
    """Refuse settings that no :class:`Selected` has.

    Raises
    ------
    ValueError
        With the setting's name.
    """
    if values not in VALUES:
        raise fail("values", f"one of {', '.join(VALUES)}", repr(values), "choose one of them")
    as_positive("step", step)


def largest(scores: NDArray[Any], k: int) -> Flags:
    """The k coordinates with the largest scores, shape (d,)."""
    found = np.zeros(len(scores), dtype=np.bool_)
    found[np.argpartition(scores, len(scores) - k)[len(scores) - k :]] = True
    return found


class Selected:
    """What is coded of messages of one layout.

    Parameters
    ----------
    layout
        Of vectors that are finite and may be rounded.
    values
        One of ``VALUES``.
    step
        Where values travel in steps: the step of a vector over the root mean square of those of
        its values that are sent; of a log precision the step itself.
    """

    def __init__(self, layout: Layout, values: str, step: float) -> None:
        self._layout, self._values, self._step = layout, values, step
        self._kinds = Kinds(layout, self._ranked(_arrays(layout.begin)))

    def memory(self) -> Memory:
        """What was last said of each coordinate, and whether just now, before or never."""
        said = {f"said {name}": values.clone() for name, values in self._layout.begin.items()}
        return {**said, "state": torch.zeros(self._layout.size, dtype=torch.uint8)}

    def said(self, memory: Memory) -> dict[str, torch.Tensor]:
        """What was last said, by name; views of the memory."""
        return {name: memory[f"said {name}"] for name in self._layout.names}

    def coded(
        self, tape: Tape, memory: Memory, given: Vectors | None, chosen: Flags | None
    ) -> Flags:
        """Write or read one message; the memory becomes what was said. Returns the set.

        Parameters
        ----------
        given, chosen
            The vectors, and which coordinates to send; None for a reader.

        Raises
        ------
        ValueError
            If a value cannot be written, or what was read is no value.
        """
        said, state = _arrays(self.said(memory)), memory["state"].numpy()
        members = subset(tape, chosen, self._kinds.of(self._ranked(said), state))
        some = np.flatnonzero(members)
        for name in self._layout.names:
            own = None if given is None else given[name][some]
            if self._values == "steps":
                said[name][some] = self._in_steps(tape, own, said[name][some], state[some], name)
            else:
                said[name][some] = self._as_floats(tape, own, len(some))
        state[state == MEMBER] = FORMER
        state[some] = MEMBER
        return members

    def _ranked(self, vectors: Vectors) -> NDArray[np.float32]:
        """What coordinates are ranked by: the mean, if there is one."""
        if SHIFT in vectors and PRECISION in vectors:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(np.nan_to_num(vectors[SHIFT] / vectors[PRECISION]))
        return vectors.get("mean", vectors[self._layout.names[0]])

    def _as_floats(
        self, tape: Tape, values: NDArray[np.float32] | None, count: int
    ) -> NDArray[np.float32]:
        half = self._values == "float16"
        own: Any = values
        if values is not None and half:
            with np.errstate(over="ignore"):
                own = values.astype(np.float16)
            if not np.isfinite(own).all():
                raise fail("values", "numbers that float16 holds", "larger ones", "use 'float32'")
        found = floats(tape, own, count=count, dtype=np.float16 if half else np.float32)
        return np.asarray(found, dtype=np.float32)

    def _in_steps(
        self,
        tape: Tape,
        values: NDArray[np.float32] | None,
        before: NDArray[np.float32],
        state: NDArray[np.uint8],
        name: str,
    ) -> NDArray[np.float32]:
        exponent = None
        if values is not None:
            exponent = np.array([self._exponent(values.astype(np.float64), before, name)])
        exponent = integers(tape, exponent, count=1)
        step = powers(exponent, _DIVISIONS)[0]
        with np.errstate(over="ignore"):
            guess = np.clip(np.rint(before / step), -LARGEST, LARGEST).astype(np.int64)
        moved = None
        if values is not None:
            moved = np.rint(values.astype(np.float64) / float(step)).astype(np.int64) - guess
        moved = integers(tape, moved, count=len(before), contexts=state)
        with np.errstate(over="ignore"):
            found = (guess + moved).astype(np.float32) * step
        if not np.isfinite(found).all():
            raise fail("body", "finite numbers", "others", "send it again")
        return np.asarray(found)

    def _exponent(self, values: NDArray[np.float64], before: NDArray[np.float32], name: str) -> int:
        """Of the step, which is rounded down; 2²⁸ steps reach from 0 to any value."""
        size = 1.0 if name == LOG_PRECISION else float(np.sqrt((values**2).mean()))
        reach = max(float(np.abs(some).max(initial=0.0)) for some in (values, before))
        wanted = max(self._step * size, 2.0**-28 * reach, 2.0**-50)
        return int(np.floor(nearest(np.array([wanted]), _DIVISIONS)[0]))


def _arrays(vectors: Any) -> Vectors:
    """The same numbers as arrays, which share the tensors' memory."""
    return {name: values.numpy() for name, values in vectors.items()}
