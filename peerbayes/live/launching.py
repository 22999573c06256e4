"""All agents of a problem as live processes of this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.live.agent import own_file, state_folder
from peerbayes.live.finding import every_share, robust_keys
from peerbayes.live.launch_documents import LaunchOutcome, LiveAgentDocument
from peerbayes.live.processes import Processes, free_ports
from peerbayes.live.share import Share
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.problem.problems import AnyProblem

# So many processes one machine should not be asked for by mistake.
MOST_AGENTS = 200


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
    seed: int | None = None
    recipe: str | None = None


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
        If the problem has no live network, or the folder cannot be written.
    """
    from peerbayes.record_names import file_name
    from peerbayes.records import check_folder, write_record

    robust_keys(request.robust)
    shares = _shares(problem, data, request)
    request = _settled(request, shares[0])
    check_folder(out)
    name, network = shares[0].problem, shares[0].network
    folder = state_folder(out, network)
    folder.mkdir(parents=True, exist_ok=True)
    if not request.resume:
        _forget(folder)
    ends = _endpoints(shares, secure=request.keys is not None)
    address = out / f"live-{network}.json"
    _write_address(address, network, ends)
    began = time.monotonic()
    run = _Run(shares, request, progress=progress, notice=notice or (lambda text: None))
    try:
        with Processes() as processes:
            for share in shares:
                path = own_file(folder, share.agent, "share")
                share.write(path)
                arguments = _arguments(share, path, request, ends, out)
                log = own_file(folder, share.agent, "log")
                processes.start(share.agent, arguments, log=log)
            if notice is not None:
                notice(
                    f"{len(shares)} agents; notices in {folder}; to watch: {_hint(problem, out)}"
                )
            run.watch(processes)
            processes.finish()
            run.take_in(processes)
    finally:
        address.unlink(missing_ok=True)
    path = out / file_name("launch", name, network)
    document = run.document(name, network, seconds=time.monotonic() - began)
    outcome = LaunchOutcome(document, path)
    write_record(path, kind="launch", body=outcome.as_json())
    return outcome


class _Run:
    """What is known of a launch while it runs."""

    def __init__(
        self,
        shares: tuple[Share, ...],
        request: LaunchRequest,
        *,
        progress: Callable[[str], Progress] | None,
        notice: Callable[[str], None],
    ) -> None:
        self._shares, self._request, self._notice = shares, request, notice
        self._progress = progress(shares[0].problem) if progress and request.rounds else None
        self._reports: dict[str, Mapping[str, Any]] = {}
        self._deaths = dict.fromkeys((share.agent for share in shares), 0)
        self._codes: dict[str, int] = {}
        self._began = time.monotonic()
        self._started: float | None = None

    def watch(self, processes: Processes) -> None:
        """Until all are done or ended, or somebody interrupts."""
        try:
            while any(a.code is None and not a.done for a in processes.agents.values()):
                processes.watch(0.5, lambda name, event: self._see(processes, name, event))
        except KeyboardInterrupt:
            if self._request.rounds is not None:
                self._notice("interrupted; the agents keep what they have")

    def take_in(self, processes: Processes) -> None:
        """What came at the very end."""
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline and len(self._codes) < len(self._shares):
            processes.watch(0.1, lambda name, event: self._see(None, name, event))

    def _see(self, processes: Processes | None, name: str, event: Mapping[str, Any] | int) -> None:
        if not isinstance(event, int):
            self._reports[name] = event
            self._show()
            return
        agent = None if processes is None else processes.agents[name]
        done = self._reports.get(name, {}).get("done") is True
        self._codes[name] = event
        if done or agent is None:
            return
        self._deaths[name] += 1
        again = self._request.revive and event < 0
        words = f"was killed (signal {-event})" if event < 0 else f"ended with {event}"
        self._notice(f"agent {name} {words}{'; started again' if again else ''}")
        if event >= 0 and agent.notices():
            self._notice(f"agent {name} said: {agent.notices()}")
        if again:
            del self._codes[name]
            agent.start()

    def _show(self) -> None:
        if self._started is None and len(self._reports) == len(self._shares):
            self._started = time.monotonic() - self._began
        if self._progress is not None and self._request.rounds is not None:
            done = [self._reports.get(s.agent, {}).get("round", 0) for s in self._shares]
            self._progress(min(*done, self._request.rounds), self._request.rounds)

    def document(self, name: str, network: str, *, seconds: float) -> Any:
        """What is printed and recorded."""
        from peerbayes.live.launch_documents import LaunchDocument

        request = self._request
        agents = [
            LiveAgentDocument.of(
                share.agent,
                self._reports.get(share.agent),
                deaths=self._deaths[share.agent],
                code=self._codes.get(share.agent),
            )
            for share in self._shares
        ]
        return LaunchDocument(
            problem=name,
            network=network,
            pace=request.pace,
            rounds=request.rounds,
            seed=request.seed,
            secured=request.keys is not None,
            seconds=seconds,
            seconds_to_start=self._started,
            hypotheses=list(self._shares[0].content.get("hypotheses", ())),
            agents=agents,
            reports=[dict(self._reports.get(share.agent, {})) for share in self._shares],
        )


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


def _endpoints(shares: tuple[Share, ...], *, secure: bool) -> dict[str, str]:
    """Where each agent listens."""
    protocol = "tls" if secure else "tcp"
    ports = free_ports(len(shares))
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


def _forget(folder: Path) -> None:
    """Remove what agents left here before."""
    for pattern in ("*.state", "*.journal.*", "*.log"):
        for path in folder.glob(pattern):
            path.unlink()


def _hint(problem: object, out: Path) -> str:
    name = problem if isinstance(problem, str) else "PROBLEM"
    where = "" if str(out) == "peerbayes-out" else f" --out {out}"
    return f"peerbayes watch {name}{where}"
