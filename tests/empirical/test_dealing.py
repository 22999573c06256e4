"""Images are dealt as the papers print it; any labels are dealt disjointly and repeatably."""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical import (
    GRID_PLACEMENTS,
    LABEL_SPLITS,
    DataNotFound,
    Partition,
    load_digits,
    load_images,
    star_partition,
)
from empirical.dealing import (
    DEALINGS,
    Balanced,
    ByLabels,
    Dirichlet,
    Evenly,
    Informative,
    Rule,
    Shards,
    Sizes,
    held_labels,
    stratified_subset,
)
from tests.empirical.support import refused
from theory.validation import IntArray

# Shares are disjoint, complete, of equal size and repeatable, for any labels ---------------------


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


# Images are dealt as the papers print it; any labels are dealt disjointly and repeatably ---------


ALL = "0123456789"
LABELS = st.lists(st.integers(0, 5), max_size=60).map(lambda rest: [*range(6), *range(6), *rest])
SEEDS = st.integers(0, 2**32)

# Sizes of agents' shares (P2 supplement 1.4, tables 1-3; FedAvg, section 3; P1 section 5.2), and
# the labels of the first and of the last agent.
PRINTED: dict[str, tuple[tuple[int, ...], str, str]] = {
    "fmnist-central": ((60_000,), ALL, ALL),
    "fmnist-2-iid": ((30_000, 30_000), ALL, ALL),
    "fmnist-2-balanced-a": ((30_000, 30_000), "01234", "56789"),
    "fmnist-2-balanced-b": ((30_000, 30_000), "02346", "15789"),
    "fmnist-2-unbalanced": ((48_000, 12_000), "01234567", "89"),
    "star-mnist-1": ((47_335, *[1_583] * 8), "23456789", "01"),
    "star-mnist-2": ((48_200, *[1_475] * 8), "01234567", "89"),
    "star-mnist-3": ((48_209, *[1_473] * 8), "01235678", "49"),
    "star-fmnist-1": ((36_000, *[3_000] * 8), "023468", "1579"),
    "star-fmnist-2": ((36_000, *[3_000] * 8), "013468", "2579"),
    "grid-mnist-corner": ((47_335, *[1_583] * 8), "23456789", "01"),
    "grid-mnist-centre": ((*[1_583] * 4, 47_335, *[1_583] * 4), "01", "01"),
    "timevarying-25": ((2_307,) * 26, ALL, ALL),
    "timevarying-100": ((594,) * 101, ALL, ALL),
    "fedavg-iid": ((600,) * 100, ALL, ALL),
}


@functools.cache
def real_labels(dataset: str) -> IntArray:
    try:
        return load_images(dataset).labels
    except DataNotFound as absent:
        pytest.skip(str(absent))


def check_disjoint(shares: Partition, images: int) -> set[int]:
    """All images that somebody holds."""
    everything = np.concatenate(shares.indices)
    held = set(everything.tolist())
    assert len(held) == everything.size
    assert held <= set(range(images))
    return held


# The published experiments ----------------------------------------------------------------------


def test_every_experiment_has_a_dealing() -> None:
    assert set(DEALINGS) == {*PRINTED, "fedavg-shards"}
    assert all(name == dealing.name for name, dealing in DEALINGS.items())


@pytest.mark.parametrize("name", PRINTED)
def test_real_images_are_dealt_in_the_printed_sizes(name: str) -> None:
    dealing = DEALINGS[name]
    sizes, first, last = PRINTED[name]
    labels = real_labels(dealing.dataset)
    shares = dealing.deal(labels, seed=3)
    check_disjoint(shares, labels.size)
    assert shares.sizes == sizes
    assert dealing.rule.agents == len(sizes)
    own = held_labels(shares, labels)
    assert "".join(map(str, sorted(own[0]))) == first
    assert "".join(map(str, sorted(own[-1]))) == last
    if name.startswith(("star", "grid")):
        assert shares.informative == int(np.argmax(sizes))


