"""Who one agent is among the members: its keys, the list that holds, and newer ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.live.members import Members
from peerbayes.live.options import AgentOptions
from peerbayes.live.share import Share
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.live.security import KeyFolder


def admitted(options: AgentOptions) -> tuple[KeyFolder | None, Share]:
    """Keys, and the share with the list of members that holds.

    Raises
    ------
    ValueError
        If keys or list are not there, are another network's, or the agent is not in the list.
    """
    share, keys, path = options.share, _keys(options), _list_file(options)
    if path is None:
        return None, share
    members = Members.read(path)
    if share.agent not in members.names:
        names = ", ".join(members.names[:12])
        raise fail(str(path), f"a list with agent {share.agent!r}", names, "add it to the list")
    if keys is not None:
        if not _is_signed(keys, members) or members.network != keys.network:
            wanted = "a list signed by the network's authority"
            raise fail(str(path), wanted, "another signature", "see 'peerbayes keys members'")
        differs = members.network != share.network
    else:
        differs = members.network != share.network and members.epoch == 0
    if differs and members.epoch == 0:
        wanted, remedy = f"the members of network {share.network}", "use the list of this problem"
        raise fail(str(path), wanted, members.network, remedy)
    return keys, replace(share, members=members)


def in_force(kept: Members, given: Members, keys: KeyFolder | None) -> Members:
    """The list to go by: the newer of the one that was kept with a state and the one given now.

    Keys may have been made anew since the state was kept: then only the given list counts.
    """
    if keys is not None and not _is_signed(keys, kept):
        return given
    return kept if kept.epoch > given.epoch else given


def newer_list(options: AgentOptions, keys: KeyFolder | None) -> Callable[[], Members | None]:
    """Asked now and then: the list of members in the agent's file, if that has changed."""
    path = _list_file(options)
    if path is None:
        return lambda: None
    known = _stamp(path)

    def look() -> Members | None:
        nonlocal known
        now = _stamp(path)
        if now == known:
            return None
        try:
            members = Members.read(path)
        except ValueError:
            return None  # perhaps it is being written
        known = now
        return members

    return look


def signing(keys: KeyFolder | None, members: Members) -> dict[str, Any]:
    """What signs and verifies, as :class:`peerbayes.live.loop.PeerLoop` takes it."""
    if keys is None:
        return {}
    from peerbayes.live.security import sign, verify

    known = members

    def trusted(members: Members) -> bool:
        nonlocal known
        fits = _is_signed(keys, members)
        known = members if fits else known
        return fits

    def genuine(sender: str, digest: bytes, signature: str) -> bool:
        return verify(known.keys.get(sender, ""), digest, signature)

    return {"sign": lambda digest: sign(keys, digest), "verify": genuine, "trusted": trusted}


def _keys(options: AgentOptions) -> KeyFolder | None:
    if options.keys is None:
        return None
    from peerbayes.live.security import KeyFolder

    return KeyFolder.of_agent(options.keys, options.share.agent)


def _list_file(options: AgentOptions) -> Path | None:
    """The file with the list of members; None if the problem's own list holds."""
    keys = _keys(options)
    if options.members is not None or keys is None:
        return options.members
    from peerbayes.live.security import MEMBERS

    return keys.path / MEMBERS


def _is_signed(keys: KeyFolder, members: Members) -> bool:
    from peerbayes.live.security import verify

    said = members.content(), members.signature
    return verify(keys.authority, *said, purpose="members")


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
