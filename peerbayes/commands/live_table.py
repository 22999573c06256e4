"""Commands of live agents, a row each."""

from __future__ import annotations

from peerbayes.commands.command import Command, Subject
from peerbayes.settings.declared import Settings
from peerbayes.settings.domains import FOLDER
from peerbayes.settings.live import (
    Launch,
    Members,
    MoreKeys,
    NewKeys,
    Peer,
    Router,
    WatchRun,
)

LIVE = "Run live agents"
LIVE_PROBLEM = Subject(
    "PROBLEM",
    "A TOML or JSON file, a built-in problem, a net file, or an experiment with nets.",
    completes="problems",
)
KEYS = Subject(
    "[DIR]", "All keys, or one process's.", default="keys", reader=FOLDER, completes="paths"
)

LIVE_COMMANDS = (
    Command(
        "launch",
        LIVE,
        "All agents of a problem as live processes here.",
        "Run all agents of a problem on this machine, each as a process; Ctrl-C ends them.",
        (Launch,),
        "peerbayes.front.live:launch",
        "peerbayes launch two-coins --rounds 100",
        LIVE_PROBLEM,
        leaves=("record",),
    ),
    Command(
        "peer",
        LIVE,
        "One agent of a live network, as a process.",
        "Run one agent of a live network, until it is done or Ctrl-C.\n\n"
        "It goes on from what it left in the folder for records. With --json, each report is a "
        "line.",
        (Peer,),
        "peerbayes.commands.live_answers:peer",
        "peerbayes peer two-coins --agent 0 --listen tcp/127.0.0.1:7447",
        LIVE_PROBLEM,
        speaks=True,
    ),
    Command(
        "watch",
        LIVE,
        "See live agents as they run, beside what theory predicts.",
        "Live agents as they run: who is heard, how late, how fast, beside what theory "
        "predicts.\n\nIt only listens. Ctrl-C ends it in order, with a record of what was seen.",
        (WatchRun,),
        "peerbayes.commands.live_answers:watch",
        "peerbayes watch two-coins",
        Subject(
            "PROBLEM",
            "What the agents run, a file or a built-in; or their network's 16 digits.",
            completes="problems",
        ),
        leaves=("record", "report"),
        speaks=True,
    ),
    Command(
        "router",
        LIVE,
        "Pass on what live agents say.",
        "Pass on what live agents say, where they do not reach one another; Ctrl-C ends it.",
        (Router,),
        "peerbayes.commands.live_answers:router",
        "peerbayes router --listen tcp/0.0.0.0:7447",
        speaks=True,
    ),
    Command(
        "keys new",
        LIVE,
        "Keys for every agent, a router and a watcher.",
        "Make an authority, and keys for every agent of a problem, a router and a watcher.",
        (NewKeys,),
        "peerbayes.commands.live_answers:new_keys",
        "peerbayes keys new two-coins",
        LIVE_PROBLEM,
        speaks=True,
    ),
    Command(
        "keys add",
        LIVE,
        "Keys for one more agent.",
        "Make keys for one more agent; 'keys members' makes it a member.",
        (MoreKeys,),
        "peerbayes.commands.live_answers:more_keys",
        "peerbayes keys add mast",
        Subject("NAME", "The agent's name."),
        speaks=True,
    ),
    Command(
        "keys members",
        LIVE,
        "Sign the next list of members.",
        "Sign the problem's network as the next list of members, for all folders.",
        (Members,),
        "peerbayes.commands.live_answers:sign_members",
        "peerbayes keys members two-coins",
        LIVE_PROBLEM,
        speaks=True,
    ),
    Command(
        "keys check",
        LIVE,
        "Examine keys, certificates and lists of members.",
        "Examine keys, certificates and lists of members; exit code 1 if something is wrong.",
        (Settings,),
        "peerbayes.commands.live_answers:check_keys",
        "peerbayes keys check",
        KEYS,
        speaks=True,
    ),
)
