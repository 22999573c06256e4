"""A router: passes on what agents say where they do not reach one another directly.

It keeps nothing and decides nothing. With keys, it lets in whom the network's list of members
names, and from each what is its own; it cannot alter a frame unnoticed, nor make one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from peerbayes.live.security import MEMBERS, KeyFolder, signed_members, zenoh_settings
from peerbayes.live.transport import TransportRefusals, check_addresses
from peerbayes.live.zenoh_transport import Endpoints, open_session
from peerbayes.quantities.quantity import quantity, table_of
from peerbayes.quantities.showing import Result
from theory.validation import fail

if TYPE_CHECKING:
    import zenoh

_PAUSE = 0.5


@dataclass(frozen=True, eq=False)
class Routed(Result):
    """What a router did."""

    seconds: float = quantity(
        float, "how long it ran", label="seconds", words=lambda value, _: f"{value:.0f}"
    )
    epoch: int | None = quantity(int | None, "of the last list of members; null without keys")
    refused: Mapping[str, int] = quantity(
        dict[str, int],
        "how often, by reason",
        label="refused",
        words=lambda value, _: ", ".join(f"{n} {reason}" for reason, n in value.items()) or "none",
    )


ROUTED = Routed.quantities = table_of(
    Routed, "RouterDocument", "What a router did.", title="Router"
)


class Router:
    """A router that runs within the block of a context manager.

    Parameters
    ----------
    listen, connect
        Zenoh endpoints: its own, and those of other routers.
    keys
        The router's; without them anybody may join.

    Raises
    ------
    ValueError
        If an endpoint cannot be had, or the keys are no router's.
    """

    def __init__(
        self,
        *,
        listen: Sequence[str],
        connect: Sequence[str] = (),
        keys: KeyFolder | None = None,
    ) -> None:
        if keys is not None and keys.role != "router":
            got = f"those of {keys.name!r}"
            raise fail(str(keys.path), "a router's keys", got, "name the folder 'router'")
        check_addresses(listen=listen, connect=connect)
        self._ends = (tuple(listen), tuple(connect))
        self._keys = keys
        self._start = time.monotonic()
        self._refusals = TransportRefusals()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._refusals)
            self._open()
            stack.callback(lambda: self._session.close())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _open(self) -> None:
        self._stamp = self._changed()
        self._epoch: int | None = None
        names: tuple[str, ...] = ()
        if self._keys is not None:
            members = signed_members(self._keys)
            self._epoch, names = members.epoch, members.names
        settings = zenoh_settings(self._keys, members=names) | {"mode": '"router"'}
        listen, connect = self._ends
        self._session: zenoh.Session = open_session(Endpoints(listen, connect, settings=settings))

    def _changed(self) -> int:
        """A number that is another one when the list of members is."""
        if self._keys is None:
            return 0
        return (self._keys.path / MEMBERS).stat().st_mtime_ns

    def run(self, seconds: float | None = None) -> None:
        """Wait, and open the router anew when its list of members is a new one.

        Parameters
        ----------
        seconds
            How long; for ever if left out.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            time.sleep(_PAUSE if end is None else min(_PAUSE, max(0.0, end - time.monotonic())))
            if self._changed() != self._stamp:
                self._session.close()
                self._open()

    def done(self) -> Routed:
        """What it has done so far."""
        return Routed(time.monotonic() - self._start, self._epoch, self._refusals.counts())


def router_keys(path: Path) -> KeyFolder:
    """A router's keys, in a folder of their own or in that of its network.

    Raises
    ------
    ValueError
        If there are none.
    """
    inner = path / "router"
    return KeyFolder.read(inner if inner.is_dir() else path)
