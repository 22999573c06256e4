"""Agents that send, hear, pool, go away and come back, over a post that does what it likes.

Against the definition (docs: mathematics/lost-messages): of each neighbour counts the message with
the highest round among those that arrived, whatever their order and however often they came; a rule
says what takes the place of one that is missing. What is asked of beliefs is proved there.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from exact.beliefs import normalise
from exact.changing import Message, Peer, PeerState, Receipt
from exact.changing.mailbox import CLOCKS
from exact.changing.peer import KEPT_AHEAD
from peerbayes.live import transport as inbox_module
from peerbayes.live.transport import Inbox
from tests.properties.support import often
from theory.changing import ON_LOSS
from theory.validation import FloatArray

AGENTS = 3
# Rows with zeros, an agent that does not hear itself, and one that hears itself alone.
ROWS = ([0.5, 0.25, 0.25], [0.25, 0.0, 0.75], [0.0, 0.5, 0.5], [0.125, 0.875, 0.0])
agents = st.integers(0, AGENTS - 1)
evidence = st.tuples(*[st.integers(-8, 8)] * 3).map(lambda row: np.array(row) / 4)
fates = st.lists(
    st.tuples(st.sampled_from(["arrives", "arrives again", "is lost"]), st.integers(0, 40)),
    max_size=12,
)


class Mail(RuleBasedStateMachine):
    """Three peers; what is on its way; and what each holds, by the definition."""

    @initialize(
        weights=st.lists(st.sampled_from(ROWS), min_size=AGENTS, max_size=AGENTS),
        priors=st.tuples(*[evidence] * AGENTS),
        on_loss=st.sampled_from(ON_LOSS),
        clocks=st.sampled_from(CLOCKS),
    )
    def begin(self, weights: Any, priors: Any, on_loss: str, clocks: str) -> None:
        self.weights, self.on_loss, self.clocks = np.array(weights), on_loss, clocks
        priors = normalise(np.array(priors))
        options = {"log_priors": priors, "on_loss": on_loss, "clocks": clocks}
        self.peers = [Peer(i, weights[i], **options) for i in range(AGENTS)]
        self.on_the_way: list[tuple[int, Message]] = []
        pairs = [(i, j) for i in range(AGENTS) for j in range(AGENTS)]
        pairs = [(i, j) for i, j in pairs if i != j and self.weights[i, j] > 0]
        self.newest = dict.fromkeys(pairs, 0)
        self.ahead: dict[tuple[int, int], set[int]] = {pair: set() for pair in pairs}
        self.gone: set[tuple[int, int]] = set()
        self.pooled_before = dict.fromkeys(pairs, 1)
        self.round, self.open = [0] * AGENTS, [False] * AGENTS
        # What was said, and what is believed: by rounds, and as weights of priors and of data.
        self.said: dict[tuple[int, int], FloatArray] = {(j, 0): priors[j] for j in range(AGENTS)}
        self.parts: dict[tuple[int, int], dict[Any, float]] = {
            (j, 0): {("prior", j): 1.0} for j in range(AGENTS)
        }
        self.belief = [priors[j] for j in range(AGENTS)]
        self.made = [dict(self.parts[j, 0]) for j in range(AGENTS)]
        self.data: dict[Any, FloatArray] = {("prior", j): priors[j] for j in range(AGENTS)}

    # What agents do ---------------------------------------------------------------------------

    def may_begin(self, i: int) -> bool:
        """No more rounds ahead of the slowest than are kept for it."""
        return not self.open[i] and self.round[i] < min(self.round) + KEPT_AHEAD

    def observes_and_tells(self, i: int, seen: FloatArray) -> None:
        """Bayes' rule, and a message to everybody."""
        if not self.may_begin(i):
            return
        message = self.peers[i].observe(seen)
        self.round[i] += 1
        now = self.round[i]
        self.open[i] = True
        self.belief[i] = normalise(self.belief[i] + seen)
        self.data[i, now] = seen
        self.made[i] = {**self.made[i], (i, now): 1.0}
        self.said[i, now], self.parts[i, now] = message.log_belief, self.made[i]
        assert (message.sender, message.round) == (i, now)
        np.testing.assert_allclose(message.log_belief, self.belief[i], rtol=0, atol=1e-11)
        for (listener, speaker), waiting in self.ahead.items():
            if listener == i:
                for when in sorted(when for when in waiting if when <= now):
                    self.comes(i, speaker, when)
                    waiting.remove(when)
        for k in range(AGENTS):
            if k != i:
                self.on_the_way.append((k, message))

    def comes(self, i: int, j: int, when: int) -> Receipt:
        """By definition: what a message does, whose round has begun."""
        if when <= self.newest[i, j]:
            return Receipt.DUPLICATE if when == self.newest[i, j] else Receipt.LATE
        self.newest[i, j], self.pooled_before[i, j] = when, 0
        self.gone.discard((i, j))
        return Receipt.NEW

    def meets(self, fates: list[tuple[str, int]]) -> None:
        """What happens on the way: messages arrive in any order, some twice, and others never."""
        for fate, place in fates:
            if not self.on_the_way:
                return
            place %= len(self.on_the_way)
            message = (
                self.on_the_way[place] if fate == "arrives again" else self.on_the_way.pop(place)
            )
            if fate != "is lost":
                self.arrives(*message)

    def arrives(self, i: int, message: Message) -> None:
        fate = self.peers[i].deliver(message)
        j, when = message.sender, message.round
        if (i, j) not in self.newest:
            assert fate is Receipt.STRANGER
        elif self.clocks == "shared" and when > self.round[i]:
            known = when in self.ahead[i, j]
            assert fate is (Receipt.DUPLICATE if known else Receipt.EARLY)
            self.ahead[i, j].add(when)
        else:
            assert fate is self.comes(i, j, when)

    def pools(self, i: int) -> None:
        """By the definition: what counts, and how much."""
        if not self.open[i]:
            return
        pooled = self.peers[i].pool()
        weights, rounds = np.zeros(AGENTS), np.full(AGENTS, -1)
        ages = np.full(AGENTS, -1)
        weights[i], rounds[i], ages[i] = self.weights[i, i], self.round[i], 0
        own = 0.0
        for (listener, j), when in self.newest.items():
            if listener != i:
                continue
            shared = self.clocks == "shared"
            fresh = when == self.round[i] if shared else self.pooled_before[i, j] == 0
            age = self.round[i] - when if shared else self.pooled_before[i, j]
            self.pooled_before[i, j] += 1
            if (i, j) not in self.gone and (fresh or self.on_loss == "last"):
                weights[j], rounds[j], ages[j] = self.weights[i, j], when, age
            else:
                own += self.weights[i, j]
        if self.on_loss == "renormalise" and weights.any():
            weights /= weights.sum()
        else:
            weights[i] += own
        rounds[weights == 0] = ages[weights == 0] = -1
        np.testing.assert_allclose(pooled.weights, weights, rtol=1e-15)
        assert pooled.rounds.tolist() == rounds.tolist()
        assert pooled.ages.tolist() == ages.tolist()
        used = [(float(weights[j]), (j, int(rounds[j]))) for j in np.flatnonzero(weights)]
        self.belief[i] = normalise(np.sum([w * self.said[key] for w, key in used], axis=0))
        made: dict[Any, float] = {}
        for w, key in used:
            for datum, share in self.parts[key].items():
                made[datum] = made.get(datum, 0.0) + w * share
        self.made[i], self.open[i] = made, False

    @rule(
        seen=st.tuples(*[evidence] * AGENTS),
        fates=fates,
        gone=st.sets(st.tuples(agents, agents), max_size=3),
        returning=st.sets(agents),
        late=st.sets(agents),
    )
    def everybody_has_a_round(
        self,
        seen: Any,
        fates: Any,
        gone: set[tuple[int, int]],
        returning: set[int],
        late: set[int],
    ) -> None:
        """Some notice that others are gone, stop and return, or leave their round open."""
        for i in range(AGENTS):
            self.observes_and_tells(i, seen[i])
        self.meets(fates)
        for i, j in gone:
            self.knows_that_one_is_gone(i, j)
        for i in returning:
            self.stops_and_returns(i)
        for i in set(range(AGENTS)) - late:
            self.pools(i)

    @rule(i=agents, seen=evidence, fates=fates)
    def one_has_a_round(self, i: int, seen: FloatArray, fates: Any) -> None:
        self.pools(i)
        self.observes_and_tells(i, seen)
        self.meets(fates)
        self.pools(i)

    @rule(fates=fates)
    def mail_comes(self, fates: Any) -> None:
        self.meets(fates)

    @rule(i=agents, rounds=st.integers(1, 3))
    def goes_away(self, i: int, rounds: int) -> None:
        """A round that is open ends unpooled."""
        if self.round[i] + rounds >= min(self.round) + KEPT_AHEAD:
            return
        self.round[i] += rounds - 1
        self.open[i] = False
        self.peers[i].skip(self.round[i] + 1)

    @rule(i=agents, j=agents)
    def knows_that_one_is_gone(self, i: int, j: int) -> None:
        self.peers[i].lose(j)
        if (i, j) in self.newest:
            self.gone.add((i, j))
            self.ahead[i, j].clear()

    @rule(i=agents)
    def stops_and_returns(self, i: int) -> None:
        """From what was written down, through JSON."""
        state = self.peers[i].state()
        numbers = {name: values.copy() for name, values in state.tensors.items()}
        kept = PeerState.from_parts(json.loads(json.dumps(state.meta)), numbers)
        self.peers[i] = Peer.from_state(kept)

    # What always holds ------------------------------------------------------------------------

    @invariant()
    def beliefs_are_those_of_the_definition(self) -> None:
        for i, peer in enumerate(getattr(self, "peers", [])):
            assert (peer.round, peer.is_open) == (self.round[i], self.open[i])
            assert peer.missing() == {
                j
                for (listener, j), when in self.newest.items()
                if listener == i
                and (i, j) not in self.gone
                and (when < peer.round if self.clocks == "shared" else self.pooled_before[i, j] > 0)
            }
            # A few dozen sums of log-ratios below a hundred.
            np.testing.assert_allclose(peer.log_belief, self.belief[i], rtol=0, atol=1e-11)
            made = sum(share * self.data[key] for key, share in self.made[i].items())
            np.testing.assert_allclose(peer.log_belief, normalise(made), rtol=0, atol=1e-11)

    @invariant()
    def no_datum_counts_twice(self) -> None:
        for made in getattr(self, "made", []):
            by_round: dict[Any, float] = {}
            for (agent, when), share in made.items():
                assert 0 <= share <= 1 + 1e-12
                # By clocks of their own, rounds of the same number have nothing in common.
                key = ("prior", 0) if agent == "prior" else (when, 0)
                key = (agent, when) if self.clocks == "own" else key
                by_round[key] = by_round.get(key, 0.0) + share
            assert max(by_round.values()) <= 1 + 1e-12

    @invariant()
    def nothing_grows_that_would_not_grow_without_faults(self) -> None:
        """|Λ| ≤ P + C t with C = 4, the most that one observation says, and P as much."""
        for belief in getattr(self, "belief", []):
            assert np.ptp(belief) <= 4 + 4 * max(self.round) + 1e-9


