"""Over which links messages may travel, and whether all who listen to an agent hear the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory.changing import AnyNetwork, DelayedNetwork, MarkovNetwork, PeriodicNetwork
from theory.network import Network
from theory.network.structure import as_weights
from theory.scientific import sparse


@dataclass(frozen=True)
class Links:
    """The links of a network, over all of its rounds.

    Attributes
    ----------
    pairs
        (speaker, listener) of every link that any round may have, in order.
    steady
        Speakers whose every listener hears all that they say: one stream of messages, and one
        memory, then does for all of them.

    Examples
    --------
    >>> links = Links.of(Network.from_topology("path", agents=3))
    >>> links.pairs, sorted(links.steady)
    (((0, 1), (1, 0), (1, 2), (2, 1)), [0, 1, 2])
    """

    pairs: tuple[tuple[int, int], ...]
    steady: frozenset[int]

    @classmethod
    def of(cls, network: AnyNetwork) -> Links:
        """Those of a network, fixed or changing."""
        if isinstance(network, PeriodicNetwork | MarkovNetwork):
            phases = [phase.weights for phase in network.phases]
        else:
            phases = [(network if isinstance(network, Network) else network.network).weights]
        tables = [_pairs(weights) for weights in phases]
        pairs = sorted(set().union(*tables))
        everyone = _listeners(pairs)
        steady = set(everyone)
        for heard in map(_listeners, tables):
            steady -= {j for j, listeners in heard.items() if listeners != everyone[j]}
        sure = isinstance(network, Network | PeriodicNetwork | MarkovNetwork | DelayedNetwork)
        return cls(tuple(pairs), frozenset(steady if sure else ()))


def _listeners(pairs: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for speaker, listener in pairs:
        found.setdefault(speaker, set()).add(listener)
    return found


def _pairs(weights: Any) -> set[tuple[int, int]]:
    """(speaker, listener) of every entry off the diagonal."""
    entries = sparse.coo_array(as_weights(weights))
    listeners, speakers = entries.coords
    some = (entries.data != 0) & (listeners != speakers)
    return set(zip(np.array(speakers[some]).tolist(), listeners[some].tolist(), strict=True))
