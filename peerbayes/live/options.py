"""How one live agent is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peerbayes.live.pacing import Pacing
from peerbayes.live.share import Share


@dataclass(frozen=True)
class AgentOptions:
    """How one agent is run.

    Attributes
    ----------
    share
        Its share of the problem.
    listen, connect, router
        Zenoh endpoints (`peerbayes.live.zenoh_transport.Endpoints`).
    keys, members
        A key folder and a list of members; without them the problem's own members, unsigned.
    evidence
        "draw", "-", a file's name, or "zenoh:KEY".
    pacing
        When it does what.
    on_loss, robust
        In place of the share's.
    out
        Folder of its state.
    journal
        Whether all that it did is kept, for replays.
    seed
        Of its draws.
    attached
        Whether it ends when its standard input does, as of a process that launches others.
    """

    share: Share
    listen: Sequence[str] = ()
    connect: Sequence[str] = ()
    router: bool = False
    keys: Path | None = None
    members: Path | None = None
    evidence: str = "draw"
    pacing: Pacing = field(default_factory=Pacing)
    on_loss: str | None = None
    robust: dict[str, Any] | None = None
    out: Path | None = None
    journal: bool = False
    seed: int = 0
    attached: bool = False
