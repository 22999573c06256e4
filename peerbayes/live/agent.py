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
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from peerbayes.live.addresses import check_addresses
from peerbayes.live.admission import admitted, in_force, newer_list, signing
from peerbayes.live.evidence import Draws, Evidence
from peerbayes.live.kept import KeptLearner
from peerbayes.live.learner import Learner
from peerbayes.live.lines import FileFeed, Lines, from_input
from peerbayes.live.loop import PeerLoop
from peerbayes.live.members import Members
from peerbayes.live.observations import Claims
from peerbayes.live.options import AgentOptions
from peerbayes.live.share import Share, own_file, state_folder
from peerbayes.live.store import Store
from peerbayes.live.zenoh_transport import Endpoints, ZenohTransport, settings_of_size
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.live.security import KeyFolder

# Bytes of a frame: what its numbers take, and room for the header.
_HEADER_ROOM = 32 * 1024
_TOPIC = "zenoh:"


def run_agent(
    options: AgentOptions,
    *,
    log: Callable[[str], None],
    on_report: Callable[[dict[str, Any]], None] = lambda report: None,
) -> dict[str, Any]:
    """Run one agent until it is done or told to stop; its last report.

    Parameters
    ----------
    options
        What to run.
    log, on_report
        Told, in one line, of what happens; given every report.

    Raises
    ------
    ValueError
        If the options do not fit together, or an endpoint cannot be had.
    """
    check_addresses(listen=options.listen, connect=options.connect)
    with ExitStack() as stack:
        keys, share = admitted(options)
        learner = learner_of(share, options)
        evidence = evidence_of(share, options, log=log)
        unsent = None
        if options.out is not None:
            learner = kept = _kept(share, options, learner, evidence, log)
            stack.callback(kept.close)
            unsent = kept.said if kept.is_open else None
        members = in_force(learner.members, share.members, keys)
        if members.content() != learner.members.content():
            learner.reweigh(members)
        limit = frame_limit(learner)
        counts: dict[str, Any] = {}
        if keys is not None:
            from peerbayes.live.refusals import TransportRefusals

            counts["extra_counts"] = stack.enter_context(TransportRefusals()).counts
        transport = _transport(share, options, keys, learner.members, limit)
        loop = PeerLoop(
            share.agent,
            learner=learner,
            evidence=evidence,
            transport=transport,
            pacing=options.pacing,
            limit=limit,
            newer=newer_list(options, keys),
            unsent=unsent,
            log=log,
            after_report=on_report,
            **counts,
            **signing(keys, learner.members),
        )
        transport.stopped = lambda: loop.is_stopped
        stack.enter_context(_stopping(loop))
        if options.attached:
            _stop_at_the_end_of_input(loop)
        return loop.run()


def _transport(
    share: Share, options: AgentOptions, keys: KeyFolder | None, members: Members, limit: int
) -> ZenohTransport:
    from peerbayes.live.security import zenoh_settings

    def ends(members: Members) -> Endpoints:
        settings = zenoh_settings(keys, members=members.names, limit=limit)
        settings |= settings_of_size(limit)
        return Endpoints(options.listen, options.connect, options.router, settings)

    renewed = None if keys is None else ends  # access control lists names
    return ZenohTransport(share.network, share.agent, ends(members), renewed=renewed)


def learner_of(share: Share, options: AgentOptions) -> Learner:
    """What learns, by the kind of the share."""
    if share.kind == "finite":
        from peerbayes.live.finite import FiniteLearner

        return FiniteLearner(
            share, pace=options.pacing.pace, on_loss=options.on_loss, rule=options.robust
        )
    if share.kind == "net":
        from peerbayes.live.nets import NetLearner

        return NetLearner(
            share, pace=options.pacing.pace, on_loss=options.on_loss, rule=options.robust
        )
    raise fail("share", 'kind "finite" or "net"', repr(share.kind), "use the same version")


def evidence_of(share: Share, options: AgentOptions, *, log: Callable[[str], None]) -> Evidence:
    """Where an agent's observations come from."""
    text = options.evidence
    if share.kind == "net":
        from peerbayes.live.nets import OwnData

        if text != "draw":
            wanted = "its own data, which an agent that trains a net has"
            raise fail("evidence", wanted, text, "leave it out")
        return OwnData()
    if text == "draw":
        number = share.members.number(share.agent)
        return Draws(share.content["law"], seed=options.seed, agent=number)
    content = share.content
    claims = Claims(content["claims"], hypotheses=len(content["hypotheses"]))
    if text.startswith(_TOPIC):
        return Lines(claims, log=log, topic=text.removeprefix(_TOPIC))
    if text != "-":
        return Lines(claims, log=log, feed=FileFeed(Path(text)))
    if options.attached:
        wanted = "a source besides standard input"
        raise fail("evidence", wanted, "-", "name a file")
    return Lines(claims, log=log, feed=from_input)


def _kept(
    share: Share,
    options: AgentOptions,
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
        "pace": options.pacing.pace,
        "on_loss": options.on_loss or share.on_loss,
        "robust": options.robust,
        "evidence": options.evidence,
        "seed": options.seed,
    }
    assert options.out is not None
    path = own_file(state_folder(options.out, share.network), share.agent, "state")
    return KeptLearner(learner, evidence, Store(path, setting, keep=options.journal), log=log)


def frame_limit(learner: Learner) -> int:
    """Bytes of a frame with this learner's numbers."""
    from math import prod

    from peerbayes.live.tensor_bytes import TYPES

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
