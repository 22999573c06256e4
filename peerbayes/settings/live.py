"""Settings of live agents: how they run, who hears whom, and who watches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from peerbayes.settings.declared import Setting, Settings
from peerbayes.settings.domains import (
    FACTOR,
    FILE,
    FOLDER,
    SECONDS,
    Choice,
    Flag,
    Python,
    Several,
    Text,
    Whole,
)
from peerbayes.settings.questions import (
    NETS,
    SHARED,
    Folder,
    Images,
    Output,
    StageFeedback,
)

_ENDPOINTS = Several("EP")


@dataclass(frozen=True, kw_only=True)
class Agent(Settings):
    """How a live agent runs."""

    pace: Annotated[
        str,
        Setting(
            "lockstep: all count the same rounds; own: each ticks by itself.",
            Choice(("lockstep", "own")),
        ),
    ] = "lockstep"
    interval: Annotated[
        float | None,
        Setting(
            "Seconds between an agent's rounds, at least; left out: as soon as it can.", SECONDS
        ),
    ] = None
    patience: Annotated[
        float | None,
        Setting(
            "Seconds that lock-step waits for a message that is missing; left out: 1, for nets 60.",
            SECONDS,
        ),
    ] = None
    gather: Annotated[
        float | None,
        Setting(
            "Seconds for which neighbours are waited for before the first round; left out: 10, "
            "launched 30, for nets 120.",
            SECONDS,
        ),
    ] = None
    on_loss: Annotated[
        str | None,
        Setting(
            "What takes the place of a missing message: own, renormalise or last; left out: as "
            "the problem says, or last.",
            Choice(("own", "renormalise", "last"), metavar="RULE"),
        ),
    ] = None
    robust: Annotated[
        str | None,
        Setting(
            "How it pools: average, median, trimmed-mean:F or clip:R; left out: as the problem "
            "says.",
            Text("RULE"),
        ),
    ] = None
    recipe: Annotated[
        str | None,
        Setting("paper, best or once; best if left out.", Text(), group=NETS),
    ] = None
    keys: Annotated[str | Path | None, Setting("Folder of 'peerbayes keys'.", FOLDER)] = None
    journal: Annotated[
        bool, Setting("Keep all that an agent did, so that it can be replayed.", Flag())
    ] = False


@dataclass(frozen=True, kw_only=True)
class Rounds(Settings):
    """How long live agents run, and from which seed."""

    rounds: Annotated[
        int | None,
        Setting(
            "Rounds after which an agent is done; left out: it goes on until Ctrl-C.",
            Whole(1, "n"),
        ),
    ] = None
    seed: Annotated[
        int | None,
        Setting(
            "Seed of what is drawn at random; left out: 0, or that of the net file.",
            Whole(0, "S"),
            group=SHARED,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Launch(Rounds, Output, Images, StageFeedback):
    """How all agents of a problem run as processes of this machine."""

    revive: Annotated[
        bool, Setting("Start an agent that died again; it goes on from its state.", Flag())
    ] = False
    resume: Annotated[bool, Setting("Go on from what the agents left in the folder.", Flag())] = (
        False
    )
    agent: Annotated[
        Agent,
        Setting("How each agent runs.", Python("settings peerbayes.settings.Agent()", group=Agent)),
    ] = Agent()


@dataclass(frozen=True, kw_only=True)
class Peer(Agent, Rounds, Folder, Images):
    """How one agent of a live network runs."""

    agent: Annotated[str | None, Setting("Which agent this is: its name or number.", Text())] = None
    listen: Annotated[
        Sequence[str], Setting("Endpoint, such as tcp/0.0.0.0:7447.", _ENDPOINTS)
    ] = ()
    connect: Annotated[
        Sequence[str], Setting("Endpoint of a neighbour; may be repeated.", _ENDPOINTS)
    ] = ()
    router: Annotated[
        bool, Setting("The endpoint to connect with is a router's; only it.", Flag())
    ] = False
    members: Annotated[
        str | Path | None, Setting("A list of members; the problem's else.", FILE)
    ] = None
    evidence: Annotated[
        str,
        Setting("draw (from the problem), - (standard input), a file, or zenoh:KEY.", Text("SRC")),
    ] = "draw"
    attached: Annotated[bool, Setting("End when standard input does.", Flag(), hidden=True)] = False


@dataclass(frozen=True)
class Page(Flag):
    """Whether there is a page; in Python, also the page itself."""

    def check(self, name: str, value: Any) -> Any:
        return value


@dataclass(frozen=True, kw_only=True)
class WatchRun(Folder, Images):
    """Whom a watcher listens to, and how long."""

    connect: Annotated[
        Sequence[str],
        Setting(
            "Endpoint of an agent, such as tcp/127.0.0.1:7447; once for each agent. Left out: "
            "those of 'peerbayes launch' with the same --out.",
            _ENDPOINTS,
        ),
    ] = ()
    router: Annotated[bool, Setting("What --connect names is a router.", Flag())] = False
    keys: Annotated[
        str | Path | None,
        Setting(
            "Keys of the network, or of its watcher alone, written by 'peerbayes keys'.", FOLDER
        ),
    ] = None
    seconds: Annotated[
        float | None,
        Setting("How long; left out: until all agents are done, or Ctrl-C.", FACTOR),
    ] = None
    page: Annotated[Any, Setting("Show it in a browser too; the address is printed.", Page())] = (
        False
    )
    launched_in: str | Path | None = None
    show: Callable[[Any], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Router(Settings):
    """Where a router listens, and whom it connects with."""

    listen: Annotated[
        Sequence[str], Setting("Where, such as tls/0.0.0.0:7447; repeatable.", _ENDPOINTS)
    ]
    connect: Annotated[Sequence[str], Setting("Another router; repeatable.", _ENDPOINTS)] = ()
    keys: Annotated[str | Path | None, Setting("The router's keys.", FOLDER)] = None
    seconds: Annotated[float | None, Setting("Stop after this time.", FACTOR)] = None


@dataclass(frozen=True, kw_only=True)
class Explore(Images):
    """How a problem is shown on a page."""

    no_browser: Annotated[bool, Setting("Print the address; open no browser.", Flag())] = False
    port: Annotated[int, Setting("Of 127.0.0.1; 0 for any free one.", Whole(0, "P"))] = 0
    seconds: Annotated[
        float,
        Setting("Time that one long computation of the page may take.", Whole(1, "S")),
    ] = 300


# Keys --------------------------------------------------------------------------------------------

_OUT = Setting("Folder of the network's keys.", FOLDER)
_DAYS = Setting("How long certificates are valid.", Whole(1, "D"))


@dataclass(frozen=True, kw_only=True)
class NewKeys(Images):
    """Where new keys go, and how long they are valid."""

    out: Annotated[str | Path, _OUT] = Path("keys")
    days: Annotated[int, _DAYS] = 365


@dataclass(frozen=True, kw_only=True)
class MoreKeys(Settings):
    """Keys of one more agent, or new ones of a known one."""

    out: Annotated[str | Path, _OUT] = Path("keys")
    renew: Annotated[
        bool, Setting("Replace keys, also those of 'router' and 'watcher'.", Flag())
    ] = False
    days: Annotated[int, _DAYS] = 365


@dataclass(frozen=True, kw_only=True)
class Members(Images):
    """Whose members are listed anew."""

    out: Annotated[str | Path, _OUT] = Path("keys")
