"""What an objective leads to; and from the influence of each agent to the weights.

The weights are the fastest W that a method can prove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from peerbayes.designs.details import Details
from peerbayes.designs.request import DesignTask
from theory import Network
from theory.design import (
    Certificate,
    DesignFailed,
    FastestMixing,
    LocalMixing,
    choose_edges,
    fastest_mixing,
    local_mixing,
    realise,
)
from theory.design.constraints import expected_network
from theory.messages import Quantiser
from theory.network.structure import as_dense
from theory.validation import FloatArray

# Beyond this the fastest W takes minutes: it is found where it is asked for, and elsewhere the
# weights are those of Metropolis and Hastings.
MOST_FASTEST = 300
# Beyond this a search among directed networks takes minutes.
MOST_DIRECTED = 60
# Shares in a proof below this are the solver's rounding.
_PART = 1e-7
# Flows between agents are rounded down to multiples of this, so that every agent keeps the rest.
_UNIT = 2**60
_MOST_EXACT = 100


@dataclass(frozen=True, eq=False)
class Weights:
    """W with the stationary distribution asked for.

    Attributes
    ----------
    network
        The weights to be set.
    expected
        Those that count where links fail, E[W]; `network` itself where they do not.
    certificate
        What the mixing of `expected` is, and could be; None if it was not optimised.
    method, notes
        How W was found, and what is to be said about it.
    failed
        Whether a solver gave up; then `network` is the best that it had.
    rows
        The weights of `network` as fractions, shape (N, N), where they have a stationary
        distribution that was asked for exactly; None where they are doubles alone.
    """

    network: Network
    expected: Network
    certificate: Certificate | None
    method: str
    notes: tuple[str, ...] = ()
    failed: bool = False
    rows: tuple[tuple[Fraction, ...], ...] | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """What an objective leads to.

    Attributes
    ----------
    weights
        The W that is recommended.
    certificate
        Of the objective; None where there is nothing to prove (an infinite exponent).
    binding
        The hypotheses that bind, with their share in the proof.
    details
        What only this objective says.
    notes
        What is to be said of it.
    quantiser
        What agents are to send, if the objective says so; what they send now if None.
    """

    weights: Weights
    certificate: Certificate | None
    binding: Mapping[str, float]
    details: Details = field(default_factory=Details)
    notes: tuple[str, ...] = ()
    quantiser: Quantiser | None = None

    def __post_init__(self) -> None:
        """Leave out what takes part in the proof by the solver's rounding alone."""
        parts = {name: float(share) for name, share in self.binding.items() if share > _PART}
        object.__setattr__(self, "binding", parts)


def weights_for(task: DesignTask, v: FloatArray, *, thorough: bool = False) -> Weights:
    """The fastest W with the stationary distribution v, within the task's limits.

    Parameters
    ----------
    thorough
        Whether the mixing is what was asked for, so that large networks are optimised too.

    Raises
    ------
    ValueError
        If the limits exclude each other.
    """
    graph, constraints, seed = task.graph, task.constraints, task.request.seed
    most = MOST_FASTEST if graph.is_undirected else MOST_DIRECTED
    if not thorough and graph.agents > most and not constraints.limits_edges:
        network = realise(graph, v, constraints=constraints)
        note = (
            f"weights by Metropolis and Hastings: the fastest ones of more than {most} agents are "
            "computed with the objective 'mixing'"
        )
        return Weights(network, expected(network, task), None, "realised", (note,))
    found: LocalMixing | FastestMixing
    try:
        if not graph.is_undirected:
            found = local_mixing(graph, v, constraints=constraints, seed=seed)
            note = "the graph is directed: the mixing is the best that a local search found"
            certificate, method, notes = found.certificate, "local search", (note, *found.notes)
        # One agent has no edges to choose among.
        elif constraints.limits_edges and graph.agents > 1:
            chosen = choose_edges(graph, v, constraints=constraints, seed=seed)
            found, notes = chosen.mixing, ()
            certificate, method = chosen.certificate, f"{chosen.method} choice of edges"
        else:
            found, notes = fastest_mixing(graph, v, constraints=constraints), ()
            certificate, method = found.certificate, f"fastest mixing, {found.method}"
    except DesignFailed as failure:
        return kept_weights(task, v, failure)
    return Weights(found.network, found.expected, certificate, method, notes)


def kept_weights(task: DesignTask, v: FloatArray, failure: DesignFailed) -> Weights:
    """What is left when a solver gives up: its best W, or else the one that is always there."""
    best = getattr(failure.best, "network", None)
    network = realise(task.graph, v, constraints=task.constraints) if best is None else best
    note = f"{failure}; kept: the best weights that respect the limits"
    return Weights(network, expected(network, task), None, "kept", (note,), failed=True)


def expected(network: Network, task: DesignTask) -> Network:
    """E[W] where links fail and what is lost counts as said by oneself, else W itself."""
    return expected_network(network, task.graph, task.constraints)


def exactly(weights: Weights, v: Sequence[Fraction], task: DesignTask) -> Weights:
    """The weights, moved by rounding alone to have exactly the stationary distribution `v`.

    What flows between two agents, v_i W_ij = v_j W_ji, is made a fraction; then v is stationary by
    detailed balance. As they are where no fractions are near: on directed graphs, for links that
    fail, for agents whose weights are fixed, for more than 100 agents, or where a weight is below
    rounding.
    """
    agents, limits = weights.network.agents, task.constraints
    if (
        not task.graph.is_undirected
        or weights.expected is not weights.network
        or limits.fixed_rows
        or agents > _MOST_EXACT
    ):
        return weights
    table = as_dense(weights.network.weights)
    rows = [[Fraction(0)] * agents for _ in range(agents)]
    for i, j in np.argwhere(np.triu(table + table.T, 1) > 0).tolist():
        flow = min(v[i] * Fraction(table[i, j]), v[j] * Fraction(table[j, i]))
        flow = Fraction(int(flow * _UNIT), _UNIT)
        if not flow:
            return weights
        rows[i][j], rows[j][i] = flow / v[i], flow / v[j]
    for i, row in enumerate(rows):
        row[i] = 1 - sum(row, Fraction(0))
        if row[i] < 0:
            return weights
    network = Network(
        np.array(rows, dtype=np.float64),
        name=weights.network.name,
        layout=weights.network.layout,
    )
    exact = tuple(tuple(row) for row in rows)
    return replace(weights, network=network, expected=network, rows=exact)
