"""Other weights on the links of a network, for influences that are wanted."""

from __future__ import annotations

from numpy.typing import ArrayLike

from theory.design.failure import DesignFailed
from theory.design.graph import DesignGraph
from theory.design.mixing.fastest import MOST_EDGES, fastest_mixing
from theory.design.realisation.target import as_influence
from theory.design.realisation.weights import realise
from theory.network import Network
from theory.typed import typed
from theory.validation import as_float_array, fail


@typed
def reweighted(network: Network, influence: ArrayLike) -> Network:
    """Weights on the links of a network whose stationary distribution is proportional to these.

    Where listening is mutual on every link, of all reversible such weights those that mix the
    fastest, up to rounding (`fastest_mixing`; those of `realise` beyond its size). On directed
    graphs those of `realise`, which promise the stationary distribution and no more. What weights
    by the data are good for: docs, mathematics/learners.

    Parameters
    ----------
    influence
        Shape (N,), positive, in any unit, such as how many examples each agent holds.

    Raises
    ------
    ValueError
        If these are not a positive number an agent.

    Examples
    --------
    >>> star = Network.from_topology("star", agents=3)
    >>> reweighted(star, [60, 20, 20]).weights.round(4).tolist()
    [[0.5, 0.25, 0.25], [0.75, 0.25, 0.0], [0.75, 0.0, 0.25]]
    """
    graph = DesignGraph.from_network(network)
    wanted = as_float_array("influence", influence, ndim=1)
    if wanted.shape != (graph.agents,) or not (wanted > 0).all():
        what = f"{graph.agents} positive numbers, one an agent"
        raise fail("influence", what, wanted.tolist(), "give such numbers")
    v = as_influence(wanted / wanted.sum(), agents=graph.agents)
    if not graph.is_undirected or len(graph.edges) > MOST_EDGES:
        return realise(graph, v, name=network.name)
    try:
        return fastest_mixing(graph, v).network
    except DesignFailed as failure:
        best = failure.best
        return realise(graph, v, name=network.name) if best is None else best.network
