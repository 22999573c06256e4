"""One agent's process, put together: its share, keys, evidence, store and transport, in a loop."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from peerbayes.live.evidence import Claims, Draws, Evidence, FileFeed, Lines, OwnData, from_input
from peerbayes.live.frames import TYPES
from peerbayes.live.hearing import NOBODY, Trust
from peerbayes.live.kept import KeptLearner, Store
from peerbayes.live.learner import FiniteLearner, Learner
from peerbayes.live.loop import PeerLoop, pacing_of
from peerbayes.live.members import Members, Share, own_file, robust_keys, state_folder
from peerbayes.live.security import (
    MEMBERS,
    KeyFolder,
    is_signed,
    sign,
    signed_members,
    verify,
    zenoh_settings,
)
from peerbayes.live.transport import TransportRefusals, check_addresses
from peerbayes.live.zenoh_transport import Endpoints, ZenohTransport, settings_of_size
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.settings.live import Peer as PeerSettings

# Bytes of a frame: what its numbers take, and room for the header.
_HEADER_ROOM = 32 * 1024
_TOPIC = "zenoh:"


def run_agent(
    share: Share,
    how: PeerSettings,
    *,
    log: Callable[[str], None],
    on_report: Callable[[dict[str, Any]], None] = lambda report: None,
) -> dict[str, Any]:
    """Run one agent until it is done or told to stop; its last report.

    Parameters
    ----------
    share
        The agent's share of a problem.
    how
        How it is run; its state is kept in the folder ``out``, if one is named.
    log, on_report
        Told, in one line, of what happens; given every report.

    Raises
    ------
    ValueError
        If the settings do not fit together, or an endpoint cannot be had.
    """
    check_addresses(listen=how.listen, connect=how.connect)
    with ExitStack() as stack:
        admission = Admission(share, how)
        keys, share = admission.keys, admission.share
        learner = learner_of(share, how)
        evidence = evidence_of(share, how, log=log)
        unsent = None
        if how.folder is not None:
            kept = _kept(share, how, learner, evidence, log)
            stack.callback(kept.close)
            unsent = kept.said if kept.is_open else None
        members = admission.in_force(learner.members)
        if members.content() != learner.members.content():
            learner.reweigh(members)
        limit = frame_limit(learner)
        counts: dict[str, Any] = {}
        if keys is not None:
            counts["extra_counts"] = stack.enter_context(TransportRefusals()).counts
        transport = _transport(share, how, keys, learner.members, limit)
        loop = PeerLoop(
            share.agent,
            learner=learner,
            evidence=evidence,
            transport=transport,
            pacing=pacing_of(share, how),
            limit=limit,
            newer=admission.newer,
            trust=admission.trust(learner.members),
            unsent=unsent,
            log=log,
            after_report=on_report,
            **counts,
        )
        transport.stopped = lambda: loop.is_stopped
        stack.enter_context(_stopping(loop))
        if how.attached:
            _stop_at_the_end_of_input(loop)
        return loop.run()


def _transport(
    share: Share, how: PeerSettings, keys: KeyFolder | None, members: Members, limit: int
) -> ZenohTransport:
    def ends(members: Members) -> Endpoints:
        settings = zenoh_settings(keys, members=members.names, limit=limit)
        return Endpoints(how.listen, how.connect, how.router, settings | settings_of_size(limit))

    renewed = None if keys is None else ends  # access control lists names
    return ZenohTransport(share.network, share.agent, ends(members), renewed=renewed)


def learner_of(share: Share, how: PeerSettings) -> Learner:
    """What learns, by the kind of the share."""
    options: dict[str, Any] = {"pace": how.pace, "on_loss": how.on_loss}
    options["rule"] = robust_keys(how.robust)
    if share.kind == "finite":
        return FiniteLearner(share, **options)
    if share.kind == "net":
        from peerbayes.live.nets import NetLearner

        return NetLearner(share, **options)
    raise fail("share", 'kind "finite" or "net"', repr(share.kind), "use the same version")


def evidence_of(share: Share, how: PeerSettings, *, log: Callable[[str], None]) -> Evidence:
    """Where an agent's observations come from."""
    text = how.evidence
    if share.kind == "net":
        if text != "draw":
            wanted = "its own data, which an agent that trains a net has"
            raise fail("evidence", wanted, text, "leave it out")
        return OwnData()
    if text == "draw":
        number = share.members.number(share.agent)
        return Draws(share.content["law"], seed=how.seed or 0, agent=number)
    content = share.content
    claims = Claims(content["claims"], hypotheses=len(content["hypotheses"]))
    if text.startswith(_TOPIC):
        return Lines(claims, log=log, topic=text.removeprefix(_TOPIC))
    if text != "-":
        return Lines(claims, log=log, feed=FileFeed(Path(text)))
    if how.attached:
        wanted = "a source besides standard input"
        raise fail("evidence", wanted, "-", "name a file")
    return Lines(claims, log=log, feed=from_input)


