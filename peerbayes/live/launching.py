"""All agents of a problem as live processes of this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exact.whole_files import lock
from peerbayes.live.course import Course
from peerbayes.live.finding import every_share, robust_keys
from peerbayes.live.finite import CLOCKS, robust_rule
from peerbayes.live.launch_documents import LaunchDocument, LaunchOutcome
from peerbayes.live.processes import Processes, free_ports
from peerbayes.live.share import Share, own_file, state_folder
from peerbayes.live.zenoh_transport import needs_zenoh
from theory.changing import ON_LOSS
from theory.progress import Progress
from theory.validation import as_integer, fail

if TYPE_CHECKING:
    from peerbayes.problem.problems import AnyProblem

# So many processes one machine should not be asked for by mistake.
MOST_AGENTS = 200
# Of a request: how it is run, not what.
_NO_SETTINGS = {"keys", "resume", "force"}


@dataclass(frozen=True)
class LaunchRequest:
    """How the agents of a problem are run.

    Attributes
    ----------
    rounds
        After which all are done; None: until interrupted.
    pace, interval, patience, gather
        As of :class:`peerbayes.live.pacing.Pacing`.
    on_loss, robust
        In place of what the problem says; `robust` as on the command line.
    keys
        The network's folder of `peerbayes keys`; without it nothing is encrypted.
    journal
        Whether agents keep all that they do.
    revive
        Whether an agent that died is started again.
    resume
        Whether agents go on from the states in the folder, rather than begin anew.
    force
        Whether the record and the states of another run of the problem may be replaced.
    seed
        Of what the agents draw, and of all that is random about nets; None: 0, or that of a net
        file.
    recipe
        Of an experiment with nets; None: its own.
    """

    rounds: int | None = None
    pace: str = "lockstep"
    interval: float | None = None
    patience: float | None = None
    gather: float | None = None
    on_loss: str | None = None
    robust: str | None = None
    keys: Path | None = None
    journal: bool = False
    revive: bool = False
    resume: bool = False
    force: bool = False
    seed: int | None = None
    recipe: str | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on the problem."""
        for name in ("rounds", "seed"):
            if getattr(self, name) is not None:
                as_integer(name, getattr(self, name), minimum=int(name == "rounds"))
        for name, words in (("pace", tuple(CLOCKS)), ("on_loss", (None, *ON_LOSS))):
            if getattr(self, name) not in words:
                wanted = f"one of {', '.join(word for word in words if word)}"
                raise fail(name, wanted, repr(getattr(self, name)), "choose one")
        for name in ("interval", "patience", "gather"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 86_400:
                raise fail(name, "a number of seconds from 0 to a day", value, "correct it")
        robust_rule(robust_keys(self.robust) or {})


def run_launch(
    problem: AnyProblem | str | Path,
    request: LaunchRequest,
    *,
    out: Path,
    data: Path | None = None,
    progress: Callable[[str], Progress] | None = None,
    notice: Callable[[str], None] | None = None,
) -> LaunchOutcome:
    """Start one process an agent, watch them until all are done, and write a record.

    Parameters
    ----------
    problem
        One that is made, a file's, or one that goes by name.
    request
        How.
    out
        Folder of the record, and of the agents' states and notices.
    data
        Folder of image files.
    progress
        Maps the name of a stage to a callable of (done, total).
    notice
        Told, in one line, of what happens.

    Raises
    ------
    ValueError
        If the problem has no live network, or the folder cannot be written, or has the record of
        another run of the problem.
    """
    from peerbayes.record_names import file_name
    from peerbayes.records import RecordPlace

    needs_zenoh()
    shares = _shares(problem, data, request)
    request = _settled(request, shares[0])
    name, network = shares[0].problem, shares[0].network
    freely = request.force or request.resume
    of = {field: value for field, value in vars(request).items() if field not in _NO_SETTINGS}
    place = RecordPlace(out / file_name("launch", name, network), "launch", of, freely)
    place.check()
    folder = state_folder(out, network)
    folder.mkdir(parents=True, exist_ok=True)
    address = out / f"live-{network}.json"
    began = time.monotonic()
    run = Course(
        [share.agent for share in shares],
        rounds=request.rounds,
        revive=request.revive,
        progress=progress(name) if progress is not None and request.rounds else None,
        notice=notice or (lambda text: None),
    )
    with ExitStack() as stack:
        _hold(stack, folder)
        if not request.resume:
            _forget(folder)
        ports = stack.enter_context(free_ports(len(shares)))
        ends = _endpoints(shares, ports, secure=request.keys is not None)
        _write_address(address, network, ends)
        stack.callback(address.unlink, missing_ok=True)
        processes = stack.enter_context(Processes())
        for share in shares:
            path = own_file(folder, share.agent, "share")
            share.write(path)
            arguments = _arguments(share, path, request, ends, out)
            processes.start(share.agent, arguments, log=own_file(folder, share.agent, "log"))
        run.notice(f"{len(shares)} agents; notices in {folder}; to watch: {_hint(problem, out)}")
        run.watch(processes)
        processes.finish()
        run.take_in(processes)
    document = LaunchDocument(
        problem=name,
        network=network,
        pace=request.pace,
        rounds=request.rounds,
        seed=request.seed or 0,
        secured=request.keys is not None,
        seconds=time.monotonic() - began,
        seconds_to_start=run.started,
        hypotheses=list(shares[0].content.get("hypotheses", ())),
        agents=run.agents(),
        reports=run.reports(),
    )
    return LaunchOutcome(document, place.write(document.as_json()))


def _shares(
    problem: AnyProblem | str | Path, data: Path | None, request: LaunchRequest
) -> tuple[Share, ...]:
    shares = every_share(problem, data, seed=request.seed, recipe=request.recipe)
    if len(shares) > MOST_AGENTS:
        wanted = f"at most {MOST_AGENTS} agents on one machine"
        raise fail(shares[0].problem, wanted, len(shares), "start agents with 'peerbayes peer'")
    return shares


def _settled(request: LaunchRequest, share: Share) -> LaunchRequest:
    """The request with what was left out as fits the shares."""
    gather = 30.0 if share.kind == "finite" else None
    return replace(
        request,
        rounds=share.content.get("rounds") if request.rounds is None else request.rounds,
        gather=gather if request.gather is None else request.gather,
        seed=share.content.get("seed", 0) if request.seed is None else request.seed,
    )


def _endpoints(shares: tuple[Share, ...], ports: Sequence[int], *, secure: bool) -> dict[str, str]:
    """Where each agent listens."""
    protocol = "tls" if secure else "tcp"
    pairs = zip(shares, ports, strict=True)
    return {share.agent: f"{protocol}/127.0.0.1:{port}" for share, port in pairs}


def _arguments(
    share: Share, path: Path, request: LaunchRequest, ends: Mapping[str, str], out: Path
) -> list[str]:
    """What follows ``peerbayes`` on an agent's command line."""
    members, name = share.members, share.agent
    linked = {*members.heard(name), *members.listeners(name)}
    before = members.names[: members.number(name)]
    options: list[str] = ["peer", str(path), "--listen", ends[name], "--out", str(out)]
    for other in before:  # of two neighbours the later one connects
        if other in linked:
            options += ["--connect", ends[other]]
    for option, value in (
        ("--rounds", request.rounds),
        ("--pace", request.pace),
        ("--interval", request.interval),
        ("--patience", request.patience),
        ("--gather", request.gather),
        ("--on-loss", request.on_loss),
        ("--robust", request.robust),
        ("--keys", request.keys),
        ("--seed", request.seed),
    ):
        if value is not None:
            options += [option, str(value)]
    return options + ["--journal"] * request.journal


def _write_address(path: Path, network: str, ends: Mapping[str, str]) -> None:
    """Tell watchers where the agents are."""
    from peerbayes.records import write_whole

    document = {"network": network, "endpoints": list(ends.values()), "router": False}
    write_whole(path, json.dumps(document) + "\n")


def _hold(stack: ExitStack, folder: Path) -> None:
    """See that nobody else runs these agents in this folder."""
    file = stack.enter_context((folder / "launch.lock").open("ab"))
    if not lock(file.fileno()):
        wanted = "a folder in which these agents do not run"
        raise fail(str(folder), wanted, "one in which they do", "stop them, or use another --out")


def _forget(folder: Path) -> None:
    """Remove what agents left here before."""
    for pattern in ("*.state", "*.journal.*", "*.log"):
        for path in folder.glob(pattern):
            path.unlink()


def _hint(problem: object, out: Path) -> str:
    name = problem if isinstance(problem, str) else "PROBLEM"
    where = "" if str(out) == "peerbayes-out" else f" --out {out}"
    return f"peerbayes watch {name}{where}"
