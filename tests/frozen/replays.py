"""What a replay says of journals that three live agents kept, and of a peer's life made by hand.

The journals in the folder beside this file are those of ``peerbayes launch buoys.toml --journal``
(`problems/buoys.toml`), twelve rounds, then with ``--resume`` up to the 24th. They are never made
anew: a replay of old journals must go on saying the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import peerbayes as pb
from exact import Message, Peer
from exact.changing import Event, Log, Replay, realised, replay
from peerbayes.live.replaying import beliefs_of, events_of
from tests.frozen.certificates import plain

HOME = Path(__file__).parent
AGENTS = ("mast", "roof", "well")


def state_of(agent: str) -> Path:
    """Return where the state of an agent would lie, beside its journal."""
    return HOME / "journals" / f"{agent}.state"


def told(again: Replay) -> dict[str, Any]:
    """Return what a replay says, round by round."""
    return {
        "rounds": again.rounds,
        "log beliefs": again.log_beliefs,
        "bases": again.bases,
        "weights": [pooled.weights for pooled in again.pooled],
        "rounds heard": [pooled.rounds for pooled in again.pooled],
        "ages": [pooled.ages for pooled in again.pooled],
    }


def of_journal(agent: str) -> dict[str, Any]:
    """Return the replay of an agent's journal, beside what the agent itself wrote down."""
    again = replay(events_of(state_of(agent)))
    own = beliefs_of(state_of(agent))
    same = all((own[n] == b).all() for n, b in zip(again.rounds, again.log_beliefs, strict=True))
    return {**told(again), "events": [e.kind for e in events_of(state_of(agent))], "same": same}


def of_all_journals() -> dict[str, Any]:
    """Return what observations counted in the beliefs at the end, and what that lets expect."""
    problem = pb.load(HOME / "problems" / "buoys.toml")
    assert isinstance(problem, pb.Problem)
    logs = [Log.of(replay(events_of(state_of(a))), agents=len(AGENTS)) for a in AGENTS]
    counted = realised(logs)
    growth = counted.growth(problem.model, "even")
    return {
        "totals": counted.totals,
        "priors": counted.priors,
        "steps": counted.steps,
        "mean": growth.mean,
        "deviation": growth.deviation,
    }


def of_a_life(on_loss: str, clocks: str) -> dict[str, Any]:
    """Return the replay of a life: messages are late or lost, a neighbour goes, weights move.

    The peer is agent 0 of three, with two hypotheses.
    """
    ahead = 3 if clocks == "own" else 0  # neighbours with clocks of their own have counted further
    heads = [np.log([0.5, 0.75]), np.log([0.5, 0.25])]
    peer = Peer(0, [0.5, 0.25, 0.25], log_priors=np.log([0.5, 0.5]), on_loss=on_loss, clocks=clocks)
    events = [Event("start", state=peer.state())]
    for n in range(1, 9):
        events.append(Event("observe", log_likelihood=heads[n % 3 == 0]))
        for sender in (1, 2):
            if (n + sender) % 4:
                belief = np.log([0.5, 0.5 + n * sender / 40])
                said = Message(sender, n - (n == 5) + ahead, belief)
                events.append(Event("deliver", message=said))
        events.append(Event("pool"))
        if n == 4:
            events.append(Event("lose", sender=2))
        if n == 6:
            priors = np.log([[0.5, 0.5]] * 3)
            events.append(Event("reweigh", weights=[0.25, 0.5, 0.25], log_priors=priors))
    events.append(Event("skip", round=10))
    events.append(Event("observe", log_likelihood=heads[0]))
    events.append(Event("pool"))
    return told(replay(events))


REPLAYS: Mapping[str, Callable[[], dict[str, Any]]] = {
    **{f"journal of {agent}": partial(of_journal, agent) for agent in AGENTS},
    "journals of all": of_all_journals,
    **{
        f"life, {rule}, {clocks} clocks": partial(of_a_life, rule, clocks)
        for rule in ("own", "renormalise", "last")
        for clocks in ("shared", "own")
    },
}


def frozen_replay(name: str) -> dict[str, Any]:
    """Return what is frozen of one of `REPLAYS`."""
    return {key: plain(value) for key, value in REPLAYS[name]().items()}
