"""Where the processes that torchrun started leave word for each other."""

from __future__ import annotations

import os
from typing import Any


def meeting_point(name: str) -> tuple[Any, int, int]:
    """A store that all processes of this run share, this process's number, and how many there are.

    Words left under another `name` are others', and so are those of processes that were started
    again: the store may outlive them, and so do addresses that are gone.
    """
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    store, rank, processes = next(rendezvous("env://"))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"{name}, attempt {attempt}", store), rank, processes
