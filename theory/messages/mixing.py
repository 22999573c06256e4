"""W_γ = (1 − γ)I + γW: pooling by a share γ of the way is pooling in full with another matrix.

v is that of W, so that rates and exponents are; each eigenvalue λ becomes 1 − γ(1 − λ).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np

from theory.network import Network
from theory.numbers import as_fmpq
from theory.rational import RationalNetwork
from theory.scientific import sparse
from theory.typed import typed


@typed
def mixed_network(network: Network, mixing: float | Fraction) -> Network:
    """The network of W_γ, stored as W is, for γ in (0, 1]; in doubles.

    Examples
    --------
    >>> mixed_network(Network([[0.5, 0.5], [0.25, 0.75]]), 0.5).weights.tolist()
    [[0.75, 0.25], [0.125, 0.875]]
    """
    share = float(mixing)
    if share == 1.0:
        return network
    agents, W = network.agents, network.weights
    if isinstance(W, np.ndarray):
        return replace(network, weights=share * W + (1.0 - share) * np.eye(agents))
    kept = sparse.eye_array(agents, format="csr")
    return replace(network, weights=sparse.csr_array(share * W + (1.0 - share) * kept))


@typed
def mixed_rational(network: RationalNetwork, mixing: float | Fraction) -> RationalNetwork:
    """The same exactly; a double γ is read as the binary fraction it is."""
    share = as_fmpq(mixing)
    agents = network.agents
    kept = flint.fmpq_mat(agents, agents)
    for i in range(agents):
        kept[i, i] = 1 - share
    return replace(network, matrix=share * network.matrix + kept)
