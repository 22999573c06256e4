"""Files are read as other readers read them, and what cannot be read is named in one line."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pyarrow import parquet

from empirical.train.data.arrays import read_npz
from empirical.train.data.columns import labelled_rows, layout_of, read_images
from empirical.train.data.examples import as_finite
from empirical.train.data.notation import class_names, text_column
from empirical.train.data.source_files import (
    LabelledRows,
    check_unchanged,
    read_builtin,
    read_idx_files,
)
from empirical.train.data.tables import read_table
from tests.empirical.support import refused
from theory.validation import IntArray

ROWS: list[list[Any]] = [
    ["age", "ward", "is_old", "score"],
    [70, "north, upper", "true", 0.5],
    [31, 'south "S"', "false", -1e-3],
    [55, "north, upper", "true", 12],
]


def written(path: Path, rows: list[list[Any]], separator: str = ",") -> Path:
    """Write a CSV file, by the csv module."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    return path


@pytest.mark.parametrize(("mark", "written_as"), [(";", '";"'), ("\t", r'"\\t"')])
def test_another_mark_between_cells_is_named(tmp_path: Path, mark: str, written_as: str) -> None:
    path = written(tmp_path / "a.csv", ROWS, mark)
    with pytest.raises(ValueError, match=rf"between them; write separator = {written_as}$"):
        read_table(path)


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.tsv", "\t"), ("b.csv", ";")])
def test_a_table_is_read_as_it_was_written(tmp_path: Path, name: str, separator: str) -> None:
    path = written(tmp_path / name, ROWS, separator)
    table = read_table(path, separator=";" if separator == ";" else None)
    assert table.names == ("age", "ward", "is_old", "score")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=separator))
    assert table.columns["age"].tolist() == [int(row["age"]) for row in rows]
    assert table.columns["ward"].tolist() == [row["ward"] for row in rows]
    assert table.columns["is_old"].tolist() == [1, 0, 1]
    assert table.columns["score"].tolist() == [float(row["score"]) for row in rows]
    assert table.sources == ((str(path), hashlib.sha256(path.read_bytes()).hexdigest()),)


def test_parquet_and_csv_give_the_same_table(tmp_path: Path) -> None:
    columns = list(zip(*ROWS[1:], strict=True))
    kinds = [pa.int8(), pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.float32()]
    arrays = [pa.array(c, type=k) for c, k in zip(columns, kinds, strict=True)]
    arrays[2] = pa.array([True, False, True])
    parquet.write_table(pa.table(arrays, names=ROWS[0]), tmp_path / "a.parquet")
    one = read_table(tmp_path / "a.parquet")
    two = read_table(written(tmp_path / "a.csv", ROWS))
    for name in ROWS[0]:
        if name == "score":  # float32 there
            assert np.allclose(one.columns[name], two.columns[name], rtol=1e-7)
        else:
            assert one.columns[name].tolist() == two.columns[name].tolist()


def test_text_columns_become_zeros_and_ones(tmp_path: Path) -> None:
    tables = [
        read_table(written(tmp_path / "a.csv", [["w", "x", "y"], ["c", 1, 2], ["a", 3, 4]])),
        read_table(written(tmp_path / "b.csv", [["y", "x", "w"], [5, 6, "b"]])),
    ]
    layout = layout_of(tables, targets=["y"], features=["x", "w"])
    assert layout.features == ("x", "w=a", "w=b", "w=c")
    first, second = (labelled_rows(table, layout) for table in tables)
    assert first.inputs.tolist() == [[1, 0, 0, 1], [3, 1, 0, 0]]
    assert second.inputs.tolist() == [[6, 0, 1, 0]]
    assert second.labels[0].tolist() == [5]
    left = layout_of(tables, targets=["y"])
    assert (left.features, left.left_out) == (("x",), ("w",))


def test_numbers_are_categories_where_that_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", [["post", "y"], ["007", 1], ["17", 2]])
    table = read_table(path, text=["post"])
    layout = layout_of([table], targets=["y"], categories=["post"])
    assert layout.features == ("post=007", "post=17")


