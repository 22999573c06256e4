"""The process from which workers are forked: all is imported in it, compiled and tried once.

A worker that is forked from it is at work after milliseconds, so that one may be killed at each
edit. It has one thread while it forks. The server sends it two sockets for each worker: a channel
for messages (`Frame`), and a lifeline on which nothing is ever received: the system ends the worker
by a signal as soon as a byte or the end of the lifeline arrives, even in the middle of compiled
code, and also when the server is killed. The nursery ends with the server.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, NoReturn, get_args

from theory.validation import fail

ORDER_SIZE = 8
"""Bytes of the order for a worker: the memory it may use, beyond what the nursery has."""
WARM = b"w"
FAULT = "a fault of this program, not of its input; please report it"
Kind = Literal["ready", "job", "progress", "result", "refusal", "fault", "cancelled"]
_KINDS = get_args(Kind)
_HEAD = struct.Struct("<BI")
# Some libraries lose what was warmed in a fork; there each worker starts afresh.
_FORKS = sys.platform != "darwin"
# Seconds between two reports of progress.
_PAUSE = 0.1


# Messages between the server and its workers: a kind, a length, bytes ----------------------------


@dataclass(frozen=True)
class Frame:
    """One message.

    Attributes
    ----------
    kind
        ``ready``: the worker lives. ``job``: the name of the work, a line feed, and JSON.
        ``progress``: ``[done, total]``. One of the others ends a job: ``result`` (JSON),
        ``refusal`` (one line about the input), ``fault`` (one line about this program),
        ``cancelled``.
    body
        At most 4 GiB.
    """

    kind: Kind
    body: bytes = b""

    @property
    def is_last(self) -> bool:
        """Whether nothing more comes of this job."""
        return self.kind not in ("ready", "progress")

    def packed(self) -> bytes:
        """The bytes that are sent."""
        return _HEAD.pack(_KINDS.index(self.kind), len(self.body)) + self.body


def receive(channel: socket.socket) -> Frame | None:
    """The next message on a blocking socket; None at its end."""
    head = channel.recv(_HEAD.size, socket.MSG_WAITALL)
    if len(head) < _HEAD.size:
        return None
    kind, length = _HEAD.unpack(head)
    body = channel.recv(length, socket.MSG_WAITALL) if length else b""
    return None if len(body) < length else Frame(_KINDS[kind], body)


async def next_frame(channel: socket.socket) -> Frame | None:
    """The next message on a socket that does not block; None at its end."""
    head = await _all_of(channel, _HEAD.size)
    if head is None:
        return None
    kind, length = _HEAD.unpack(head)
    body = await _all_of(channel, length)
    return None if body is None else Frame(_KINDS[kind], body)


async def _all_of(channel: socket.socket, length: int) -> bytes | None:
    parts = bytearray(length)
    view, loop = memoryview(parts), asyncio.get_running_loop()
    while view:
        try:
            got = await loop.sock_recv_into(channel, view)
        except ConnectionError:
            return None
        if got == 0:
            return None
        view = view[got:]
    return bytes(parts)


# The nursery ------------------------------------------------------------------------------------


def main() -> None:
    """The nursery, or where nothing is forked a worker; its sockets are among the arguments."""
    role, module, *numbers = sys.argv[1:]
    sockets = [socket.socket(fileno=int(number)) for number in numbers[:2]]
    if role == "worker":
        _work(module, sockets[0], sockets[1], int(numbers[2]))
    with suppress(ConnectionError):  # the server has ended, and left something unread
        _tend(module, sockets[0])


def command(role: str, module: str, *numbers: int) -> list[str]:
    """The command line of a nursery or a worker; it imports from where this process does."""
    program = (
        "import sys; sys.path[:] = __import__('json').loads(sys.argv.pop(1)); "
        "from peerbayes.explorer.nursery import main; main()"
    )
    paths = json.dumps([os.path.abspath(path) for path in sys.path])
    return [sys.executable, "-P", "-c", program, paths, role, module, *map(str, numbers)]


def _tend(module: str, control: socket.socket) -> None:
    """Fork a worker for every order; between orders, get warm."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries workers
    steps = _steps(module) if _FORKS else iter(())
    is_warm = False
    while True:
        if not is_warm:
            step = next(steps, None)
            if step is None:
                is_warm = True
                control.sendall(WARM)
            else:
                with suppress(Exception):  # the job that needs it says why
                    step()
        while select.select([control], [], [], 0 if not is_warm else None)[0]:
            order, descriptors, _, _ = socket.recv_fds(control, ORDER_SIZE, 2)
            if not order:
                return
            _start(module, control, descriptors, int.from_bytes(order, "little"))


