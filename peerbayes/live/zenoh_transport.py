"""The transport of live peers: Eclipse Zenoh, from peer to peer or through a router."""

from __future__ import annotations

import json
import math
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from peerbayes.live.members import Members
from peerbayes.live.transport import Inbox, agent_of, key
from theory.validation import fail, install_extra

if TYPE_CHECKING:
    import zenoh

# A dead link is noticed after this: at once where the system closes it, else by its silence.
_LEASE_MS = 3000

_PAUSE = 0.3

_RETRY = {"period_init_ms": 100, "period_max_ms": 1000, "period_increase_factor": 1.5}
# Bytes that Zenoh sends in one piece, and microseconds for which a piece waits for its link.
_PIECE = 60_000
_WAIT = 2_000_000
# Bytes of a process's name.
_MOST_PROCESS = 64
# One thread does all that Zenoh has to do for an agent; by default eight wake each other for every
# frame. ZENOH_RUNTIME, if it is set already, is heeded.
_ONE_THREAD = "(app: (worker_threads: 1), {})".format(
    ", ".join(f"{part}: (handover: app)" for part in ("rx", "tx", "net", "acc"))
)
# An agent of the same name is there: its token may be that of a process which was killed.
_SECONDS_FOR_THE_NAME = 2.0


@dataclass(frozen=True)
class Endpoints:
    """Where a process of a live network listens, and with whom it connects.

    Attributes
    ----------
    listen, connect
        Zenoh endpoints, such as ``tcp/127.0.0.1:7447``.
    router
        Whether all goes through the router that `connect` names.
    settings
        Further settings of Zenoh, path to JSON text: TLS, access control, limits.
    """

    listen: Sequence[str] = ()
    connect: Sequence[str] = ()
    router: bool = False
    settings: dict[str, str] = field(default_factory=dict)


def needs_zenoh() -> None:
    """See that the package is there.

    Raises
    ------
    ValueError
        If not.
    """
    from importlib.util import find_spec

    if find_spec("zenoh") is None:
        raise fail("live peers", "the package eclipse-zenoh", "none", install_extra("live"))


def open_session(ends: Endpoints, *, stopped: Callable[[], bool] = lambda: False) -> zenoh.Session:
    """A Zenoh session at some endpoints; without multicast, so that nobody is found by chance.

    Where all goes through a router it waits for that until `stopped`, and hears signals meanwhile.

    Raises
    ------
    ValueError
        If the package is missing, an endpoint cannot be had, or it was stopped.
    """
    needs_zenoh()
    os.environ.setdefault("ZENOH_RUNTIME", _ONE_THREAD)
    import zenoh

    config = zenoh.Config()
    settings = {
        "mode": '"client"' if ends.router else '"peer"',
        "scouting/multicast/enabled": "false",
        "scouting/gossip/enabled": "false",
        "connect/endpoints": json.dumps(list(ends.connect)),
        "listen/endpoints": json.dumps([] if ends.router else list(ends.listen)),
        "transport/link/tx/lease": str(_LEASE_MS),
        "open/return_conditions/connect_scouted": "false",
        # Agents start in any order, and routers return: go on trying.
        "connect/timeout_ms": "-1",
        "connect/exit_on_failure": "false",
        "connect/retry": json.dumps(_RETRY),
    }
    settings.update(ends.settings)
    try:
        for path, text in settings.items():
            config.insert_json5(path, text)
        session = _awaited(config, stopped) if ends.router else zenoh.open(config)
    except (zenoh.ZError, ValueError) as error:
        where = ", ".join([*ends.listen, *ends.connect]) or "no endpoint"
        text = " ".join(str(error).split())[:200]
        remedy = "see that it is free, or another end is there"
        raise fail("endpoints", f"to open {where}", text, remedy) from None
    if session is None:
        wanted, remedy = "a router that answers", "see that it runs, and where"
        raise fail("connect", wanted, "none before it was stopped", remedy)
    return session


