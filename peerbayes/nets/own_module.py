"""A torch module that a function of the user's own file returns."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from peerbayes.messages import guessed, shorten
from theory.validation import fail


@dataclass
class _Loaded:
    """The file of the user's own that was run last.

    Attributes
    ----------
    path
        The file, resolved.
    module
        What running it gave.
    imported
        Modules that it imported from beside it, with the SHA-256 of their files.
    """

    path: Path = Path()
    module: ModuleType = field(default_factory=lambda: ModuleType("none"))
    imported: dict[str, str] = field(default_factory=dict)

    def leave(self, path: Path) -> None:
        """Forget what another file imported, or what has changed: it is imported afresh."""
        kept = all(_digest(sys.modules.get(name)) == mark for name, mark in self.imported.items())
        if path != self.path or not kept:
            for name in self.imported:
                sys.modules.pop(name, None)
            self.imported.clear()
        self.path = path


_LOADED = _Loaded()


def own_module(path: Path, function: str) -> Any:
    """What a function in a Python file returns, called without arguments.

    The file is run: it is code of the user's own, as trusted as any script. While it runs, and the
    function with it, files beside it can be imported, whatever was imported of their names before.

    Raises
    ------
    ValueError
        If there is no such file or function, or either raises an error: the line says which, and
        where in the file.
    """
    if not path.is_file():
        raise fail(str(path), "a Python file", "none of that name", "correct the path")
    name = f"_own_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    _LOADED.leave(path.resolve())
    _LOADED.module = module
    with _beside(path), _explained(path, "a file that can be imported"):
        sys.modules[name] = module
        specification.loader.exec_module(module)
    build = getattr(module, function, None)
    if not callable(build):
        words = [word for word in vars(module) if callable(getattr(module, word))]
        remedy = guessed(function, words, otherwise="define it")
        got = "none" if build is None else type(build).__name__
        raise fail(str(path), f"a function {function!r}", got, remedy)
    with _beside(path), _explained(path, f"{function}() to return a torch module"):
        return build()


def imported_by(path: Path) -> tuple[Path, ...]:
    """What a file that :func:`own_module` has run last imported from beside it, or from folders
    there; in order.
    """
    own = path.resolve()
    assert own == _LOADED.path
    names = {*_LOADED.imported, *_reached(_LOADED.module, own.parent)}
    files = {_file_of(sys.modules.get(name)) for name in names}
    return tuple(sorted(file for file in files if file is not None and file != own))


def _file_of(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()


def _is_beside(module: ModuleType | None, folder: Path) -> bool:
    """Whether a module is a file in a folder or below it, and not an installed one."""
    file = _file_of(module)
    if file is None or not file.is_relative_to(folder):
        return False
    return not {"site-packages", "dist-packages"}.intersection(file.relative_to(folder).parts)


def _digest(module: ModuleType | None) -> str:
    file = _file_of(module)
    if file is None or not file.is_file():
        return ""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _reached(module: ModuleType, folder: Path) -> set[str]:
    """Modules beside the file that it holds, or whose functions or classes, and what those hold.

    They may have been imported before, by the user's own script.
    """
    found: set[str] = set()
    left = [module]
    while left:
        for value in list(vars(left.pop()).values()):
            home = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", "")
            there = sys.modules.get(home) if isinstance(home, str) else None
            if home in (*found, "__main__") or there is None or not _is_beside(there, folder):
                continue
            found.add(home)
            left.append(there)
    return found


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Let files beside this one be imported, as they are now: no bytecode is kept of them."""
    folder, kept, before = path.resolve().parent, sys.dont_write_bytecode, set(sys.modules)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = kept
        for name in set(sys.modules) - before:
            if _is_beside(sys.modules[name], folder) and name != f"_own_{path.stem}":
                _LOADED.imported[name] = _digest(sys.modules[name])


@contextmanager
def _explained(path: Path, wanted: str) -> Iterator[None]:
    """Say in one line what went wrong in the user's code, and where."""
    try:
        yield
    except (Exception, SystemExit) as error:  # whatever the user's code raises
        frames = traceback.extract_tb(error.__traceback__)
        own = [f.lineno for f in frames if Path(f.filename).resolve() == path.resolve()]
        line = error.lineno if isinstance(error, SyntaxError) else (own[-1] if own else None)
        where = "" if line is None else f", line {line}"
        got = f"{type(error).__name__} ({shorten(str(error), length=120)})"
        raise fail(f"{path}{where}", wanted, got, "correct the function") from None
