"""A learner that is killed at any moment goes on as one that never was.

What it had said, or the process had handed on, is kept; messages that it had taken in since may be
lost with the process. So it is where a learner is that has met all but these.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from peerbayes.live.evidence import Draws
from peerbayes.live.finding import every_share
from peerbayes.live.frames import Frame
from peerbayes.live.kept import KeptLearner, Store, records_of, segment_of, segments_of
from peerbayes.live.learner import FiniteLearner
from tests.properties.support import often

SHARE = every_share("p2-star")[0]
NAMES = SHARE.members.names
OTHERS = st.sampled_from(NAMES[1:])
ENDS = st.just(b"!") | st.binary(max_size=30)


class Plain:
    """The same learner, which nothing happens to."""

    def __init__(self) -> None:
        self.learner = FiniteLearner(SHARE)
        self.source = Draws(SHARE.content["law"], seed=2, agent=0)
        self.open, self.said = False, b""

    def meets(self, event: tuple[Any, ...]) -> None:
        """One thing that happens to it."""
        kind, *what = event
        if kind == "learn":
            said = self.learner.learn(self.source.take(1))
            self.said = said["log_belief"].tobytes()
        else:
            getattr(self.learner, kind)(*what)
        self.open = {"learn": True, "pool": False, "skip": False}.get(kind, self.open)


def without_counts(meta: Any) -> Any:
    """What came and changed nothing is not written down, so that it is not counted again."""
    peer = {key: value for key, value in meta["peer"].items() if key != "counts"}
    return {**meta, "peer": peer}


class Kept(RuleBasedStateMachine):
    """A learner with its files, and all that happened to it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "a.state"
        self.safe: list[tuple[Any, ...]] = []  # events that a death does not undo
        self.loose: list[tuple[Any, ...]] = []
        self.plain = Plain()
        self.begins()

    def begins(self) -> None:
        """Open the files, and go on from them."""
        self.source = Draws(SHARE.content["law"], seed=2, agent=0)
        setting = {"network": SHARE.network, "agent": SHARE.agent}
        store = Store(self.path, setting)
        self.kept = KeptLearner(FiniteLearner(SHARE), self.source, store, log=lambda line: None)
        self.kept._next = math.inf  # no state is written by the clock

    def dies(self, *, torn: bytes) -> None:
        """Without a word; what the system has of the files stays, perhaps with a torn end."""
        assert self.kept._journal is not None
        os.close(self.kept._journal._descriptor)
        self.kept._journal._descriptor = -1
        self.kept._journal = None
        self.kept._store.close()
        journal = segment_of(self.path, max(segments_of(self.path)))
        whole = journal.read_bytes()
        if torn[:1] == b"!":  # the last record again, damaged
            ends = [record.end for record in records_of(journal)]
            torn = b"" if len(ends) < 2 else whole[ends[-2] : ends[-1] - 1] + b"?"
        journal.write_bytes(whole + torn)

    def teardown(self) -> None:
        self.dies(torn=b"")
        self.folder.cleanup()

    def happens(self, *event: Any) -> None:
        self.plain.meets(event)
        self.loose.append(event)

    @rule(
        senders=st.lists(st.tuples(OTHERS, st.integers(-2, 2), st.integers(1, 5)), max_size=6),
        gone=st.lists(OTHERS, max_size=1),
        end=st.sampled_from(["pool", "open", "skip", "die"]),
    )
    def a_round(self, senders: list[tuple[str, int, int]], gone: list[str], end: str) -> None:
        """It says something, hears others, of other rounds too, and pools or does not."""
        if not self.kept.is_open:
            self.kept.learn(self.source.take(1))
            self.happens("learn")
            # What is said is on disk before anybody can hear it.
            self.safe += self.loose
            self.loose = []
        for name, off, number in senders:
            round = max(0, self.kept.round + off)
            belief = {"log_belief": np.log(np.arange(1.0, 6.0) / 15 + 0.01 * number)}
            frame = Frame(SHARE.network, name, 0, round, 0.0, 0.0, "finite", belief)
            self.kept.take(frame)
            self.happens("take", frame)
        for name in gone:
            self.kept.lose(name)
            self.happens("lose", name)
        if end == "pool":
            self.kept.pool()
            self.happens("pool")
        elif end == "skip":
            self.kept.skip(self.kept.round + 3)
            self.happens("skip", self.plain.learner.round + 3)
        elif end == "die":
            self.is_killed(b"")

    @rule(torn=ENDS)
    def is_killed(self, torn: bytes) -> None:
        self.dies(torn=torn)
        self.begins()
        self.loose = []
        self.plain = Plain()
        for event in self.safe:
            self.plain.meets(event)

    @rule()
    def ends_and_begins_again(self) -> None:
        """Perhaps within a round, as an agent that is stopped while it looks for its neighbours."""
        self.kept.close()
        self.safe += self.loose
        self.loose = []
        self.begins()

    @rule()
    def keeps_its_state(self) -> None:
        self.kept.checkpoint()
        self.kept._next = math.inf
        self.safe += self.loose
        self.loose = []

    @rule(torn=ENDS)
    def is_stopped_and_killed(self, torn: bytes) -> None:
        """All that waited is handed on first."""
        assert self.kept._journal is not None
        self.kept._journal.flush()
        self.safe += self.loose
        self.is_killed(torn)

    @invariant()
    def it_is_where_one_is_that_never_died(self) -> None:
        mine, other = self.kept.save(), self.plain.learner.save()
        assert without_counts(mine.meta) == without_counts(other.meta)
        assert mine.tensors.keys() == other.tensors.keys()
        for name, values in mine.tensors.items():
            assert values.tobytes() == other.tensors[name].tobytes(), name
        assert (self.kept.round, self.kept.is_open) == (self.plain.learner.round, self.plain.open)
        if self.kept.is_open:
            assert self.kept.said["log_belief"].tobytes() == self.plain.said
        assert (self.source.offset, self.source.taken) == (
            self.plain.source.offset,
            self.plain.source.taken,
        )


TestKept = Kept.TestCase
TestKept.settings = settings(often(35), stateful_step_count=15)


def test_who_was_heard_first_leaves_no_trace() -> None:
    """Early messages were kept in the order of their first senders, which a return forgot."""
    agent = Kept()
    agent.a_round([("5", 1, 1)], [], "pool")
    agent.a_round([("1", 2, 1)], [], "pool")
    agent.keeps_its_state()
    agent.is_killed(b"")
    agent.a_round([("5", 1, 1)], [], "pool")
    agent.it_is_where_one_is_that_never_died()
    agent.teardown()


def test_an_agent_that_ends_within_a_round_comes_back_within_it() -> None:
    """It once forgot that the round was open, and refused to begin any other for good."""
    agent = Kept()
    agent.a_round([], [], "open")
    agent.ends_and_begins_again()
    agent.it_is_where_one_is_that_never_died()
    assert agent.kept.is_open
    agent.a_round([], [], "pool")
    agent.a_round([], [], "pool")
    agent.it_is_where_one_is_that_never_died()
    agent.teardown()
