"""Counts what the transport itself refuses: strangers, and messages that access control forbids.

Zenoh tells nobody of them but its log, which it writes to standard output. While a process counts,
what it writes there by itself goes on to the real one; the log goes into a pipe that is read here.
Only refusals are logged, so that nothing is paid for what is in order.
"""

from __future__ import annotations

import os
import sys
import threading
from types import TracebackType
from typing import Self

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
REASONS = tuple(_MARKS)
"""Why the transport refuses: a link without a certificate of the network's, or a message that its
sender's certificate does not allow (both ways: also one's own that a stranger would be sent)."""
_started = threading.Lock()


class TransportRefusals:
    """Counts what this process's Zenoh sessions refuse; a context manager, once in a process.

    It must be entered before the first session is opened. In a process in which Zenoh logs
    already, or that has counted before, nothing more is counted.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_MARKS, 0)
        self._output: int | None = None
        self._thread: threading.Thread | None = None

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
        self._output = os.dup(1)
        reading, writing = os.pipe()
        os.dup2(writing, 1)
        os.close(writing)
        self._text = sys.stdout
        encoding, errors = self._text.encoding, self._text.errors
        sys.stdout = os.fdopen(self._output, "w", encoding=encoding, errors=errors, buffering=1)
        self._thread = threading.Thread(
            target=self._read, args=(reading,), name="refusals", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread is None:
            return
        sys.stdout.flush()
        assert self._output is not None
        os.dup2(self._output, 1)  # the pipe's last writer: its reader comes to the end
        self._thread.join(timeout=5)
        sys.stdout.close()
        sys.stdout = self._text

    def _read(self, reading: int) -> None:
        rest = b""
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while data := pipe.read(65536):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    for reason, mark in _MARKS.items():
                        self._counts[reason] += mark in line
                rest = rest[-4096:]
