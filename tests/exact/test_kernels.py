"""The sweep that serves several rounds of a sparse network, against one round after another."""

from __future__ import annotations

import numpy as np
import pytest

from exact.kernels import sparse_rounds
from exact.propagation import reach
from theory import Network


@pytest.mark.parametrize("tile", [1, 3, 7, 100])
@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize("first", [0, 1])
def test_one_sweep_is_several_rounds(tile: int, extra: int, first: int) -> None:
    """Tiles shorter and longer than the lag, and the longest lag that is needed or more."""
    rng = np.random.default_rng(0)
    weights = Network.from_topology("grid", shape=[5, 4], sparse=True).weights
    agents, replicates, width, rounds = 20, 2, 3, 6
    offsets, slopes = rng.random((4, width)), rng.random((4, width))
    symbols = rng.integers(0, 4, size=(rounds, agents, replicates))
    noise = rng.normal(size=symbols.shape)
    state = np.full((2, agents, replicates * width), np.nan)
    state[first] = expected = rng.random((agents, replicates * width))
    for k in range(rounds):
        rows = offsets[symbols[k]] + noise[k][..., None] * slopes[symbols[k]]
        expected = rows.reshape(agents, -1) + weights @ expected
    sparse_rounds(
        weights.indptr,
        weights.indices,
        weights.data,
        reach(weights) + extra,
        tile,
        symbols,
        offsets,
        slopes,
        noise,
        state,
        first,
    )
    # Six sums of a few numbers below ten.
    np.testing.assert_allclose(state[(first + rounds) % 2], expected, rtol=0, atol=1e-13)