def _awaited(config: zenoh.Config, stopped: Callable[[], bool]) -> zenoh.Session | None:
    """A session once its router answers, from a thread: Python hears no signal within Zenoh."""
    import zenoh

    opening: Future[zenoh.Session] = Future()

    def work() -> None:
        try:
            opening.set_result(zenoh.open(config))
        except BaseException as error:  # for whoever waits
            opening.set_exception(error)

    threading.Thread(target=work, name="opening", daemon=True).start()
    while not stopped():
        with suppress(TimeoutError):
            return opening.result(_PAUSE)
    return None


def settings_of_size(limit: int) -> dict[str, str]:
    """Further settings of Zenoh for frames of so many bytes.

    A frame that fits into one piece is sent at once or lost. The pieces of a longer one wait for
    each other, or a busy link would never see the last of them.
    """
    if limit <= _PIECE:
        return {}
    drop = "transport/link/tx/queue/congestion_control/drop"
    return {
        f"{drop}/wait_before_drop": str(_WAIT),
        f"{drop}/max_wait_before_drop_fragments": str(_WAIT),
    }


def process_of(sample: zenoh.Sample) -> str:
    """Which process sent a frame or a report; "" if it does not say."""
    said = sample.attachment
    if said is None or len(said) > _MOST_PROCESS:
        return ""
    return said.to_bytes().decode(errors="replace")


def listen(
    session: zenoh.Session,
    topic: str,
    take: Callable[[bytes | None, zenoh.Sample], None],
    *,
    limit: float = math.inf,
) -> Any:
    """Subscribe to a key: `take` gets what is published, None in place of more than `limit` bytes.

    The subscriber has to be kept.
    """

    def hear(sample: zenoh.Sample) -> None:
        payload = sample.payload
        take(payload.to_bytes() if len(payload) <= limit else None, sample)

    return session.declare_subscriber(topic, hear)


def listen_to_tokens(
    session: zenoh.Session, network: str, alive: Callable[[str, bool], None]
) -> Any:
    """Subscribe to who comes and goes, and who is there: `alive` gets an agent, and which it is.

    The subscriber has to be kept.
    """
    import zenoh

    def lives(sample: zenoh.Sample) -> None:
        alive(agent_of(str(sample.key_expr)), sample.kind == zenoh.SampleKind.PUT)

    everybody = key(network, "alive", "*")
    return session.liveliness().declare_subscriber(everybody, lives, history=True)


