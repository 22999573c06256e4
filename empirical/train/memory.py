"""How much memory a run will take, before it takes it.

A learner is tried on one agent of a few weights; what it keeps, works with and says is counted, and
what it says without copying is not counted twice. Memory beyond that is the likelihood's and the
net's own passes over a batch, a few agents at a time on a CPU, and the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from empirical.train.learners.learner import Learner, Share
from theory.validation import fail

# Weights of the tried net: no other tensor of a learner has as many columns.
TRIED = 64
GIB = 2**30


@dataclass(frozen=True)
class Vectors:
    """How many vectors of d numbers an agent takes.

    Attributes
    ----------
    kept
        From round to round.
    steps
        In addition during its local steps.
    message
        Said in a round.
    fresh
        Of those, the ones that are not also kept.
    """

    kept: int
    steps: int
    message: int
    fresh: int


def vectors_of(learner: Learner, share: Share) -> Vectors:
    """What one agent takes with this learner; `share` is of one agent."""
    state = learner.start(torch.zeros(TRIED), share)
    work, message = learner.begin(state, share), learner.message(state)
    own = {values.data_ptr() for values in state.values()}
    new = {name: values for name, values in message.items() if values.data_ptr() not in own}
    return Vectors(_count(state), _count(work), _count(message), _count(new))


def _count(tensors: Mapping[str, Tensor]) -> int:
    return sum(len(values) for values in tensors.values() if values.shape[1:] == (TRIED,))


def free_memory() -> int | None:
    """Bytes that this machine, or the group of processes we are in, has left; None if unknown."""
    found = []
    information = Path("/proc/meminfo")
    if information.is_file():
        lines = information.read_text(encoding="ascii").splitlines()
        found += [1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable:")]
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            used = int((group / "memory.current").read_text(encoding="ascii"))
            found.append(max(int(limit) - used, 0))
    except (OSError, ValueError):
        pass
    return min(found, default=None)


def check_memory(needed: int, *, free: int | None, agents: int, parameters: int) -> None:
    """Refuse a run that will not fit.

    Parameters
    ----------
    needed, free
        Bytes; nothing is refused where it is unknown what is free.
    agents, parameters
        What the message names.

    Raises
    ------
    ValueError
        If more is needed than is free.
    """
    if free is not None and needed > free:
        raise fail(
            "memory",
            f"at most the {free / GIB:.1f} GiB that are free",
            f"{needed / GIB:.1f} GiB for {agents} agents of {parameters} weights",
            "train a smaller net or fewer agents, spread them over more machines,"
            " or choose a learner that keeps less",
        )
