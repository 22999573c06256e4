"""How far a long computation has come, as the functions that take long report it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total), both whole numbers, from time to time and at the end."""


def part_of(progress: Progress | None, index: int, parts: int) -> Progress | None:
    """What one of several equal parts of a computation reports to, so that they fill one bar.

    >>> part_of(lambda done, total: print(done, "of", total), 1, 2)(3, 4)
    7 of 8
    """
    if progress is None:
        return None
    return lambda done, total: progress(index * total + done, parts * total)
