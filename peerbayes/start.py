"""How the program begins and ends.

It begins only if no file of the user's own hides a package that peerbayes is made of. Told to end,
a command does so in order, silently, without leaving anybody at work.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType

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


# How a command ends when it is told to -----------------------------------------------------------


class Terminated(BaseException):
    """The process was asked to end: by ``kill``, or because its terminal is gone.

    Attributes
    ----------
    code
        The exit code that shells give such a process: 128 and the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


_ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def ending_in_order() -> Iterator[None]:
    """A context in which a signal to end raises :class:`Terminated`, so that all is tidied up.

    A second one ends the process at once. Signals that are ignored stay so (``nohup``). Outside
    the main thread, where no handler can be set, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)
        raise Terminated(number)

    ours = [one for one in _ENDINGS if signal.getsignal(one) is signal.SIG_DFL]
    for one in ours:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)


def interruptible() -> None:
    """From now on an interruption raises `KeyboardInterrupt`, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def silently_interruptible() -> None:
    """From now on an interruption ends the process without a word, unless it is ignored.

    For the moments before and after a command, when an error would only print a traceback.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def hush_trackers() -> None:
    """From now on, what workers leave behind when they are ended is tidied up without a word.

    The process that does it outlives this one, and takes its filters from the environment.
    """
    ours = "ignore:resource_tracker:UserWarning"
    given = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{given},{ours}" if given else ours