def _steps(module: str) -> Iterator[Callable[[], object]]:
    yield lambda: (import_module("peerbayes.records"), import_module(module).prepare())
    yield from import_module(module).warm_steps()
    yield gc.freeze  # what workers share is not copied by their collectors


def _start(module: str, control: socket.socket, ends: Sequence[int], memory: int) -> None:
    channel, lifeline = (socket.socket(fileno=number) for number in ends)
    with channel, lifeline:
        if not _FORKS:
            numbers = (channel.fileno(), lifeline.fileno())
            subprocess.Popen(command("worker", module, *numbers, memory), pass_fds=numbers)
        elif os.fork() == 0:
            control.close()
            _work(module, channel, lifeline, memory)


def _work(module: str, channel: socket.socket, lifeline: socket.socket, memory: int) -> NoReturn:
    """Do one job after another until the lifeline ends."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        _end_with(lifeline)
        _limit(memory)
        channel.sendall(Frame("ready").packed())
        while (frame := receive(channel)) is not None:
            channel.sendall(_done(module, frame, channel, memory).packed())
    except ConnectionError:
        pass
    finally:
        os._exit(0)  # nothing of the nursery's is tidied up here
    raise AssertionError


def _end_with(lifeline: socket.socket) -> None:
    """From now on a byte or the end of the lifeline ends this process."""
    import fcntl  # which Windows lacks

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        os._exit(0)


def _limit(memory: int) -> None:
    """So many bytes more than now, and no file of what was in memory after a crash."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with open("/proc/self/statm", encoding="ascii") as sizes:
            present = int(sizes.read().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        bound = present + memory
        bound = bound if most == resource.RLIM_INFINITY else min(bound, most)
        resource.setrlimit(resource.RLIMIT_AS, (bound, most))


def _done(module: str, frame: Frame, channel: socket.socket, memory: int) -> Frame:
    """What comes of a job: a result, or one line."""
    name, _, body = frame.body.partition(b"\n")

    def line(kind: Kind, words: str) -> Frame:
        return Frame(kind, " ".join(words.split()).encode("utf-8", "replace"))

    try:
        function = import_module(module).WORK[name.decode()].function
        request = json.loads(body, parse_constant=_no_number)
        if not isinstance(request, dict):
            raise fail("request", "a table, in braces", type(request).__name__, "send one")
        return Frame("result", _text(function(request, _reporter(channel))))
    except MemoryError:
        most = f"{memory / 2**30:.2g} GiB of memory"
        return line("refusal", f"expected a computation within {most}, got more; make it smaller")
    except json.JSONDecodeError as error:
        return line("refusal", f"request: expected valid JSON, got {error.msg!r}; send it again")
    except (ValueError, OSError, OverflowError) as error:
        return line("refusal", str(error))
    except Exception as error:
        traceback.print_exc()
        words = f"{type(error).__name__}: {error}"[:200]
        return line("fault", f"{FAULT} ({words})")


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"request: expected numbers that JSON knows, got {constant}; leave it out")


def _text(result: Any) -> bytes:
    from peerbayes.records import plain

    return json.dumps(plain(result), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _reporter(channel: socket.socket) -> Callable[[int, int], None]:
    last = -1.0

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PAUSE or done >= total:
            last = now
            channel.sendall(Frame("progress", json.dumps([done, total]).encode()).packed())

    return report
