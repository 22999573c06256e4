"""How learning rates fall over the rounds of a run."""

from __future__ import annotations

import math
from typing import Literal

Schedule = Literal["cosine", "geometric"]


def share_of_rate(schedule: Schedule, round: int, *, rounds: int, decay: float) -> float:
    """What a learning rate is multiplied by in a round, counted from 1; 0 behind the last.

    ``"cosine"``: ½ (1 + cos πt) at the share t of `rounds` that is done; ``"geometric"``:
    decay^(round − 1), whatever `rounds` is.

    Examples
    --------
    >>> share_of_rate("cosine", 51, rounds=100, decay=1.0)
    0.5
    >>> share_of_rate("geometric", 3, rounds=100, decay=0.5)
    0.25
    """
    if schedule == "geometric":
        return float(decay ** (round - 1))
    done = min((round - 1) / rounds, 1.0)
    return 0.5 + 0.5 * math.cos(math.pi * done) if done != 0.5 else 0.5