class ZenohTransport:
    """One agent's place in the network.

    Parameters
    ----------
    network, agent
        As in frames.
    ends
        Endpoints and settings.
    renewed
        Endpoints and settings by a new list of members, if they depend on it.
    """

    def __init__(
        self,
        network: str,
        agent: str,
        ends: Endpoints,
        *,
        renewed: Callable[[Members], Endpoints] | None = None,
    ) -> None:
        self._network, self._agent, self._ends = network, agent, ends
        self._renewed = renewed
        self.stopped: Callable[[], bool] = lambda: False  # asked while there is no router yet
        self._process = uuid.uuid4().hex
        self._session: zenoh.Session | None = None
        self._subscribers: dict[str, Any] = {}
        self._topics: dict[str, Callable[[bytes], None]] = {}
        self._kept: list[Any] = []

    def open(self, inbox: Inbox, *, names: Iterable[str], limit: int) -> None:
        """Listen to the agents of these names, then show that this agent is there.

        Parameters
        ----------
        inbox
            Gets all that arrives.
        names
            Whose beliefs are wanted; whoever is there is told of in any case.
        limit
            Bytes of a frame; larger ones are refused unread.

        Raises
        ------
        ValueError
            If the session cannot be opened, or an agent of this name is there already.
        """
        self._inbox, self._limit = inbox, limit
        self._session = open_session(self._ends, stopped=self.stopped)
        self._refuse_double(self._session)
        self._declare(self._session, names)

    def _declare(self, session: zenoh.Session, names: Iterable[str]) -> None:
        import zenoh

        put, network = self._inbox.put, self._network
        drop, quick = zenoh.CongestionControl.DROP, zenoh.Priority.INTERACTIVE_HIGH
        self._belief = session.declare_publisher(
            self._key("belief"), congestion_control=drop, priority=quick, express=True
        )
        self._reports = session.declare_publisher(self._key("report"), congestion_control=drop)
        self._listen_to(names)

        def echo(data: bytes | None, _: zenoh.Sample) -> None:
            if data is not None:
                put("echo", None, data)

        self._kept += [
            listen(session, key(network, "members"), lambda data, _: put("members", None, data)),
            listen(session, key(network, "echo", "*"), echo, limit=self._limit),
        ]
        for topic, on_data in self._topics.items():
            self.evidence(topic, on_data)
        # Its declarations go out in order: whoever sees the token sends to subscribers that are.
        self._kept.append(session.liveliness().declare_token(self._key("alive")))
        self._kept.append(
            listen_to_tokens(session, network, lambda name, here: put("alive", name, here))
        )

    def adopt(self, members: Members, names: Iterable[str]) -> None:
        """Listen by a new list of members, anew if access control needs it, and hand it on."""
        assert self._session is not None
        if self._renewed is None:
            self._listen_to(names)
        else:
            self._session.close()
            self._subscribers.clear()
            self._kept.clear()
            self._session = open_session(self._renewed(members))
            self._declare(self._session, names)
        self._session.put(key(self._network, "members"), json.dumps(members.document()))

    def _key(self, subject: Any) -> str:
        return key(self._network, subject, self._agent)

    def _refuse_double(self, session: zenoh.Session) -> None:
        end = time.monotonic() + _SECONDS_FOR_THE_NAME
        while any(True for _ in session.liveliness().get(self._key("alive"), timeout=1.0)):
            if time.monotonic() > end:
                self.close()
                wanted = f"no agent {self._agent!r} in the network yet"
                raise fail("agent", wanted, "one that runs", "stop it, or choose another name")
            time.sleep(_PAUSE)

    def _listen_to(self, names: Iterable[str]) -> None:
        """From now on, listen to the agents of these names and no others."""
        assert self._session is not None
        wanted, put = set(names), self._inbox.put
        for name in self._subscribers.keys() - wanted:
            self._subscribers.pop(name).undeclare()

        def hear(data: bytes | None, sample: zenoh.Sample, name: str) -> None:
            if data is None:
                put("refused", name, "too-large")
            else:
                put("frame", name, data, process_of(sample))

        for name in sorted(wanted - self._subscribers.keys()):
            self._subscribers[name] = listen(
                self._session,
                key(self._network, "belief", name),
                partial(hear, name=name),
                limit=self._limit,
            )

    def send(self, data: bytes) -> None:
        """Publish a frame under this agent's name; what a link cannot take at once is lost."""
        self._belief.put(data, attachment=self._process)

    def echo(self, data: bytes) -> None:
        """Publish a frame of another agent's first process, for the second of them."""
        import zenoh

        assert self._session is not None
        drop = zenoh.CongestionControl.DROP
        self._session.put(self._key("echo"), data, congestion_control=drop)

    def report(self, data: bytes) -> None:
        """Publish a report under this agent's name."""
        self._reports.put(data, attachment=self._process)

    def evidence(self, topic: str, on_data: Callable[[bytes], None]) -> None:
        """Hear what anybody publishes under a key of one's own choice."""
        assert self._session is not None
        self._topics[topic] = on_data

        def take(data: bytes | None, _: zenoh.Sample) -> None:
            if data is not None:
                on_data(data)

        self._kept.append(listen(self._session, topic, take, limit=self._limit))

    def close(self) -> None:
        """Leave the network."""
        if self._session is not None:
            session, self._session = self._session, None
            self._subscribers.clear()
            self._kept.clear()
            session.close()
