"""Whether a file of the user's own hides a package that peerbayes is made of."""

import os
import sys
from importlib.util import find_spec

_PACKAGES = ("theory", "exact", "empirical")


def refuse_hidden_packages() -> None:
    """Say in one line which file Python finds in place of a package beside this one.

    A command ends with exit code 2.

    Raises
    ------
    ImportError
        If it finds one, as in a folder with a ``theory.py``.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in _PACKAGES:
        place = _place(name)
        if place is None or _is_same(os.path.dirname(os.path.dirname(place)), home):
            continue
        line = (
            f"peerbayes: expected its own package {name!r}, got {place}, which Python finds first; "
            "rename that, or run in another folder"
        )
        if _is_command():
            sys.stderr.write(f"{line}\n")
            raise SystemExit(2)
        raise ImportError(line, name=name, path=place)


def _place(name: str) -> str | None:
    """The file that an import of this name reads; None where that cannot be told."""
    try:
        spec = find_spec(name)
    except ValueError:  # a module that was imported already, and does not say from where
        return getattr(sys.modules[name], "__file__", None)
    return None if spec is None or not spec.has_location else spec.origin


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return one == other


def _is_command() -> bool:
    """Whether ``peerbayes`` or ``python -m peerbayes`` is being started."""
    started = sys.argv[:1] or [""]
    as_module = started == ["-m"] and "peerbayes" in sys.orig_argv
    return as_module or os.path.basename(started[0]) in ("peerbayes", "peerbayes.exe")
