"""What goes through a transport: keys under which things are said, addresses, what arrives.

The transport itself is `peerbayes.live.zenoh_transport`; tests have one in memory.

Waking a thread costs as much as reading a frame does. So the reader of an inbox says how many
frames it waits for, and sleeps until they are there; all else that arrives wakes it at once.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any, Literal, Self
from urllib.parse import quote, unquote

from theory.validation import fail

# Beyond, what arrives is dropped.
_MOST_WAITING = 20_000
# What a reader that waits for some frames is not woken for.
_PATIENT = frozenset(("frame", "refused"))
# Protocols whose address is a host and a port; Zenoh itself refuses what it does not speak.
_BY_HOST = ("tcp", "tls", "udp", "quic", "ws")
# Where Zenoh 1.x logs a link that is not let in, and a message that is held back by access control.
_FILTER = ",".join(
    (
        "off",
        "zenoh_link_tls::unicast=warn",
        "zenoh::net::routing::interceptor=trace",
        "zenoh::net::routing::interceptor::access_control=off",
    )
)
_MARKS = {"not-admitted": b"zenoh_link_tls::unicast", "not-allowed": b"Msg intercepted"}
_started = threading.Lock()

Subject = Literal["belief", "alive", "report", "members", "evidence", "echo"]


def key(network: str, subject: Subject, agent: str | None = None) -> str:
    """The key expression of one agent's subject; of all agents' with ``"*"``.

    >>> key("0123456789abcdef", "belief", "Köln / west")
    'peerbayes/0123456789abcdef/belief/K%C3%B6ln%20%2F%20west'
    """
    parts = ["peerbayes", network, subject]
    if agent is not None:
        parts.append("*" if agent == "*" else encoded(agent))
    return "/".join(parts)


def encoded(name: str) -> str:
    """A name as a part of a key: percent-encoded, the stars and dollars of patterns too."""
    return quote(name, safe="")


def agent_of(key: str) -> str:
    """The agent's name at the end of a key."""
    return unquote(key.rsplit("/", 1)[-1])


# What has arrived -------------------------------------------------------------------------------


Event = tuple[Any, ...]
"""What it is, of whom, and what came; of a frame, by which process, if that is known."""


