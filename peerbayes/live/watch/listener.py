"""A watcher's place in a live network: it subscribes, and publishes nothing.

Reports, tokens of who is there, and lists of members are all that it asks for. With keys its
certificate is a watcher's, from which agents take nothing in any case.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from peerbayes.live.addresses import check_addresses
from peerbayes.live.transport import agent_of, key
from peerbayes.live.watch.reports import LARGEST_REPORT
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.live.zenoh_transport import Endpoints

_LARGEST_LIST = 16 << 20
# Stands for a payload that was not read, and is refused as that would be.
_TOO_LARGE = bytes(LARGEST_REPORT + 1)


class Hears(Protocol):
    """Where a listener puts what arrives; called from any thread."""

    def report(self, name: str, payload: bytes, *, process: str = "") -> None:
        """A report came in the name of an agent, from a process that may say which it is."""

    def alive(self, name: str, here: bool) -> None:
        """An agent's token came, or is gone."""

    def members(self, data: bytes) -> None:
        """A list of members was published."""


class Listener:
    """A session that listens until it is closed; a context manager.

    Parameters
    ----------
    network
        First 16 hexadecimal digits of the problem's digest.
    ends
        Endpoints and settings.
    hears
        Told of all that arrives.

    Raises
    ------
    ValueError
        If the package zenoh is missing, or the session cannot be opened.
    """

    def __init__(self, network: str, ends: Endpoints, hears: Hears) -> None:
        from peerbayes.live.zenoh_transport import open_session, process_of

        session = self._session = open_session(ends)
        import zenoh

        def reports(sample: zenoh.Sample) -> None:
            payload = sample.payload
            data = payload.to_bytes() if len(payload) <= LARGEST_REPORT else _TOO_LARGE
            hears.report(agent_of(str(sample.key_expr)), data, process=process_of(sample))

        def lives(sample: zenoh.Sample) -> None:
            hears.alive(agent_of(str(sample.key_expr)), sample.kind == zenoh.SampleKind.PUT)

        def lists(sample: zenoh.Sample) -> None:
            if len(sample.payload) <= _LARGEST_LIST:
                hears.members(sample.payload.to_bytes())

        self._kept = [
            session.declare_subscriber(key(network, "report", "*"), reports),
            session.declare_subscriber(key(network, "members"), lists),
            session.liveliness().declare_subscriber(
                key(network, "alive", "*"), lives, history=True
            ),
        ]

    def close(self) -> None:
        """Stop listening."""
        self._session.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def ends_of(
    network: str,
    *,
    connect: Iterable[str],
    router: bool,
    keys: Path | None,
    members: Iterable[str],
    out: Path,
) -> tuple[Endpoints, str]:
    """Where to listen, and the key that lists of members must be signed by ("" for none).

    Without `connect`: at the agents that `peerbayes launch` started with the same folder `out`.

    Raises
    ------
    ValueError
        If there is nobody to listen to, or `keys` are not a watcher's of this network.
    """
    from peerbayes.live.security import KeyFolder, zenoh_settings
    from peerbayes.live.zenoh_transport import Endpoints

    endpoints = tuple(connect)
    check_addresses(connect=endpoints)
    if not endpoints:
        endpoints, router = launched(network, out)
    folder = None
    if keys is not None:
        folder = KeyFolder.read(keys if (keys / "folder.json").exists() else keys / "watcher")
        if folder.network != network:
            got = f"those of {folder.network}"
            raise fail("--keys", f"keys of network {network}", got, "name its folder")
    settings = zenoh_settings(folder, members=members)
    ends = Endpoints(connect=endpoints, router=router, settings=settings)
    return ends, "" if folder is None else folder.authority


def launched(network: str, out: Path) -> tuple[tuple[str, ...], bool]:
    """Endpoints of the agents that `peerbayes launch` runs, and whether they are a router's.

    Raises
    ------
    ValueError
        If it runs none of this network.
    """
    path = out / f"live-{network}.json"
    try:
        content = json.loads(path.read_bytes())
        endpoints = tuple(str(one) for one in content["endpoints"])
        router = bool(content.get("router", False))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        wanted = "endpoints of the agents"
        remedy = "name them with --connect, or start 'peerbayes launch' with the same --out"
        raise fail("--connect", wanted, "none", remedy) from None
    if not endpoints:
        raise fail(str(path), "endpoints of the agents", "none", "start 'peerbayes launch' again")
    return endpoints, router
