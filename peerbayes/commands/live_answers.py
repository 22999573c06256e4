"""Answers of commands that run live agents, watch them, or make their keys."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.commands.command import CHECK_FAILED, DONE, show

if TYPE_CHECKING:
    from peerbayes.commands.command import Terminal
    from peerbayes.live.watch.watching import WatchOutcome
    from peerbayes.settings.declared import Settings
    from peerbayes.settings.live import Members, MoreKeys, NewKeys, Peer, Router, WatchRun


def peer(problem: str, how: Peer, terminal: Terminal) -> int:
    """Run one agent until it is done."""
    from peerbayes.live.agent import run_agent
    from peerbayes.live.finding import own_share
    from peerbayes.live.report import Teller

    share = own_share(problem, how.agent, how.images, seed=how.seed, recipe=how.recipe)
    teller = Teller(share, quiet=terminal.quiet, json=terminal.json)
    teller.last(run_agent(share, how, log=teller.log, on_report=teller.report))
    gc.freeze()  # the end of the process need not go through all that torch has made
    return DONE


def watch(problem: str, how: WatchRun, terminal: Terminal) -> WatchOutcome:
    """Listen to live agents, drawn on the terminal."""
    from peerbayes.front.live import watch as watch_network
    from peerbayes.live.watch.watching import on_terminal

    with on_terminal(quiet=terminal.quiet) as drawn:
        return watch_network(problem, how, launched_in=how.out, show=drawn)


def router(how: Router, terminal: Terminal) -> int:
    """Pass frames on until Ctrl-C."""
    from contextlib import suppress

    needs_cryptography()
    from peerbayes.live.router import Router as Running
    from peerbayes.live.router import router_keys

    own = None if how.keys is None else router_keys(Path(how.keys))
    with Running(listen=how.listen, connect=how.connect, keys=own) as running:
        terminal.notice(f"router at {', '.join(how.listen)}; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            running.run(how.seconds)
        done = running.done()
    return show(done, json=terminal.json)


# Keys --------------------------------------------------------------------------------------------


def new_keys(problem: str, how: NewKeys, terminal: Terminal) -> int:
    """Make an authority and everybody's keys."""
    needs_cryptography()
    from peerbayes.live import keys
    from peerbayes.live.finding import every_share

    members = every_share(problem, how.images)[0].members
    return check_keys(keys.new_keys(members, how.out, days=how.days), None, terminal, always=True)


def more_keys(agent: str, how: MoreKeys, terminal: Terminal) -> int:
    """Make keys for one more agent."""
    needs_cryptography()
    from peerbayes.live import keys

    folder = keys.add_keys(how.out, agent, renew=how.renew, days=how.days)
    return check_keys(folder, None, terminal, always=True)


def sign_members(problem: str, how: Members, terminal: Terminal) -> int:
    """Sign the next list of members."""
    needs_cryptography()
    from peerbayes.live import keys
    from peerbayes.live.finding import every_share

    keys.sign_members(every_share(problem, how.images)[0].members, how.out)
    return check_keys(how.out, None, terminal, always=True)


def check_keys(
    folder: Path | str, _: Settings | None, terminal: Terminal, *, always: bool = False
) -> int:
    """Show what is right and wrong of keys; exit code 0 in any case if `always`."""
    needs_cryptography()
    from peerbayes.live.keys_check import check_keys as examined

    found = examined(folder)
    failed = found.failed and not always
    return show(found, json=terminal.json, code=CHECK_FAILED if failed else DONE)


def needs_cryptography() -> None:
    """Say in one line what to install if the package `cryptography` is missing.

    Raises
    ------
    ValueError
        If it is.
    """
    try:
        import cryptography  # noqa: F401
    except ImportError:
        from theory.validation import fail, install_extra

        remedy = install_extra("live")
        raise fail("keys", "the package cryptography", "none", remedy) from None
