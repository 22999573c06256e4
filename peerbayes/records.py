"""What a run leaves on disk: one JSON file with a checksum, written whole or not at all.

``{"format": "peerbayes-record", "version": 1, "kind": …, "of": …, "sha256": …, "body": …}``

The checksum is that of all other keys, in canonical JSON (sorted keys, no spaces). JSON has no
NaN and no infinity: both are written as null. Fractions are written as strings.

``of`` says what a record is of: problem, settings and seed. A record takes the place of one of the
same, and of no other (:class:`RecordPlace`). Names of files are readable, and different for
different things (:func:`file_name`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import secrets
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path, PurePath
from typing import Any

from pydantic import BaseModel

from exact.whole_files import open_regular, read_regular, replacing
from peerbayes.messages import shorten
from theory.validation import fail

_log = logging.getLogger(__name__)
_REMEDY = "choose another folder with --out"
_AGAIN = "write it again, by repeating the run with --force"
_WANTED = "a record written by peerbayes"
_ATTEMPTS = 20  # at making a folder that others make and take away meanwhile
FORMAT = "peerbayes-record"
VERSION = 1
# Letters of a setting that is written out where two records differ in it.
_WORD = 30


@dataclass(frozen=True, eq=False)
class Record:
    """A record as read back: its kind (the command that made it), body, version and checksum.

    `of` is what it is of; None where it does not say.
    """

    kind: str
    body: Any
    version: int
    sha256: str
    path: Path
    of: Mapping[str, Any] | None = None


def plain(value: object) -> Any:
    """The value as JSON takes it: arrays as lists, fractions as strings, NaN and ±∞ as None.

    Documents become mappings of their keys.

    Raises
    ------
    TypeError
        If something has no JSON form, or a key of a mapping is no string.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"rates": np.array([0.5, np.inf]), "share": Fraction(1, 3)})
    {'rates': [0.5, None], 'share': '1/3'}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Fraction | PurePath):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json"))
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a record's keys are strings, not {key!r}")
        return {key: plain(entry) for key, entry in value.items()}
    import numpy as np  # not needed where there are no arrays

    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    raise TypeError(f"a record cannot hold {type(value).__name__}")


def write_record(
    path: str | Path,
    *,
    kind: str,
    body: object,
    of: Mapping[str, Any] | None = None,
    indent: int = 1,
) -> Path:
    """Write a record so that `path` holds either all of it or what it held before.

    The folder is made if need be. With an `indent` of 0 the body is one line.

    Raises
    ------
    ValueError
        If the folder or the file cannot be written; in one line.
    """
    path = Path(path)
    separators = None if indent else (",", ":")
    text = json.dumps(
        sealed(kind, body, of=of),
        indent=indent or None,
        separators=separators,
        ensure_ascii=False,
        allow_nan=False,
    )
    text += "\n"
    write_whole(path, text)
    _log.info("record of %s: %s", kind, path)
    return path


