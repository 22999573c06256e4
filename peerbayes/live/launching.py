"""All agents of a problem as live processes of this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exact.whole_files import lock
from peerbayes.live.course import Course
from peerbayes.live.finding import every_share, robust_keys
from peerbayes.live.finite import robust_rule
from peerbayes.live.launch_documents import LaunchDocument, LaunchOutcome
from peerbayes.live.processes import Processes, free_ports
from peerbayes.live.share import Share, own_file, state_folder
from peerbayes.live.zenoh_transport import needs_zenoh
from peerbayes.settings.groups import DEFAULT_OUT
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.problem.problems import AnyProblem
    from peerbayes.settings.live import Launch

# So many processes one machine should not be asked for by mistake.
MOST_AGENTS = 200
# Settings that a record of a launch keeps, in this order.
_IDENTITY = (
    "rounds",
    "pace",
    "interval",
    "patience",
    "gather",
    "on_loss",
    "robust",
    "journal",
    "revive",
    "seed",
    "recipe",
)


def run_launch(problem: AnyProblem | str | Path, how: Launch) -> LaunchOutcome:
    """Start one process an agent, watch them until all are done, and write a record.

    Raises
    ------
    ValueError
        If the problem has no live network, or the folder cannot be written, or has the record of
        another run of the problem.
    """
    from peerbayes.records import RecordPlace, file_name

    robust_rule(robust_keys(how.robust) or {})
    needs_zenoh()
    out = DEFAULT_OUT if how.folder is None else how.folder
    shares = _shares(problem, how)
    how = _settled(how, shares[0])
    name, network = shares[0].problem, shares[0].network
    freely = how.force or how.resume
    of = {name: getattr(how, name) for name in _IDENTITY}
    place = RecordPlace(out / file_name("launch", name, network), "launch", of, freely)
    place.check()
    folder = state_folder(out, network)
    folder.mkdir(parents=True, exist_ok=True)
    address = out / f"live-{network}.json"
    began = time.monotonic()
    run = Course(
        [share.agent for share in shares],
        rounds=how.rounds,
        revive=how.revive,
        progress=how.progress(name) if how.progress is not None and how.rounds else None,
        notice=how.notice or (lambda text: None),
    )
    with ExitStack() as stack:
        _hold(stack, folder)
        if not how.resume:
            _forget(folder)
        ports = stack.enter_context(free_ports(len(shares)))
        ends = _endpoints(shares, ports, secure=how.keys is not None)
        _write_address(address, network, ends)
        stack.callback(address.unlink, missing_ok=True)
        processes = stack.enter_context(Processes())
        for share in shares:
            path = own_file(folder, share.agent, "share")
            share.write(path)
            arguments = _arguments(share, path, how, ends, out)
            processes.start(share.agent, arguments, log=own_file(folder, share.agent, "log"))
        run.notice(f"{len(shares)} agents; notices in {folder}; to watch: {_hint(problem, out)}")
        run.watch(processes)
        processes.finish()
        run.take_in(processes)
    document = LaunchDocument(
        problem=name,
        network=network,
        pace=how.pace,
        rounds=how.rounds,
        seed=how.seed or 0,
        secured=how.keys is not None,
        seconds=time.monotonic() - began,
        seconds_to_start=run.started,
        hypotheses=list(shares[0].content.get("hypotheses", ())),
        agents=run.agents(),
        reports=run.reports(),
    )
    return LaunchOutcome(document, place.write(document.as_json()))


def _shares(problem: AnyProblem | str | Path, how: Launch) -> tuple[Share, ...]:
    shares = every_share(problem, how.images, seed=how.seed, recipe=how.recipe)
    if len(shares) > MOST_AGENTS:
        wanted = f"at most {MOST_AGENTS} agents on one machine"
        raise fail(shares[0].problem, wanted, len(shares), "start agents with 'peerbayes peer'")
    return shares


def _settled(how: Launch, share: Share) -> Launch:
    """The settings with what was left out as fits the shares."""
    gather = 30.0 if share.kind == "finite" else None
    return replace(
        how,
        rounds=share.content.get("rounds") if how.rounds is None else how.rounds,
        gather=gather if how.gather is None else how.gather,
        seed=share.content.get("seed", 0) if how.seed is None else how.seed,
    )


def _endpoints(shares: tuple[Share, ...], ports: Sequence[int], *, secure: bool) -> dict[str, str]:
    """Where each agent listens."""
    protocol = "tls" if secure else "tcp"
    pairs = zip(shares, ports, strict=True)
    return {share.agent: f"{protocol}/127.0.0.1:{port}" for share, port in pairs}


def _arguments(
    share: Share, path: Path, how: Launch, ends: Mapping[str, str], out: Path
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
        ("--rounds", how.rounds),
        ("--pace", how.pace),
        ("--interval", how.interval),
        ("--patience", how.patience),
        ("--gather", how.gather),
        ("--on-loss", how.on_loss),
        ("--robust", how.robust),
        ("--keys", how.keys),
        ("--seed", how.seed),
    ):
        if value is not None:
            options += [option, str(value)]
    return options + ["--journal"] * how.journal


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
