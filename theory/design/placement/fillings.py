"""All classes of equivalent placements, in a table."""

from __future__ import annotations

import numpy as np

from theory.design.placement.counting import shares
from theory.design.placement.placement_problem import PlacementProblem
from theory.validation import IntArray

# Of 9! placements of nine agents there are 3.3 million; 64 MiB.
MOST_ENTRIES = 8_000_000


def every_filling(problem: PlacementProblem) -> IntArray | None:
    """One filling of each class, shape (P, F); None if there are more than `MOST_ENTRIES` entries.

    Agents of a group hold sorts that do not decrease, so that no two fillings are equivalent.
    """
    count = problem.classes
    if count is None or count * problem.free.size > MOST_ENTRIES:
        return None
    left = problem.stock[None, :].astype(np.int16)
    chosen = np.zeros((1, 0), dtype=np.int16)
    for size in problem.sizes:
        takes = np.array(shares(problem.stock.tolist(), int(size)), dtype=np.int16)
        runs = np.array(
            [np.repeat(np.arange(share.size), share) for share in takes], dtype=np.int16
        ).reshape(len(takes), int(size))
        parts_left, parts_chosen = [], []
        for share, run in zip(takes, runs, strict=True):
            fits = (left >= share).all(axis=1)
            parts_left.append(left[fits] - share)
            parts_chosen.append(
                np.hstack([chosen[fits], np.broadcast_to(run, (int(fits.sum()), run.size))])
            )
        left, chosen = np.concatenate(parts_left), np.concatenate(parts_chosen)
    return chosen.astype(np.int64)
