"""From tables to inputs: which columns, in which order, and what texts become.

All agents must make the same inputs of their tables. Of text columns they tell each other which
categories occur, and no more: each category becomes a column of zeros and ones, named
``column=category``, in the order of the categories' names. A category that occurs in test data
alone has no column, and is refused. Where values may be missing, a missing name is a category too.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from empirical.train.data.examples import listed
from empirical.train.data.notation import UNREAD, names_alike
from empirical.train.data.source_files import LabelledRows, SourceFile, check_kind, read_source
from empirical.train.data.tables import Table
from theory.validation import FloatArray, as_integer, fail, install_extra

if TYPE_CHECKING:
    from PIL import Image


# Images in folders -------------------------------------------------------------------------------


SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff", ".webp")
)
# Pillow's modes of one value a pixel: black and white, grey, grey in 16 bits.
_GREY = frozenset(("1", "L", "LA", "I;16", "I;16B", "I;16L", "I"))


def read_images(
    folder: str | Path,
    *,
    colour: bool | None = None,
    size: Sequence[int] | None = None,
    labelled: bool = True,
) -> LabelledRows:
    """The images of a folder of class folders, as numbers in [0, 1].

    Files whose names do not end like an image's, and hidden ones, are passed by. Photographs are
    turned the way they were taken; transparency is dropped. Of a moving picture the first frame
    counts.

    Parameters
    ----------
    folder
        With one folder for each class, whose name is the class's.
    colour
        Whether images are read as red, green and blue, or as grey; left out: as they are.
    size
        (height, width) to which every image is resized; left out: as they are.
    labelled
        Whether classes are needed; if not, images may lie in the folder itself.

    Returns
    -------
    LabelledRows
        Inputs of shape (n, 1, height, width) or (n, 3, height, width), float32; labels are texts.

    Raises
    ------
    ValueError
        If there is no folder or no image in it, one cannot be read, images differ in size or are
        grey and coloured; the line names both files.
    """
    folder = Path(folder).expanduser()
    files = _files(folder, labelled=labelled)
    shape = None if size is None else _size(size)
    pictures: list[NDArray[np.float32]] = []
    sources: list[tuple[str, str]] = []
    for path in files:
        source = read_source(path)
        picture = _pixels(source, colour, shape)
        if pictures:
            _check_alike(source.path, picture, files[0], pictures[0])
        pictures.append(picture)
        sources.extend(source.sources)
    classes = np.array([path.parent.name for path in files], dtype=object)
    return LabelledRows(
        str(folder),
        np.stack(pictures),
        (classes,) if labelled else (),
        tuple(sources),
        names=[path.relative_to(folder).as_posix() for path in files],
    )


def is_image_folder(folder: Path) -> bool:
    """Whether there are images in a folder, or in folders inside it."""
    return folder.is_dir() and any(
        path.suffix.lower() in SUFFIXES for depth in ("*", "*/*") for path in folder.glob(depth)
    )


def _files(folder: Path, *, labelled: bool) -> list[Path]:
    if not folder.is_dir():
        raise fail(str(folder), "a folder of images", "none", "correct the path")
    direct = _images_in(folder)
    if direct and labelled:
        wanted = "one folder for each class, with images in it"
        remedy = "move every image into the folder of its class"
        raise fail(str(folder), wanted, f"{direct[0].name} in the folder itself", remedy)
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and not _hidden(path))
    groups = [(path, _images_in(path)) for path in inside]
    for path, images in groups:
        if not images:
            ends = ", ".join(sorted(SUFFIXES))
            remedy = "add images, or take the folder away"
            raise fail(str(path), f"images (files that end in {ends})", "none", remedy)
    found = direct + [image for _, images in groups for image in images]
    if not found:
        raise fail(str(folder), "folders of images", "none", "add a folder for each class")
    return found


def _images_in(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES and path.is_file() and not _hidden(path)
    )


def _hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _size(size: Sequence[int]) -> tuple[int, int]:
    if len(size) != 2:
        raise fail("size", "[height, width]", size, "give two whole numbers")
    height, width = (as_integer("size", side, minimum=1) for side in size)
    return height, width


def _pixels(
    source: SourceFile, colour: bool | None, size: tuple[int, int] | None
) -> NDArray[np.float32]:
    """One image, shape (channels, height, width), values in [0, 1]."""
    try:
        from PIL import Image, ImageOps
    except ModuleNotFoundError:
        raise fail(source.path, "Pillow, to read images", "none", install_extra("train")) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.simplefilter("ignore", UserWarning)  # about metadata
            with Image.open(io.BytesIO(source.content)) as opened:
                image = ImageOps.exif_transpose(opened)
                image.load()
    except Exception as error:  # Pillow's decoders raise whatever they meet in a damaged file
        check_kind(source, "an image", b"\x89PNG", b"\xff\xd8\xff")
        got = f"one that cannot be read ({type(error).__name__})"
        raise fail(source.path, "an image", got, "replace it, or remove it") from None
    if image.mode == "F" or (image.mode == "I" and np.asarray(image).max() > 65535):
        got = "floating-point pixels" if image.mode == "F" else "pixels of 32 bits"
        remedy = "save it with 8 or 16 bits, or all images as arrays in NPZ files"
        raise fail(source.path, "an image of 8 or 16 bits a channel", got, remedy)
    values = _values(image, colour=image.mode not in _GREY if colour is None else colour)
    if size is not None and values.shape[1:] != size:
        layers = [
            Image.fromarray(layer).resize(size[::-1], Image.Resampling.BILINEAR) for layer in values
        ]
        values = np.stack([np.asarray(layer, dtype=np.float32) for layer in layers])
    return values


def _values(image: Image.Image, *, colour: bool) -> NDArray[np.float32]:
    grey = image.mode in _GREY
    if grey and image.mode not in ("1", "L", "LA"):  # 16 bits, which Pillow may call 32
        deep: NDArray[Any] = np.asarray(image, dtype=np.float32) / np.float32(65535)
        return np.repeat(deep[None], 3 if colour else 1, axis=0)
    plain = np.asarray(image.convert("RGB" if colour else "L"), dtype=np.float32)
    plain /= np.float32(255)
    return np.moveaxis(plain, -1, 0).copy() if colour else plain[None]


def _check_alike(path: str, picture: NDArray[Any], other_path: Path, other: NDArray[Any]) -> None:
    if picture.shape[0] != other.shape[0]:
        words = {1: "grey", 3: "in colour"}
        wanted = f"an image {words[other.shape[0]]}, as {other_path} is"
        remedy = "set colour to true or false, which makes all alike"
        raise fail(path, wanted, f"one {words[picture.shape[0]]}", remedy)
    if picture.shape != other.shape:
        sizes = ["{} by {}".format(*reversed(p.shape[1:])) for p in (other, picture)]
        remedy = "resize the images, or set size to [height, width]"
        raise fail(path, f"{sizes[0]} pixels, as {other_path} has", sizes[1], remedy)


# From tables to inputs ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """What stands in the inputs made of tables.

    Attributes
    ----------
    columns
        The tables' columns, in the order of the inputs.
    categories
        For each text column its categories, sorted.
    targets
        The columns of the labels; none where there are no labels.
    left_out
        Text columns, and columns of other types, that were not asked for by name.
    missing
        Whether values may be missing in the inputs.
    notes
        What a reader of the results should know of the columns: one sentence each.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]
    targets: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    missing: bool = False
    notes: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the inputs' columns."""
        names: list[str] = []
        for column in self.columns:
            named = self.categories.get(column)
            names += [column] if named is None else [f"{column}={one}" for one in named]
        return tuple(names)


