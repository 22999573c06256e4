"""Networks that change, run: processes, the loop over them, mailboxes and peers.

:mod:`exact.changing.simulation` is the quick form, for many replicates (:func:`exact.simulate`);
:mod:`exact.changing.beliefs` the papers' form, for phases that are given;
:mod:`exact.changing.mailbox` says what a lost, late or repeated message does to a belief;
:mod:`exact.changing.peer` is one agent by itself, and what it did can be done again
(:mod:`exact.changing.replays`) and accounted for (:mod:`exact.changing.growth`).
"""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from exact.changing.beliefs import Rounds, draw_rounds, learn_changing
    from exact.changing.exchange import Exchange, Post, exchange
    from exact.changing.growth import Growth, Realised, realised
    from exact.changing.log import Log
    from exact.changing.mailbox import CLOCKS, Mailbox
    from exact.changing.peer import Peer
    from exact.changing.peer_state import Message, PeerState, Pooled, Receipt
    from exact.changing.process import Process
    from exact.changing.replays import Event, Replay, replay
    from exact.changing.simulation import Footprint, process_for, run_process
else:
    show_lazily(__name__)

__all__ = [
    "CLOCKS",
    "Event",
    "Exchange",
    "Footprint",
    "Growth",
    "Log",
    "Mailbox",
    "Message",
    "Peer",
    "PeerState",
    "Pooled",
    "Post",
    "Process",
    "Realised",
    "Receipt",
    "Replay",
    "Rounds",
    "draw_rounds",
    "exchange",
    "learn_changing",
    "process_for",
    "realised",
    "replay",
    "run_process",
]
