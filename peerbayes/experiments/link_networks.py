"""The networks of `rate-link` by name: who listens to whom, and where the informative agent sits.

===========================  ======================================================================
name                         network of nine agents
===========================  ======================================================================
star a=A                     the informative agent in the centre, to which the others give A
grid PLACE                   3 × 3, every neighbour and oneself alike; corner, side or centre
grid corner, K poolings      the same v, but K consensuses after each local phase: Wᴷ
ring, torus, complete        of equal influence, with mixing slow, middling and immediate
path PLACE                   end or middle
random S                     pairs linked with probability .3, from seed S
star a=.5, links half up     each message of the star is lost with probability ½: one keeps one's
                             own belief for it
star, a=.7 and .1 in turn    two phases
gossip on the grid, PLACE    one pair of neighbours a round takes its average
===========================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from empirical.forecast import Site
from empirical.partition import Partition
from theory import Network
from theory.changing import AnyNetwork, MarkovNetwork, PeriodicNetwork, Phase, RandomLinks

AGENTS = 9
_PLACES = {"corner": 0, "side": 1, "centre": 4, "end": 0, "middle": 4}


def star(confidence: float) -> Network:
    """P2's star."""
    return Network.from_topology("star", agents=AGENTS, edge_confidence=confidence)


def _grid() -> Network:
    return Network.from_topology("grid", shape=[3, 3])


def _pooled(poolings: int) -> Network:
    return Network(np.linalg.matrix_power(np.asarray(_grid().weights), poolings))


def _even(topology: str) -> Callable[[], Network]:
    if topology == "torus":
        return lambda: Network.from_topology(topology, shape=[3, 3])
    return lambda: Network.from_topology(topology, agents=AGENTS)


def _random(seed: int) -> Network:
    return Network.from_topology("erdos-renyi", agents=AGENTS, probability=0.3, seed=seed)


def _in_turn() -> PeriodicNetwork:
    return PeriodicNetwork((Phase(star(0.7).weights), Phase(star(0.1).weights)))


def _gossip() -> MarkovNetwork:
    return MarkovNetwork.gossip_pairs(_grid(), everyone_observes=True)


_WIDE: dict[str, Callable[[], AnyNetwork]] = {
    "grid side": _grid,
    **{f"grid corner, {k} poolings": partial(_pooled, k) for k in (4, 16)},
    **{name: _even(name) for name in ("ring", "torus", "complete")},
    **{f"path {place}": _even("path") for place in ("end", "middle")},
    **{f"random {seed}": partial(_random, seed) for seed in (3, 6, 7)},
    "star a=.5, links half up": lambda: RandomLinks(star(0.5), 0.5),
    "star, a=.7 and .1 in turn": _in_turn,
    **{f"gossip on the grid, {place}": _gossip for place in ("corner", "centre")},
}
WIDE: Mapping[str, Callable[[], AnyNetwork]] = MappingProxyType(_WIDE)
"""Networks that no setting was chosen on, by name."""


def network_of(name: str) -> AnyNetwork:
    """The network of this name."""
    if name in WIDE:
        return WIDE[name]()
    if name.startswith("grid "):
        return _grid()
    return star(float(name.removeprefix("star a=")))


def site_of(name: str, dealt: Partition) -> Site:
    """The network of this name, and images dealt for a star with the informative agent first."""
    return Site(network_of(name), dealt.placed_at(informative_place(name)))


def informative_place(name: str) -> int:
    """The agent that has the centre's labels in the network of this name."""
    words = name.replace(",", "").split()
    return next((_PLACES[word] for word in words if word in _PLACES), 0)
