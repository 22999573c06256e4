"""`pb.launch`: the agents of a problem as live processes of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from theory.progress import Progress

if TYPE_CHECKING:
    from peerbayes.live.launch_documents import LaunchOutcome
    from peerbayes.problem.problems import AnyProblem


def launch(
    problem: AnyProblem | str | Path,
    *,
    rounds: int,
    seed: int | None = None,
    pace: str = "lockstep",
    interval: float | None = None,
    patience: float | None = None,
    on_loss: str | None = None,
    robust: str | None = None,
    recipe: str | None = None,
    keys: str | Path | None = None,
    journal: bool = False,
    revive: bool = False,
    resume: bool = False,
    force: bool = False,
    out: str | Path = "peerbayes-out",
    data: str | Path | None = None,
    progress: Callable[[str], Progress] | None = None,
    notice: Callable[[str], None] | None = None,
) -> LaunchOutcome:
    """Run each agent of a problem as a process of its own until all have done their rounds.

    The processes are those of ``peerbayes peer``, and speak over Eclipse Zenoh on the loopback
    address. In lock-step and without loss, their beliefs are those of :func:`exact.exchange` on
    the same observations (floating point).

    Parameters
    ----------
    problem
        With finitely many hypotheses, or the name or the file of one; also the name of an
        experiment with nets, or a net file.
    rounds
        Of each agent, at least 1.
    seed
        Of what is drawn at random; 0 if left out, or that of a net file.
    pace
        "lockstep": all count the same rounds, and wait for each other; "own": each ticks by itself.
    interval
        Seconds between an agent's rounds, at least; none in lock-step if left out.
    patience
        Seconds that lock-step waits for a message; 1 if left out, 60 for nets.
    on_loss, robust
        What takes the place of a missing message ("own", "renormalise", "last"), and how agents
        pool ("average", "median", "trimmed-mean:F", "clip:R"); left out: as the problem says.
    recipe
        Of an experiment with nets.
    keys
        Folder that ``peerbayes keys`` wrote: links are then encrypted, and frames signed.
    journal
        Whether agents keep all that they did, so that it can be replayed.
    revive
        Whether an agent whose process dies is started again; it goes on from its state.
    resume
        Whether agents go on from the states in the folder, rather than begin anew.
    force
        Whether the record and the states of another run of the problem may be replaced.
    out, data
        Folders of the record and of the agents' states, and of image files.
    progress
        Maps the name of a stage to a callable of (done, total).
    notice
        Told, in one line, of what happens.

    Raises
    ------
    ValueError
        If an option does not fit, the problem has no live network, or the extra ``live`` is not
        installed.
    """
    from peerbayes.live.launching import LaunchRequest, run_launch

    request = LaunchRequest(
        rounds=rounds,
        pace=pace,
        interval=interval,
        patience=patience,
        on_loss=on_loss,
        robust=robust,
        recipe=recipe,
        keys=None if keys is None else Path(keys),
        journal=journal,
        revive=revive,
        resume=resume,
        force=force,
        seed=seed,
    )
    folder = None if data is None else Path(data)
    return run_launch(
        problem, request, out=Path(out), data=folder, progress=progress, notice=notice
    )
