"""Files that are written whole or not at all.

A file is written under a name of its own beside its place, and takes that place in one step when it
is complete and on disk. Its permissions follow the process's umask, as those of any new file. What
a killed process left half-written is deleted when the same file is written again; a name that is
being written is locked, so that nobody takes it for such a left-over.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

# Most file systems take 255 bytes; a temporary name is a little longer than the one it is for.
_LONGEST = 200
MOST_BYTES = 1 << 30
"""The largest file that is read into memory as a whole."""
HAS_LOCKS = find_spec("fcntl") is not None
"""Whether the system lets a process lock a file (``fcntl``)."""
_CLOSED: int = getattr(os, "O_CLOEXEC", 0)
NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0) | _CLOSED
"""Flags of `os.open`: links are not followed, and the file is closed in other programs."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file, open for writing, that replaces `path` at the end of the block.

    The folder is made if need be. If the block raises, `path` stays what it was. A link at `path`
    is replaced, not followed.

    Raises
    ------
    OSError
        If the folder or the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    temporary, file = _opened(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not HAS_LOCKS:  # such systems rename no open files
                file.close()
            # Within, while the lock says that it is no left-over.
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def open_regular(path: Path) -> BinaryIO:
    """A file, open for reading: no pipe or device, which might never end.

    Raises
    ------
    OSError
        If it cannot be opened, or is no regular file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _CLOSED
    descriptor = os.open(path, flags)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "a directory", str(path))
        raise OSError(errno.EINVAL, "a pipe or a device", str(path))
    return open(descriptor, "rb")


def read_regular(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """All of a regular file of at most so many bytes.

    Raises
    ------
    OSError
        As :func:`open_regular`, or if it is larger.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(most + 1) if size <= most else b""
    if max(size, len(content)) > most:
        raise OSError(errno.EFBIG, f"more than {most >> 20} MiB", str(path))
    return content


def remove_leftovers(path: Path) -> None:
    """Delete what killed processes left half-written beside `path`; what is being written stays."""
    for left in _leftovers(path):
        with suppress(OSError):
            descriptor = os.open(left, os.O_RDWR | NO_LINKS)
            try:
                if lock(descriptor):
                    left.unlink()
            finally:
                os.close(descriptor)


def _leftovers(path: Path) -> list[Path]:
    start = f".{_short(path.name)}."
    with suppress(OSError), os.scandir(path.parent) as entries:
        return [
            Path(entry.path)
            for entry in entries
            if entry.name.startswith(start)
            and _is_mark(entry.name[len(start) :])
            and entry.is_file(follow_symlinks=False)
        ]
    return []


def _is_mark(text: str) -> bool:
    return len(text) == 8 and set(text) <= set("0123456789abcdef")


def _opened(path: Path) -> tuple[Path, BinaryIO]:
    """A new file beside `path`, locked where the system has locks."""
    while True:
        temporary = path.with_name(f".{_short(path.name)}.{secrets.token_hex(4)}")
        try:
            file = temporary.open("xb")
        except FileExistsError:
            continue
        lock(file.fileno())
        # Between the two lines above it may have been taken for a left-over.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.lstat(temporary)):
                return temporary, file
        file.close()


def _short(name: str) -> str:
    """The name, or as much of it as leaves room for more."""
    return name.encode("utf-8", "surrogateescape")[:_LONGEST].decode("utf-8", "ignore")


def lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed; False if another process holds it.

    A `shared` lock goes with others of its kind. Where the system has no such locks
    (`HAS_LOCKS`), nothing is held.
    """
    if not HAS_LOCKS:
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
