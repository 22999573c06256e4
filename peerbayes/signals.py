"""How a command ends when it is told to: in order, without leaving anybody at work, silently."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
