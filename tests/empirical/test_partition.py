"""Shares are disjoint, complete, of equal size and repeatable, for any labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical import GRID_PLACEMENTS, LABEL_SPLITS, Partition, star_partition
from tests.empirical.support import refused


@given(
    labels=st.lists(st.integers(0, 5), min_size=12, max_size=80),
    edges=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
def test_a_star_partition_deals_every_image_once(labels: list[int], edges: int, seed: int) -> None:
    labels = [*range(6), *range(6), *labels]  # every label occurs, and there are enough images
    centre, rim = (0, 2), (1, 3, 5)  # nobody holds label 4
    shares = star_partition(labels, centre_labels=centre, edge_labels=rim, edges=edges, seed=seed)
    held = [set(own.tolist()) for own in shares.indices]
    assert shares.agents == edges + 1
    assert held[0] == {k for k, label in enumerate(labels) if label in centre}
    assert set.union(*held[1:]) == {k for k, label in enumerate(labels) if label in rim}
    assert sum(shares.sizes) == len(set.union(*held))  # disjoint
    assert max(shares.sizes[1:]) - min(shares.sizes[1:]) <= 1
    again = star_partition(labels, centre_labels=centre, edge_labels=rim, edges=edges, seed=seed)
    assert all(np.array_equal(a, b) for a, b in zip(shares.indices, again.indices, strict=True))
    assert not any(own.flags.writeable for own in shares.indices)


def test_the_deal_is_shuffled_and_depends_on_the_seed() -> None:
    labels = [0] * 10 + [1] * 400
    options = {"centre_labels": [0], "edge_labels": [1], "edges": 4}
    first = star_partition(labels, **options, seed=1)
    second = star_partition(labels, **options, seed=2)
    assert not np.array_equal(first.indices[1], second.indices[1])
    # In file order an agent's share would be a run of neighbours; shuffled, none is.
    assert all(np.diff(own).max() > 1 for own in first.indices[1:])


def test_every_split_gives_each_of_ten_labels_to_one_side() -> None:
    """P2 section 4.2: the edges of the five stars hold these labels, the centre the rest."""
    edges = {
        "star-mnist-1": {0, 1},
        "star-mnist-2": {8, 9},
        "star-mnist-3": {4, 9},
        "star-fmnist-1": {1, 5, 7, 9},
        "star-fmnist-2": {2, 5, 7, 9},
    }
    assert set(LABEL_SPLITS) == set(edges)
    for name, split in LABEL_SPLITS.items():
        assert split.name == name
        assert set(split.edges) == edges[name]
        assert sorted(split.centre + split.edges) == list(range(10))


@pytest.mark.parametrize("where", ["corner", "centre"])
def test_the_informative_agent_can_sit_elsewhere(where: str) -> None:
    labels = [0] * 30 + [1] * 16
    star = star_partition(labels, centre_labels=[0], edge_labels=[1], seed=3)
    grid = star.placed_at(GRID_PLACEMENTS[where])
    assert grid.informative == {"corner": 0, "centre": 4}[where]
    assert grid.sizes[grid.informative] == 30
    np.testing.assert_array_equal(np.concatenate(grid.indices).sum(), sum(range(46)))
    back = grid.placed_at(0)
    assert all(np.array_equal(a, b) for a, b in zip(star.indices, back.indices, strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"centre_labels": [0, 7]}, "labels that occur in the data, got \\[7\\]"),
        ({"edge_labels": []}, "edge_labels: expected labels that occur in the data, got none"),
        ({"edge_labels": [0, 1]}, "\\[0\\] on both sides"),
        ({"edges": 9}, "edges: expected at most 4"),
        ({"edges": 0}, "edges: expected a whole number of at least 1"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"labels": [[0, 1]]}, "labels: expected shape"),
    ],
)
def test_bad_splits_are_named(change: dict[str, object], message: str) -> None:
    good = {"centre_labels": [0], "edge_labels": [1], "edges": 2, "seed": 0}
    options = {"labels": [0, 0, 1, 1, 1, 1], **good, **change}
    refused(message, star_partition, options.pop("labels"), **options)


def test_bad_partitions_are_named() -> None:
    refused("image 2 more than once", Partition, ([0, 2], [2]))
    refused(r"indices\[1\]: expected at least one image", Partition, ([0], []))
    refused("got no agents", Partition, ())
    refused("informative: expected an agent from 0 to 1", Partition, ([0], [1]), informative=2)
    refused("agent: expected 0 to 1, got 2", Partition(([0], [1])).placed_at, 2)
