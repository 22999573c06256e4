"""Networks of `rate-link` by name: weights, how slowly they mix, where the informative agent sits.

They are apart from the rows, which `peerbayes list` reads: networks take longer to load.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from empirical.forecast import Site
from empirical.partition import Partition
from peerbayes.experiments.link_rows import AGENTS, WIDE
from theory import Network
from theory.changing import (
    AnyNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    mean_slem,
)
from theory.changing.mean_states import expected_weights
from theory.network.structure import as_dense
from theory.validation import FloatArray

_PLACES = {"corner": 0, "side": 1, "centre": 4}
_GRID: dict[str, Any] = {"topology": "grid", "shape": [3, 3]}


def _table(name: str) -> dict[str, Any]:
    """How the network of this name is made, and where the informative agent sits."""
    if name in WIDE:
        return dict(WIDE[name])
    kind, _, rest = name.partition(" ")
    if kind == "grid":
        return {**_GRID, "informative": _PLACES[rest.partition(",")[0]]}
    return {"topology": "star", "agents": AGENTS, "edge_confidence": float(rest.removeprefix("a="))}


def network_of(name: str) -> AnyNetwork:
    """The network of this name."""
    table = _table(name)
    own = {key: table.pop(key, None) for key in ("informative", "poolings", "links", "gossip")}
    phases = table.pop("in_turn", ())
    if phases:
        each = (Network.from_topology(**table, **phase) for phase in phases)
        return PeriodicNetwork(tuple(Phase(one.weights) for one in each))
    network = Network.from_topology(**table)
    if own["poolings"]:
        return Network(np.linalg.matrix_power(np.asarray(network.weights), own["poolings"]))
    if own["links"]:
        return RandomLinks(network, own["links"])
    if own["gossip"]:
        return MarkovNetwork.gossip_pairs(network, everyone_observes=True)
    return network


def site_of(name: str, dealt: Partition) -> Site:
    """The network of this name, and images dealt for a star with the informative agent first."""
    return Site(network_of(name), dealt.placed_at(informative_place(name)))


def informative_place(name: str) -> int:
    """The agent that has the centre's labels in the network of this name."""
    return int(_table(name).get("informative", 0))


def mixing_time(name: str) -> float:
    """−1/log of the subdominant modulus, in rounds; an estimate in doubles.

    Examples
    --------
    >>> round(mixing_time("grid corner") / mixing_time("grid corner, 4 poolings"), 9)
    4.0
    """
    network = network_of(name)
    slem = network.slem if isinstance(network, Network) else mean_slem(network)
    return -1 / math.log(slem) if slem > 1e-12 else 0.0


def heard_again(name: str) -> float:
    """Z_cc = Σ_{k≥1} ([W^k]_cc − v_c) of the informative agent c, in rounds, in doubles.

    How much more than others c hears of its own steps (docs: mathematics/nets-as-hypotheses). W is
    the mean of the weights where they change.

    Examples
    --------
    >>> round(heard_again("complete"), 12) + 0.0
    0.0
    >>> heard_again("path end") > heard_again("path middle")
    True
    """
    place = informative_place(name)
    weights = mean_weights(network_of(name))
    v = np.linalg.matrix_power(weights, 2**20)[0]
    size = len(weights)
    return float(np.linalg.inv(np.eye(size) - weights + v)[place, place] - 1)


def mean_weights(network: AnyNetwork) -> FloatArray:
    """The mean weights of a round, shape (N, N)."""
    match network:
        case Network():
            return as_dense(network.weights)
        case PeriodicNetwork():
            each = [as_dense(phase.weights) for phase in network.phases]
            return np.asarray(np.mean(each, axis=0))
        case DelayedNetwork():
            return as_dense(network.network.weights)
        case _:
            return as_dense(expected_weights(network).weights)