def test_federated_shards_are_300_images_of_the_sorted_data() -> None:
    labels = real_labels("mnist")
    shares = DEALINGS["fedavg-shards"].deal(labels, seed=0)
    assert shares.sizes == (600,) * 100
    assert len(check_disjoint(shares, labels.size)) == 60_000
    # A shard of 300 holds one label, or two where one ends; the paper: "most clients will only
    # have examples of two digits".
    counts = [len(own) for own in held_labels(shares, labels)]
    assert max(counts) <= 4
    assert np.mean(np.array(counts) <= 2) > 0.5


def test_a_small_data_set_is_dealt_by_the_same_rules() -> None:
    labels = load_digits().labels
    for dealing in DEALINGS.values():
        shares = dealing.deal(labels, seed=0)
        assert shares.agents == dealing.rule.agents
        check_disjoint(shares, labels.size)


# Any labels -------------------------------------------------------------------------------------


# Each rule, and how many of 24 images, eight of each of three labels, the last agent may hold.
RULES: dict[str, tuple[Rule, int]] = {
    "evenly": (Evenly(4), 24),
    "shards": (Shards(clients=4, each=2), 24),
    "informative": (Informative((0,), (1, 2), others=4), 16),
    "labels": (ByLabels(((0,), (1, 2))), 16),
    "balanced": (Balanced(4), 24),
    "even dirichlet": (Dirichlet(4, 1e9), 24),
    "dirichlet": (Dirichlet(3, 0.5), 24),
    "sizes": (Sizes((3.0, 1.0, 4.0)), 24),
}


@given(labels=LABELS, seed=SEEDS, name=st.sampled_from(list(RULES)))
def test_shares_are_disjoint_and_repeatable(labels: list[int], seed: int, name: str) -> None:
    rule = RULES[name][0]
    shares, again = (rule.deal(labels, seed=seed) for _ in range(2))
    assert shares.agents == rule.agents
    assert all(np.array_equal(a, b) for a, b in zip(shares.indices, again.indices, strict=True))
    held = check_disjoint(shares, len(labels))
    if name not in ("evenly", "informative", "labels"):
        assert held == set(range(len(labels)))


@pytest.mark.parametrize("name", ["evenly", "shards", "informative", "balanced", "even dirichlet"])
def test_every_agent_is_as_likely_to_get_an_image(name: str) -> None:
    rule, images = RULES[name]
    labels = [0] * 8 + [1] * 8 + [2] * 8
    runs = 400
    hits = np.zeros(len(labels))
    for seed in range(runs):
        hits[rule.deal(labels, seed=seed).indices[-1]] += 1
    dealt = hits[hits > 0]
    # 5 standard deviations of a binomial share; 24 images.
    np.testing.assert_allclose(dealt / runs, 1 / 4, atol=5 * (3 / 16 / runs) ** 0.5)
    assert dealt.size == images


@given(labels=LABELS, agents=st.integers(1, 12), seed=SEEDS)
def test_even_shares_are_equal_and_leave_fewer_images_than_agents(
    labels: list[int], agents: int, seed: int
) -> None:
    rule = Evenly(agents)
    shares = rule.deal(labels, seed=seed)
    held = check_disjoint(shares, len(labels))
    assert len(set(shares.sizes)) == 1
    assert 0 <= len(labels) - len(held) < agents


@given(labels=LABELS, cut=st.integers(1, 5), seed=SEEDS)
def test_label_groups_get_all_of_their_labels(labels: list[int], cut: int, seed: int) -> None:
    groups = tuple(range(cut)), tuple(range(cut, 6))
    shares = ByLabels(groups).deal(labels, seed=seed)
    assert check_disjoint(shares, len(labels)) == set(range(len(labels)))
    for own, group in zip(shares.indices, groups, strict=True):
        assert own.tolist() == [k for k, label in enumerate(labels) if label in group]
    assert held_labels(shares, labels) == groups


