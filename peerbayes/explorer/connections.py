"""Connections that ask for nothing: they end, and never take the place of those that ask."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 100
"""Connections that are open at a time."""
# Seconds from a connection's beginning, or from its last answer, to the end of the next head.
_HEAD_SECONDS = 10.0


class Connection(H11Protocol):
    """One connection of the server, as uvicorn's, with an end to waiting.

    A head that is not whole in time ends the connection. Where there are too many, the one that has
    waited longest for a head gives way to the new one.
    """

    _waits: asyncio.TimerHandle | None = None

    @property
    def waits_since(self) -> float | None:
        """When the loop's clock began to count; None while a request is answered."""
        return None if self._waits is None else self._waits.when()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room, then begin to wait."""
        others = (one for one in self.connections if isinstance(one, Connection))
        waiting = {one: since for one in others if (since := one.waits_since) is not None}
        if waiting and len(self.connections) >= MOST:
            longest = min(waiting, key=waiting.__getitem__)
            self.connections.discard(longest)
            longest.transport.abort()
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait no longer once a request has begun to be answered."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        """Wait for the next request, which may have come already."""
        self._wait()
        super().on_response_complete()
        if not self.cycle.response_complete:
            self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._wait_no_more()
        self._waits = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None
