"""Networks that change from round to round."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from tests.strategies.basic import several, table
from tests.strategies.networks import KINDS, networks
from theory.changing import (
    ON_LOSS,
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
)
from theory.network.structure import as_dense

CHANGES = ("periodic", "markov", "links", "presence", "delays")


@st.composite
def changing_networks(
    draw: st.DrawFn,
    *,
    changes: tuple[str, ...] = CHANGES,
    min_agents: int = 2,
    max_agents: int = 6,
) -> ChangingNetwork:
    """Networks that change in one of the ways; in the first phase everybody hears everybody."""
    change = draw(st.sampled_from(changes))
    network = draw(networks(kinds=("positive",), min_agents=min_agents, max_agents=max_agents))
    agents = network.agents
    if change in {"periodic", "markov"}:
        phases = [Phase(network.weights)]
        for _ in range(draw(st.integers(0, 2))):
            other = draw(networks(kinds=KINDS, min_agents=agents, max_agents=agents))
            rests = np.array(draw(several(st.booleans(), agents)))
            weights = np.where(rests[:, None], np.eye(agents), as_dense(other.weights))
            stored = sparse.csr_array(weights) if draw(st.booleans()) else weights
            phases.append(Phase(stored, np.array(draw(several(st.booleans(), agents)))))
        if change == "periodic":
            return PeriodicNetwork(tuple(phases))
        chain = table(draw, len(phases)) + 0.5
        return MarkovNetwork(tuple(phases), chain / chain.sum(axis=1, keepdims=True))
    if change == "links":
        up = draw(st.sampled_from([0.2, 0.9, 1.0]))
        return RandomLinks(
            network, up, draw(st.sampled_from(ON_LOSS)), symmetric=draw(st.booleans())
        )
    if change == "presence":
        return RandomPresence(
            network, draw(st.sampled_from([0.4, 1.0])), draw(st.sampled_from([None, 5.0]))
        )
    delays = draw(several(several(st.integers(0, 4), agents), agents))
    return DelayedNetwork(network, np.array(delays) * (1 - np.eye(agents, dtype=np.int64)))