class Inbox:
    """What has arrived, in order; filled from any thread, read from one."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._enough = 1
        self._bell = threading.Lock()  # held while nothing is to be told
        self._bell.acquire()

    def put(self, what: str, name: str | None = None, data: Any = None, process: str = "") -> None:
        """Something has arrived; that somebody came or went is never dropped.

        ===========  ===========================================================================
        what         name, data
        ===========  ===========================================================================
        "frame"      bytes under the name of an agent, and which process sent them, if it says so
        "refused"    under whose name, and why it was not even handed on
        "alive"      an agent, and whether it is there
        "members"    the bytes of a list of members
        "echo"       the bytes of a frame that somebody heard of the first of two processes
        "wake"       evidence has arrived
        ===========  ===========================================================================
        """
        if what == "alive" or len(self._events) < _MOST_WAITING:
            self._events.append((what, name, data, process) if process else (what, name, data))
        if what not in _PATIENT or len(self._events) >= self._enough:
            with suppress(RuntimeError):  # it has been rung, and not been heard yet
                self._bell.release()

    def wait(self, seconds: float, *, enough: int = 1) -> list[Event]:
        """What has arrived, after waiting for so many frames, or anything else, or so long.

        Fewer may be there, or nothing, before the time is over.
        """
        self._enough = enough
        # Whoever adds an event from here on sees `enough`, and rings.
        if len(self._events) < enough:
            self._bell.acquire(timeout=max(0.0, seconds))
        return self.all()

    def all(self) -> list[Event]:
        """What has arrived."""
        events = self._events
        return [events.popleft() for _ in range(len(events))]


# Addresses --------------------------------------------------------------------------------------


def check_addresses(*, listen: Sequence[str] = (), connect: Sequence[str] = ()) -> None:
    """See that a host and a port can be what they say.

    Parameters
    ----------
    listen, connect
        Zenoh endpoints; port 0 stands for any that is free where one listens.

    Raises
    ------
    ValueError
        If a port is none, a host has no address, or an IPv6 address has no brackets.

    Examples
    --------
    >>> check_addresses(connect=["tcp/[::1]:7447"])
    >>> check_addresses(connect=["tcp/127.0.0.1:99999"])
    Traceback (most recent call last):
        ...
    ValueError: connect: expected a port from 1 to 65535, got 'tcp/127.0.0.1:99999'; correct it
    """
    for option, first, endpoints in (("listen", 0, listen), ("connect", 1, connect)):
        for endpoint in endpoints:
            protocol, slash, rest = endpoint.partition("/")
            if not slash:
                wanted = "a protocol, a host and a port, such as tcp/127.0.0.1:7447"
                raise fail(option, wanted, repr(endpoint[:120]), "write all three")
            if protocol in _BY_HOST:
                _check(option, endpoint, re.split("[?#]", rest)[0], first_port=first)


def _check(option: str, endpoint: str, address: str, *, first_port: int) -> None:
    got = repr(endpoint[:120])
    host, _, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        protocol = endpoint.partition("/")[0]
        wanted = "brackets around an IPv6 address"
        raise fail(option, wanted, got, f"write {protocol}/[{host[:60]}]:{port[:20]}")
    digits = port.isascii() and port.isdigit() and len(port) < 6
    if not digits or not first_port <= int(port) <= 65535:
        raise fail(option, f"a port from {first_port} to 65535", got, "correct it")
    try:
        if not host:
            raise OSError("no host")
        socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        wanted = "a host with an address"
        raise fail(option, wanted, f"{got} ({reason})", "correct it, or name it by IP") from None


# Refusals ---------------------------------------------------------------------------------------


class TransportRefusals:
    """Counts what this process's Zenoh sessions refuse; a context manager, once in a process.

    Refused are strangers ("not-admitted": a link without a certificate of the network's) and
    messages that their sender's certificate does not allow ("not-allowed"; both ways: also one's
    own that a stranger would be sent). Zenoh tells nobody of them but its log, which it writes to
    standard output. While a process counts, what it writes there by itself goes on to the real one;
    the log goes into a pipe that is read here. Only refusals are logged, so that nothing is paid
    for what is in order.

    It must be entered before the first session is opened. In a process in which Zenoh logs
    already, or that has counted before, nothing more is counted.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_MARKS, 0)
        self._stack = ExitStack()

    def counts(self) -> dict[str, int]:
        """Refusals since the start, by reason; reasons that did not occur are left out."""
        return {reason: count for reason, count in self._counts.items() if count}

    def __enter__(self) -> Self:
        if not _started.acquire(blocking=False):
            return self
        import zenoh

        sys.stdout.flush()
        before = os.environ.get("RUST_LOG")
        os.environ["RUST_LOG"] = _FILTER
        try:
            zenoh.try_init_log_from_env()
        finally:
            if before is None:
                del os.environ["RUST_LOG"]
            else:
                os.environ["RUST_LOG"] = before
        output = os.dup(1)
        reading, writing = os.pipe()
        os.dup2(writing, 1)
        os.close(writing)
        text = sys.stdout
        sys.stdout = os.fdopen(output, "w", encoding=text.encoding, errors=text.errors, buffering=1)
        thread = threading.Thread(target=self._read, args=(reading,), name="refusals", daemon=True)
        thread.start()

        def restore() -> None:
            sys.stdout.flush()
            os.dup2(output, 1)  # the pipe's last writer: its reader comes to the end
            thread.join(timeout=5)
            sys.stdout.close()
            sys.stdout = text

        self._stack.callback(restore)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _read(self, reading: int) -> None:
        rest = b""
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while data := pipe.read(65536):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    for reason, mark in _MARKS.items():
                        self._counts[reason] += mark in line
                rest = rest[-4096:]