def _kept(
    share: Share,
    how: PeerSettings,
    learner: Learner,
    evidence: Evidence,
    log: Callable[[str], None],
) -> KeptLearner:
    """The learner with its state on disk; it goes on from there."""
    content = json.dumps([share.content, dict(share.rule)], sort_keys=True)
    setting = {
        "network": share.network,
        "agent": share.agent,
        "content": hashlib.sha256(content.encode()).hexdigest()[:16],
        "pace": how.pace,
        "on_loss": how.on_loss or share.on_loss,
        "robust": robust_keys(how.robust),
        "evidence": how.evidence,
        "seed": how.seed or 0,
    }
    assert how.folder is not None
    path = own_file(state_folder(how.folder, share.network), share.agent, "state")
    return KeptLearner(learner, evidence, Store(path, setting, keep=how.journal), log=log)


def frame_limit(learner: Learner) -> int:
    """Bytes of a frame with this learner's numbers."""
    numbers = learner.shapes().values()
    return _HEADER_ROOM + sum(TYPES[dtype].itemsize * prod(shape) for dtype, shape in numbers)


@contextmanager
def _stopping(loop: PeerLoop) -> Iterator[None]:
    """Ctrl-C and a wish to end let the round finish; outside the main thread nothing is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        loop.stop()

    numbers = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
    before = {one: signal.signal(one, stop) for one in numbers}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _stop_at_the_end_of_input(loop: PeerLoop) -> None:
    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        loop.stop()

    threading.Thread(target=wait, name="end of input", daemon=True).start()


# Who it is --------------------------------------------------------------------------------------


class Admission:
    """Who one agent is among the members: its keys, the list that holds, and newer ones.

    Parameters
    ----------
    share, how
        As of `run_agent`.

    Attributes
    ----------
    keys
        The agent's; None without.
    share
        The share with the list of members that holds.

    Raises
    ------
    ValueError
        If keys or list are not there, are another network's, or the agent is not in the list.
    """

    def __init__(self, share: Share, how: PeerSettings) -> None:
        agent = share.agent
        self.keys = keys = None if how.keys is None else KeyFolder.of_agent(how.keys, agent)
        path = None if how.members is None else Path(how.members)
        # Where the list of members is; None if the problem's own list holds.
        self._path = path or (None if keys is None else keys.path / MEMBERS)
        self.share = share if self._path is None else self._admitted(share, self._path)
        self._known = self._stamp()

    def _admitted(self, share: Share, path: Path) -> Share:
        members = Members.read(path)
        if share.agent not in members.names:
            names = ", ".join(members.names[:12])
            raise fail(str(path), f"a list with agent {share.agent!r}", names, "add it to the list")
        if self.keys is not None:
            members = signed_members(self.keys, path)
        if members.network != share.network and members.epoch == 0:
            wanted = f"the members of network {share.network}"
            raise fail(str(path), wanted, members.network, "use the list of this problem")
        return replace(share, members=members)

    def in_force(self, kept: Members) -> Members:
        """The list to go by: the newer of the one that was kept with a state and the one given now.

        Keys may have been made anew since the state was kept: then only the given list counts.
        """
        given = self.share.members
        if self.keys is not None and not is_signed(kept, self.keys.authority):
            return given
        return kept if kept.epoch > given.epoch else given

    def newer(self) -> Members | None:
        """Asked now and then: the list of members in the agent's file, if that has changed."""
        now = self._stamp()
        if self._path is None or now == self._known:
            return None
        try:
            members = Members.read(self._path)
        except ValueError:
            return None  # perhaps it is being written
        self._known = now
        return members

    def trust(self, members: Members) -> Trust:
        """What signs and verifies, from the list on by which the agent goes first."""
        keys, known = self.keys, members
        if keys is None:
            return NOBODY

        def trusted(members: Members) -> bool:
            nonlocal known
            fits = is_signed(members, keys.authority)
            known = members if fits else known
            return fits

        def genuine(sender: str, digest: bytes, signature: str) -> bool:
            return verify(known.keys.get(sender, ""), digest, signature)

        return Trust(lambda digest: sign(keys, digest), genuine, trusted)

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = None if self._path is None else self._path.stat()
        except OSError:
            return None
        return None if found is None else (found.st_mtime_ns, found.st_size)