class Waiting(RuleBasedStateMachine):
    """What has arrived at a live agent: in order, and no more of it than there is room for."""

    def __init__(self) -> None:
        super().__init__()
        self.inbox, self.expected = Inbox(), []
        self.most, inbox_module._MOST_WAITING = inbox_module._MOST_WAITING, 6

    def teardown(self) -> None:
        inbox_module._MOST_WAITING = self.most

    @rule(
        what=st.lists(
            st.sampled_from(["frame", "echo", "refused", "members", "wake", "alive"]), max_size=9
        ),
        data=st.binary(max_size=2),
        process=st.sampled_from([(), ("p",)]),
    )
    def things_arrive(self, what: list[str], data: bytes, process: tuple[str, ...]) -> None:
        """Whatever else is dropped, that somebody comes or goes never is."""
        for kind in what:
            event: tuple[Any, ...] = {
                "frame": ("frame", "a", data, *process),
                "refused": ("refused", "a", "why"),
                "wake": ("wake", None, None),
                "alive": ("alive", "a", True),
            }.get(kind, (kind, None, data))
            self.inbox.put(*event)
            if kind == "alive" or len(self.expected) < 6:
                self.expected.append(event)

    @rule(enough=st.integers(1, 8), wait=st.booleans())
    def it_is_read(self, enough: int, wait: bool) -> None:
        found = self.inbox.wait(0.0, enough=enough) if wait else self.inbox.all()
        assert found == self.expected
        self.expected = []


TestMail = Mail.TestCase
TestMail.settings = settings(often(50), stateful_step_count=30)
TestWaiting = Waiting.TestCase
TestWaiting.settings = settings(often(10), stateful_step_count=20)
