"""`pb.launch` and `pb.watch`: agents as live processes, and listening to them as they run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.settings.declared import question
from peerbayes.settings.live import Launch
from theory.validation import as_positive, fail

if TYPE_CHECKING:
    from peerbayes.live.launching import LaunchOutcome
    from peerbayes.live.watch.page import LivePage
    from peerbayes.live.watch.watching import Show, WatchOutcome
    from peerbayes.problem.problems import AnyProblem

_OUT = "peerbayes-out"


@question(Launch)
def launch(problem: AnyProblem | str | Path, how: Launch) -> LaunchOutcome:
    """Run each agent of a problem as a process of its own until all have done their rounds.

    The processes are those of ``peerbayes peer``, and speak over Eclipse Zenoh on the loopback
    address. In lock-step and without loss, their beliefs are those of :func:`exact.exchange` on
    the same observations (floating point).

    Parameters
    ----------
    problem
        With finitely many hypotheses, or the name or the file of one; also the name of an
        experiment with nets, or a net file.

    Raises
    ------
    ValueError
        If an option does not fit, the problem has no live network, or the extra ``live`` is not
        installed.
    """
    from peerbayes.live.launching import run_launch

    return run_launch(problem, how)


def watch(
    problem: AnyProblem | str | Path,
    *,
    connect: Sequence[str] = (),
    router: bool = False,
    keys: str | Path | None = None,
    seconds: float | None = None,
    launched_in: str | Path = _OUT,
    out: str | Path | None = None,
    data: str | Path | None = None,
    show: Show | None = None,
    page: LivePage | None = None,
) -> WatchOutcome:
    """Listen to the agents of a live network until all are done, time is over, or Ctrl-C.

    A watcher only listens: it publishes nothing, and agents do not know that it is there.

    Parameters
    ----------
    problem
        Whose agents run; or a network's 16 hexadecimal digits, of which nothing is predicted.
    connect
        Endpoints of agents, such as ``"tcp/127.0.0.1:7447"``, every one that is to be heard; or of
        the router that all go through. Left out: the agents of ``peerbayes launch``.
    router
        Whether `connect` names a router.
    keys
        A watcher's folder, written by ``peerbayes keys``; for networks with keys.
    seconds
        How long at most; without limit if left out.
    launched_in
        Folder that ``peerbayes launch`` was given for its records.
    out
        Folder of the record and its page; left out: nothing is written.
    data
        Folder of the image files, for built-in problems that need them.
    show
        Called about twice a second with all that is known.
    page
        A page that shows it in a browser.

    Raises
    ------
    ValueError
        If a package is missing (the extra ``live``), nobody can be listened to or nobody is heard,
        or something cannot be read or written.
    """
    from peerbayes.live.watch.watcher import Watched, Watcher, find_watched
    from peerbayes.live.watch.watching import Listener, ends_of, watch_until
    from peerbayes.records import check_folder

    if seconds is not None:
        as_positive("seconds", seconds)
    if isinstance(connect, str):
        raise fail("connect", "a list of endpoints", f"one: {connect}", "put it in brackets")
    folder = None if out is None else Path(out)
    if folder is not None:
        check_folder(folder)
    if isinstance(problem, str | Path):
        watched = find_watched(str(problem), data=None if data is None else Path(data))
    else:
        watched = Watched.of(problem)
    ends, authority = ends_of(
        watched.network,
        connect=connect,
        router=router,
        keys=None if keys is None else Path(keys),
        members=watched.names,
        out=Path(launched_in),
    )
    watcher = Watcher(watched, authority=authority)
    with ExitStack() as stack:
        stack.enter_context(Listener(watched.network, ends, watcher))
        if page is not None:
            stack.enter_context(page.of(watcher))
        outcome = watch_until(watcher, seconds=seconds, show=show, out=folder)
    if outcome.record_path is None:
        return outcome
    from peerbayes.report import write_report

    written = write_report([outcome.record_path], outcome.record_path.with_suffix(".html"))
    return replace(outcome, report_path=written)