def sealed(kind: str, body: object, *, of: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A record as JSON takes it, with its checksum."""
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "kind": kind}
    if of is not None:
        head["of"] = plain(of)
    content = plain(body)
    return {**head, "sha256": checksum({**head, "body": content}), "body": content}


@dataclass(frozen=True, eq=False)
class RecordPlace:
    """Where a record is to go, and what it is of: no record of anything else is lost there.

    Parameters
    ----------
    path, kind
        The file, and the command that writes it.
    of
        What tells it from others: problem, settings and seed. Under the key ``parts`` stand names
        of what it holds; a record that holds more of the same may take its place.
    force
        Whether it takes the place of whatever is there.
    """

    path: Path
    kind: str
    of: Mapping[str, Any]
    force: bool = False

    def check(self) -> None:
        """See, before anything takes long, that the record can be written.

        Raises
        ------
        ValueError
            If the folder cannot be written, or the place is taken; in one line.
        """
        check_folder(self.path.parent)
        got = self.taken()
        if got:
            wanted = f"no record, or one of the same {'problem, ' * ('problem' in self.of)}settings"
            remedy = f"{_REMEDY}, or replace it with --force"
            raise fail(str(self.path), f"{wanted} and seed", got, remedy)

    def taken(self) -> str:
        """What is there and is not to be lost, in a few words; empty if there is nothing."""
        if self.force or not os.path.lexists(self.path):
            return ""
        try:
            old = read_record(self.path)
        except ValueError:
            return "a file that is no whole record"
        if old.kind != self.kind:
            return f"a record of {shorten(old.kind)!r}"
        if old.of is None:
            return "one that does not say what it is of"
        return _difference(old.of, plain(self.of))

    def write(self, body: object, *, indent: int = 1) -> Path:
        """Write the record, beside one of others that was written since, and return its path."""
        path = _free(self.path) if self.taken() else self.path
        return write_record(path, kind=self.kind, of=self.of, body=body, indent=indent)


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """What tells a record from the one that is to take its place; empty if nothing does."""
    lost = [part for part in old.get("parts", ()) if part not in new.get("parts", ())]
    names = [name for name in {**old, **new} if name != "parts" and old.get(name) != new.get(name)]
    words = [f"with {shorten(', '.join(map(str, lost)))} besides"] if lost else []
    for name in names:
        one, other = old.get(name), new.get(name)
        short = not any(isinstance(v, dict | list) or len(str(v)) > _WORD for v in (one, other))
        other_one = f"another {name}" if name == "problem" else f"other {name}"
        words.append(f"of {name} {one} (not {other})" if short else f"of {other_one}")
    return "one " + ", ".join(words) if words else ""


def set_aside(path: Path) -> Path | None:
    """Rename what stands at `path`: to ``NAME-1.json``, or with the next number that is free.

    Returns
    -------
    Path | None
        Where it is now; None if there is no file.

    Raises
    ------
    ValueError
        If it cannot be renamed; in one line.
    """
    if not path.is_file():
        return None
    free = _free(path)
    try:
        path.rename(free)
    except OSError as error:
        raise unwritable(free, "a file", error) from None
    return free


def _free(path: Path) -> Path:
    names = (path.with_stem(f"{path.stem}-{number}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))


def write_whole(path: Path, text: str, *, remedy: str = _REMEDY) -> None:
    """Replace `path` by a file with this text in one step, its folder made if need be.

    `remedy` is what to do if that cannot be.

    Raises
    ------
    ValueError
        If the folder or the file cannot be written; in one line.
    """
    content = text.encode("utf-8")
    try:
        with replacing(path) as file:
            file.write(content)
    except (OSError, ValueError) as error:
        # ValueError: a name with a null character.
        raise unwritable(path, "a file", error, remedy=remedy) from None


def check_folder(folder: Path, *, remedy: str = _REMEDY) -> None:
    """Make the folder, write into it, and undo both: found out before a run, not after it.

    `remedy` is what to do if that cannot be.

    Raises
    ------
    ValueError
        If records cannot be written there; in one line.
    """
    try:
        for attempt in range(_ATTEMPTS):
            try:
                return _try_folder(folder)
            except FileNotFoundError:  # another run has taken away what it had made to see the same
                if attempt == _ATTEMPTS - 1:
                    raise
    except (OSError, ValueError) as error:
        # ValueError: a name with a null character.
        raise unwritable(folder, "a folder", error, remedy=remedy) from None


def _try_folder(folder: Path) -> None:
    made: list[Path] = []
    try:
        absent = [place for place in (folder, *folder.parents) if not place.exists()]
        for place in reversed(absent):
            with suppress(FileExistsError):  # another run has made it
                place.mkdir()
                made.append(place)
        probe = folder / f".{secrets.token_hex(8)}"
        probe.touch(exist_ok=False)
        probe.unlink()
    finally:
        for place in reversed(made):
            # Another run may have begun to write there.
            with suppress(OSError):
                place.rmdir()


@contextmanager
def resumable(
    left: Sequence[Path], *, resume: bool, say: Callable[[str], None] | None
) -> Iterator[None]:
    """Say what a killed run left in these files; and how to go on, if this one is interrupted."""
    say = say or (lambda line: None)
    there = [path for path in left if path.exists()]
    if there and not resume:
        say(f"{there[0]}: left by a killed run; starting afresh (--resume goes on)")
    if resume and not there:
        say("nothing to resume: starting from the beginning")
    try:
        yield
    except KeyboardInterrupt:
        if kept := [path for path in left if path.exists()]:
            say(f"{kept[0]}: kept; the same command with --resume goes on from there")
        raise


def unwritable(
    path: Path, what: str, error: OSError | ValueError, *, remedy: str = _REMEDY
) -> ValueError:
    """The error that a file or a folder cannot be written, in one line; the caller raises it."""
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    return fail(shorten(str(path), length=200), f"{what} that can be written", reason, remedy)


def read_record(path: str | Path) -> Record:
    """Read a record back and verify its checksum.

    Raises
    ------
    ValueError
        In one line, if the file cannot be read, is truncated or changed, is no record, or is not
        of this version.
    """
    path = Path(path)
    source = str(path)
    try:
        text = read_regular(path)
    except FileNotFoundError:
        raise fail(source, _WANTED, "no such file", "correct the path") from None
    except IsADirectoryError:
        raise fail(source, _WANTED, "a directory", "name the record inside it") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise fail(source, _WANTED, reason, "correct the path or its permissions") from None
    return parse_record(text, path)


def parse_record(text: bytes, path: Path, *, place: str = "", again: str = _AGAIN) -> Record:
    """Verify the text of a record: the whole of a file, or a `place` in it, such as ``line 7``.

    `again` is what to do about a damaged one.

    Raises
    ------
    ValueError
        As :func:`read_record`, if the text is damaged or changed.
    """
    source = f"{path}, {place}" if place else str(path)
    try:
        content = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise fail(source, _WANTED, "a damaged or truncated file, or no JSON", again) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise fail(source, _WANTED, "another JSON file", "name a file from the --out folder")
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise fail(source, f"version {VERSION}", shorten(repr(version)), again)
    if version > VERSION:
        raise fail(source, f"version {VERSION} or older", version, "upgrade peerbayes")
    if version != VERSION:
        raise fail(source, f"version {VERSION}", version, again)
    missing = [key for key in ("kind", "sha256", "body") if key not in content]
    if missing:
        raise fail(source, f"the key {missing[0]!r}", "none", again)
    if not isinstance(content["kind"], str) or not content["kind"]:
        raise fail(source, "a kind that is text", shorten(repr(content["kind"])), again)
    sha256 = content.pop("sha256")
    if sha256 != checksum(content):
        raise fail(source, "content that fits its checksum", "changed or damaged content", again)
    return Record(content["kind"], content["body"], version, sha256, path, content.get("of"))


def find_records(folder: Path, *, kind: str, also: Sequence[str] = ()) -> list[Path]:
    """The records of one kind, and of those in `also`, in a folder, in the order of their names.

    Raises
    ------
    ValueError
        If there are none, or a record of that folder is damaged.
    """
    candidates = [path for path in sorted(folder.glob("*.json")) if _names_format(path)]
    paths = [path for path in candidates if read_record(path).kind in {kind, *also}]
    if not paths:
        raise fail(
            str(folder), f"records of 'peerbayes {kind}'", "none", f"run 'peerbayes {kind}' first"
        )
    return paths


def _names_format(path: Path) -> bool:
    """Whether a file opens like a record: a folder may hold other JSON files too."""
    try:
        with open_regular(path) as file:
            return FORMAT.encode("ascii") in file.read(200)
    except OSError:
        return False


def checksum(content: object) -> str:
    """The SHA-256 of a value's canonical JSON: sorted keys, no spaces, escaped to ASCII.

    Examples
    --------
    >>> checksum({"b": 1, "a": [0.5]}) == checksum({"a": [0.5], "b": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


# Names of records on disk ------------------------------------------------------------------------

# Bytes. Most file systems take 255; a temporary file's name is a little longer.
_LONGEST = 200


def file_name(*parts: object) -> str:
    r"""A name for a record: readable, and another one for other parts.

    Letters and digits of any script stay, where the file system takes them; everything else
    becomes a hyphen. Where that loses something, the name ends with the beginning of a checksum of
    what was lost, unless the part is a name of this program's own, which are all different.

    >>> file_name("simulate", "p2-star a=0.5", "seed", 1)
    'simulate-p2-star-a-0.5-seed-1.json'
    >>> file_name("simulate", "my coins"), file_name("simulate", "my=coins")
    ('simulate-my-coins-8cdc43f4.json', 'simulate-my-coins-79862a85.json')
    """
    words = "-".join(map(_as_word, map(str, parts)))
    if len(os.fsencode(words)) > _LONGEST:
        cut = os.fsencode(words)[: _LONGEST - 9].decode(errors="ignore").rstrip("-.")
        words = f"{cut}-{_mark(words)}"
    return words + ".json"


def _as_word(part: str) -> str:
    """A part of a name, one-to-one but for checksums that agree by chance."""
    kept = unicodedata.normalize("NFC", part)
    kept = "".join(c if c in "._" or unicodedata.category(c)[0] in "LMN" else "-" for c in kept)
    if sys.getfilesystemencoding() != "utf-8":
        kept = re.sub(r"[^ -~]", "-", kept)
    kept = re.sub("-+", "-", kept).strip("-.")
    own = _own_words()
    seedless = re.sub(" seed [0-9]+$", " seed 0", part)
    if seedless in own:
        return kept
    looks_own = re.sub("-seed-[0-9]+$", "-seed-0", kept) in own.values()
    looks_marked = re.search("-[0-9a-f]{8}$", kept)
    if kept and kept == part and not looks_own and not looks_marked:
        return kept
    return f"{kept}-{_mark(part)}".lstrip("-")


@cache
def _own_words() -> Mapping[str, str]:
    """The program's own names that are no words as they are: of problems, experiments and parts.

    Each with the word that it becomes; no two become the same. They are listed in a file, so that
    names on disk do not depend on what has been imported.
    """
    from importlib import resources

    names = resources.files(__package__).joinpath("record_names.txt").read_text(encoding="utf-8")
    words = {name: re.sub("[ =]", "-", name) for name in names.splitlines()}
    return {name: word for name, word in words.items() if name != word}


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