HEAD = ["x", "y"]
BAD_TABLES: list[tuple[str, str, str]] = [
    ("x,y\n1,2\n,3\n", "a.csv, column 'x': expected a value in every row", "none in row 2"),
    ("x,y\n1,2\nNaN,3\n", "a.csv, column 'x': expected finite numbers", "nan in row 2"),
    ("x,y\n1,2\n1,inf\n", "a.csv, column 'y': expected finite numbers", "inf in row 2"),
    ("x,y\n1,2\nNA,3\n", "a.csv, column 'x': expected numbers", "the text 'NA' in row 2; correct"),
    ("x,y\n1,2\n3\n", "a.csv: expected a table in CSV", "Row #3: Expected 2 columns, got 1"),
    ("x,z\n1,2\n", "a.csv: expected a column 'y'", "columns x, z"),
    ("x,yy\n1,2\n", "a.csv: expected a column 'y'", "did you mean 'yy'?"),
    ("x,y\n", "a.csv: expected at least one row", "none; add rows"),
    ("", "a.csv: expected a file with data in it", "an empty file"),
    ("\n", "a.csv: expected a table in CSV", "cannot be read"),
    ("x,x,y\n1,2,3\n", "a.csv: expected columns of distinct names", "'x' twice"),
    ("x,y\n2020-01-01,3\n", "a.csv, column 'x': expected numbers or text", "date32"),
]


@pytest.mark.parametrize(("text", "begins", "says"), BAD_TABLES)
def test_bad_tables_are_refused(tmp_path: Path, text: str, begins: str, says: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match="expected") as caught:
        layout_of([read_table(tmp_path / "a.csv")], targets=["y"], features=["x"])
    assert str(caught.value).startswith(f"{tmp_path}/{begins}")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tables_must_agree(tmp_path: Path) -> None:
    whole = read_table(written(tmp_path / "a.csv", [["x", "z", "y"], [1, 2, 3]]))
    less = read_table(written(tmp_path / "b.csv", [["x", "y"], [1, 3]]))
    text = read_table(written(tmp_path / "c.csv", [["x", "z", "y"], [1, "two", 3]]))
    unnamed = read_table(written(tmp_path / "d.csv", [["", "y"], [1, 3]]))
    with pytest.raises(ValueError, match=r"b.csv: expected the columns of .*a.csv, got no 'z'"):
        layout_of([whole, less], targets=["y"])
    with pytest.raises(ValueError, match=r"c.csv, column 'z': expected numbers, .*'two' in row 1"):
        layout_of([whole, text], targets=["y"])
    refused(r"d.csv: expected a name for every column", layout_of, [unnamed], targets=["y"])
    for columns in ({"features": ["x", "y"]}, {"categories": ["y"]}):
        with pytest.raises(ValueError, match="features: expected inputs other than the target"):
            layout_of([whole], targets=["y"], **columns)
    layout = layout_of([whole], targets=["y"], features=["x"], categories=["z"])
    refused(r"c.csv, column 'z': expected a category .*\(2\), got", labelled_rows, text, layout)


MEAN = 'or write missing = "mean"'
NUMBERS: list[tuple[list[Any], str]] = [
    (["60,50", "7,25", "8"], "the text '60,50' in row 1; correct it, write decimal = "),
    (["1.234,5"] * 3, "'1.234,5' in row 1; correct it, write it without separators"),
    ([1, 2, "1 234"], "'1 234' in row 3; correct it, write it without separators"),
    (["12 kg", "9 kg", "7 kg"], "'12 kg' in row 1; correct it, write the number alone"),
    (["5 %", "10%", "$12"], "'5 %' in row 1; correct it, write the number alone"),
    ([1.5, "<0.5", 2], "'<0.5' in row 2; correct it, write the number alone"),
    (["120/80"] * 3, "'120/80' in row 1; correct it, write it as a decimal number"),
    ([1, "\u22125", "(7)"], "in row 2; correct it, write it as -1"),
    (["true", "false", "NA"], f"the text 'NA' in row 3; correct it, leave the row out, {MEAN}"),
    *[
        ([1, word, 3], f"{word!r} in row 2; correct it, leave the row out, {MEAN}")
        for word in ("NA", "N/A", "null", "?", "#N/A", "-", ".", "none", "n/a")
    ],
    ([1, "", 3], f"got none in row 2; fill it in, or leave the row or the column out, {MEAN}"),
    ([1, "NaN", 3], f"finite numbers, got nan in row 2; replace it, or leave the row out, {MEAN}"),
    (["NA"] * 3, "the text 'NA' in row 1; correct it"),
    (
        [1, 2, "many"],
        "the text 'many' in row 3; correct it, or write missing_marks = [\"many\"], or list 'x'",
    ),
]


