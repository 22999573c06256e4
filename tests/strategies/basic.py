"""Numbers and tables that other strategies are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

seeds = st.integers(0, 2**32 - 1)


def several(element: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[list[Any]]:
    """Lists of so many."""
    return st.lists(element, min_size=size, max_size=size)


def table(draw: st.DrawFn, agents: int, *, largest: int = 9) -> NDArray[np.float64]:
    """Whole numbers from 0 to `largest`, shape (N, N)."""
    size = agents * agents
    digits = draw(st.lists(st.integers(0, largest), min_size=size, max_size=size))
    return np.array(digits, dtype=np.float64).reshape(agents, agents)


@st.composite
def distributions(draw: st.DrawFn, size: int) -> list[float]:
    """Positive probabilities, some of them small."""
    raw = draw(st.lists(st.integers(1, 1000), min_size=size, max_size=size))
    values = np.array(raw, dtype=float)
    return list(values / values.sum())
