"""Networks that are tried every time, each for what it once did, or does to a naive method."""

from __future__ import annotations

import numpy as np

from tests.models import COIN
from tests.strategies import Problem
from theory import FiniteAgent, FiniteModel, Network
from theory.changing import PeriodicNetwork, Phase

# Two halves that hear each other with weight 1e-12: not settled after any number of rounds that
# can be run, so that whatever assumes that W^k has become 1 v^T is off by the other half's data.
COUPLED = Network(
    [
        [0.5, 0.5, 0.0, 0.0],
        [0.3, 0.7 - 1e-12, 1e-12, 0.0],
        [0.0, 1e-12, 0.2 - 1e-12, 0.8],
        [0.0, 0.0, 0.6, 0.4],
    ],
    name="coupled",
)

# From i to i + 1 or back to 0: one Jordan block of size eight at eigenvalue 0, which LAPACK finds
# at modulus 0.1 or so. Nothing that is run may follow the computed eigenvalues.
RESET = Network(
    [[(j == min(i + 1, 8)) * 8 / 9 + (j == 0) / 9 for j in range(9)] for i in range(9)],
    name="reset",
)

# A directed ring that all but has period five.
RING = Network(
    [[(1 - 1e-6) * (j == (i + 1) % 5) + 1e-6 * (i == j) for j in range(5)] for i in range(5)],
    name="ring",
)

# Everybody leans a billion times towards agent 0: the last v is 1e-72, below any absolute error.
LEANING = Network(
    [
        [1.0 - 1e-9, 1e-9] + [0.0] * 7,
        *([0.0] * (i - 1) + [0.5, 0.5 - 1e-9, 1e-9] + [0.0] * (7 - i) for i in range(1, 8)),
        [0.0] * 7 + [0.5, 0.5],
    ],
    name="leaning",
)

# No agent hears itself in any round, and each phase alone has period two; the product mixes.
SWAP = PeriodicNetwork(
    (
        Phase([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]], [0, 2]),
        Phase([[0, 0, 1], [0.5, 0, 0.5], [1, 0, 0]], [1]),
    )
)

BIASED = FiniteAgent.from_tables(
    inputs=[1.0], truth=[[0.1, 0.9]], likelihood=[[[0.1, 0.9]], [[0.2, 0.8]]]
)
BLIND = FiniteAgent.from_tables(
    inputs=[1.0], truth=[[0.3, 0.7]], likelihood=[[[0.3, 0.7]], [[0.3, 0.7]]]
)


def pinned(network: Network) -> Problem:
    """The network with a coin that says much, one that says little, and agents that are blind."""
    kinds = [COIN, BIASED, BLIND]
    order = np.arange(network.agents) % 3
    model = FiniteModel.from_agents(
        ["true", "false"],
        [kinds[k] for k in order],
        priors=[[0.4, 0.6] if k else [0.5, 0.5] for k in order],
    )
    return Problem(network, model)


def one_who_sees() -> Problem:
    """Two agents who hear the third, and one who all but does not.

    Rounds move the log-ratios against both wrong hypotheses in nearly the same proportion. An exact
    law once decoded them as differences of numbers a billion times as large, and was off by 1e-7.
    """
    weights = np.array([[1, 1e-12, 1], [1e-12, 1, 1e-12], [1, 1e-12, 2]])
    tables = [[0.5, 0.5], [1 / 3, 2 / 3], [0.25, 0.75]]
    seeing, blind = (
        FiniteAgent.from_tables(
            inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[row] for row in likelihood]
        )
        for likelihood in (tables, [[0.5, 0.5]] * 3)
    )
    model = FiniteModel.from_agents(["true", "false", "worse"], [blind, seeing], counts=[2, 1])
    return Problem(Network(weights / weights.sum(axis=1, keepdims=True)), model)
