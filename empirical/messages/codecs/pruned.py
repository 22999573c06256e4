"""The weights of largest size, each with its coordinate: the baseline of the paper on GAE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from empirical.messages.checks import bad_body, check_said, words_of
from empirical.messages.codec import Heard, Layout, Memory, Said
from empirical.messages.index_lists import list_bytes, pack, unpack
from theory.validation import IntArray, as_integer, fail

Values = NDArray[np.float32]
FLOAT = np.dtype("<f4")
_PAPERS_KEPT, _PAPERS_SIZE = 50_000, 613_514


@dataclass(frozen=True)
class Pruned:
    """The `kept` numbers of largest square in float32, after the list of their coordinates.

    A coordinate takes as many bits as the largest needs, and the body kept · (bits + 32), filled
    up to whole bytes: N_p (b_int + b_float) of the paper's eq. 5. Numbers of equal square are
    kept in the order of their coordinates. Of the others the message says nothing.

    Parameters
    ----------
    kept
        How many. 0: as large a share of them as the paper's, ⌈50 000 d / 613 514⌉.
    """

    kept: int = 0
    name: ClassVar[str] = "pruned"

    def __post_init__(self) -> None:
        as_integer("kept", self.kept, minimum=0)

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> _PrunedCoder:
        """Fits layouts of one vector, of at least `kept` numbers."""
        return _PrunedCoder(kept_of(self.name, self.kept, layout), layout)


@dataclass(frozen=True, eq=False)
class _PrunedCoder:
    kept: int
    layout: Layout

    def memory(self) -> Memory:
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        check_said(said, self.layout)
        values = numbers_of(said)
        places = largest(values, self.kept)
        return pack(places, values.size) + values[places].astype(FLOAT).tobytes()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        head = split_body(Pruned.name, body, self.kept, self.layout.size, floats=self.kept)
        return scattered(self.layout, head.places, head.floats)


@dataclass(frozen=True, eq=False)
class Body:
    """A list of coordinates, and the numbers behind it."""

    places: IntArray
    floats: Values


def split_body(codec: str, body: bytes, kept: int, size: int, *, floats: int) -> Body:
    """The two parts of a body; there are `floats` numbers, all of them finite.

    Raises
    ------
    ValueError
        If no encoder wrote it.
    """
    head = list_bytes(kept, size)
    if len(body) != head + 4 * floats:
        raise bad_body(codec, f"{head + 4 * floats} bytes", len(body))
    places = unpack(body[:head], kept, size)
    numbers = np.frombuffer(body, FLOAT, offset=head).astype(np.float32)
    if not np.isfinite(numbers).all():
        raise bad_body(codec, "finite numbers", "others")
    return Body(places, numbers)


def scattered(
    layout: Layout, places: IntArray, values: Values, *, said: NDArray[np.bool_] | None = None
) -> Heard:
    """What is heard: values at their coordinates; `said` marks those that the message speaks of."""
    vector, sent = np.zeros(layout.size, np.float32), np.zeros(layout.size, bool)
    vector[places] = values
    sent[places] = True if said is None else said
    return Heard({layout.names[0]: torch.from_numpy(vector)}, torch.from_numpy(sent))


def largest(values: Values, count: int) -> IntArray:
    """Coordinates of the `count` largest squares, ascending; of equal ones the first.

    Examples
    --------
    >>> largest(np.float32([1, -3, 2, 3]), 2)
    array([1, 3])
    """
    squares = np.square(values)
    least = np.partition(squares, values.size - count)[values.size - count]
    above, equal = np.flatnonzero(squares > least), np.flatnonzero(squares == least)
    chosen: IntArray = np.sort(np.concatenate([above, equal[: count - above.size]]))
    return chosen


def ascending(values: Values, count: int) -> IntArray:
    """Coordinates of the `count` largest squares in the order of their signed values."""
    places = largest(values, count)
    ordered: IntArray = places[np.argsort(values[places], kind="stable")]
    return ordered


def numbers_of(said: Said) -> Values:
    """The one vector of a message as an array, shape (d,)."""
    (vector,) = said.values()
    found: Values = vector.detach().cpu().numpy().astype(np.float32, copy=False)
    return found


def kept_of(codec: str, kept: int, layout: Layout) -> int:
    """How many numbers of a message are kept; `kept` 0: as large a share as the paper's.

    Raises
    ------
    ValueError
        If there is more than one vector, or fewer numbers than are to be kept.

    Examples
    --------
    >>> from empirical.messages.codec import Block
    >>> one = Layout({"mean": torch.zeros(100)}, (Block("all", 0, (100,)),))
    >>> kept_of("pruned", 0, one)
    9
    """
    if len(layout.names) != 1:
        got, remedy = ", ".join(layout.names), "use it for nets without uncertainty"
        raise fail(f"codec {codec!r}", "messages of one vector", got, remedy)
    if kept > layout.size:
        wanted = f"at most {layout.size}, the weights of the net"
        raise fail("kept", wanted, kept, "keep fewer")
    return kept or -(-layout.size * _PAPERS_KEPT // _PAPERS_SIZE)
