"""The journals that agents kept, as events for :func:`exact.changing.replay`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exact.changing.peer_state import Message, PeerState
from exact.changing.replays import Event
from peerbayes.live.frames import METADATA, arrays, split
from peerbayes.live.kept import Record, records_of, segment_of, segments_of
from peerbayes.live.members import Members
from theory.validation import FloatArray, fail


def events_of(path: Path) -> Iterator[Event]:
    """What happened to an agent whose state is at `path`, from the segments it kept (--journal).

    Raises
    ------
    ValueError
        If no segments were kept, or one is damaged at its beginning.
    """
    agent, hypotheses = "", 0
    for record in _kept(path):
        if record.kind == "start":
            state, agent = _started(record.data)
            hypotheses = state.log_belief.size
            yield Event("start", state=state)
        elif record.kind == "observe":
            row = record.numbers if record.data else np.zeros(hypotheses)
            yield Event("observe", log_likelihood=row)
        elif record.kind == "deliver":
            yield Event("deliver", message=Message(record.agent, record.round, record.numbers))
        elif record.kind == "pool":
            yield Event("pool")
        elif record.kind == "skip":
            yield Event("skip", round=record.round)
        elif record.kind == "lose":
            yield Event("lose", sender=record.agent)
        elif record.kind == "reweigh":
            members = Members.from_bytes(record.data)
            priors = np.array(members.log_priors)
            yield Event("reweigh", weights=members.row(agent), log_priors=priors)


def beliefs_of(path: Path) -> dict[int, FloatArray]:
    """Log-beliefs after each pooling, by round, as the agent itself wrote them down."""
    return {record.round: record.numbers for record in _kept(path) if record.kind == "pool"}


def _kept(path: Path) -> Iterator[Record]:
    numbers = segments_of(path)
    if not numbers:
        raise fail(str(path), "a journal beside it", "none", "run with --journal")
    for place, number in enumerate(numbers):
        records = records_of(segment_of(path, number))
        first = next(records, None)
        if first is None and place == len(numbers) - 1:
            return  # it died as it began this one
        if first is None or first.kind != "start":
            got = f"segment {number} without a state"
            raise fail(str(path), "segments that were kept", got, "run with --journal")
        yield first
        yield from records


def _started(data: bytes) -> tuple[PeerState, str]:
    """A state, and whose it is."""
    header, numbers = split(data)
    said: Mapping[str, Any] = header[METADATA]
    meta = json.loads(said["meta"])
    agent = json.loads(said["kept"])["setting"]["agent"]
    return PeerState.from_parts(meta["peer"], arrays(header, numbers)), agent
