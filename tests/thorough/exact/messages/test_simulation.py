"""Compressed beliefs of little mixing, whose certificates take seconds."""

from __future__ import annotations

import pytest

from tests.exact.messages.test_simulation import assert_within_bounds
from theory.messages import Deadband, Quantiser, Uniform


@pytest.mark.parametrize(
    "quantiser",
    [
        Uniform(step=8.0, mixing=0.1, levels=2),
        Deadband(step=2.0, threshold=20.0, mixing=0.05),
    ],
)
def test_what_is_measured_keeps_to_its_bounds(quantiser: Quantiser) -> None:
    assert_within_bounds(quantiser)
