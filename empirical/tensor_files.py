"""Tensors in safetensors files, without torch: laid out always alike, and checked by their bytes.

A file is plain safetensors (https://github.com/huggingface/safetensors, *Format*): eight bytes with
the header's length, a header in JSON, and the tensors' bytes, little-endian. The library's own
writer puts metadata in an order that changes from run to run, and leaves a file of its own behind
when it is killed; what is written here has the same bytes whenever the content is the same. Three
texts are in the metadata: ``format``, ``words``, JSON that says what the tensors are, and
``sha256``, over the words and every tensor's name, type, shape and bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from exact.whole_files import open_regular
from theory.validation import fail

FORMAT = "peerbayes-tensors 1"
AGAIN = "write it again, by repeating the run"
# Types by their name in the file: as torch and numpy call them, and the bytes of an entry.
_TYPES = {
    "F64": ("float64", 8),
    "F32": ("float32", 4),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "I64": ("int64", 8),
    "U64": ("uint64", 8),
    "I32": ("int32", 4),
    "U32": ("uint32", 4),
    "I16": ("int16", 2),
    "U16": ("uint16", 2),
    "I8": ("int8", 1),
    "U8": ("uint8", 1),
    "BOOL": ("bool", 1),
}
_CODES = {name: code for code, (name, _) in _TYPES.items()}
# As in the library.
_MOST_HEADER = 100_000_000
_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class RawTensor:
    """A tensor as bytes.

    Attributes
    ----------
    kind
        The type's name, such as ``"float32"``.
    shape
        The lengths of its axes.
    data
        Its entries one after the other, the last axis first, little-endian.
    """

    kind: str
    shape: tuple[int, ...]
    data: memoryview | bytes

    def __post_init__(self) -> None:
        if self.kind not in _CODES:
            raise fail("kind", f"one of {', '.join(_CODES)}", self.kind, "convert the tensor")
        size = prod(self.shape) * _TYPES[_CODES[self.kind]][1]
        if len(self.data) != size:
            raise fail("data", f"{size} bytes", len(self.data), "give all entries")


@dataclass(frozen=True, eq=False)
class WholeFile:
    """What a file whose checksum is right says of its tensors: words, and the checksum of both."""

    words: dict[str, Any]
    sha256: str


def save_file(
    tensors: Mapping[str, RawTensor], file: BinaryIO, *, metadata: Mapping[str, str]
) -> None:
    """Write tensors and metadata; the same content always as the same bytes.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    # Wide entries first, as in the library, so that each tensor starts at a multiple of its width.
    order = sorted(tensors, key=lambda name: (-_TYPES[_CODES[tensors[name].kind]][1], name))
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    end = 0
    for name in order:
        tensor = tensors[name]
        begin, end = end, end + len(tensor.data)
        code, shape = _CODES[tensor.kind], list(tensor.shape)
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        file.write(tensors[name].data)


def checksum(tensors: Mapping[str, RawTensor], words: str) -> str:
    """The SHA-256 of words and tensors, whatever their order."""
    parts = ((name, t.kind, t.shape, (t.data,)) for name, t in sorted(tensors.items()))
    return _checksum(parts, words)


def verify_file(path: Path) -> WholeFile:
    """Check a file from its first byte to its last; the tensors themselves are not kept.

    Raises
    ------
    ValueError
        In one line, if it cannot be read, is truncated or changed, or is none of ours.
    """
    if not path.is_file():
        raise fail(str(path), "a safetensors file", "no such file", AGAIN)
    try:
        with open_regular(path) as file:
            return _verified(file, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise fail(
            str(path), "a file that can be read", reason, "correct its permissions"
        ) from None
    except _DAMAGE as error:
        raise _damaged(error, path) from None


def read_words(path: Path) -> dict[str, Any]:
    """What a file says of its tensors, by its header alone: the tensors are not looked at.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it has no header that says something; in one line.
    """
    try:
        with open_regular(path) as file:
            return as_words(_header(file)["__metadata__"]["words"], path)
    except _DAMAGE as error:
        raise _damaged(error, path) from None


def as_words(text: str, path: Path) -> dict[str, Any]:
    """What a file says of its tensors.

    Raises
    ------
    ValueError
        If it is no JSON object; in one line.
    """
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, dict):
        raise fail(str(path), "words that are a JSON object", "others", AGAIN)
    return words


def check_metadata(metadata: Mapping[str, str], path: Path) -> None:
    """See that a file is one of ours.

    Raises
    ------
    ValueError
        If not; in one line.
    """
    if metadata.get("format") != FORMAT or not {"words", "sha256"} <= metadata.keys():
        raise fail(str(path), "tensors written by peerbayes", "another safetensors file", AGAIN)


def changed(path: Path) -> ValueError:
    """The error of a file whose checksum is not that of its content; the caller raises it."""
    return fail(str(path), "content that fits its checksum", "changed or damaged content", AGAIN)


# What a header that is none raises.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def _damaged(error: Exception, path: Path) -> Exception:
    """The error itself if it says what is wrong with the file, else one that does."""
    if isinstance(error, ValueError) and str(error).startswith(str(path)):
        return error
    return fail(str(path), "a safetensors file", "a damaged or truncated file", AGAIN)


def _header(file: BinaryIO) -> dict[str, Any]:
    length = int.from_bytes(file.read(8), "little")
    if length > _MOST_HEADER:
        raise ValueError("no header")
    header: dict[str, Any] = json.loads(file.read(length))
    return header


def _verified(file: BinaryIO, path: Path) -> WholeFile:
    header = _header(file)
    length = file.tell() - 8
    metadata = header.pop("__metadata__", {})
    check_metadata(metadata, path)
    start, size = 8 + length, path.stat().st_size - 8 - length
    end = 0
    for entry in sorted(header.values(), key=lambda entry: tuple(entry["data_offsets"])):
        begin, own_end = entry["data_offsets"]
        if begin != end or own_end - begin != prod(entry["shape"]) * _TYPES[entry["dtype"]][1]:
            raise ValueError("holes, or another size")
        end = own_end
    if end != size:
        raise ValueError("another size")

    def parts() -> Iterator[_Part]:
        for name, entry in sorted(header.items()):
            pieces = _pieces(
                file, start + entry["data_offsets"][0], start + entry["data_offsets"][1]
            )
            yield name, _TYPES[entry["dtype"]][0], tuple(entry["shape"]), pieces

    if _checksum(parts(), metadata["words"]) != metadata["sha256"]:
        raise changed(path)
    return WholeFile(as_words(metadata["words"], path), metadata["sha256"])


def _pieces(file: BinaryIO, begin: int, end: int) -> Iterator[bytes]:
    file.seek(begin)
    while begin < end:
        piece = file.read(min(_PIECE, end - begin))
        if not piece:
            raise ValueError("truncated")
        begin += len(piece)
        yield piece


_Part = tuple[str, str, tuple[int, ...], Iterable[memoryview | bytes]]


def _checksum(parts: Iterable[_Part], words: str) -> str:
    digest = hashlib.sha256(f"{FORMAT} {len(words.encode())}:{words}".encode())
    for name, kind, shape, pieces in parts:
        # Types are written as torch writes them.
        digest.update(f"{len(name.encode())}:{name} torch.{kind} {shape}:".encode())
        for piece in pieces:
            digest.update(piece)
    return digest.hexdigest()
