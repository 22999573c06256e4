"""A router: passes on what agents say where they do not reach one another directly.

It keeps nothing and decides nothing. With keys, it lets in whom the network's list of members
names, and from each what is its own; it cannot alter a frame unnoticed, nor make one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.live.addresses import check_addresses
from peerbayes.live.keys import signed_members
from peerbayes.live.keys_documents import RouterDocument
from peerbayes.live.refusals import TransportRefusals
from peerbayes.live.security import MEMBERS, KeyFolder, zenoh_settings
from peerbayes.live.zenoh_transport import Endpoints, open_session
from theory.validation import fail

if TYPE_CHECKING:
    import zenoh

_PAUSE = 0.5


class Router:
    """A router that runs; a context manager, which stops it.

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
        self._refusals.__enter__()
        try:
            self._open()
        except BaseException:
            self._refusals.__exit__(None, None, None)
            raise

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

    def document(self) -> RouterDocument:
        """What it has done so far."""
        seconds = time.monotonic() - self._start
        return RouterDocument(seconds=seconds, epoch=self._epoch, refused=self._refusals.counts())

    def close(self) -> None:
        """Stop."""
        self._session.close()
        self._refusals.__exit__(None, None, None)

    def __enter__(self) -> Router:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def router_keys(path: Path) -> KeyFolder:
    """A router's keys, in a folder of their own or in that of its network.

    Raises
    ------
    ValueError
        If there are none.
    """
    inner = path / "router"
    return KeyFolder.read(inner if inner.is_dir() else path)
