"""A torch module that a function of the user's own file returns."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from peerbayes.messages import guessed, shorten
from theory.validation import fail


@dataclass(frozen=True, eq=False)
class OwnFunction:
    """A function of the user's own file, which returns a torch module.

    Attributes
    ----------
    path
        The file.
    module
        What running it gave.
    name
        The function's.
    before
        Names of the modules that were there before.
    """

    path: Path
    module: ModuleType
    name: str
    before: frozenset[str]

    def __call__(self) -> Any:
        """What the function returns, called without arguments.

        Raises
        ------
        ValueError
            If it raises an error: the line says where in the file.
        """
        with _beside(self.path), _explained(self.path, f"{self.name}() to return a torch module"):
            return getattr(self.module, self.name)()

    @property
    def imported(self) -> tuple[Path, ...]:
        """The files beside this one, or in folders there, that it imported until now, in order."""
        folder = self.path.resolve().parent
        names = {*_new_names(self.before, folder), *_reached(self.module, folder)}
        files = {_file_of(sys.modules.get(name)) for name in names}
        return tuple(sorted(file for file in files if file and file != self.path.resolve()))


# Modules that files of the user's own have imported from beside them: the next one imports afresh.
_IMPORTED: set[str] = set()


def own_function(path: Path, function: str) -> OwnFunction:
    """A function in a Python file.

    The file is run: it is code of the user's own, as trusted as any script. While it runs, and the
    function with it, files beside it can be imported, whatever was imported of their names before.

    Raises
    ------
    ValueError
        If there is no such file or function, or running it raises an error: the line says which,
        and where in the file.
    """
    if not path.is_file():
        raise fail(str(path), "a Python file", "none of that name", "correct the path")
    name = f"_own_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    while _IMPORTED:
        sys.modules.pop(_IMPORTED.pop(), None)
    before = frozenset(sys.modules)
    with _beside(path), _explained(path, "a file that can be imported"):
        sys.modules[name] = module
        specification.loader.exec_module(module)
    build = getattr(module, function, None)
    if not callable(build):
        words = [word for word in vars(module) if callable(getattr(module, word))]
        remedy = guessed(function, words, otherwise="define it")
        got = "none" if build is None else type(build).__name__
        raise fail(str(path), f"a function {function!r}", got, remedy)
    return OwnFunction(path, module, function, before)


def _file_of(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()


def _is_beside(module: ModuleType | None, folder: Path) -> bool:
    """Whether a module is a file in a folder or below it, and not an installed one."""
    file = _file_of(module)
    if file is None or not file.is_relative_to(folder):
        return False
    return not {"site-packages", "dist-packages"}.intersection(file.relative_to(folder).parts)


def _new_names(before: Collection[str], folder: Path) -> set[str]:
    return {
        name
        for name, module in list(sys.modules.items())
        if name not in before and _is_beside(module, folder)
    }


def _reached(module: ModuleType, folder: Path) -> set[str]:
    """Modules beside the file that it holds, or whose functions or classes, and what those hold.

    They may have been imported before, by the user's own script.
    """
    found: set[str] = set()
    left = [module]
    while left:
        for value in list(vars(left.pop()).values()):
            home = value.__name__ if isinstance(value, ModuleType) else _home(value)
            there = sys.modules.get(home)
            if home in (*found, "__main__") or there is None or not _is_beside(there, folder):
                continue
            found.add(home)
            left.append(there)
    return found


def _home(value: object) -> str:
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else ""


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
        _IMPORTED.update(_new_names(before, folder))


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