@given(labels=LABELS, others=st.integers(1, 6), data=st.data(), seed=SEEDS)
def test_others_share_equally_beside_an_informative_agent(
    labels: list[int], others: int, data: st.DataObject, seed: int
) -> None:
    place = data.draw(st.integers(0, others))
    rule = Informative((0, 2), (1, 3, 5), others=others, place=place)  # nobody holds label 4
    shares = rule.deal(labels, seed=seed)
    held = check_disjoint(shares, len(labels))
    assert shares.informative == place
    centre = {k for k, label in enumerate(labels) if label in (0, 2)}
    assert set(shares.indices[place].tolist()) == centre
    rim = {k for k, label in enumerate(labels) if label in (1, 3, 5)}
    assert held <= centre | rim
    assert 0 <= len(rim) - len(held - centre) < others
    assert len({size for k, size in enumerate(shares.sizes) if k != place}) == 1
    # The same shares as with nothing left over, but for that.
    star = star_partition(
        labels, centre_labels=(0, 2), edge_labels=(1, 3, 5), edges=others, seed=seed
    )
    rest = [own for k, own in enumerate(shares.indices) if k != place]
    assert all(set(a) <= set(b) for a, b in zip(rest, star.indices[1:], strict=True))


@given(labels=LABELS, clients=st.integers(1, 5), each=st.integers(1, 2), seed=SEEDS)
def test_a_client_holds_runs_of_the_sorted_images(
    labels: list[int], clients: int, each: int, seed: int
) -> None:
    rule = Shards(clients=clients, each=each)
    shares = rule.deal(labels, seed=seed)
    assert check_disjoint(shares, len(labels)) == set(range(len(labels)))
    order = sorted(range(len(labels)), key=lambda k: (labels[k], k))
    place = {image: rank for rank, image in enumerate(order)}
    shard = len(labels) // (clients * each)
    for own in shares.indices:
        ranks = sorted(place[k] for k in own.tolist())
        assert 1 + sum(b - a > 1 for a, b in pairwise(ranks)) <= each
        assert each * shard <= len(ranks) <= each * (shard + 1)


@given(labels=LABELS, agents=st.integers(1, 7), seed=SEEDS)
def test_balanced_agents_hold_alike_of_every_class(
    labels: list[int], agents: int, seed: int
) -> None:
    labels = [*labels, *range(6), 0]
    dealt = Balanced(agents).deal(labels, seed=seed)
    assert max(dealt.sizes) - min(dealt.sizes) <= 1
    for label in set(labels):
        held = [sum(labels[k] == label for k in own) for own in dealt.indices]
        assert max(held) - min(held) <= 1


def test_sizes_are_proportional() -> None:
    assert Sizes((6.0, 3.0, 1.0)).deal([0] * 1000, seed=0).sizes == (600, 300, 100)


def test_dirichlet_proportions_have_their_mean_and_variance() -> None:
    """Var p_i = (1/N)(1 − 1/N)/(N α + 1) of each class, over 400 classes of 1 000 examples."""
    agents, alpha, classes = 4, 0.5, 400
    labels = np.repeat(np.arange(classes), 1000)
    dealt = Dirichlet(agents, alpha).deal(labels, seed=0)
    shares = np.array([np.bincount(labels[own], minlength=classes) for own in dealt.indices]) / 1000
    assert np.allclose(shares.sum(axis=0), 1.0)
    variance = 1 / agents * (1 - 1 / agents) / (agents * alpha + 1)
    # Standard errors: of the mean √(variance/400) = .0125; of the variance below 10 %.
    assert np.allclose(shares.mean(axis=1), 1 / agents, atol=4 * 0.0125)
    assert np.allclose(shares.var(axis=1), variance, rtol=0.4)


