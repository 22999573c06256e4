"""Independent units of work, spread over processes, merged in their order, and resumed.

A :class:`Work` is cut into units. What a unit gives depends on the problem and on the unit's
number alone, never on who runs it or when; partial results are merged in the order of the units.
So the result is the same, to the last bit, whatever the number of workers, the backend, and however
often the run was killed and resumed. Linear algebra runs on one thread a process: another number of
threads may round differently, and processes make better use of the cores.

Processes come from joblib: its own by default, or those of a dask or ray cluster.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext
from copy import deepcopy
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import Any, Protocol, TypeVar

from exact.checkpoint import EVERY_SECONDS, Arrays, Checkpoint, Clock
from theory.progress import Progress
from theory.validation import as_integer, fail, install_extra

Advanced = Callable[[int], None]
T = TypeVar("T")
R = TypeVar("R")

# Units in flight for each worker, and in a wave where a backend cannot hand out results one by one.
AHEAD = 2
WAVE = 8
# For a scheduler elsewhere to answer; workers started here take longer to come up.
_SCHEDULER_SECONDS = 20
# Seconds between a worker's looks at whether its owner lives.
_GLANCE = 0.5


class Work(Protocol):
    """A run that is cut into units; pickled to reach a worker.

    What a worker prepares for its first unit (tables, compiled loops) it may keep on the object,
    in a ``cached_property`` for instance: the next unit finds it there.
    """

    @property
    def units(self) -> int:
        """How many units there are, at least one."""
        ...

    def amount(self, units: int) -> int:
        """How much of the run the first `units` units are, in the measure of progress."""
        ...

    def empty(self) -> Arrays:
        """The sums of no unit at all: named arrays, contiguous, as large as they will ever be."""
        ...

    def run(self, unit: int, advanced: Advanced) -> Arrays:
        """The sums of one unit; `advanced` hears of progress on the way, in the same measure."""
        ...

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take the sums of the next unit into those of all units before it, in place."""
        ...


