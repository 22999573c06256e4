"""The fewest agents, against all subsets; and the proofs, checked by themselves."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.strategies import rational_models
from tests.theory.learnability.test_separation import separated
from theory.learnability import cover, fewest_agents, rejection, separation
from theory.learnability.cover import FewestSets, fewest_sets
from theory.rational import RationalModel


@st.composite
def tables(draw: st.DrawFn) -> NDArray[np.bool_]:
    """Up to 12 rows and 8 columns, rows of zeros among them."""
    rows, columns = draw(st.integers(0, 12)), draw(st.integers(1, 8))
    words = draw(st.lists(st.integers(0, 2**columns - 1), min_size=rows, max_size=rows))
    return np.array([[w >> k & 1 for k in range(columns)] for w in words], dtype=bool).reshape(
        rows, columns
    )


def smallest_cover(table: NDArray[np.bool_]) -> int:
    """By trying all sets of columns, the smallest first."""
    wanted = table.any(axis=1)
    columns = range(table.shape[1])
    sets = chain.from_iterable(combinations(columns, size) for size in range(len(columns) + 1))
    return next(
        len(chosen)
        for chosen in sets
        if (table[:, list(chosen)].any(axis=1) == wanted).all()
    )  # fmt: skip


def check_proof(table: NDArray[np.bool_], found: FewestSets) -> None:
    """The packing is one, and gives the bound it is said to give."""
    for column in table.T:
        assert sum((w for r, w in found.packing if column[r]), Fraction(0)) <= 1
    assert all(weight > 0 for _, weight in found.packing)
    total = sum((weight for _, weight in found.packing), Fraction(0))
    if found.proof == "packing":
        assert found.lower == -(-total.numerator // total.denominator)
    else:
        assert total <= found.lower


@given(tables())
@settings(max_examples=50)
def test_no_subset_is_smaller(table: NDArray[np.bool_]) -> None:
    found = fewest_sets(table)
    assert len(found.chosen) == smallest_cover(table)
    assert found.is_minimal
    covered = table[:, list(found.chosen)].any(axis=1)
    np.testing.assert_array_equal(covered, table.any(axis=1))
    assert found.uncovered == tuple(np.flatnonzero(~table.any(axis=1)).tolist())
    check_proof(table, found)


@given(table=tables())
@settings(max_examples=50)
def test_greedy_covers_are_labelled_and_their_bounds_hold(table: NDArray[np.bool_]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover, "_MOST_ENTRIES", 0)
        patch.setattr(cover, "_MOST_WORK", 1)
        found = fewest_sets(table)
    if table.any():
        assert found.method == "greedy"
    assert found.lower <= smallest_cover(table) <= len(found.chosen)
    assert table[:, list(found.chosen)].any(axis=1).sum() == table.any(axis=1).sum()
    check_proof(table, found)


def affine_plane() -> NDArray[np.bool_]:
    """The 12 lines of the plane over three elements, and the nine points on them."""
    points = [(x, y) for x in range(3) for y in range(3)]
    slopes = [[(y - m * x) % 3 for x, y in points] for m in range(3)] + [[x for x, _ in points]]
    return np.array([[value == c for value in slope] for slope in slopes for c in range(3)])


def test_where_no_packing_is_tight_a_search_proves_the_bound() -> None:
    """Every line meets the set: the linear program says 3, the smallest such set has 5 points."""
    lines = affine_plane()
    found = fewest_sets(lines)
    assert (len(found.chosen), found.lower, found.proof) == (5, 5, "search")
    assert sum(weight for _, weight in found.packing) == 3
    assert smallest_cover(lines) == 5


def test_a_search_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover, "_MOST_WORK", 36)
    found = fewest_sets(affine_plane())
    assert (len(found.chosen), found.lower, found.proof) == (5, 3, "none")
    assert not found.is_minimal


def test_the_search_mends_a_cover_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover, "_by_milp", lambda table: list(range(table.shape[1])))
    found = fewest_sets(affine_plane())
    assert (len(found.chosen), found.lower, found.proof) == (5, 5, "search")
    assert affine_plane()[:, list(found.chosen)].any(axis=1).all()


def test_the_search_finds_covers_without_overlap() -> None:
    three = np.eye(3, dtype=bool)
    assert sorted(cover._cover_within(three, 3) or []) == [0, 1, 2]
    assert cover._cover_within(three, 2) is None


def test_packings_are_packings_whatever_the_solver_says(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = SimpleNamespace(x=np.ones(12))
    monkeypatch.setattr(cover, "milp", lambda *args, **options: everything)
    monkeypatch.setattr(cover, "_by_milp", lambda table: list(range(table.shape[1])))
    found = fewest_sets(affine_plane())
    check_proof(affine_plane(), found)
    assert sum(weight for _, weight in found.packing) == 3
    assert found.is_minimal


@given(st.integers(1, 6).flatmap(lambda n: rational_models(n, max_hypotheses=5)))
@settings(max_examples=25)
def test_fewest_agents_by_all_subsets(model: RationalModel) -> None:
    everyone = range(model.agents)
    wanted = separated(model, list(everyone))
    subsets = [list(s) for size in range(model.agents + 1) for s in combinations(everyone, size)]
    found = fewest_agents(separation(model))
    assert found.size == min(len(s) for s in subsets if separated(model, s) == wanted)
    assert separated(model, list(found.agents)) == wanted
    assert found.is_minimal
    # The packing, in terms of agents and pairs.
    for j in everyone:
        own = separated(model, [j])
        assert sum(w for pair, w in found.packing if pair in own) <= 1

    against = rejection(model, 0)
    one_sided = fewest_agents(against)
    rejected = {j: {t for t in against.wrong if j in against.rejecters(t)} for j in everyone}
    everything = set().union(*rejected.values())
    assert one_sided.size == min(
        len(s) for s in subsets if set().union(*(rejected[j] for j in s)) == everything
    )
    assert set().union(*(rejected[j] for j in one_sided.agents)) == everything


def test_bad_table() -> None:
    with pytest.raises(ValueError, match="table: expected two axes"):
        fewest_sets(np.zeros(3, dtype=bool))
