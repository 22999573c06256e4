"""What faulty agents do."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from theory.robustness import (
    BEHAVIOURS,
    Behaviour,
    Colluding,
    ConstantBelief,
    Push,
    RandomLies,
    Silent,
    Split,
    StuckData,
)


@st.composite
def behaviours(draw: st.DrawFn, *, hypotheses: int, outcomes: int = 2) -> Behaviour:
    """What a faulty agent may do, where all agents have at least so many outcomes."""
    number = st.floats(-20, 20)
    index = st.integers(0, hypotheses - 1)
    kind = draw(st.sampled_from(sorted(BEHAVIOURS)))
    if kind == "constant-belief":
        size = hypotheses
        return ConstantBelief(np.array(draw(st.lists(number, min_size=size, max_size=size))))
    if kind == "silent":
        return Silent()
    if kind == "stuck-data":
        return StuckData(draw(st.integers(0, outcomes - 1)))
    if kind == "push":
        return Push(draw(index), draw(number), growing=draw(st.booleans()))
    if kind == "random-lies":
        return RandomLies(draw(st.floats(0.1, 20)))
    if kind == "colluding":
        return Colluding(draw(index), draw(st.floats(0, 20)))
    first = draw(index)
    return Split(first, (first + 1) % hypotheses, draw(number), growing=draw(st.booleans()))
