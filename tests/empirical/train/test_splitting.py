"""What is held out: every row once, nothing lost, repeatably."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from empirical.train.data.examples import generator, split_by_class, split_rows

LABELS = st.lists(st.integers(0, 5), min_size=1, max_size=60)
SHARES = st.floats(0, 0.95)
SEEDS = st.integers(0, 2**32)


@given(size=st.integers(1, 80), share=SHARES, seed=SEEDS)
@example(size=1, share=0.5, seed=0)
def test_rows_are_kept_or_held_out_each_once(size: int, share: float, seed: int) -> None:
    split = split_rows(size, share, np.random.default_rng(seed))
    assert sorted([*split.kept, *split.held]) == list(range(size))
    wanted = 0 if share == 0 else min(max(round(share * size), 1), size - 1)
    assert len(split.held) == wanted


@given(labels=LABELS, share=SHARES, seed=SEEDS)
@example(labels=[0, 1, 2], share=0.5, seed=0)
@example(labels=[0] * 50 + [1, 1], share=0.1, seed=0)
def test_classes_are_held_out_in_proportion_and_none_is_lost(
    labels: list[int], share: float, seed: int
) -> None:
    split = split_by_class(labels, share, np.random.default_rng(seed))
    assert sorted([*split.kept, *split.held]) == list(range(len(labels)))
    counts, held = Counter(labels), Counter(labels[k] for k in split.held)
    assert {labels[k] for k in split.kept} == set(labels)  # each class stays in training
    spare = sum(count - 1 for count in counts.values())
    total = 0 if share == 0 else min(max(round(share * len(labels)), 1), spare)
    assert len(split.held) == total
    several = [label for label, count in counts.items() if count > 1]
    if total >= len(several):
        assert set(held) == set(several)  # every class that can be is in both parts
    free = [label for label in counts if 1 < held[label] < counts[label] - 1]
    for label in free:  # where no limit holds a class back, it has its share, rounded
        assert abs(held[label] - share * counts[label]) < len(counts) + 1


def test_proportions_are_kept_where_nothing_stands_in_the_way() -> None:
    labels = [0] * 100 + [1] * 200 + [2] * 700
    split = split_by_class(labels, 0.1, np.random.default_rng(0))
    assert Counter(labels[k] for k in split.held) == {0: 10, 1: 20, 2: 70}


def test_what_is_held_out_depends_on_the_name_and_the_purpose_alone() -> None:
    first = generator(0, "validation", "mast").random()
    assert generator(0, "validation", "mast").random() == first
    others = [(1, "validation", "mast"), (0, "test", "mast"), (0, "validation", "roof")]
    assert first not in [generator(*key).random() for key in others]


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0, float("nan")])
def test_shares_that_leave_nothing_are_refused(share: float) -> None:
    with pytest.raises(ValueError, match=r"share: expected a number in \(0, 1\)"):
        split_rows(10, share, np.random.default_rng(0))
