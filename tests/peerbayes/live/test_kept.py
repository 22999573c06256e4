"""States and journals: a death at any byte, a full disk, damage, and replays."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exact.changing import replay
from peerbayes.live.evidence import Draws
from peerbayes.live.finding import every_share
from peerbayes.live.frames import Frame
from peerbayes.live.kept import KeptLearner, Store, records_of, segment_of, segments_of
from peerbayes.live.learner import FiniteLearner
from peerbayes.live.replaying import beliefs_of, events_of

_SHARE = every_share("p2-star")[0]
_SETTING = {"network": _SHARE.network, "agent": _SHARE.agent}


def _silent(text: str) -> None:
    pass


class _Agent:
    """An agent that keeps its state at a path, and hears made-up neighbours."""

    def __init__(self, path: Path, log: Any = _silent, *, keep: bool = False) -> None:
        self.source = Draws(_SHARE.content["law"], seed=2, agent=0)
        store = Store(path, _SETTING, keep=keep)
        self.kept = KeptLearner(FiniteLearner(_SHARE), self.source, store, log=log)
        self.store = store

    def hear(self, rounds: range, name: str = "3") -> None:
        for round in rounds:
            belief = {"log_belief": np.log(np.arange(1.0, 6.0) / 15 + 0.01 * (round % 7))}
            self.kept.take(Frame(_SHARE.network, name, 0, round, 0.0, 0.0, "finite", belief))

    def begin(self) -> None:
        self.kept.learn(self.source.take(1))

    def step(self) -> None:
        """A round with one neighbour's message, another's that is early, a third that goes."""
        self.begin()
        now = self.kept.round
        self.hear(range(now, now + 1))
        if now % 5 == 0:
            self.hear(range(now + 1, now + 3), "4")
            self.kept.lose("5")
        self.kept.pool()
        if now % 11 == 0:
            self.kept.skip(now + 4)

    def die(self, *, after_flush: bool = False) -> None:
        """Leave without a word; what the system has of the files stays."""
        assert self.kept._journal is not None
        if after_flush:
            self.kept._journal.flush()
        os.close(self.kept._journal._descriptor)
        self.kept._journal._descriptor = -1
        self.kept._journal = None
        self.store.close()

    @property
    def belief(self) -> bytes:
        return np.array(self.kept.summary()["log_belief"]).tobytes()


def _plain_run(rounds: int) -> dict[tuple[int, bool], tuple[bytes, int]]:
    """The belief, and observations taken, at each round, open and closed, without any death."""
    found = {}
    learner = FiniteLearner(_SHARE)
    source = Draws(_SHARE.content["law"], seed=2, agent=0)

    class Plain(_Agent):
        def __init__(self) -> None:
            self.source, self.kept = source, learner  # type: ignore[assignment]

        def begin(self) -> None:
            super().begin()
            found[self.kept.round, True] = (self.belief, source.taken)

    plain = Plain()
    found[0, False] = (plain.belief, 0)
    for _ in range(rounds):
        plain.step()
        number = learner.summary()
        # After a skip the next round is a later one; the state is that of the pooling.
        found[learner.round, False] = (np.array(number["log_belief"]).tobytes(), source.taken)
    return found


def test_a_death_at_any_byte_costs_nothing_that_was_said(tmp_path: Path) -> None:
    expected = _plain_run(14)
    agent = _Agent(tmp_path / "a.state")
    for _ in range(14):
        agent.step()
    agent.die()
    (number,) = segments_of(tmp_path / "a.state")
    whole = segment_of(tmp_path / "a.state", number).read_bytes()
    ends = {record.end for record in records_of(segment_of(tmp_path / "a.state", number))}
    said = 0
    for size in sorted({*range(0, len(whole), 97), *ends}):
        folder = tmp_path / str(size)
        folder.mkdir()
        shutil.copy(tmp_path / "a.state", folder)
        segment_of(folder / "a.state", number).write_bytes(whole[:size])
        back = _Agent(folder / "a.state")
        key = back.kept.round, back.kept.is_open
        if key in expected:  # not between a skip and the record of it
            taken = back.source.taken
            assert taken == back.source.offset == expected[key][1]
            if not back.kept.is_open or key[1]:
                open_now = back.kept.is_open
                assert (open_now, back.belief) == (key[1], expected[key][0])
                said += 1
        back.die()
        shutil.rmtree(folder)
    assert said > 30


def test_kept_journals_replay_to_the_last_bit(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    agent = _Agent(path, keep=True)
    for k in range(40):
        if k in (5, 23):
            agent.die(after_flush=True)
            agent = _Agent(path, keep=True)
        agent.step()
        if k in (10, 30):
            agent.kept.checkpoint()
    agent.kept.close()
    assert len(segments_of(path)) > 2
    again = replay(events_of(path))
    own = beliefs_of(path)
    assert again.rounds.tolist() == list(own)
    assert len(own) == 40
    for belief, kept in zip(again.log_beliefs, own.values(), strict=True):
        assert belief.tobytes() == kept.tobytes()


def test_a_full_disk_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    agent = _Agent(tmp_path / "a.state", said.append)
    agent.step()
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def no_room(self: Store, *args: Any, **more: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        disk.setattr(Store, "write", no_room)
        for _ in range(5):
            agent.step()
            agent.kept._next = 0.0  # as if a second had passed
        assert agent.kept.stored_round <= 2 < agent.kept.round
    assert os.write is real
    assert [text for text in said if "cannot keep" in text] == said
    assert len(said) == 1
    agent.step()
    assert said[1:] == ["its state is kept again"]
    assert agent.kept.stored_round == agent.kept.round
    agent.step()
    belief, round = agent.belief, agent.kept.round
    agent.begin()
    agent.kept.pool()
    agent.die()
    back = _Agent(tmp_path / "a.state")
    assert back.kept.round == round + 1
    assert belief != back.belief
    back.die()


def test_damaged_states_and_other_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    agent = _Agent(path)
    agent.step()
    agent.kept.close()
    data = path.read_bytes()
    for place in range(0, len(data), 53):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(ValueError, match="delete it to begin anew"):
            _Agent(path)
    path.write_bytes(data)
    store = Store(path, _SETTING | {"agent": "1"})
    with pytest.raises(ValueError, match="agent '1'"):
        store.read()
    store.close()


def test_one_agent_has_one_process(tmp_path: Path) -> None:
    agent = _Agent(tmp_path / "a.state")
    with pytest.raises(ValueError, match="one that runs"):
        _Agent(tmp_path / "a.state")
    agent.kept.close()
    _Agent(tmp_path / "a.state").kept.close()
