"""A learner that goes on after a crash as if nothing had been.

A learner that can be replayed is brought back to the last bit: to its last observation, and to
what it had said. Of one that cannot, the state is kept whenever that is cheap, and its rounds are
reserved, so that none has two messages. A full disk ends nothing: the agent goes on, says so, and
tries again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from exact.changing.peer_state import Receipt
from peerbayes.live.evidence import Evidence
from peerbayes.live.frames import Frame, Shapes, Tensors
from peerbayes.live.journal import Journal, Record, records_of
from peerbayes.live.learner import Learner, Saved, Used
from peerbayes.live.members import Members
from peerbayes.live.store import Store

# A segment of the journal is at most so long, in bytes and seconds, before the next state.
_SEGMENT, _SECONDS = 4 * 2**20, 60.0
# Share of the time that keeping states of learners that are not replayed may take.
_SHARE = 0.02
_TRY_AGAIN = 1.0


class KeptLearner:
    """A learner all of whose input is written down, so that it comes back after a crash.

    Parameters
    ----------
    learner, evidence
        As they are before the first round.
    store
        Where they are kept. If it has a state, both go on from there.
    log
        Told, in one line, of what happens.

    Attributes
    ----------
    is_open
        Whether the learner came back in the middle of a round.
    stored_round
        The last round that would survive the death of the process.
    said
        What the agent had said in the open round, if there is one.

    Raises
    ------
    ValueError
        If the state is damaged or does not fit.
    """

    def __init__(
        self, learner: Learner, evidence: Evidence, store: Store, *, log: Callable[[str], None]
    ) -> None:
        self._learner, self._evidence, self._store, self._log = learner, evidence, store, log
        self.kind, self.replays = learner.kind, learner.replays
        self.is_open = False
        self.stored_round = 0
        self._tensors: Tensors = {}
        self._journal: Journal | None = None
        self._next = 0.0
        self._complained = False
        try:
            found = store.read()
            if found is not None:
                self._go_on(*found)
        except BaseException:
            self._close()
            store.close()
            raise
        if self._journal is None:
            self.checkpoint()

    # Coming back --------------------------------------------------------------------------------

    def _go_on(self, saved: Saved, kept: dict[str, Any]) -> None:
        learner = self._learner
        learner.restore(saved)
        if self.replays and learner.has_open_round:  # type: ignore[attr-defined]
            # Kept within a round, as where an agent stops while it looks for its neighbours.
            self.is_open = True
            self._tensors = {"log_belief": learner.log_belief}  # type: ignore[attr-defined]
        self._evidence.offset, self._evidence.taken = kept["offset"], kept["taken"]
        path = self._store.segment(kept["segment"])
        reserved, end = 0, 0
        for record in records_of(path) if path.exists() else ():
            reserved = record.round if record.kind == "reserve" else reserved
            self._again(record)
            end = record.end
        if not self.replays:
            # A round that was open ends here: what was said in it may have been heard.
            learner.skip(max(reserved, learner.round) + 1)
            self.is_open = False
        self.stored_round = learner.round
        self._log(f"goes on from round {learner.round}")
        if self.replays and end:
            # The same life goes on, perhaps within a round: no new state in between.
            with suppress(OSError):
                self._journal = Journal(path, end)
                self._next = time.monotonic() + _SECONDS

    def _again(self, record: Record) -> None:
        """Do to the learner what was done to it."""
        learner = self._learner
        if record.kind == "observe":
            self._evidence.offset, self._evidence.taken = record.offset, record.agent
            self._tensors = learner.learn(record.numbers if record.data else None)
        elif record.kind == "deliver":
            learner.deliver(record.agent, record.round, record.numbers)  # type: ignore[attr-defined]
        elif record.kind == "pool":
            learner.pool()
        elif record.kind == "skip":
            learner.skip(record.round)
        elif record.kind == "lose":
            learner.lose(learner.name(record.agent))  # type: ignore[attr-defined]
        elif record.kind == "reweigh":
            learner.reweigh(Members.from_bytes(record.data))
        self.is_open = {"observe": True, "pool": False, "skip": False}.get(
            record.kind, self.is_open
        )

    @property
    def members(self) -> Members:
        """The list by which it goes."""
        members: Members = self._learner.members
        return members

    @property
    def said(self) -> Tensors:
        """What was said in the open round."""
        return self._tensors

    # Keeping ------------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Keep the whole state now; a disk that is full is complained of once."""
        began = time.monotonic()
        self._close()
        source = self._evidence
        try:
            self._journal = self._store.write(
                self._learner.save(), offset=source.offset, taken=source.taken
            )
        except OSError as error:
            self._give_up(error)
            return
        if self._complained:
            self._complained = False
            self._log("its state is kept again")
        self.stored_round = self._learner.round
        ended = time.monotonic()
        self._next = ended + (_SECONDS if self.replays else (ended - began) / _SHARE)

    def _give_up(self, error: OSError) -> None:
        self._close()
        self._next = time.monotonic() + _TRY_AGAIN
        if not self._complained:
            self._complained = True
            reason = (error.strerror or str(error)).lower()
            self._log(f"cannot keep its state ({reason}); goes on, and tries again")

    def _close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _add(self, kind: str, *, flush: bool = False, **what: Any) -> None:
        if self._journal is None:
            return
        try:
            self._journal.add(kind, **what)
            if flush:
                self._journal.flush()
                self.stored_round = self._learner.round
        except OSError as error:
            self._give_up(error)

    def _due(self) -> bool:
        full = self._journal is not None and self._journal.size > _SEGMENT
        return full or time.monotonic() >= self._next

    def close(self) -> None:
        """Keep the state, and close the files."""
        self.checkpoint()
        self._close()
        self._store.close()

    # A learner ----------------------------------------------------------------------------------

    @property
    def round(self) -> int:
        """Rounds begun so far."""
        return self._learner.round

    def learn(self, evidence: Any) -> Tensors:
        """Begin the next round; it is on disk before anybody can hear of it."""
        tensors = self._learner.learn(evidence)
        self.is_open, self._tensors = True, tensors
        if self.replays:
            data = b"" if evidence is None else evidence.astype("<f8").tobytes()
            at = {"offset": self._evidence.offset, "agent": self._evidence.taken}
            self._add("observe", flush=True, round=self.round, data=data, **at)
            return tensors
        if self._due():
            self.checkpoint()
        else:
            self._add("reserve", flush=True, round=self.round)
        return tensors

    def take(self, frame: Frame) -> Receipt:
        """A neighbour's message."""
        receipt = self._learner.take(frame)
        if self.replays and receipt in (Receipt.NEW, Receipt.EARLY):
            number = self._learner.number(frame.sender)  # type: ignore[attr-defined]
            data = frame.tensors["log_belief"].astype("<f8", copy=False).tobytes()
            self._add("deliver", round=frame.round, agent=number, data=data)
        return receipt

    def missing(self) -> frozenset[str]:
        """Present neighbours of whom there is no message of this round."""
        return self._learner.missing()

    def pool(self) -> Used:
        """Pool what is held."""
        used = self._learner.pool()
        self.is_open = False
        if self.replays:
            belief = self._learner.log_belief  # type: ignore[attr-defined]
            self._add("pool", round=self.round, data=belief.astype("<f8", copy=False).tobytes())
            if self._due():
                self.checkpoint()
        return used

    def skip(self, round: int) -> None:
        """Be away until `round`."""
        self._learner.skip(round)
        self.is_open = False
        if self.replays:
            self._add("skip", round=round)

    def lose(self, name: str) -> None:
        """A neighbour is gone."""
        self._learner.lose(name)
        if self.replays:
            number = self._learner.number(name)  # type: ignore[attr-defined]
            self._add("lose", agent=number)

    def reweigh(self, members: Members) -> None:
        """A new list of members."""
        self._learner.reweigh(members)
        if self.replays:
            self._add("reweigh", data=json.dumps(members.document()).encode())

    def save(self) -> Saved:
        """Everything that `restore` needs."""
        return self._learner.save()

    def restore(self, saved: Saved) -> None:
        """Go back to a saved state."""
        self._learner.restore(saved)

    def summary(self) -> dict[str, Any]:
        """What the agent believes."""
        return self._learner.summary()

    def shapes(self) -> Shapes:
        """What its frames hold."""
        return self._learner.shapes()
