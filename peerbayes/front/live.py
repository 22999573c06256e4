"""`pb.launch` and `pb.watch`: agents as live processes, and listening to them as they run."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.settings.declared import question
from peerbayes.settings.live import Launch, WatchRun
from peerbayes.settings.questions import DEFAULT_OUT
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.live.launching import LaunchOutcome
    from peerbayes.live.watch.watching import LivePage, WatchOutcome
    from peerbayes.problem.problems import AnyProblem


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


@question(WatchRun)
def watch(problem: AnyProblem | str | Path, how: WatchRun) -> WatchOutcome:
    """Listen to the agents of a live network until all are done, time is over, or Ctrl-C.

    A watcher only listens: it publishes nothing, and agents do not know that it is there.

    Parameters
    ----------
    problem
        Whose agents run; or a network's 16 hexadecimal digits, of which nothing is predicted.

    Raises
    ------
    ValueError
        If a package is missing (the extra ``live``), nobody can be listened to or nobody is heard,
        or something cannot be read or written.
    """
    from peerbayes.live.watch.watcher import Watched, Watcher, find_watched
    from peerbayes.live.watch.watching import Listener, ends_of, watch_until
    from peerbayes.records import check_folder

    if isinstance(how.connect, str):
        raise fail("connect", "a list of endpoints", f"one: {how.connect}", "put it in brackets")
    folder = how.folder
    if folder is not None:
        check_folder(folder)
    if isinstance(problem, str | Path):
        watched = find_watched(str(problem), data=how.images)
    else:
        watched = Watched.of(problem)
    ends, authority = ends_of(
        watched.network,
        connect=how.connect,
        router=how.router,
        keys=None if how.keys is None else Path(how.keys),
        members=watched.names,
        out=Path(how.launched_in or DEFAULT_OUT),
    )
    watcher = Watcher(watched, authority=authority)
    with ExitStack() as stack:
        stack.enter_context(Listener(watched.network, ends, watcher))
        if how.page:
            stack.enter_context(_page(how.page).of(watcher))
        outcome = watch_until(watcher, seconds=how.seconds, show=how.show, out=folder)
    if outcome.record_path is None:
        return outcome
    from peerbayes.report import write_report

    written = write_report([outcome.record_path], outcome.record_path.with_suffix(".html"))
    return replace(outcome, report_path=written)


def _page(given: LivePage | bool) -> LivePage:
    """The page that is given; where it is only asked for, one whose address is printed."""
    from peerbayes.live.watch.watching import LivePage
    from peerbayes.terminal import say

    return LivePage(say) if isinstance(given, bool) else given