@given(labels=LABELS, data=st.data(), seed=SEEDS)
def test_a_stratified_subset_keeps_proportions(
    labels: list[int], data: st.DataObject, seed: int
) -> None:
    size = data.draw(st.integers(1, len(labels)))
    chosen = stratified_subset(labels, size, seed=seed).tolist()
    assert chosen == sorted(set(chosen))
    assert len(chosen) == size
    for label in set(labels):
        exact = size * labels.count(label) / len(labels)
        assert abs(sum(labels[k] == label for k in chosen) - exact) < 1
    assert chosen == stratified_subset(labels, size, seed=seed).tolist()


def test_a_subset_is_drawn_from_all_of_a_label() -> None:
    labels = [0] * 20
    hits = np.zeros(20)
    for seed in range(400):
        hits[stratified_subset(labels, 5, seed=seed)] += 1
    np.testing.assert_allclose(hits / 400, 0.25, atol=5 * (0.25 * 0.75 / 400) ** 0.5)


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ByLabels(()), "groups: expected labels for every agent"),
        (lambda: ByLabels(((0,), ())), "give each agent a label"),
        (lambda: ByLabels(((0, 1), (1, 2))), r"groups: expected each label once, got \[1\] twice"),
        (lambda: ByLabels(((0,), (1, 9))).deal([0, 1], seed=0), r"groups\[1\]: .* got \[9\]"),
        (lambda: ByLabels(((0,),)).deal([[0]], seed=0), "labels: expected shape"),
        (lambda: ByLabels(((0,),)).deal([0], seed=-1), "seed: expected a whole number"),
        (lambda: Evenly(0), "agents: expected a whole number of at least 1"),
        (lambda: Evenly(3).deal([0, 1], seed=0), "agents: expected at most 2"),
        (lambda: Evenly(1).deal([], seed=0), "labels: expected shape"),
        (lambda: Evenly(1).deal([0.5, 1.7], seed=0), "labels: expected whole numbers"),
        (lambda: Shards(1, 1).deal([np.nan, 1], seed=0), "labels: expected whole numbers"),
        (lambda: ByLabels(((0,),)).deal(["a", "b"], seed=0), "labels: expected whole numbers"),
        (lambda: Evenly(1).deal([[1], [2, 3]], seed=0), "labels: expected shape"),
        (
            lambda: Informative((0,), (1,), others=1).deal([0.2, 1.3], seed=0),
            "labels: expected whole numbers",
        ),
        (lambda: stratified_subset([0.5, 1.5], 1, seed=0), "labels: expected whole numbers"),
        (lambda: Informative((0,), (1,), others=0), "others: expected a whole number"),
        (lambda: Informative((0,), (1,), place=9), "place: expected a whole number of at most 8"),
        (lambda: Informative((0,), (1,)).deal([0, 1, 1], seed=0), "edges: expected at most 2"),
        (lambda: Informative((0,), (7,)).deal([0, 1], seed=0), r"edge_labels: .* got \[7\]"),
        (lambda: Shards(clients=0), "clients: expected a whole number"),
        (lambda: Shards(each=0), "each: expected a whole number"),
        (lambda: Shards(2, 2).deal([0, 1, 2], seed=0), "clients × each: expected at most 3"),
        (lambda: Sizes((1.0, 0.001)).deal([0] * 10, seed=0), r"sizes\[1\]: expected an example"),
        (lambda: Dirichlet(10, 1e-6).deal([0] * 20, seed=0), "alpha: expected a Dirichlet that"),
        (lambda: Dirichlet(11, 1.0).deal([0] * 20, seed=0), "agents: expected at most 10"),
        (lambda: Dirichlet(2, 0.0), "alpha: expected a finite number above 0"),
        (lambda: stratified_subset([0, 1], 3, seed=0), "size: expected a whole number of at most"),
        (lambda: stratified_subset([0, 1], 0, seed=0), "size: expected a whole number of at least"),
        (lambda: held_labels(Partition(([5],)), [0, 1]), "labels: expected more than 5 labels"),
    ],
)
def test_bad_dealings_are_named(make: object, message: str) -> None:
    assert callable(make)
    refused(message, make)
