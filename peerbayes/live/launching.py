"""All agents of a problem as live processes of this machine, none of which is left behind."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from exact.whole_files import lock
from peerbayes.documents import Documented, Number
from peerbayes.live.finding import every_share
from peerbayes.live.members import Share, own_file, robust_keys, robust_rule, state_folder
from peerbayes.live.processes import AgentProcess, Processes, free_ports
from peerbayes.live.zenoh_transport import needs_zenoh
from peerbayes.quantities.quantity import Quantity, Table, part
from peerbayes.quantities.showing import facts, grid
from peerbayes.records import RecordPlace, file_name, write_whole
from peerbayes.settings.questions import DEFAULT_OUT
from peerbayes.tables import facts_table, number, rounds
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

    from peerbayes.problem.problems import AnyProblem
    from peerbayes.settings.live import Launch

# So many processes one machine should not be asked for by mistake.
MOST_AGENTS = 200
# Settings that a record of a launch keeps, in this order; and those that every agent is handed.
_IDENTITY = (
    "rounds", "pace", "interval", "patience", "gather", "on_loss", "robust", "journal", "revive",
    "seed", "recipe",
)  # fmt: skip
_HANDED_ON = (
    "rounds", "pace", "interval", "patience", "gather", "on_loss", "robust", "keys", "seed",
)  # fmt: skip
_COUNT = Annotated[int, Field(ge=0)]


# A launch ---------------------------------------------------------------------------------------


class Launched:
    """The course of a launch, to its end.

    Parameters
    ----------
    shares, how
        Of the agents; all settings, of which nothing is left out.
    processes
        In which the agents run.

    Attributes
    ----------
    share
        The first agent's.
    started
        Seconds until every agent had reported; None before.
    """

    def __init__(self, shares: Sequence[Share], how: Launch, processes: Processes) -> None:
        self.share, self.how, self._processes = shares[0], how, processes
        self._names = [share.agent for share in shares]
        self._doubled: set[str] = set()
        self._began = time.monotonic()
        self.started: float | None = None
        self.notice = how.notice or (lambda text: None)
        self._progress = None
        if how.progress is not None and how.rounds:
            self._progress = how.progress(self.share.problem)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    @property
    def agents(self) -> list[AgentProcess]:
        """All processes, in the order of the network."""
        return [self._processes.agents[name] for name in self._names]

    def follow(self) -> None:
        """Until all are done or ended, or somebody interrupts; then until all have ended."""
        try:
            while any(agent.code is None and not agent.done for agent in self.agents):
                self._processes.watch(0.5, self._see)
        except KeyboardInterrupt:
            if self.how.rounds is not None:
                self.notice("interrupted; the agents keep what they have")
        self._processes.finish()
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline and any(agent.code is None for agent in self.agents):
            self._processes.watch(0.1, self._hear)

    def _hear(self, name: str, event: Mapping[str, Any] | int) -> None:
        """A report; at the end exit codes, of which nothing is to be said."""
        if isinstance(event, int):
            return
        for other in {*event.get("doubled", ())} - self._doubled:
            self._doubled.add(other)
            self.notice(f"two processes speak as agent {other}, says agent {name}: stop one")
        if self.started is None and all(agent.report for agent in self.agents):
            self.started = self.seconds
        most = self.how.rounds
        if self._progress is not None and most is not None:
            self._progress(min(most, *(agent.told.round or 0 for agent in self.agents)), most)

    def _see(self, name: str, event: Mapping[str, Any] | int) -> None:
        """A report, or the end of a process, which may begin again."""
        self._hear(name, event)
        agent = self._processes.agents[name]
        if not isinstance(event, int) or agent.done:
            return
        agent.deaths += 1
        again = self.how.revive and event < 0
        words = f"was killed (signal {-event})" if event < 0 else f"ended with {event}"
        self.notice(f"agent {name} {words}{'; started again' if again else ''}")
        if event >= 0 and agent.notices():
            self.notice(f"agent {name} said: {agent.notices()}")
        if again:
            agent.start()


def _per_second(agent: AgentProcess) -> float | None:
    gap = agent.told.gap
    return 1 / gap if gap else None


def _whole(value: int | None, _: Any) -> str:
    return rounds(value)


def _seconds(value: float, found: Any) -> str:
    return f"{number(value)}, of which {number(found.seconds_to_start)} to start"


def _agent(name: str, agent: Any) -> str:
    return name if agent.done else f"{name} (ended early)"


def _most(_: Any, agent: Any) -> str:
    """The probability of what is believed."""
    return number(max((share or 0.0 for share in agent.probabilities or ()), default=None))


LIVE_AGENT = Table(
    "LiveAgentDocument",
    "One agent's process, in numbers; null: it never reported.",
    (
        Quantity("agent", str, get="name", column="agent", words=_agent),
        Quantity("done", bool, "whether it came to the end of its rounds"),
        Quantity("rounds", int | None, get="told.round", column="rounds", words=_whole),
        Quantity("rounds_per_second", Number, get=_per_second, column="a second"),
        Quantity(
            "probabilities",
            list[Number] | None,
            "of the hypotheses; null for nets",
            get=lambda agent: (agent.told.belief or {}).get("probabilities"),
            column="believes",
        ),
        Quantity(
            "belief",
            dict[str, Any] | None,
            "as the agent reports it",
            get="told.belief",
            column="",
            words=_most,
        ),
        Quantity(
            "refused",
            _COUNT,
            "frames",
            get=lambda agent: sum((agent.told.refused or {}).values()),
            column="refused",
            words=_whole,
        ),
        Quantity(
            "rss_mb", Number, "memory held, 10^6 bytes", get="told.rss_mb", column="memory MB"
        ),
        Quantity("deaths", _COUNT, "how often its process died"),
        Quantity("code", int | None, "exit code; negative: the signal that killed it"),
    ),
    title="agents",
)
LAUNCH = Table(
    "LaunchDocument",
    "A live network on one machine.",
    (
        Quantity("problem", str, get="share.problem"),
        Quantity(
            "network",
            str,
            "first 16 hexadecimal digits of the problem's digest",
            get="share.network",
        ),
        Quantity("pace", str, get="how.agent.pace"),
        Quantity(
            "rounds",
            int | None,
            "asked for; null: until interrupted",
            get="how.rounds",
            label="rounds, seed",
            words=lambda value, found: f"{rounds(value)}, {found.seed}",
        ),
        Quantity("seed", int, get="how.seed"),
        Quantity(
            "secured",
            bool,
            "whether agents had keys",
            get=lambda run: run.how.agent.keys is not None,
        ),
        Quantity("seconds", Number, label="seconds", words=_seconds),
        Quantity("seconds_to_start", Number, "until every agent had reported", get="started"),
        Quantity("hypotheses", list[str], get=lambda run: run.share.content.get("hypotheses", [])),
        part("agents", LIVE_AGENT, None, many=True),
        Quantity(
            "reports",
            list[dict[str, Any]],
            "the agents' last reports, as they came",
            get=lambda run: [agent.report or {} for agent in run.agents],
        ),
    ),
).changed(agents={"type": Annotated[list.__class_getitem__(LIVE_AGENT.type), Field(min_length=1)]})


@dataclass(frozen=True, eq=False)
class LaunchOutcome(Documented):
    """What became of a live network on one machine.

    Attributes
    ----------
    found
        In numbers.
    record_path
        The record.
    """

    found: Any
    record_path: Path

    @property
    def complete(self) -> bool:
        """Whether every agent came to the end of its rounds, or was stopped in order."""
        endless = self.found.rounds is None
        return all((agent.done or endless) and agent.code == 0 for agent in self.found.agents)

    @property
    def failed(self) -> bool:
        """Whether some agent was not done."""
        return not self.complete

    def state_file(self, agent: str) -> Path:
        """Where an agent left its state, beside its journal and notices."""
        folder = state_folder(self.record_path.parent, self.found.network)
        return own_file(folder, agent, "state")

    def document(self) -> Any:
        """What the command prints."""
        return self.found

    def tables(self) -> list[RenderableType]:
        """Terminal tables of this result."""
        found = self.found
        together = "in lock-step" if found.pace == "lockstep" else "each on its own rhythm"
        told = {"agents": f"{len(found.agents)} processes, {together}", **facts(LAUNCH, found)}
        told["links"] = "TLS, frames signed" if found.secured else "not encrypted"

        def best(shares: list[float | None] | None, _: Any) -> str | None:
            known = [share or 0.0 for share in shares or ()]
            return found.hypotheses[known.index(max(known))] if known else None

        shown = LIVE_AGENT.changed(probabilities={"words": best})
        return [facts_table(found.problem, told), grid(shown, found.agents)]


def run_launch(problem: AnyProblem | str | Path, how: Launch) -> LaunchOutcome:
    """Start one process an agent, watch them until all are done, and write a record.

    Raises
    ------
    ValueError
        If the problem has no live network, or the folder cannot be written, or has the record of
        another run of the problem.
    """
    robust_rule(robust_keys(how.agent.robust) or {})
    needs_zenoh()
    out = DEFAULT_OUT if how.folder is None else how.folder
    shares = _shares(problem, how)
    how = _settled(how, shares[0])
    name, network = shares[0].problem, shares[0].network
    freely = how.force or how.resume
    said = how.flat()
    of = {name: said[name] for name in _IDENTITY}
    place = RecordPlace(out / file_name("launch", name, network), "launch", of, freely)
    place.check()
    folder = state_folder(out, network)
    folder.mkdir(parents=True, exist_ok=True)
    address = out / f"live-{network}.json"
    with ExitStack() as stack:
        _hold(stack, folder)
        for pattern in () if how.resume else ("*.state", "*.journal.*", "*.log"):
            for left in folder.glob(pattern):
                left.unlink()
        ports = stack.enter_context(free_ports(len(shares)))
        protocol = "tcp" if how.agent.keys is None else "tls"
        pairs = zip(shares, ports, strict=True)
        ends = {share.agent: f"{protocol}/127.0.0.1:{port}" for share, port in pairs}
        # Tells watchers where the agents are.
        told = {"network": network, "endpoints": list(ends.values()), "router": False}
        write_whole(address, json.dumps(told) + "\n")
        stack.callback(address.unlink, missing_ok=True)
        processes = stack.enter_context(Processes())
        run = Launched(shares, how, processes)
        for share in shares:
            path = own_file(folder, share.agent, "share")
            share.write(path)
            arguments = _arguments(share, path, how, ends, out)
            processes.start(share.agent, arguments, log=own_file(folder, share.agent, "log"))
        run.notice(f"{len(shares)} agents; notices in {folder}; to watch: {_hint(problem, out)}")
        run.follow()
    found = LAUNCH.document(run)
    return LaunchOutcome(found, place.write(found.as_json()))


def _shares(problem: AnyProblem | str | Path, how: Launch) -> tuple[Share, ...]:
    shares = every_share(problem, how.images, seed=how.seed, recipe=how.agent.recipe)
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
        agent=replace(how.agent, gather=gather if how.agent.gather is None else how.agent.gather),
        seed=share.content.get("seed", 0) if how.seed is None else how.seed,
    )


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
    said = how.flat()
    for setting in _HANDED_ON:
        if said[setting] is not None:
            options += [f"--{setting.replace('_', '-')}", str(said[setting])]
    return options + ["--journal"] * how.agent.journal


def _hold(stack: ExitStack, folder: Path) -> None:
    """See that nobody else runs these agents in this folder."""
    file = stack.enter_context((folder / "launch.lock").open("ab"))
    if not lock(file.fileno()):
        wanted = "a folder in which these agents do not run"
        raise fail(str(folder), wanted, "one in which they do", "stop them, or use another --out")


def _hint(problem: object, out: Path) -> str:
    name = problem if isinstance(problem, str) else "PROBLEM"
    where = "" if str(out) == "peerbayes-out" else f" --out {out}"
    return f"peerbayes watch {name}{where}"
