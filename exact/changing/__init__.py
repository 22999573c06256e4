"""Networks that change, run: processes, the loop over them, and mailboxes.

:mod:`exact.changing.simulation` is the quick form, for many replicates;
:mod:`exact.changing.beliefs` the papers' form, for phases that are given;
:mod:`exact.changing.mailbox` says what a lost, late or repeated message does to a belief.
"""

from exact.changing.beliefs import Rounds, draw_rounds, learn_changing
from exact.changing.exchange import Exchange, Post, exchange
from exact.changing.mailbox import Mailbox, Message, Pooled, Receipt
from exact.changing.process import Process, run_process
from exact.changing.simulation import changing_cost, process_for, simulate_changing

__all__ = [
    "Exchange",
    "Mailbox",
    "Message",
    "Pooled",
    "Post",
    "Process",
    "Receipt",
    "Rounds",
    "changing_cost",
    "draw_rounds",
    "exchange",
    "learn_changing",
    "process_for",
    "run_process",
    "simulate_changing",
]
