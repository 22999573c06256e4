"""A torch module that a function of the user's own file returns."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from peerbayes.messages import guessed, shorten
from theory.validation import fail


def own_module(path: Path, function: str) -> Any:
    """What a function in a Python file returns, called without arguments.

    The file is run: it is code of the user's own, as trusted as any script. While it runs, and the
    function with it, files beside it can be imported.

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


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Let files beside this one be imported."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


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
