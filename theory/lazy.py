"""Packages that show names of their modules without importing them before they are used.

Such a package imports what it shows for the type checker alone, and ends

    if TYPE_CHECKING:
        from theory.network.network import Network as Network
    else:
        show_lazily(__name__)

Those import statements say what it shows, and where each name lives, to this module as to the type
checker; one that lists what it shows in `__all__` may leave out ``as``.
"""

from __future__ import annotations

import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def homes(path: str, *, shown_by: str = "") -> dict[str, str]:
    """For each name that a source file imports, also for the type checker alone, its module.

    With `shown_by`, a package, only what that package shows: ``Network as Network``, of elsewhere.
    """
    import ast  # not needed where nothing is asked for

    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != shown_by
        for alias in node.names
        if not shown_by or (alias.asname == alias.name and not alias.name.startswith("_"))
    }


class _LazyPackage(ModuleType):
    """A package whose shown names are imported when they are first asked for."""

    @cached_property
    def _homes(self) -> dict[str, str]:
        """For each name that the package imports, the module that has it."""
        return homes(str(self.__file__))

    @cached_property
    def __all__(self) -> list[str]:
        """What the package shows where it has no list of its own: what it imports as itself."""
        return [*homes(str(self.__file__), shown_by=self.__name__)]

    def __getattr__(self, name: str) -> Any:
        if name in self.__all__:
            value = getattr(import_module(self._homes[name]), name)
        else:
            value = self._module(name)
        self.__dict__[name] = value
        return value

    def _module(self, name: str) -> ModuleType:
        """One of the package's modules, by its name alone."""
        path = f"{self.__name__}.{name}"
        if not name.startswith("_"):
            try:
                return import_module(path)
            except ModuleNotFoundError as error:
                if error.name != path:
                    raise
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        # Importing a module makes it an attribute of its package: where a function has the name of
        # its module, the package shows the function.
        if not (isinstance(value, ModuleType) and name in self.__all__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self.__all__})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, also by cloudpickle, and copied by name, as any other module."""
        return import_module, (self.__name__,)


def show_lazily(package: str) -> None:
    """From now on the package imports each name of its `__all__` when it is first asked for."""
    sys.modules[package].__class__ = _LazyPackage


class _Later:
    """A package that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        self.__dict__[name] = value
        return value


def later(name: str) -> Any:
    """A package by its name, imported when it is first used: what needs no arrays needs no numpy.

    For the type checker it is imported as ever::

        if TYPE_CHECKING:
            import numpy as np
        else:
            np = later("numpy")
    """
    return _Later(name)