def run_units(
    work: Work,
    *,
    workers: int = 1,
    backend: str | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Arrays:
    """Run all units and return their sums, the same whatever the workers.

    Parameters
    ----------
    workers
        Processes; with one, and no backend, the units run here.
    backend
        Where the workers come from: a name that joblib knows ("loky", "threading"), or "dask" or
        "ray" (:func:`workplace`). If left out, what ``joblib.parallel_config`` says, and else
        joblib's own processes.
    checkpoint
        Where to keep the sums from time to time. The file is removed at the end.
    progress
        Called as progress(done, total), in the measure of `work`.

    Raises
    ------
    ValueError
        If `workers` is not a whole number of at least 1, the backend is not known or not
        installed, a worker was killed, or the checkpoint cannot be used.
    """
    workers = as_integer("workers", workers, minimum=1)
    check_backend(backend)
    total = work.empty()
    begin = 0
    if checkpoint is not None and checkpoint.resume:
        begin = checkpoint.load(total)
    whole = work.amount(work.units)
    reached = work.amount(begin)

    def advanced(amount: int) -> None:
        nonlocal reached
        reached += amount
        if progress is not None:
            progress(reached, whole)

    here = backend is None and (workers == 1 or work.units - begin <= 1)
    results = _here(work, begin, advanced) if here else _spread(work, begin, workers, backend)
    clock = Clock(time.monotonic() + EVERY_SECONDS)
    done = begin
    with closing(results):
        for part in results:
            work.merge(total, part)
            # Not to hold it while the next one is computed.
            del part
            done += 1
            if not here:
                advanced(work.amount(done) - reached)
            now = time.monotonic()
            if checkpoint is not None and done < work.units and clock.due(now):
                checkpoint.save(done, total)
                clock.wrote(now, time.monotonic())
    if checkpoint is not None:
        checkpoint.remove()
    return total


def _here(work: Work, begin: int, advanced: Advanced) -> Generator[Arrays, None, None]:
    """The units one after the other, in this process."""
    with one_thread():
        for unit in range(begin, work.units):
            yield work.run(unit, advanced)


def _spread(
    work: Work, begin: int, workers: int, backend: str | None
) -> Generator[Arrays, None, None]:
    """The same from workers, in the order of the units."""
    from joblib import delayed

    token = secrets.token_hex(8)
    calls = (delayed(_run)(token, work, unit) for unit in range(begin, work.units))
    yield from _handed_out(calls, workers, backend)


def _handed_out(
    calls: Iterator[Any], workers: int, backend: str | None
) -> Generator[Any, None, None]:
    """What joblib's delayed calls return, in their order, from workers."""
    from joblib import Parallel
    from joblib._parallel_backends import LokyBackend, MultiprocessingBackend
    from joblib.parallel import get_active_backend

    # Here too: the workers may be threads of this process.
    with workplace(backend, workers), one_thread():
        options: dict[str, Any] = {"n_jobs": workers, "pre_dispatch": AHEAD * workers}
        place = get_active_backend()[0]
        if isinstance(place, LokyBackend | MultiprocessingBackend):
            options |= {"initializer": _end_with, "initargs": (os.getpid(),)}
        try:
            if place.supports_return_generator:
                with closing(Parallel(return_as="generator", **options)(calls)) as results:
                    yield from results
                return
            while wave := list(islice(calls, WAVE * workers)):
                yield from Parallel(**options)(wave)
        except BrokenProcessPool:
            raise fail(
                "workers",
                "processes that live until the end",
                "one that was killed, perhaps for lack of memory",
                "use fewer workers; a checkpoint, if there is one, can be resumed",
            ) from None


def spread(
    function: Callable[[T], R],
    items: Sequence[T],
    *,
    workers: int = 1,
    backend: str | None = None,
    progress: Progress | None = None,
) -> list[R]:
    """The function's value for each of the items, computed by workers, in the items' order.

    Function, items and values travel between processes, and are pickled.

    Parameters
    ----------
    workers, backend
        As for :func:`run_units`.
    progress
        Called as progress(done, total), in items.

    Raises
    ------
    ValueError
        As for :func:`run_units`; and what the function raises.
    """
    from joblib import delayed

    workers, found = as_integer("workers", workers, minimum=1), []
    calls = (delayed(_alone)(function, item) for item in items)
    with closing(_handed_out(calls, workers, backend)) as results:
        for result in results:
            found.append(result)
            if progress is not None:
                progress(len(found), len(items))
    return found


_turn = threading.Lock()


def _alone(function: Callable[[T], R], item: T) -> R:
    # The precision of ball arithmetic is the process's: its threads take turns.
    with _turn, one_thread():
        return function(item)


_kept = threading.local()


def _run(token: str, work: Work, unit: int) -> Arrays:
    """One unit in a worker, by the copy of the work that has run there before, if any."""
    if getattr(_kept, "token", None) != token:
        # Threads of one process may be given the same object, and must not share its state.
        _kept.token, _kept.work = token, deepcopy(work)
    kept: Work = _kept.work
    with one_thread():
        # Progress within a unit is not told from here.
        return kept.run(unit, lambda amount: None)


def _end_with(owner: int) -> None:
    """Let this process, a child of the one that owns the run, end when that has ended.

    However it ended: a process that is killed can tell nobody.
    """

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(_GLANCE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@cache
def _libraries() -> Any:
    # Looking for the libraries takes longer than a small simulation; numpy and scipy are loaded.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Limit:
    """The process's limit of threads, and how many of its own threads want it."""

    lock = threading.Lock()
    wanted = 0
    limits: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which the process's linear algebra runs on one thread.

    It may be entered from several threads at once; the last one that leaves lifts the limit (it
    stays where threadpoolctl lets nobody lift it but the thread that entered first).
    """
    with _Limit.lock:
        if _Limit.wanted == 0:
            _Limit.limits = _libraries().limit(limits=1, user_api="blas")
            _Limit.limits.__enter__()
        _Limit.wanted += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.wanted -= 1
            if _Limit.wanted == 0:
                _Limit.limits.__exit__(None, None, None)


def check_backend(backend: str | None) -> None:
    """Refuse a backend that is not known, or not installed.

    Raises
    ------
    ValueError
        If it is; None is not.
    """
    if backend is None:
        return
    from joblib.parallel import BACKENDS

    remedies = {"dask": install_extra("cluster"), "ray": "install it: pip install ray"}
    if backend in remedies:
        module = "distributed" if backend == "dask" else backend
        if find_spec(module) is None:
            got = f"{backend!r}, which is not"
            raise fail("backend", "a backend that is installed", got, remedies[backend])
    elif backend not in BACKENDS:
        known = ", ".join(sorted({*BACKENDS, *remedies}))
        raise fail("backend", f"one of {known}", repr(backend[:60]), "choose one of them")


@contextmanager
def workplace(backend: str | None, workers: int) -> Iterator[None]:
    """A context in which joblib's workers come from `backend`.

    "dask" takes the client that is active, else the cluster that dask's configuration names
    (``DASK_SCHEDULER_ADDRESS``), else starts processes on this machine. "ray" takes the cluster of
    ``RAY_ADDRESS``, else this machine. The workers must have the same version of this library.

    Raises
    ------
    ValueError
        If the backend is not known or not installed.
    """
    if backend is None:
        yield
        return
    check_backend(backend)
    from joblib import parallel_config

    owner: Any = nullcontext()
    if backend == "dask":
        owner = _dask_client(workers)
    elif backend == "ray":
        from ray.util.joblib import register_ray

        register_ray()
    with owner, parallel_config(backend=backend):
        yield


def _dask_client(workers: int) -> Any:
    import dask
    from distributed import Client, get_client

    try:
        get_client()
    except ValueError:
        options: dict[str, Any] = {}
        if not dask.config.get("scheduler-address", None):
            options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        try:
            return Client(timeout=_SCHEDULER_SECONDS, **options)  # type: ignore[no-untyped-call, unused-ignore]
        except (OSError, TimeoutError, ValueError) as error:
            raise fail(
                "backend",
                f"a dask scheduler that answers within {_SCHEDULER_SECONDS} seconds",
                f"{type(error).__name__} at {dask.config.get('scheduler-address', None)}",
                "start it, or correct DASK_SCHEDULER_ADDRESS",
            ) from None
    return nullcontext()
