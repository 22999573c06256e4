"""Which placements are alike: one of each class, and the symmetries of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.design.placement.placement_problem import PlacementProblem, count_classes, shares
from theory.network import Network
from theory.network.structure import as_dense
from theory.scientific import csgraph, sparse
from theory.validation import FloatArray, IntArray, fail, read_only

# Which placements the network itself cannot tell apart -------------------------------------------


# Weights are compared after rounding to this: sums of quotients differ in the last place.
_DECIMALS = 13


@dataclass(frozen=True, eq=False)
class Orbits:
    """Shape (P,) each: the orbit of every row, and for every orbit a row and its size."""

    labels: IntArray
    rows: IntArray
    sizes: IntArray


def automorphisms(weights: FloatArray, colours: IntArray) -> list[IntArray]:
    """Permutations, shape (N,) each, that generate all those that keep W and the colours.

    Found point by point: with agents 0 … i − 1 held, where can agent i go? At most N(N − 1)/2.
    """
    rounded = np.round(weights, _DECIMALS)
    count = len(rounded)
    found: list[IntArray] = []
    for i in reversed(range(count)):
        reached = {i}
        for j in range(i + 1, count):
            if j in reached:
                continue
            images = _extend(rounded, colours, [*range(i), j])
            if images is not None:
                found.append(np.array(images, dtype=np.int64))
                reached = _orbit(i, [p for p in found if (p[:i] == np.arange(i)).all()])
    return found


def _extend(weights: FloatArray, colours: IntArray, images: list[int]) -> list[int] | None:
    """Complete the images of agents 0, 1, … to an automorphism, by backtracking."""
    here = len(images) - 1
    image = images[here]
    known = np.array(images)
    alike = (
        colours[here] == colours[image]
        and image not in images[:here]
        and (weights[here, : here + 1] == weights[image, known]).all()
        and (weights[: here + 1, here] == weights[known, image]).all()
    )
    if not alike:
        return None
    if len(images) == len(weights):
        return images
    for following in range(len(weights)):
        complete = _extend(weights, colours, [*images, following])
        if complete is not None:
            return complete
    return None


def _orbit(start: int, permutations: list[IntArray]) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for permutation in permutations:
            there = int(permutation[here])
            if there not in reached:
                reached.add(there)
                waiting.append(there)
    return reached


def orbits(rows: IntArray, permutations: list[IntArray]) -> Orbits:
    """Group the rows, shape (P, N), all different and closed under the permutations of columns."""
    order = np.lexsort(rows.T[::-1])
    ordered = np.ascontiguousarray(rows[order].astype(">i2"))  # bytes that sort like the numbers
    keys = ordered.view(np.dtype((np.void, ordered.shape[1] * 2))).ravel()
    edges = [np.arange(len(rows))]
    for permutation in permutations:
        moved = np.ascontiguousarray(ordered[:, permutation])
        edges.append(np.searchsorted(keys, moved.view(keys.dtype).ravel()))
    starts = np.tile(np.arange(len(rows)), len(edges))
    graph = sparse.coo_array(
        (np.ones(starts.size), (starts, np.concatenate(edges))), shape=(len(rows), len(rows))
    )
    count, of_ordered = csgraph.connected_components(graph, directed=False)
    labels = np.empty(len(rows), dtype=np.int64)
    labels[order] = of_ordered
    first = np.unique(labels, return_index=True)[1].astype(np.int64)
    sizes = np.bincount(labels, minlength=count).astype(np.int64)
    return Orbits(read_only(labels), read_only(first), read_only(sizes))


# All classes of equivalent placements, in a table ------------------------------------------------


# Of 9! placements of nine agents there are 3.3 million; 64 MiB.
MOST_ENTRIES = 8_000_000


def every_filling(sizes: Sequence[int], stock: Sequence[int]) -> IntArray | None:
    """One filling of each class, shape (P, F); None if there are more than `MOST_ENTRIES` entries.

    Agents of a group hold sorts that do not decrease, so that no two fillings are equivalent.

    Parameters
    ----------
    sizes, stock
        How many agents each group has, and how many data sets each sort.
    """
    count = count_classes(sizes, stock)
    if count is None or count * sum(sizes) > MOST_ENTRIES:
        return None
    left = np.array([stock], dtype=np.int16)
    chosen = np.zeros((1, 0), dtype=np.int16)
    for size in sizes:
        takes = np.array(shares(stock, size), dtype=np.int16)
        runs = np.array(
            [np.repeat(np.arange(share.size), share) for share in takes], dtype=np.int16
        )
        parts_left, parts_chosen = [], []
        for share, run in zip(takes, runs.reshape(len(takes), size), strict=True):
            fits = (left >= share).all(axis=1)
            parts_left.append(left[fits] - share)
            parts_chosen.append(
                np.hstack([chosen[fits], np.broadcast_to(run, (int(fits.sum()), run.size))])
            )
        left, chosen = np.concatenate(parts_left), np.concatenate(parts_chosen)
    return chosen.astype(np.int64)


def fillings_of(problem: PlacementProblem) -> IntArray:
    """All classes.

    Raises
    ------
    ValueError
        If there are too many.
    """
    found = every_filling(problem.sizes.tolist(), problem.stock.tolist())
    if found is None:
        many = "too many to count" if problem.classes is None else f"{problem.classes}"
        raise fail(
            "method",
            "so few different placements that all can be tried, as with nine agents",
            f"exhaustive, with {many} for {problem.free.size} agents",
            "use local, or milp for the rate",
        )
    return found


def network_orbits(network: Network, problem: PlacementProblem) -> tuple[IntArray, Orbits] | None:
    """All placements and their classes under the network's symmetries; None if too many."""
    fillings = every_filling(problem.sizes.tolist(), problem.stock.tolist())
    if fillings is None:
        return None
    colours = np.full(problem.agents, -1, dtype=np.int64)
    colours[list(problem.fixed)] = problem.sorts[list(problem.fixed)]
    symmetries = automorphisms(as_dense(network.weights), colours)
    return fillings, orbits(problem.everywhere(fillings), symmetries)