def layout_of(
    tables: Sequence[Table],
    *,
    targets: Sequence[str],
    features: Sequence[str] | None = None,
    categories: Sequence[str] = (),
    besides: Sequence[str] = (),
    missing: bool = False,
) -> Layout:
    """What inputs are made of, from all agents' training tables.

    Parameters
    ----------
    targets
        Columns of the labels.
    features
        Columns of the inputs; left out: all columns of numbers but the targets, `besides` and
        pandas' index, and those of `categories`. Then all tables must have the same columns.
    categories
        Columns whose entries are names of categories, though they may look like numbers. A column
        among `features` is one too, if no entry in any table could be a number: numbers with a text
        among them are a mistake.
    besides
        Columns that are no features, such as the agent's name.
    missing
        Whether values may be missing in the inputs.

    Raises
    ------
    ValueError
        If a column is missing in a table, has a missing entry, or holds text in one table and
        numbers in another; if tables differ in their columns; if nothing is left.
    """
    how: Any = {"missing": missing, "otherwise": "" if missing else 'write missing = "mean"'}
    for table in tables:
        if not table.rows:
            remedy = "add rows, or leave the file out"
            raise fail(table.where, "at least one row", "none", remedy)
        table.require(targets)
        for name in targets:
            _check_names(table, name)
        table.require(list(dict.fromkeys([*(features or ()), *categories])), **how)
    both = [name for name in (*(features or ()), *categories) if name in targets]
    if both:
        wanted = "inputs other than the target"
        raise fail("features", wanted, repr(both[0]), "leave it out of features and categories")
    index = {name for table in tables for name in table.index}
    chosen, left_out = _chosen(tables, features, categories, {*targets, *besides}, index)
    named: dict[str, tuple[str, ...]] = {}
    for name in chosen:
        if name in categories or (features is not None and _is_of_names(tables, name)):
            named[name] = tuple(sorted({entry for t in tables for entry in _names(t, name)}))
        else:
            for table in tables:
                table.require([name], **how)
                otherwise = f"leave its cell empty, or list {name!r} under categories"
                if table.is_text(name):
                    found = table.texts(name, missing=missing)
                    if found.written == "missing":
                        otherwise = how["otherwise"] or otherwise
                    elif found.row is not None and found.written == "name":
                        mark = json.dumps(table.columns[name][found.row], ensure_ascii=False)
                        otherwise = (
                            f"write missing_marks = [{mark}], or list {name!r} under categories"
                        )
                table.require_numbers([name], otherwise=otherwise, missing=missing)
    notes = _notes(tables, chosen, named, index if features is None else set())
    return Layout(tuple(chosen), named, tuple(targets), left_out, missing, notes)