@pytest.mark.parametrize("features", [["x", "z"], None])
@pytest.mark.parametrize(("values", "says"), NUMBERS)
def test_numbers_that_cannot_be_read_are_never_left_out_or_names(
    tmp_path: Path, values: list[Any], says: str, features: list[str] | None
) -> None:
    path = written(tmp_path / "a.csv", [["x", "z", "y"], *([v, 0.5, 0.25] for v in values)])
    with pytest.raises(ValueError, match="expected") as caught:
        layout_of([read_table(path)], targets=["y"], features=features)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values", [["0,5", "1,5"], ["1.000,5", 2], [1, "NA"], [1, "-"], ["a", "?"]]
)
def test_targets_are_no_names_that_are_numbers(tmp_path: Path, values: list[Any]) -> None:
    table = read_table(written(tmp_path / "a.csv", [["x", "y"], *([0.5, v] for v in values)]))
    with pytest.raises(
        ValueError, match=r"column 'y': expected (numbers|a value .*), got .* in row"
    ):
        layout_of([table], targets=["y"], missing=True)


@given(st.lists(st.sampled_from(["b", "10-20", "P01", "3fa4c2", "none", "yes"]), min_size=1))
def test_names_are_names(names: list[str]) -> None:
    assert text_column(names).kind == "names"
    assert text_column([*names, *("7,5" for _ in names), "1,5"]).kind == "numbers"


def test_decimal_commas_and_missing_values_are_read_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x;w;y\n60,50;a;1\nNA;;2\n-0,5;NA;3\n1e3;b;4\n")
    table = read_table(path, decimal=",")
    layout = layout_of([table], targets=["y"], features=["x", "w"], missing=True)
    assert layout.features == ("x", "w=a", "w=b", "w=missing")
    rows = labelled_rows(table, layout).inputs
    assert np.array_equal(rows[:, 0], [60.5, np.nan, -0.5, 1000], equal_nan=True)
    assert rows[:, 1:].tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]]
    path.write_text("x;w;y\nn.d.;a;1\nNA;n.d.;2\n0,5;nicht;3\n")
    table = read_table(path, decimal=",", marks=("n.d.", "nicht"))
    layout = layout_of([table], targets=["y"], features=["x", "w"], missing=True)
    rows = labelled_rows(table, layout).inputs
    assert np.array_equal(rows, [[np.nan, 1, 0], [np.nan, 0, 1], [0.5, 0, 1]], equal_nan=True)
    path.write_text("x;y\nn.d.;1\n2,5;2\n")
    with pytest.raises(ValueError, match=r"got none in row 1; .* write missing = \"mean\""):
        layout_of([read_table(path, decimal=",", marks=("n.d.",))], targets=["y"])
    path.write_text("x;y\n60.50;1\n1.234;2\n")
    with pytest.raises(ValueError, match=r"'60.50' in row 1; .* a comma as its only mark"):
        layout_of([read_table(path, decimal=",")], targets=["y"])
    with pytest.raises(ValueError, match=r"a.csv: expected another mark between cells"):
        read_table(path, decimal=",", separator=",")


def test_pandas_row_numbers_are_left_out(tmp_path: Path) -> None:
    words = json.dumps({"index_columns": ["kept", {"kind": "range"}]})
    columns = pa.table({"kept": [4, 7], "x": [0.5, 1.5], "y": [1.0, 2.0]})
    parquet.write_table(columns.replace_schema_metadata({"pandas": words}), tmp_path / "a.parquet")
    csv = written(tmp_path / "a.csv", [["Unnamed: 0", "x", "y"], [4, 0.5, 1], [7, 1.5, 2]])
    for path, name in ((tmp_path / "a.parquet", "kept"), (csv, "Unnamed: 0")):
        table = read_table(path)
        layout = layout_of([table], targets=["y"])
        assert layout.features == ("x",)
        assert layout.notes == (f"columns left out, as they are pandas' index: {name}",)
        assert layout_of([table], targets=["y"], features=[name]).features == (name,)
    other = read_table(written(tmp_path / "b.csv", [["x", "y"], [1, 2]]))
    assert layout_of([table, other], targets=["y"]).features == ("x",)
    counted = read_table(written(tmp_path / "b.csv", [["i", "y"], [0, 2], [1, 2], [2, 5]]))
    assert "'i' is an input that counts the rows" in layout_of([counted], targets=["y"]).notes[0]


