"""From what files hold to what agents learn from: classes, splits, and standardised numbers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.train.data.agents_data import AgentsData
from empirical.train.data.arrays import data_of_arrays
from empirical.train.data.examples import Examples, Target, as_finite
from empirical.train.data.preparing import LabelColumn, Preparation, prepare
from empirical.train.data.source_files import LabelledRows
from tests.empirical.support import refused

NUMBER = LabelColumn("y", "numbers")


def rows(where: str, inputs: Any, *labels: Sequence[Any], **others: Any) -> LabelledRows:
    columns = tuple(np.array(c, dtype=object if isinstance(c[0], str) else None) for c in labels)
    return LabelledRows(where, np.asarray(inputs, dtype=np.float64), columns, **others)


def column(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.float64)[:, None]


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    validation=st.floats(0, 0.6),
    test=st.floats(0, 0.6),
    seed=st.integers(0, 1000),
    is_class=st.booleans(),
)
def test_every_example_is_in_one_part(
    sizes: list[int], validation: float, test: float, seed: int, is_class: bool
) -> None:
    """Each input is its own number, so that what was lost or doubled would show."""
    ends = np.cumsum([0, *sizes])
    parts = [
        rows(f"{k}", column(*range(ends[k], ends[k + 1])), [n % 3 for n in range(sizes[k])])
        for k in range(len(sizes))
    ]
    label = LabelColumn() if is_class else NUMBER
    how = Preparation((label,), validation, test, standardise=False, seed=seed)
    data = prepare([f"agent {k}" for k in range(len(sizes))], parts, how)
    seen = [x for part in (*data.train, *data.validation) for x in part.inputs[:, 0].tolist()]
    seen += [] if data.test is None else data.test.inputs[:, 0].tolist()
    assert sorted(seen) == list(range(sum(sizes)))
    for k, own in enumerate(data.train):
        held = [*own.inputs[:, 0], *data.validation[k].inputs[:, 0]]
        assert all(ends[k] <= x < ends[k + 1] for x in held)
        assert len(own) >= 1
    alone = [k for k, size in enumerate(sizes) if size == 1 and validation]
    for k in alone:
        assert f"agent agent {k} has no examples for validation: it trains on the only one" in (
            data.notes
        )


def test_other_agents_change_nothing_in_what_is_held_out() -> None:
    parts = {name: rows(name, column(*range(20)), [0.5] * 20) for name in ("a", "b", "c")}
    how = Preparation((NUMBER,), validation=0.3, standardise=False, seed=7)
    whole = prepare(list(parts), list(parts.values()), how)
    turned = prepare(["c", "a"], [parts["c"], parts["a"]], how)
    assert np.array_equal(whole.validation[0].inputs, turned.validation[1].inputs)
    assert np.array_equal(whole.validation[2].inputs, turned.validation[0].inputs)
    assert not np.array_equal(whole.validation[0].inputs, whole.validation[1].inputs)


def test_inputs_and_targets_are_standardised_by_the_training_parts_alone() -> None:
    rng = np.random.default_rng(0)
    parts = [
        rows(f"{k}", rng.normal(1e6 * k, 10.0, (n, 2)), rng.normal(7, 3, n))
        for k, n in enumerate((30, 50))
    ]
    label = LabelColumn("y", "numbers", standardise=True)
    plain = prepare(["a", "b"], parts, Preparation((NUMBER,), 0.2, 0.1, standardise=False))
    data = prepare(["a", "b"], parts, Preparation((label,), 0.2, 0.1))
    assert data.scaling is not None
    assert data.target_scaling is not None
    # The oracle: exact fractions of the doubles that stand in the training parts, found again by
    # their labels, which are kept as doubles.
    kept = [x for part in plain.train for x in part.labels.tolist()]
    train = [
        part.inputs[np.flatnonzero(part.labels[0] == y)[0]]
        for part in parts
        for y in kept
        if y in part.labels[0]
    ]
    for k in range(2):
        numbers = [Fraction(float(x[k])) for x in train]
        mean = sum(numbers) / len(numbers)
        variance = sum((x - mean) ** 2 for x in numbers) / len(numbers)
        assert data.scaling.mean[k] == pytest.approx(float(mean), rel=1e-14)
        assert data.scaling.std[k] == pytest.approx(float(variance) ** 0.5, rel=1e-13)
    assert data.target_scaling.mean == pytest.approx(np.mean(kept), rel=1e-14)
    for there, here in zip(plain.train, data.train, strict=True):
        assert np.array_equal(here.labels, data.target_scaling.apply(there.labels))
    assert plain.test is not None
    assert data.test is not None
    assert np.array_equal(data.test.labels, data.target_scaling.apply(plain.test.labels))
    assert data.train[0].inputs.dtype == np.float32


def test_standardising_comes_before_the_rounding_to_float32() -> None:
    """At 1e9 float32 has steps of 64: numbers 0 … 9 above it would all be one."""
    part = rows("a", 1e9 + column(*range(10)), [0.0] * 10)
    data = prepare(["a"], [part], Preparation((NUMBER,), validation=0.0))
    assert len(np.unique(data.train[0].inputs)) == 10


@given(
    numbers=st.lists(
        st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=8),
        min_size=1,
        max_size=4,
    ),
    standardise=st.booleans(),
)
def test_missing_inputs_are_the_mean_of_all_agents_and_marked(
    numbers: list[list[int | None]], standardise: bool
) -> None:
    parts = [
        rows(f"{k}", [[np.nan if x is None else x, 7] for x in own], [0.5] * len(own),
             features=("x", "z"), missing=True)
        for k, own in enumerate(numbers)
    ]  # fmt: skip
    how = Preparation((NUMBER,), 0.0, standardise=standardise, missing="mean")
    there = [x for own in numbers for x in own if x is not None]
    names = [f"{k}" for k in range(len(parts))]
    if not there:
        refused("inputs, x: expected a number of some agent's", prepare, names, parts, how)
        return
    data = prepare(names, parts, how)
    gaps = any(None in own for own in numbers)
    assert data.features == ("x", "z", *(["x=missing"] if gaps else []))
    assert (data.given_features, data.given_shape) == (("x", "z"), (2,))
    mean = float(Fraction(sum(there), len(there)))
    for own, part in zip(numbers, data.train, strict=True):
        back = part.inputs if data.scaling is None else data.scaling.undo(part.inputs)
        wanted = [[mean if x is None else x, 7, x is None][: 2 + gaps] for x in own]
        np.testing.assert_allclose(back, wanted, atol=1e-4)  # float32 of numbers up to 50


def test_frames_are_put_into_one_order() -> None:
    a = rows("a", [[1, 2]], [0.5], features=("u", "v"))
    turned = rows("b", [[4, 3]], [0.5], features=("v", "u"))
    how = Preparation((NUMBER,), 0.0, standardise=False)
    data = prepare(["a", "b"], [a, turned], how, test=turned, other=turned)
    assert data.other is not None
    assert data.test is not None
    for inputs in (data.train[1].inputs, data.test.inputs, data.other):
        assert inputs.tolist() == [[3, 4]]
    with pytest.raises(ValueError, match=r"c, inputs: expected the columns u, v, got u, w; .*'w'"):
        prepare(["a", "c"], [a, rows("c", [[4, 3]], [0.5], features=("u", "w"))], how)
    with pytest.raises(ValueError, match="d, inputs: expected a frame, as in a, got an array"):
        prepare(["a", "d"], [a, rows("d", [[4, 3]], [0.5])], how)


def test_constant_columns_are_noted() -> None:
    part = rows("a", [[1, 5], [2, 5], [3, 5]], [1.0, 2.0, 3.0], features=("x", "same"))
    data = prepare(["a"], [part], Preparation((NUMBER,), validation=0.0))
    assert data.notes == ("constant inputs, only centred: same",)
    assert data.train[0].inputs[:, 1].tolist() == [0, 0, 0]


def test_classes_are_the_union_of_the_training_files() -> None:
    parts = [rows("a", column(1, 2), ["fox", "cat"]), rows("b", column(3, 4), ["owl", "cat"])]
    data = prepare(["a", "b"], parts, Preparation(validation=0.0))
    assert data.classes == ("cat", "fox", "owl")
    assert [part.labels.tolist() for part in data.train] == [[1, 0], [2, 0]]
    assert data.notes == ("agents that do not hold every class: a (no owl), b (no fox)",)
    unseen = rows("t.csv", column(5, 6), ["cat", "dog"])
    with pytest.raises(
        ValueError,
        match=r"t.csv, label: expected a class of the training data "
        r"\(cat, fox, owl\), got 'dog' in row 2",
    ):
        prepare(["a", "b"], parts, Preparation(validation=0.0), test=unseen)


@pytest.mark.parametrize(
    ("labels", "count", "classes", "numbers"),
    [
        ([10, 9, 2], None, ("2", "9", "10"), [2, 1, 0]),
        ([2.0, 1.0], None, ("1", "2"), [1, 0]),
        ([3, 1], 5, ("0", "1", "2", "3", "4"), [3, 1]),
        ([5, 1, 3], 3, ("1", "3", "5"), [2, 0, 1]),
        ([-1, 1], 2, ("-1", "1"), [0, 1]),
        (["no", "yes"], 2, ("no", "yes"), [0, 1]),
    ],
)
def test_classes_are_numbered(
    labels: list[Any], count: int | None, classes: tuple[str, ...], numbers: list[int]
) -> None:
    part = rows("a", column(*range(len(labels))), labels)
    how = Preparation((LabelColumn(count=count),), validation=0.0)
    data = prepare(["a"], [part], how)
    assert data.classes == classes
    assert data.train[0].labels.tolist() == numbers


def test_several_targets_are_columns_of_numbers() -> None:
    part = rows("a", column(1, 2, 3), ["u", "v", "u"], [1.0, 3.0, 5.0], [0, 4, 2])
    labels = (
        LabelColumn("kind", "classes"),
        LabelColumn("size", "numbers", standardise=True),
        LabelColumn("visits", "counts"),
    )
    data = prepare(["a"], [part], Preparation(labels, validation=0.0))
    assert [target.name for target in data.targets] == ["kind", "size", "visits"]
    assert data.classes is None
    assert data.targets[0].classes == ("u", "v")
    spread = (8 / 3) ** 0.5
    assert np.allclose(data.train[0].labels, [[0, -2 / spread, 0], [1, 0, 4], [0, 2 / spread, 2]])


BAD: list[tuple[list[Any], LabelColumn, str]] = [
    ([1.0, -2.0], LabelColumn("n", "counts"), r"a, n: expected whole numbers .* got -2 in row 2"),
    ([1.0, 0.5], LabelColumn("n", "counts"), r"a, n: expected whole numbers .* got 0.5 in row 2"),
    ([1.0, float("nan")], NUMBER, r"a, y: expected finite numbers, got nan in row 2"),
    (["1", "many"], NUMBER, r"a, y: expected numbers, got the text 'many' in row 2"),
    ([0.5, 1.0], LabelColumn(), r"a: expected classes, texts or whole numbers, got 0.5 in row 1"),
    (["x", "y"], LabelColumn(count=3), r"a: expected 3 classes, got 2: x, y"),
    (["x", None], LabelColumn(), r"a: expected a class in every row, got None in row 2"),
    (["1,5", "2,5"], NUMBER, r"a, y: expected numbers, got the text '1,5' in row 1; .* decimal = "),
]


@pytest.mark.parametrize(("labels", "label", "message"), BAD)
def test_bad_labels_are_refused(labels: list[Any], label: LabelColumn, message: str) -> None:
    refused(message, prepare, ["a"], [rows("a", column(1, 2), labels)], Preparation((label,)))


def test_parts_that_do_not_fit_are_refused() -> None:
    one, two = rows("a", column(1, 2), [0, 1]), rows("b", [[1, 2]], [0])
    with pytest.raises(ValueError, match=r"b: expected inputs of shape \(1,\) \(in a, row 1\)"):
        prepare(["a", "b"], [one, two], Preparation())
    with pytest.raises(ValueError, match="names: expected distinct names, got 'a' twice"):
        prepare(["a", "a"], [one, one], Preparation())
    with pytest.raises(ValueError, match="a: expected labels of y, z, got 1 columns"):
        prepare(["a"], [one], Preparation((NUMBER, LabelColumn("z", "numbers"))))
    with pytest.raises(ValueError, match="test: expected either test data or a share"):
        prepare(["a"], [one], Preparation(test=0.5), test=one)
    refused("validation: expected a share", Preparation, validation=1.0)
    with pytest.raises(ValueError, match="standardise: expected a target of numbers"):
        LabelColumn("n", "counts", standardise=True)
    with pytest.raises(ValueError, match="a: expected whole numbers, for tokens"):
        prepare(["a"], [one], Preparation(tokens=True))
    with pytest.raises(ValueError, match="a: expected numbers below 3e38, got 1e\\+300 at"):
        prepare(["a"], [rows("a", column(1e300), [0.5])], Preparation((NUMBER,), standardise=False))


def test_arrays_tensors_and_tokens_are_data_too() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    pair = (torch.tensor(rng.normal(size=(6, 3))), torch.tensor([0, 1, 2, 0, 1, 2]))
    how = Preparation((LabelColumn(count=4),), validation=0.0)
    data = data_of_arrays([pair, pair], how, names=["u", "v"], test=pair, other=np.ones((2, 3)))
    assert (data.names, data.classes) == (("u", "v"), ("0", "1", "2", "3"))
    assert data.other is not None
    assert data.other.shape == (2, 3)
    assert [len(own) for own in data.train] == [6, 6]
    assert data.train[0].inputs.dtype == np.float32
    assert data.train[1].labels.tolist() == [0, 1, 2, 0, 1, 2]
    words = data_of_arrays(
        [(np.arange(8).reshape(4, 2), [0.5] * 4)], Preparation((NUMBER,), 0.25, tokens=True)
    )
    assert words.scaling is None
    assert words.train[0].inputs.dtype == np.int64
    assert words.train[0].labels.dtype == np.float64
    with pytest.raises(ValueError, match=r"data\[0\]: expected a pair of inputs and labels"):
        data_of_arrays([np.ones(3)], how)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ([1, True, 0.5], [1.0, 1.0, 0.5]),
        ([True, False], [1, 0]),
        ([3, 2**62], [3, 2**62]),
        ([2**64 - 1, 1], [float(2**64 - 1), 1.0]),
        ([Fraction(1, 2), None], r"finite numbers, got nan at \[1, 0\]"),
        ([1, "east"], r"numbers, got entries of type str: 'east' at \[1, 0\]"),
        (["1", "2"], r"numbers, got entries of type str: '1' at \[0, 0\]"),
        ([1, {}], r"numbers, got entries of type dict: {} at \[1, 0\]"),
    ],
)
def test_entries_of_type_object_are_what_they_are(entries: list[Any], wanted: Any) -> None:
    values = np.array(entries, dtype=object)[:, None]
    if isinstance(wanted, str):
        refused(f"x: expected .*{wanted}", as_finite, "x", values)
        return
    found = as_finite("x", values)
    assert found[:, 0].tolist() == wanted
    assert found.dtype.kind == ("f" if isinstance(wanted[0], float) else "i")
    unsigned = np.array([2**64 - 1, 1], dtype=np.uint64)[:, None]
    assert as_finite("x", unsigned)[0, 0] == 2.0**64
    hidden = np.ma.MaskedArray([[1.0], [2.0]], mask=[[False], [True]])
    refused(r"finite numbers, got nan at \[1, 0\]", as_finite, "x", hidden)


def test_channels_behind_are_noted() -> None:
    for shape, noted in (((8, 8, 3), True), ((8, 8, 1), True), ((3, 8, 8), False), ((8, 8), False)):
        part = rows("a", np.arange(2 * np.prod(shape)).reshape(2, *shape), [0.5, 1.5])
        notes = prepare(["a"], [part], Preparation((NUMBER,), 0.0)).notes
        assert any("moveaxis" in note for note in notes) == noted


def test_agents_data_are_checked_once() -> None:
    one = Examples(column(1, 2), [0, 1])
    none = Examples(column(1)[:0], np.array([0])[:0])
    yes, both = Target(classes=("no", "yes")), (Target("u", "numbers"), Target("v", "numbers"))
    data = AgentsData(("a",), (one,), (none,), targets=(yes,))
    assert (data.agents, data.input_shape, data.classes) == (1, (1,), ("no", "yes"))
    pair = (one, none)
    refused("train of agent .b.: expected at least", AgentsData, ("a", "b"), pair, (none, none))
    refused("train, validation: expected examples", AgentsData, ("a",), (one,), ())
    wide = Examples([[1.0, 2.0]], [0])
    refused("examples: expected inputs and labels of", AgentsData, ("a",), (one,), (none,), wide)
    wrong = {"other": np.ones((2, 2)), "targets": (yes,)}
    refused("other: expected inputs of shape", AgentsData, ("a",), (one,), (none,), **wrong)
    refused("targets: expected one", AgentsData, ("a",), (one,), (none,), targets=both)
    with pytest.raises(ValueError, match="read-only"):
        one.inputs[0] = 5


def test_examples_do_not_change_with_what_they_were_made_of() -> None:
    inputs, labels = np.ones((2, 3), dtype=np.float32), np.zeros(2)
    examples = Examples(inputs, labels)
    inputs[0], labels[0] = 7, 7
    assert examples.inputs[0, 0] == 1
    assert examples.labels[0] == 0
    assert inputs.flags.writeable


def test_data_are_read_without_loading_torch() -> None:
    program = (
        "import sys, pkgutil, importlib, empirical.train.data as data;"
        "[importlib.import_module(f'{data.__name__}.{m.name}')"
        " for m in pkgutil.iter_modules(data.__path__)];"
        "assert 'empirical.train.data.columns' in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