def _check_names(table: Table, name: str) -> None:
    """See that texts to be predicted are no numbers that nobody could read, such as 60,50."""
    if table.is_text(name):
        found = table.texts(name)
        if found.kind == "numbers" and found.written in UNREAD:
            table.require_numbers([name])


def _is_of_names(tables: Sequence[Table], name: str) -> bool:
    """Whether a column holds texts in all tables, none of which could be a number."""
    texts = [table.texts(name) for table in tables if table.is_text(name)]
    return len(texts) == len(tables) and all(
        text.kind == "names" and not text.has_numbers for text in texts
    )


def _names(table: Table, name: str) -> list[str]:
    """A column's entries as names of categories; those that are missing are one too."""
    absent = set(table.missing[name].tolist())
    return [
        "missing" if row in absent else str(entry)
        for row, entry in enumerate(table.columns[name].tolist())
    ]


def _notes(
    tables: Sequence[Table],
    chosen: Sequence[str],
    named: Mapping[str, Sequence[str]],
    index: set[str],
) -> tuple[str, ...]:
    """What should be known of the columns; `index`: those left out as pandas' index."""
    notes = []
    if out := sorted(index - set(chosen)):
        notes.append(f"columns left out, as they are pandas' index: {', '.join(out)}")
    rows = sum(table.rows for table in tables)
    for name in chosen:
        notes += names_alike(f"names in column {name!r},", named.get(name, ()))
        if 20 <= len(named.get(name, ())) >= rows / 2:
            notes.append(f"column {name!r} of names has {len(named[name])} of them in {rows} rows")
        if name not in named and all(_counts_rows(table, name) for table in tables):
            text = "is an input that counts the rows; leave it out of features if it says no more"
            notes.append(f"column {name!r} {text}")
    return tuple(notes)


def _counts_rows(table: Table, name: str) -> bool:
    values = table.numbers(name)
    return len(values) > 2 and values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def _chosen(
    tables: Sequence[Table],
    features: Sequence[str] | None,
    categories: Sequence[str],
    others: set[str],
    index: set[str],
) -> tuple[list[str], tuple[str, ...]]:
    """The columns of the inputs, and those that are left out for their type."""
    first = tables[0]
    if features is not None:
        return list(dict.fromkeys([*features, *categories])), ()
    others = others | (index - set(categories))
    for table in tables[1:]:
        here, there = set(table.names) - index, set(first.names) - index
        extra, absent = here - there, there - here
        if extra or absent:
            got = f"{sorted(extra)[0]!r} besides" if extra else f"no {sorted(absent)[0]!r}"
            remedy = "give all files the same columns, or name those to use under features"
            raise fail(table.where, f"the columns of {first.where}", got, remedy)
    if "" in first.names:
        remedy = "name it, take it out, or name those to use under features"
        raise fail(first.where, "a name for every column", "one without", remedy)
    # A column of text in every table is of names; of text in some, or of numbers that are written
    # in another notation or miss some, a mistake.
    free = [n for n in first.columns if n not in others and n not in categories]
    words = {n for n in free if all(t.is_text(n) and t.texts(n).kind != "numbers" for t in tables)}
    left_out = tuple(n for n in first.names if n in (words | set(first.other)) - others)
    chosen = [n for n in first.columns if n not in others | words]
    if not chosen:
        wanted = "a column of numbers besides the target"
        raise fail(first.where, wanted, "none", "name columns under features")
    return chosen, left_out


def labelled_rows(table: Table, layout: Layout) -> LabelledRows:
    """The inputs and labels of a table.

    Raises
    ------
    ValueError
        If a column is missing or holds something else than the layout's tables, or has a category
        that they do not have.
    """
    table.require(layout.targets)
    if not table.rows:
        raise fail(table.where, "at least one row", "none", "add rows, or leave the file out")
    parts = [_column(table, name, layout) for name in layout.columns]
    return LabelledRows(
        table.where,
        np.concatenate(parts, axis=1),
        tuple(table.columns[name] for name in layout.targets),
        table.sources,
        features=layout.features,
        missing=layout.missing,
    )


def _column(table: Table, name: str, layout: Layout) -> FloatArray:
    """One column of a table as columns of the inputs, shape (n, m)."""
    known = layout.categories.get(name)
    if known is None:
        table.require_numbers([name], missing=layout.missing)
        return table.numbers(name)[:, None]
    table.require([name], missing=layout.missing)
    number = {category: k for k, category in enumerate(known)}
    entries = _names(table, name)
    found = [number.get(entry, -1) for entry in entries]
    if -1 in found:
        row = found.index(-1)
        wanted = f"a category of the training data ({listed(known, 12)})"
        got, remedy = f"{entries[row]!r} in row {row + 1}", "correct it, or leave the row out"
        raise fail(f"{table.where}, column {name!r}", wanted, got, remedy)
    return np.eye(len(known))[found]