@pytest.mark.parametrize("first", [2**53, 2**63 - 1, 2**63, 2**64 - 2, 10**25])
def test_whole_numbers_stay_apart(tmp_path: Path, first: int) -> None:
    path = written(tmp_path / "a.csv", [["x", "y"], [1, first], [2, first + 1]])
    columns = [read_table(path).columns["y"]]
    if first < 2**64 - 1:
        kind = pa.uint64() if first >= 2**63 - 1 else pa.int64()
        numbers = pa.table({"x": [1, 2], "y": pa.array([first, first + 1], type=kind)})
        parquet.write_table(numbers, tmp_path / "a.parquet")
        columns.append(read_table(tmp_path / "a.parquet").columns["y"])
    for column in columns:
        rows = LabelledRows("a", np.eye(2), (column,))
        assert class_names([rows], 0) == (str(first), str(first + 1))
        if column.dtype != object:
            assert float(as_finite("x", column[:, None])[0, 0]) == float(first)
    with pytest.raises(ValueError, match="expected classes, texts or whole numbers, got"):
        class_names([LabelledRows("a", np.eye(2), (np.array([2.0**53, 1.0]),))], 0)


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n"
KINDS: list[tuple[str, bytes, str]] = [
    ("a.csv", gzip.compress(b"x,y\n1,2\n", mtime=0), "one packed by gzip; unpack it"),
    ("a.csv", "x,y\n1,2\n".encode("utf-16"), "text in UTF-16; save it as UTF-8"),
    ("a.csv", "x,y\n1,2\n".encode("utf-16-le"), "zero bytes, as in UTF-16"),
    ("a.csv", b"sep=;\nx;y\n1;2\n", """Excel's line 'sep=;'; take the line out, and write"""),
    ("a.csv", b"PK\x03\x04\0\0", "a ZIP archive, as NPZ files and Excel workbooks are; save it"),
    ("a.csv", b"<!DOCTYPE html>", "an HTML page; fetch the file itself"),
    ("a.csv", LFS, "a Git LFS pointer in its place; fetch it by: git lfs pull"),
    ("a.parquet", LFS, "a Git LFS pointer in its place"),
    ("a.npz", LFS, "a Git LFS pointer in its place"),
    ("i/a/1.png", LFS, "a Git LFS pointer in its place"),
    ("a-images-idx3-ubyte", LFS, "a Git LFS pointer in its place"),
]


@pytest.mark.parametrize(("name", "content", "says"), KINDS)
def test_files_of_another_kind_are_called_what_they_are(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(content)
    (tmp_path / name.replace("images-idx3", "labels-idx1")).write_bytes(content)
    read = {"a.npz": read_npz, "i/a/1.png": lambda path: read_images(tmp_path / "i")}
    usual = read_idx_files if "idx" in name else read_table
    refused(re.escape(says), read.get(name, usual), tmp_path / name)


def test_no_thread_is_left_behind_by_parquet(tmp_path: Path) -> None:
    """A pool's threads may abort the process at exit: none is started."""
    parquet.write_table(pa.table({"x": [1.5, 2], "y": [1, 2]}), tmp_path / "a.parquet")
    program = (
        "import sys, os, pyarrow.parquet; from empirical.train.data.tables import read_table;"
        "count = lambda: len(os.listdir('/proc/self/task')); before = count();"
        f"read_table({str(tmp_path / 'a.parquet')!r}); sys.exit(count() - before)"
    )
    if Path("/proc/self/task").exists():
        subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("content", [b"x,\xff\n1,2\n", b"x,y\n1,\xff\n"])
def test_tables_of_other_characters_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"a.csv.*: expected (texts in UTF-8|numbers or text)"):
        read_table(tmp_path / "a.csv").require(["x", "y"])


