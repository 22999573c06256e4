"""A file that one process holds: two runs of one thing in one folder do not collide."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exact.whole_files import HAS_LOCKS, NO_LINKS, lock

# Seconds between two tries; somebody may only be asking whether a file is held.
_PAUSE = 0.01


class Held(Exception):  # noqa: N818  # it says what is the case
    """Another process holds the file."""


@contextmanager
def held(path: Path, *, patience: float = 0.1) -> Iterator[None]:
    """Hold a file, made if need be, while the block runs, and delete it afterwards.

    The operating system lets go of it when the process ends, however it ends. Links are not
    followed. Where the system has no such locks (``fcntl``), nothing is held.

    Raises
    ------
    Held
        If another process holds it for `patience` seconds.
    OSError
        If the file cannot be opened, or is a link.
    """
    if not HAS_LOCKS:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _taken(path, patience)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether another process holds the file at this moment."""
    if not HAS_LOCKS:
        return False
    try:
        descriptor = os.open(path, os.O_RDWR | NO_LINKS)
    except OSError:
        return False
    try:
        # Shared, so that those who ask do not stop each other.
        return not lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _taken(path: Path, patience: float) -> int:
    """The descriptor of the file, locked, and still the one that the name leads to."""
    until = time.monotonic() + patience
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o644)
        if not lock(descriptor):
            os.close(descriptor)
            if time.monotonic() > until:
                raise Held(str(path))
            time.sleep(_PAUSE)
            continue
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False)):
                return descriptor
        # Whoever held it has deleted it in between.
        os.close(descriptor)
