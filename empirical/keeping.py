"""Tensors on disk: safetensors files, checksummed, written whole or not at all.

A file is plain safetensors (https://github.com/huggingface/safetensors, *Format*), which any
program can read: eight bytes with the header's length, a header in JSON, and the tensors' bytes,
little-endian. The library's own writer puts metadata in an order that changes from run to run, and
leaves a file of its own behind when it is killed; what is written here has the same bytes whenever
the content is the same. Three texts are in the metadata: ``format``, ``words``, JSON that says what
the tensors are, and ``sha256``, over the words and every tensor's name, type, shape and bytes.
Nothing is pickled.

An unfinished run keeps its last two checkpoints in two files and always writes over the older:
while the newest is written, or if it is damaged afterwards, the one before is whole.

Tensors are torch's; files are checked, and their words read, without it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from exact.whole_files import open_regular, remove_leftovers, replacing
from theory.validation import as_integer, fail, install_extra

if TYPE_CHECKING:
    from torch import Tensor

    from exact.checkpoint import Clock

FORMAT = "peerbayes-tensors 1"
AGAIN = "write it again, by repeating the run"
# Types by their name in the file: as torch calls them, and the bytes of an entry.
# fmt: off
_TYPES = {
    "F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
    "I64": ("int64", 8), "I32": ("int32", 4), "I16": ("int16", 2), "I8": ("int8", 1),
    "U64": ("uint64", 8), "U32": ("uint32", 4), "U16": ("uint16", 2), "U8": ("uint8", 1),
    "BOOL": ("bool", 1),
}
# fmt: on
_CODES = {name: code for code, (name, _) in _TYPES.items()}
# As in the library.
_MOST_HEADER = 100_000_000


# One file ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kept:
    """A file whose checksum is right.

    Attributes
    ----------
    words
        What was said of its tensors.
    sha256
        Of both.
    tensors
        By name, on the CPU; none where the file was only verified.
    """

    words: dict[str, Any]
    sha256: str
    tensors: dict[str, Tensor]


def save_tensors(path: Path, tensors: Mapping[str, Tensor], words: Mapping[str, Any]) -> str:
    """Replace `path` by a file with these tensors in one step, and return its SHA-256.

    Parameters
    ----------
    tensors
        On any device; written as they are, in their own type.
    words
        What has a JSON form without NaN.

    Raises
    ------
    ValueError
        If a type has no place in such files, or the folder or the file cannot be written; in one
        line.
    """
    raw = {name: _Raw.of(name, tensor) for name, tensor in sorted(tensors.items())}
    text = json.dumps(words, separators=(",", ":"), allow_nan=False)
    checksum = _checksum(text)
    for name, one in raw.items():
        checksum.update(_label(name, one.kind, one.shape))
        checksum.update(one.data)
    sha256 = checksum.hexdigest()
    try:
        with replacing(path) as file:
            save_file(raw, file, metadata={"format": FORMAT, "words": text, "sha256": sha256})
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        remedy = "choose another folder"
        raise fail(str(path), "a file that can be written", reason, remedy) from None
    return sha256


def load_tensors(path: Path) -> Kept:
    """Read a file back and verify its checksum; needs torch.

    Raises
    ------
    ValueError
        In one line, if it cannot be read, is truncated or changed, or is none of ours.
    """
    return _read(path, keep=True)


def usable(
    path: Path, words: Mapping[str, Any], notice: Callable[[str], None] | None
) -> Kept | None:
    """A file that is there, whole, and says these words; `notice` is told why one is not used."""
    if not path.exists():
        return None
    try:
        kept = load_tensors(path)
    except ValueError as error:
        reason = str(error)
    else:
        if all(kept.words.get(name) == value for name, value in words.items()):
            return kept
        reason = f"{path}: not used, for it is of other settings"
    if notice is not None:
        notice(reason)
    return None


def verify_file(path: Path) -> Kept:
    """Check a file from its first byte to its last; the tensors themselves are not kept.

    Raises
    ------
    ValueError
        As :func:`load_tensors`.
    """
    return _read(path, keep=False)


def read_words(path: Path) -> dict[str, Any]:
    """What a file says of its tensors, by its header alone: the tensors are not looked at.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it has no header that says something; in one line.
    """
    with _explained(path), open_regular(path) as file:
        return _words(_header(file)["__metadata__"]["words"], path)


def save_file(tensors: Mapping[str, _Raw], file: BinaryIO, *, metadata: Mapping[str, str]) -> None:
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


@dataclass(frozen=True, eq=False)
class _Raw:
    """A tensor's type as torch calls it, shape, and entries, the last axis first."""

    kind: str
    shape: tuple[int, ...]
    data: memoryview | bytes

    @classmethod
    def of(cls, name: str, tensor: Tensor) -> _Raw:
        """The bytes in the tensor's own memory if it lies there in one piece, on the CPU."""
        plain = tensor.detach().to("cpu").contiguous()
        kind = str(tensor.dtype).removeprefix("torch.")
        if kind not in _CODES:
            wanted = f"one of {', '.join(_CODES)}"
            raise fail(f"tensor {name!r}", wanted, kind, "convert the tensor")
        data = plain.reshape(-1).view(_torch().uint8).numpy().data if plain.numel() else b""
        return cls(kind, tuple(tensor.shape), data)


def _read(path: Path, *, keep: bool) -> Kept:
    if not path.is_file():
        raise fail(str(path), "a safetensors file", "no such file", f"correct the path, or {AGAIN}")
    try:
        with _explained(path), open_regular(path) as file:
            return _verified(file, path, keep=keep)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        remedy = "correct its permissions"
        raise fail(str(path), "a file that can be read", reason, remedy) from None