def test_damage_anywhere_is_one_line_or_none(tmp_path: Path) -> None:
    """Bytes changed at random: what is not read is refused, and nothing else is raised."""
    rng = np.random.default_rng(0)
    np.savez_compressed(tmp_path / "a.npz", inputs=np.eye(4), labels=np.arange(4))
    parquet.write_table(pa.table({"x": [1, 2], "y": ["u", None]}), tmp_path / "a.parquet")
    picture(tmp_path / "img/a/1.png", np.eye(8) * 255)
    (tmp_path / "a.csv").write_text("x,y\n1,u\n2,v\n")
    readers: dict[str, Any] = {
        "a.npz": lambda: read_npz(tmp_path / "a.npz"),
        "a.parquet": lambda: read_table(tmp_path / "a.parquet"),
        "a.csv": lambda: read_table(tmp_path / "a.csv"),
        "img/a/1.png": lambda: read_images(tmp_path / "img"),
    }
    said = []
    for name, read in readers.items():
        whole = (tmp_path / name).read_bytes()
        for _ in range(60):
            content = bytearray(whole)
            for place in rng.integers(len(content), size=rng.integers(1, 4)):
                content[place] = rng.integers(256)
            (tmp_path / name).write_bytes(content)
            try:
                read()
            except ValueError as error:
                said.append(str(error))
    assert len(said) > 60
    assert all(text.startswith(str(tmp_path)) and "\n" not in text for text in said)


@pytest.mark.parametrize("content", [b"PAR1", b"x" * 100])
def test_damaged_parquet_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    refused(r"a.parquet: expected a Parquet file, got one that", read_table, tmp_path / "a.parquet")


def test_arrays_are_read_from_npz(tmp_path: Path) -> None:
    inputs, labels = np.arange(12).reshape(4, 3), np.array(["b", "a", "b", "b"])
    np.savez_compressed(tmp_path / "a.npz", inputs=inputs, labels=labels)
    rows = read_npz(tmp_path / "a.npz")
    assert np.array_equal(rows.inputs, inputs)
    assert rows.labels[0].tolist() == labels.tolist()
    assert read_npz(tmp_path / "a.npz", labelled=False).labels == ()


