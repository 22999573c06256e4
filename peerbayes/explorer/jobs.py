"""Jobs: what a request asks for, done in worker processes that can be killed at any moment.

Quick jobs go to a worker that is kept; a long job gets a worker of its own, which ends with it. One
job at a time for each session and name: the next one kills it. Workers come from a nursery
(`peerbayes.explorer.nursery`), which is a process too.
"""

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from peerbayes.explorer.nursery import ORDER_SIZE, WARM, Frame, command, next_frame
from peerbayes.settings.declared import Setting, Settings
from peerbayes.settings.domains import SEARCH_TIME, Whole

_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")


@dataclass(frozen=True, kw_only=True)
class Limits(Settings):
    """What jobs may use."""

    quick_seconds: Annotated[float, Setting("Wall time of a quick job.", SEARCH_TIME)] = 5.0
    long_seconds: Annotated[float, Setting("Wall time of a long job.", SEARCH_TIME)] = 300.0
    first_seconds: Annotated[
        float,
        Setting("The same while functions are compiled, and of starting a worker.", SEARCH_TIME),
    ] = 120.0
    memory: Annotated[
        int, Setting("Bytes that a worker may use, beyond what all of them share.", Whole(1))
    ] = 2 << 30
    at_once: Annotated[int, Setting("Jobs that run at the same time.", Whole(1))] = 12
    kept: Annotated[int, Setting("Idle workers that are kept for quick jobs.", Whole(1))] = 3


class _Worker:
    """A worker process, by the two sockets that lead to it."""

    def __init__(self, channel: socket.socket, lifeline: socket.socket) -> None:
        channel.setblocking(False)
        self.channel = channel
        self.is_cancelled = False
        self.is_ready = False
        self.is_free = False
        self._lifeline = lifeline

    def is_alive(self) -> bool:
        """Whether a worker that has nothing to do is still there."""
        with suppress(BlockingIOError):
            self.channel.recv(1, socket.MSG_PEEK)
            return False
        return True

    def kill(self) -> None:
        """End the process at once, whatever it is doing; whoever listens to it hears the end."""
        with suppress(OSError):
            self._lifeline.send(b".")  # a fork of this process may hold the lifeline open
        self._lifeline.close()

    def close(self) -> None:
        """The same, where nobody listens any more."""
        self.kill()
        self.channel.close()


