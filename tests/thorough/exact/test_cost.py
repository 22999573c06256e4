"""Memory is predicted for runs of every shape: never less than it takes, never three times."""

from __future__ import annotations

from tests.exact.test_cost import CASES, measured


def test_predicted_bytes_hold_the_measured_peak() -> None:
    for name, (predicted, grown) in measured(list(CASES)).items():
        assert grown > 50 << 20, name  # or the constant part of the prediction would decide
        assert grown <= predicted <= 3 * grown, name
