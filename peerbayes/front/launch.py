"""`pb.launch`: the agents of a problem as live processes of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.settings.declared import question
from peerbayes.settings.live import Launch

if TYPE_CHECKING:
    from peerbayes.live.launching import LaunchOutcome
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