class Jobs:
    """Jobs by session and name.

    Parameters
    ----------
    limits
        What they may use.
    module
        The module whose table ``WORK`` has the functions by name.
    data
        Folder of the image files, for built-in problems that need them.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        module: str = "peerbayes.explorer.work",
        data: Path | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._module = module
        self._data = data
        self._busy: dict[tuple[str, str], _Worker] = {}
        self._idle: list[_Worker] = []
        self._nursery: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._is_warm = False

    @property
    def is_warm(self) -> bool:
        """Whether everything is imported, compiled and tried."""
        self._hear()
        return self._is_warm

    def _hear(self) -> None:
        """Hear of the nursery that it is warm; that it is no more, the next job sees."""
        if self._control is not None and not self._is_warm:
            with suppress(OSError):
                self._is_warm = self._control.recv(len(WARM), socket.MSG_DONTWAIT) == WARM
            while self._is_warm and self._idle:
                self._idle.pop().close()  # those that are kept were forked before

    def begin(self) -> None:
        """Start the nursery, if there is none; may be called before there is an event loop."""
        if self._control is not None:
            return
        ours, theirs = socket.socketpair()
        environment = {**os.environ, **{f"{name}_NUM_THREADS": "1" for name in _THREADS}}
        if self._data is not None:
            environment["PEERBAYES_DATA"] = str(self._data)
        with theirs:
            self._nursery = subprocess.Popen(
                command("nursery", self._module, theirs.fileno()),
                pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self._control = ours

    async def run(
        self, session: str, name: str, body: bytes, *, long: bool, patient: bool = False
    ) -> AsyncGenerator[Frame, None]:
        """Do a job; yields progress, and at last what came of it.

        A `long` one gets a process of its own; that and a `patient` one get the time of long jobs.
        A job of the same session and name that is running is killed first, and ends with
        ``cancelled``. A job is killed when its limit of time is reached, and when the generator is
        closed before its end.
        """
        key = session, name
        self.cancel(session, name)
        if len(self._busy) >= self.limits.at_once:
            most = f"at most {self.limits.at_once} computations at once"
            yield Frame("refusal", f"expected {most}, got one more; wait for one of them".encode())
            return
        worker = self._busy[key] = self._worker(is_new=long)
        is_free = False
        try:
            async with aclosing(self._frames(worker, name, body, long or patient)) as frames:
                async for frame in frames:
                    is_free = worker.is_free and not long
                    yield frame
        finally:
            if self._busy.get(key) is worker:
                del self._busy[key]
            if is_free and not worker.is_cancelled:
                self._keep(worker)
            else:
                worker.close()

    async def _frames(
        self, worker: _Worker, name: str, body: bytes, patient: bool
    ) -> AsyncGenerator[Frame, None]:
        """What a worker says until the end of its job, or what is to be said in its place."""
        loop = asyncio.get_running_loop()
        limits = self.limits
        seconds = limits.first_seconds
        try:
            async with asyncio.timeout(seconds):
                if not worker.is_ready:
                    worker.is_ready = await next_frame(worker.channel) is not None
            if patient:
                seconds = limits.long_seconds
            elif self.is_warm:
                seconds = limits.quick_seconds
            worker.is_free = False
            async with asyncio.timeout(seconds):
                job = Frame("job", name.encode() + b"\n" + body)
                with suppress(ConnectionError):  # its end is heard below
                    await loop.sock_sendall(worker.channel, job.packed())
            end = loop.time() + seconds
            while True:
                async with asyncio.timeout_at(end):
                    frame = await next_frame(worker.channel)
                worker.is_free = frame is not None and frame.kind in ("result", "refusal")
                yield frame or self._end_of(worker)
                if frame is None or frame.is_last:
                    return
        except TimeoutError:
            words = f"{name}: expected an answer within {seconds:g} seconds, got none"
            yield Frame("refusal", f"{words}; make it smaller, or allow more time".encode())

    def _end_of(self, worker: _Worker) -> Frame:
        if worker.is_cancelled:
            return Frame("cancelled")
        memory = f"{self.limits.memory / 2**30:.2g} GiB"
        words = f"the computation ended unexpectedly, perhaps for lack of memory (limit {memory})"
        return Frame("fault", f"{words}; your work is kept, try something smaller".encode())

    def cancel(self, session: str, name: str | None = None) -> bool:
        """Kill the job of a session and a name, or all of the session; whether there was one."""
        keys = [key for key in self._busy if key[0] == session and name in (None, key[1])]
        for key in keys:
            worker = self._busy.pop(key)
            worker.is_cancelled = True
            worker.kill()
        return bool(keys)

    def _keep(self, worker: _Worker) -> None:
        self._idle.append(worker)
        while len(self._idle) > self.limits.kept:
            self._idle.pop(0).close()

    def _worker(self, *, is_new: bool) -> _Worker:
        self._hear()
        while self._idle and not is_new:
            worker = self._idle.pop()
            if worker.is_alive():
                return worker
            worker.close()
        pairs = socket.socketpair(), socket.socketpair()
        theirs = [pair[1] for pair in pairs]
        order = self.limits.memory.to_bytes(ORDER_SIZE, "little")
        try:
            for attempt in range(2):
                self.begin()
                assert self._control is not None
                try:
                    socket.send_fds(self._control, [order], [one.fileno() for one in theirs])
                    break
                except ConnectionError:
                    self._forget()
                    if attempt:
                        raise
        finally:
            for one in theirs:
                one.close()
        return _Worker(pairs[0][0], pairs[1][0])

    def _forget(self) -> None:
        """Let go of the nursery; the next job starts another one."""
        self._is_warm = False
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._nursery is not None:
            self._nursery.kill()
            self._nursery.wait()
            self._nursery = None

    def stop(self) -> None:
        """Kill all jobs, idle workers and the nursery. In the event loop, where there is one."""
        for session, name in list(self._busy):
            self.cancel(session, name)
        while self._idle:
            self._idle.pop().close()
        self._forget()