def test_bad_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    refused(r"a.npz: expected a file, got none of that name", read_npz, path)
    path.write_bytes(b"not a zip file")
    refused(r"a.npz: expected an NPZ file", read_npz, path)
    np.savez(path, inputs=np.array([[object()]], dtype=object), labels=np.zeros(1))
    refused(r"a.npz: .*plain arrays, got pickled objects", read_npz, path)
    np.savez(path, x=np.zeros((2, 2)), labels=np.zeros(2))
    refused(r"expected an array 'inputs', got arrays x, labels", read_npz, path)
    np.savez(path, inputs=np.zeros((2, 2)), labels=np.zeros(3))
    refused("expected one label for each of 2 inputs", read_npz, path)
    np.savez(path, inputs=np.array([[1.0], [np.nan]]), labels=np.zeros(2))
    refused(r"a.npz, inputs: expected finite numbers, got nan at", read_npz, path)
    np.savez(path, inputs=np.zeros((0, 2)), labels=np.zeros(0))
    refused("expected at least one example, got none", read_npz, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(r"a.npz: expected an NPZ file", read_npz, path)


def picture(path: Path, pixels: IntArray | np.ndarray[Any, Any], mode: str | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(np.asarray(pixels, dtype=np.uint8))
    (image if mode is None else image.convert(mode)).save(path)


def test_images_are_read_as_they_were_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    drawn = {
        name: rng.integers(0, 256, size=(4, 6, 3))
        for name in ("cat/1.png", "cat/2.png", "ox/1.bmp")
    }
    for name, pixels in drawn.items():
        picture(tmp_path / name, pixels)
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    (tmp_path / "cat" / ".hidden.png").write_text("no image")
    rows = read_images(tmp_path)
    assert rows.inputs.shape == (3, 3, 4, 6)
    assert rows.labels[0].tolist() == ["cat", "cat", "ox"]
    assert [rows.place(k) for k in range(3)] == list(drawn)
    for values, pixels in zip(rows.inputs, drawn.values(), strict=True):
        assert np.array_equal(
            values, np.moveaxis(pixels.astype(np.float32), -1, 0) / np.float32(255)
        )
    grey = read_images(tmp_path, colour=False)
    # Pillow's grey is the rounded sum of ITU-R 601-2 weights.
    weighted = drawn["cat/1.png"] @ np.array([0.299, 0.587, 0.114])
    assert np.abs(grey.inputs[0, 0] * 255 - weighted).max() <= 1.0
    assert read_images(tmp_path, size=(8, 3)).inputs.shape == (3, 3, 8, 3)


def test_grey_images_of_8_and_16_bits_agree(tmp_path: Path) -> None:
    values = np.arange(12).reshape(3, 4) * 20
    picture(tmp_path / "a/8.png", values)
    deep = Image.fromarray((values * 257).astype(np.uint16))
    deep.save(tmp_path / "a/16.png")
    rows = read_images(tmp_path)
    assert rows.inputs.shape == (2, 1, 3, 4)
    assert np.array_equal(rows.inputs[0], rows.inputs[1])


def test_bad_image_folders_are_refused(tmp_path: Path) -> None:
    picture(tmp_path / "a/1.png", np.zeros((4, 6)))
    picture(tmp_path / "b/2.png", np.zeros((6, 4)))
    refused(r"b/2.png: expected 6 by 4 .*a/1.png has, got 4 by", read_images, tmp_path)
    picture(tmp_path / "b/2.png", np.zeros((4, 6, 3)))
    refused(r"b/2.png: expected an image grey, as .*set colour", read_images, tmp_path)
    assert read_images(tmp_path, colour=True).inputs.shape == (2, 3, 4, 6)
    (tmp_path / "b/2.png").write_bytes((tmp_path / "a/1.png").read_bytes()[:40])
    refused(r"b/2.png: expected an image, got one that", read_images, tmp_path)
    (tmp_path / "b/2.png").unlink()
    refused(r"/b: expected images .*got none", read_images, tmp_path)
    picture(tmp_path / "3.png", np.zeros((4, 6)))
    refused(r"expected one folder for each class.*got 3.png in", read_images, tmp_path)
    (tmp_path / "3.png").unlink()
    Image.fromarray(np.zeros((4, 6), dtype=np.float32)).save(tmp_path / "b/2.tif")
    refused(r"b/2.tif: expected .*got floating-point pixels; save", read_images, tmp_path)
    refused("nowhere: expected a folder of images", read_images, tmp_path / "nowhere")


@pytest.mark.parametrize("mark", ["-", "."])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_files_are_read(tmp_path: Path, pack: Any, mark: str) -> None:
    pixels, labels = np.arange(24, dtype=np.uint8), bytes([3, 1])
    sizes = b"".join(size.to_bytes(4, "big") for size in (2, 3, 4))
    images = tmp_path / f"own-images{mark}idx3-ubyte"
    images.write_bytes(pack(bytes([0, 0, 8, 3]) + sizes + pixels.tobytes()))
    beside = tmp_path / f"own-labels{mark}idx1-ubyte"
    beside.write_bytes(pack(bytes([0, 0, 8, 1, 0, 0, 0, 2]) + labels))
    rows = read_idx_files(images)
    assert np.array_equal(rows.inputs[:, 0], pixels.reshape(2, 3, 4).astype(np.float32) / 255)
    assert rows.labels[0].tolist() == [3, 1]
    beside.unlink()
    refused(r"own-labels.idx1-ubyte: expected a file", read_idx_files, images)


def test_built_in_data_are_scikit_learns() -> None:
    from sklearn.datasets import load_diabetes, load_digits

    digits, bunch = read_builtin("digits"), load_digits()
    assert np.array_equal(digits.train.inputs[:, 0] * 16, bunch.images)
    assert digits.train.class_names == tuple("0123456789")
    diabetes, patients = read_builtin("diabetes"), load_diabetes(scaled=False)
    assert np.array_equal(diabetes.train.inputs, patients.data)
    assert diabetes.train.features == tuple(patients.feature_names)
    refused("builtin: expected one of mnist", read_builtin, "cifar")


def test_files_that_change_are_named() -> None:
    kept = [("a.csv", "1"), ("b.csv", "2")]
    check_unchanged(kept, kept)
    with pytest.raises(ValueError, match=r"b.csv: expected the data .* got another content"):
        check_unchanged([("a.csv", "1"), ("b.csv", "3")], kept)
    refused(r"a.csv: expected the data .* got no such file", check_unchanged, kept[1:], kept)
    with pytest.raises(ValueError, match=r"c.csv: .* got a file that was not there"):
        check_unchanged([*kept, ("c.csv", "4")], kept)
