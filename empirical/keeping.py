"""Training on disk: tensors in safetensors files, checksummed, written whole or not at all.

A file is plain safetensors, which any program can read, with two texts in its metadata: ``words``,
JSON that says what the tensors are, and ``sha256``, over the words and every tensor's name, type,
shape and bytes (:mod:`empirical.tensor_files`). Nothing is pickled. An unfinished run keeps its
last two checkpoints in two files and always writes over the older: while the newest is written, or
if it is damaged afterwards, the one before is whole.

This module needs torch and safetensors: in a checkout,
``pip install -c constraints.txt '.[empirical]'``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from empirical.tensor_files import (
    AGAIN,
    FORMAT,
    RawTensor,
    as_words,
    changed,
    check_metadata,
    checksum,
    save_file,
)
from exact.checkpoint import Clock
from exact.whole_files import remove_leftovers, replacing
from theory.validation import as_integer, fail, install_extra

try:
    import torch
    from safetensors import SafetensorError, safe_open
    from torch import Tensor
except ModuleNotFoundError:
    raise ImportError(
        f"tensors on disk need torch and safetensors; {install_extra('empirical')}"
    ) from None

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Kept:
    """A file as read back.

    Attributes
    ----------
    tensors
        By name, on the CPU.
    words
        What was said of them.
    sha256
        Of both.
    """

    tensors: dict[str, Tensor]
    words: dict[str, Any]
    sha256: str


def save_tensors(path: Path, tensors: Tensors, words: Mapping[str, Any]) -> str:
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
        If the folder or the file cannot be written; in one line.
    """
    raw = {name: _raw(tensor) for name, tensor in tensors.items()}
    text = json.dumps(words, separators=(",", ":"), allow_nan=False)
    sha256 = checksum(raw, text)
    try:
        with replacing(path) as file:
            save_file(raw, file, metadata={"format": FORMAT, "words": text, "sha256": sha256})
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise fail(
            str(path), "a file that can be written", reason, "choose another folder"
        ) from None
    return sha256


def load_tensors(path: Path) -> Kept:
    """Read a file back and verify its checksum.

    Raises
    ------
    ValueError
        In one line, if it cannot be read, is truncated or changed, or is none of ours.
    """
    if not path.is_file():
        raise fail(str(path), "a safetensors file", "no such file", "correct the path")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        reason = f"a damaged or truncated file ({' '.join(str(error).split())[:80]})"
        raise fail(str(path), "a safetensors file", reason, AGAIN) from None
    check_metadata(metadata, path)
    raw = {name: _raw(tensor) for name, tensor in tensors.items()}
    if checksum(raw, metadata["words"]) != metadata["sha256"]:
        raise changed(path)
    return Kept(tensors, as_words(metadata["words"], path), metadata["sha256"])


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
    clock: Clock = field(default_factory=lambda: Clock(time.monotonic()))
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
        found: dict[int, Kept] = {}
        refused: list[Path] = []
        for path in self.slots:
            remove_leftovers(path)
        for slot, path in enumerate(self.slots):
            if not path.exists():
                continue
            try:
                kept = load_tensors(path)
            except ValueError as error:
                refused.append(path)
                self._say(str(error))
                continue
            if kept.words.get("fingerprint") == self.fingerprint:
                found[slot] = kept
            else:
                self._say(f"{path}: not used, for it is of other settings")
        if not found:
            return None
        self._newest = max(found, key=lambda slot: int(found[slot].words["done"]))
        kept = found[self._newest]
        if refused:
            self._say(f"{self.slots[self._newest]}: used instead, of round {kept.words['done']}")
        return kept

    def due(self) -> bool:
        """Whether it is time: 10 s after the last one, and 20 times what writing it took."""
        return self.clock.due(time.monotonic())

    def save(self, done: int, tensors: Tensors, words: Mapping[str, Any]) -> None:
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

    def _say(self, sentence: str) -> None:
        if self.notice is not None:
            self.notice(sentence)


def _raw(tensor: Tensor) -> RawTensor:
    """The tensor's bytes: in its own memory if it lies there in one piece, on the CPU."""
    plain = tensor.detach().to("cpu").contiguous()
    data = plain.reshape(-1).view(torch.uint8).numpy().data if plain.numel() else b""
    return RawTensor(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), data)
