"""How frames travel: what a loop of rounds asks of a transport, and the keys under which it says
things. The real one is Eclipse Zenoh (`peerbayes.live.zenoh_transport`); tests have one in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, Protocol
from urllib.parse import quote, unquote

from peerbayes.live.members import Members

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


class Heard(Protocol):
    """Where a transport puts what arrives; called from any thread, and never for long."""

    def frame(self, name: str, data: bytes, process: str = "") -> None:
        """Bytes under the name of an agent, and which process sent them, if it says so."""
        ...

    def echo(self, data: bytes) -> None:
        """A frame that somebody heard from the first of two processes of an agent."""
        ...

    def refused(self, name: str, reason: str) -> None:
        """Something that was not even handed on, such as a frame that is too large."""
        ...

    def alive(self, name: str, here: bool) -> None:
        """An agent has come or gone."""
        ...

    def members(self, data: bytes) -> None:
        """A list of members was published."""
        ...


class Transport(Protocol):
    """One agent's place in the network."""

    def open(self, heard: Heard, *, names: Iterable[str], limit: int) -> None:
        """Listen to the agents of these names, then show that this agent is there.

        Parameters
        ----------
        heard
            Told of all that arrives.
        names
            Whose beliefs are wanted; whoever is there is told of in any case.
        limit
            Bytes of a frame; larger ones are refused unread.
        """
        ...

    def adopt(self, members: Members, names: Iterable[str]) -> None:
        """A new list of members: let others have it, and listen to the agents of these names."""
        ...

    def send(self, data: bytes) -> None:
        """Publish a frame under this agent's name; at once, or it is lost."""
        ...

    def echo(self, data: bytes) -> None:
        """Let the second process of an agent hear a frame of the first."""
        ...

    def report(self, data: bytes) -> None:
        """Publish a report under this agent's name."""
        ...

    def evidence(self, topic: str, on_data: Callable[[bytes], None]) -> None:
        """Hear what anybody publishes under a key of one's own choice."""
        ...

    def close(self) -> None:
        """Leave the network."""
        ...
