"""One thread for torch, so that a run's numbers do not depend on how many cores a machine has.

A sum spread over threads is added up in another order. The products of a training step are small,
too: more threads mostly wait for each other. More cores are better used by more runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread inside the block, and as many as before behind it.

    Examples
    --------
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
