"""A training that is killed with SIGKILL after so many rounds.

    python -m tests.peerbayes.nets.killed NET OUT ROUND [RANK]

Every round is kept; the process RANK (all, if left out) dies after ROUND, before it is kept there
if RANK is given, so that processes are left with states of different rounds. Processes that are
started again by torchrun live, and go on from what is kept.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from empirical.train.follow import Checkpoints
from exact import checkpoint
from peerbayes.front.train import train_file


def die() -> None:
    """End as if somebody had pulled the plug."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(net: str, out: str, round: int, rank: str | None) -> None:
    """Train until death."""
    checkpoint.EVERY_SECONDS, checkpoint.SHARE = 0.0, 0
    save = Checkpoints.save

    def saving(
        self: Checkpoints, done: int, tensors: Mapping[str, Tensor], words: Mapping[str, Any]
    ) -> None:
        mortal = done >= round and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
        if mortal and rank == os.environ.get("RANK"):
            die()
        save(self, done, tensors, words)
        if mortal and rank is None:
            die()

    Checkpoints.save = saving  # type: ignore[method-assign]
    train_file(net, out=out, resume=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), (sys.argv[4:] or [None])[0])
