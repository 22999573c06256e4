"""Images in folders: one folder a class, any format that Pillow reads, all of one size."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from empirical.train.data.labelled_rows import LabelledRows
from empirical.train.data.source_files import SourceFile, check_kind, read_source
from theory.validation import as_integer, fail, install_extra

if TYPE_CHECKING:
    from PIL import Image

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
        raise fail(
            str(folder),
            "one folder for each class, with images in it",
            f"{direct[0].name} in the folder itself",
            "move every image into the folder of its class",
        )
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
        raise fail(
            path,
            f"an image {words[other.shape[0]]}, as {other_path} is",
            f"one {words[picture.shape[0]]}",
            "set colour to true or false, which makes all alike",
        )
    if picture.shape != other.shape:
        sizes = ["{} by {}".format(*reversed(p.shape[1:])) for p in (other, picture)]
        raise fail(
            path,
            f"{sizes[0]} pixels, as {other_path} has",
            sizes[1],
            "resize the images, or set size to [height, width]",
        )
