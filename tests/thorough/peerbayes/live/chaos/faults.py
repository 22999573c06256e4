"""What is done to live networks, by the tests at small size and by the benchmark at large size."""

from __future__ import annotations

import resource
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from peerbayes.live.frames import seal
from peerbayes.live.security import KeyFolder, sign
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.live.hostile import frame, hostile_frames
from tests.thorough.peerbayes.live.chaos.networks import Chaos

UNIFORM = np.full(3, -np.log(3))


def coins(agents: int, *, loaded: str = "3/5", light: str = "2/5", **network: Any) -> AnyProblem:
    """Agents that toss fair coins, and how likely heads are if a coin is not fair."""
    likelihood = [[[heads, str(1 - Fraction(heads))]] for heads in ("1/2", loaded, light)]
    kind = {"count": agents, "truth": "fair", "likelihood": likelihood}
    return problem_from_document(
        {
            "name": "coins",
            "network": network if "shape" in network else {**network, "agents": agents},
            "model": {"hypotheses": ["fair", "loaded", "light"], "agents": [kind]},
        }
    )


def done(net: Chaos, what: str) -> Counter[str]:
    """How often the process between did something to messages, by who got them."""
    counts: Counter[str] = Counter()
    for _, to, link in net.do("counts"):
        counts[to] += link[what]
    return counts


def heard(net: Chaos, *names: str, never: bool = False, seconds: float = 60.0) -> None:
    """Wait until all others hear these agents, or all each other; or none does any more."""
    links = [(i, j) for i in net.shares for j in net.members.heard(i) if j in (names or net.shares)]
    links = [(i, j) for i, j in links if i not in names]

    def alive() -> list[bool]:
        return [net.report(i)["links"][j]["alive"] for i, j in links]

    net.until(lambda: not any(alive()) if never else all(alive()), seconds=seconds)


def throw_garbage(net: Chaos, to: str, name: str, *, times: int, large: int) -> Counter[str]:
    """Frames of every hostile kind, and of 100 MB, as if an agent said them; by why refused."""
    sent: Counter[str] = Counter()
    for reason, frames in hostile_frames(net.members.network, name, hypotheses=3).items():
        for data in frames:
            net.do("say", to=to, **{"as": name, "hex": data.hex(), "times": times})
            sent[reason] += times
    net.do("say", to=to, **{"as": name, "zeros": 100 * 2**20, "times": large})
    sent["too-large"] += large
    return sent


def forge(net: Chaos, *, times: int) -> int:
    """What agent 1 did not say to agent 0, unsigned and signed by agent 2; how many frames."""
    assert net.keys is not None
    other = KeyFolder.of_agent(net.keys, "2")
    forged = frame(net.members.network, "1", UNIFORM)
    for data in (seal(forged), seal(forged, lambda digest: sign(other, digest))):
        net.do("say", to="0", **{"as": "1", "hex": data.hex(), "times": times})
    return 2 * times


@contextmanager
def full_disk(net: Chaos, name: str) -> Iterator[None]:
    """Within the block no file of an agent can grow; its notices are in one too."""
    pid = net.processes.agents[name].pid
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


@contextmanager
def without_router(net: Chaos) -> Iterator[None]:
    """The router is killed, and comes back at the end of the block."""
    net.end_between(signal.SIGKILL)
    heard(net, never=True)
    yield
    net.start_between()
    heard(net, seconds=120)
