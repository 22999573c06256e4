"""The precision of ball arithmetic.

python-flint keeps one precision for the whole process. Whoever needs another sets it here, for as
long as a ``with`` block lasts, so that no caller is left with somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import flint

from theory.validation import as_integer


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with balls of `bits` bits (53 is that of a double), then as before.

    Raises
    ------
    ValueError
        If `bits` is not a whole number of at least 2.
    """
    wanted = as_integer("bits", bits, minimum=2)
    with flint.ctx.workprec(wanted):
        yield
