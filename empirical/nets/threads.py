"""One thread for torch, so that a run's numbers do not depend on how many cores a machine has.

A sum spread over threads is added up in another order. The products of a training step are small,
too: more threads mostly wait for each other. More cores are better used by more runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_LOCK = threading.Lock()
# Blocks that some thread is in, and what torch used before the first of them.
_inside, _before = 0, 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread inside the block, and as many as before behind it.

    The number is the whole process's: of blocks in several threads the last one puts it back.

    Examples
    --------
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    global _inside, _before
    with _LOCK:
        if not _inside:
            _before = torch.get_num_threads()
        _inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                torch.set_num_threads(_before)
