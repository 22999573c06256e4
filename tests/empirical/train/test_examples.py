"""Moments that agents pool are those of all rows in one place; rows are held out once each."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from empirical.train.data.agents_data import Scaling
from empirical.train.data.examples import Moments, generator, pooled, split_by_class, split_rows
from tests.empirical.support import refused
from theory.validation import FloatArray

# Moments that agents pool are those of all rows in one place, whoever holds which ----------------


NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
# Columns far from zero, where a sum of squares would lose every digit.
OFFSETS = st.sampled_from([0.0, 1.0, 1e8, -1e12])
AGENTS = st.lists(st.lists(NUMBERS, min_size=1, max_size=7), min_size=1, max_size=6)


def exact(values: list[float]) -> tuple[Fraction, Fraction]:
    """Mean and mean squared deviation of doubles, as the fractions they are."""
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers, Fraction(0)) / len(numbers)
    return mean, sum(((x - mean) ** 2 for x in numbers), Fraction(0)) / len(numbers)


@given(agents=AGENTS, offset=OFFSETS)
@example(agents=[[0.1], [0.1, 0.1]], offset=0.0)
@example(agents=[[0.0, 1e-300]], offset=0.0)
@example(agents=[[1.0, 2.0], [3.0]], offset=1e12)
def test_pooled_moments_are_those_of_all_rows(agents: list[list[float]], offset: float) -> None:
    shifted = [[value + offset for value in own] for own in agents]
    together = [value for own in shifted for value in own]
    mean, variance = exact(together)
    moments = pooled(Moments.of(np.array(own)[:, None]) for own in shifted)
    size = max(abs(value) for value in together)
    # Every sum and merge rounds by half a unit of the largest number; there are fewer than 100.
    unit = 100 * np.finfo(float).eps * max(size, 1e-300)
    assert moments.count == len(together)
    assert abs(Fraction(float(moments.mean[0])) - mean) <= Fraction(unit)
    # A mean that is off by `unit` puts a deviation off by as much, and the mean square by
    # 2 std · unit + unit², and by the rounding of the squares.
    bound = unit**2 + 2 * float(variance) ** 0.5 * unit + 1e-13 * float(variance)
    bound += len(together) * np.finfo(float).tiny  # squares below it are lost
    assert abs(Fraction(float(moments.std[0]) ** 2) - variance) <= Fraction(bound)


@given(agents=AGENTS, data=st.data())
def test_any_grouping_and_order_of_agents_gives_the_same(
    agents: list[list[float]], data: st.DataObject
) -> None:
    each = [Moments.of(np.array(own)[:, None]) for own in agents]
    order = data.draw(st.permutations(range(len(each))))
    cut = data.draw(st.integers(0, len(each)))
    groups = [part for part in (order[:cut], order[cut:]) if part]
    other = reduce(
        Moments.merge, [reduce(Moments.merge, [each[k] for k in group]) for group in groups]
    )
    here = pooled(each)
    size = max(abs(value) for own in agents for value in own) + 1e-300
    assert here.count == other.count
    # Both are within 100 roundings of the exact ones, as the test above shows.
    assert abs(here.mean - other.mean)[0] <= 200 * np.finfo(float).eps * size
    assert abs(here.std - other.std)[0] <= 200 * np.finfo(float).eps * size + 1e-13 * here.std[0]


def images(n: int) -> FloatArray:
    return np.random.default_rng(n).normal(3.0, 2.0, size=(n, 3, 4, 5))


def test_images_have_moments_of_each_channel() -> None:
    rows = images(50)
    moments = pooled([Moments.of(rows[:20]), Moments.of(rows[20:])])
    assert moments.mean.shape == (3, 1, 1)
    assert moments.count == 50 * 20
    for channel in range(3):
        # Pairwise sums of 1 000 numbers of size 3: a few units in the last place.
        assert moments.mean[channel, 0, 0] == pytest.approx(rows[:, channel].mean(), rel=1e-14)
        assert moments.std[channel, 0, 0] == pytest.approx(rows[:, channel].std(), rel=1e-13)


def test_other_shapes_have_one_mean() -> None:
    assert Moments.of(np.arange(24.0).reshape(2, 3, 4)).mean == 11.5
    assert Moments.of(np.arange(5.0)).mean == 2.0


def test_many_rows_go_block_by_block() -> None:
    rows = np.random.default_rng(0).normal(1e7, 1.0, size=(5000, 2)).astype(np.float32)
    moments = Moments.of(rows)
    double = rows.astype(np.float64)
    assert np.allclose(moments.mean, double.mean(axis=0), rtol=1e-15)
    assert np.allclose(moments.std, double.std(axis=0), rtol=1e-9)  # the mean is 1e7 stds away


@given(
    value=st.floats(-1e300, 1e300, allow_subnormal=False),
    sizes=st.lists(st.integers(1, 2000), min_size=1, max_size=4),
)
@example(value=0.1, sizes=[7, 1000])
@example(value=1 / 3, sizes=[2000, 1, 1999])
def test_a_constant_column_is_known_as_one_and_keeps_its_unit(
    value: float, sizes: list[int]
) -> None:
    moments = pooled(Moments.of(np.full((size, 1), value)) for size in sizes)
    assert moments.is_constant.tolist() == [True]
    scaling = Scaling.from_moments(moments)
    assert scaling.std.tolist() == [1.0]
    assert scaling.apply([[value]])[0, 0] == 0


def test_a_column_that_is_constant_up_to_rounding_is_only_centred() -> None:
    """.1 + .2 beside .3: in units of their difference the next row would lie at 1e13."""
    moments = Moments.of([[0.1 + 0.2], [0.3], [0.3]]).merge(Moments.of([[0.3]]))
    assert moments.is_constant.tolist() == [True]
    assert Scaling.from_moments(moments).apply([[300.0]])[0, 0] == pytest.approx(299.7)


def test_columns_that_hardly_vary_are_not_constant() -> None:
    assert not Moments.of([[1.0], [1.0 + 1e-12]]).is_constant[0]


def test_standardised_numbers_have_mean_zero_and_variance_one() -> None:
    rows = np.random.default_rng(0).normal(5.0, 3.0, size=(200, 4))
    scaling = Scaling.from_moments(Moments.of(rows))
    scaled = scaling.apply(rows)
    assert np.allclose(scaled.mean(axis=0), 0.0, atol=1e-14)
    assert np.allclose(scaled.std(axis=0), 1.0, rtol=1e-14)
    assert np.allclose(scaling.undo(scaled), rows, rtol=1e-14)
    assert np.array_equal(Scaling.from_document(scaling.document).apply(rows), scaled)


def test_moments_and_scalings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"other: expected moments of shape \(2,\)"):
        Moments.of([[1.0, 2.0]]).merge(Moments.of([[1.0]]))
    refused("inputs: expected at least one row", Moments.of, np.empty((0, 3)))
    refused("std: expected finite numbers above 0", Scaling, np.zeros(2), np.array([1.0, 0.0]))
    refused("mean: expected finite numbers", Scaling, np.array([np.nan]), np.ones(1))
    with pytest.raises(ValueError, match=r"expected shape \(n, 2\), as the training data"):
        Scaling(np.zeros(2), np.ones(2)).apply(np.zeros((5, 3)))
    with pytest.raises(ValueError, match=r"expected shape \(n, 3, …, …\)"):
        Scaling(np.zeros((3, 1, 1)), np.ones((3, 1, 1))).apply(np.zeros((5, 1, 8, 8)))


# What is held out --------------------------------------------------------------------------------


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