def _verified(file: BinaryIO, path: Path, *, keep: bool) -> Kept:
    header = _header(file)
    start = file.tell()
    metadata = header.pop("__metadata__", {})
    if metadata.get("format") != FORMAT or not {"words", "sha256"} <= metadata.keys():
        raise fail(str(path), "tensors written by peerbayes", "another safetensors file", AGAIN)
    end = 0
    for entry in sorted(header.values(), key=lambda entry: tuple(entry["data_offsets"])):
        begin, own_end = entry["data_offsets"]
        if begin != end or own_end - begin != prod(entry["shape"]) * _TYPES[entry["dtype"]][1]:
            raise ValueError("holes, or another size")
        end = own_end
    if end != path.stat().st_size - start:
        raise ValueError("another size")
    # Mapped: pages are read when they are looked at, and copied where they are changed.
    content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))[start:]
    tensors: dict[str, Tensor] = {}
    checksum = _checksum(metadata["words"])
    for name, entry in sorted(header.items()):
        kind, shape = _TYPES[entry["dtype"]][0], tuple(entry["shape"])
        data = content[slice(*entry["data_offsets"])]
        checksum.update(_label(name, kind, shape))
        checksum.update(data)
        if keep:
            torch = _torch()
            dtype = getattr(torch, kind)
            flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
            tensors[name] = flat.reshape(shape)
    if checksum.hexdigest() != metadata["sha256"]:
        got = "changed or damaged content"
        raise fail(str(path), "content that fits its checksum", got, AGAIN)
    return Kept(_words(metadata["words"], path), metadata["sha256"], tensors)


def _header(file: BinaryIO) -> dict[str, Any]:
    length = int.from_bytes(file.read(8), "little")
    if length > _MOST_HEADER:
        raise ValueError("no header")
    header: dict[str, Any] = json.loads(file.read(length))
    return header


def _words(text: str, path: Path) -> dict[str, Any]:
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, dict):
        raise fail(str(path), "words that are a JSON object", "others", AGAIN)
    return words


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say in one line that a header is none, unless the error says it of the file already."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        if str(error).startswith(str(path)):
            raise
        got = "a damaged or truncated file"
        raise fail(str(path), "a safetensors file", got, AGAIN) from None


def _checksum(words: str) -> hashlib._Hash:
    """The SHA-256 of words, to which tensors are added in the order of their names."""
    return hashlib.sha256(f"{FORMAT} {len(words.encode())}:{words}".encode())


def _label(name: str, kind: str, shape: tuple[int, ...]) -> bytes:
    """What the checksum takes in before a tensor's bytes; types are written as torch does."""
    return f"{len(name.encode())}:{name} torch.{kind} {shape}:".encode()


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        remedy = install_extra("empirical")
        raise ImportError(f"tensors on disk need torch; {remedy}") from None
    return torch


# The last two checkpoints of one run -------------------------------------------------------------


def _clock() -> Clock:
    from exact.checkpoint import Clock  # loads scipy, which reading needs not

    return Clock(time.monotonic())


@dataclass
class Generations:
    """The last two checkpoints of one run.

    Parameters
    ----------
    path
        Where they are, as ``PATH.0.safetensors`` and ``PATH.1.safetensors``.
    fingerprint
        Of everything that the run follows from (`exact.checkpoint.fingerprint`); files of another
        fingerprint are not read, and are written over.
    notice
        Told, in one sentence each, of files that could not be used.
    """

    path: Path
    fingerprint: str
    notice: Callable[[str], None] | None = None
    clock: Clock = field(default_factory=_clock)
    _newest: int | None = field(default=None, init=False)

    @property
    def slots(self) -> tuple[Path, Path]:
        """The two files."""
        name = self.path.name
        first, second = (self.path.with_name(f"{name}.{slot}.safetensors") for slot in (0, 1))
        return first, second

    @property
    def newest(self) -> Path | None:
        """The file that was written, or read, last."""
        return None if self._newest is None else self.slots[self._newest]

    def load(self) -> Kept | None:
        """The newest checkpoint that is whole and of this run; None if there is none.

        Its words have the key ``done`` besides those it was saved with.
        """
        for path in self.slots:
            remove_leftovers(path)
        there = [slot for slot, path in enumerate(self.slots) if path.exists()]
        of = {"fingerprint": self.fingerprint}
        every = {slot: usable(self.slots[slot], of, self.notice) for slot in there}
        found = {slot: kept for slot, kept in every.items() if kept is not None}
        if not found:
            return None
        self._newest = max(found, key=lambda slot: int(found[slot].words["done"]))
        kept = found[self._newest]
        if len(found) < len(there) and self.notice is not None:
            used = self.slots[self._newest]
            self.notice(f"{used}: used instead, of round {kept.words['done']}")
        return kept

    def due(self) -> bool:
        """Whether it is time: 10 s after the last one, and 20 times what writing it took."""
        return self.clock.due(time.monotonic())

    def save(self, done: int, tensors: Mapping[str, Tensor], words: Mapping[str, Any]) -> None:
        """Keep the state after `done` rounds, over the older of the two.

        Raises
        ------
        ValueError
            If it cannot be written; in one line.
        """
        begin = time.monotonic()
        done = as_integer("done", done, minimum=0)
        slot = 0 if self._newest is None else 1 - self._newest
        content = {**words, "done": done, "fingerprint": self.fingerprint}
        save_tensors(self.slots[slot], tensors, content)
        if self._newest is None:
            # What an earlier run left there is of more rounds than this one has.
            self.slots[1].unlink(missing_ok=True)
        self._newest = slot
        self.clock.wrote(begin, time.monotonic())

    def remove(self) -> None:
        """Delete both files, and what a killed run left half-written beside them."""
        for path in self.slots:
            path.unlink(missing_ok=True)
            remove_leftovers(path)
        self._newest = None
