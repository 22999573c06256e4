"""Regression problem files for the tests."""

from __future__ import annotations

from typing import Any

from peerbayes.kinds.regression import verify as verification
from tests.peerbayes.commands import Patch

LINE: dict[str, Any] = {
    "name": "line",
    "title": "a line through noisy points",
    "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
    "regression": {
        "theta": ["-3/10", "1/2", "4/5"],
        "noise_std": "4/5",
        "prior_variance": "1/2",
        "agents": [
            {"ranges": [["1", "1"], ["-1", "1"], ["0", "0"]]},
            {"ranges": [["1", "1"], ["0", "0"], ["-3/2", "3/2"]]},
        ],
        "test_ranges": [["1", "1"], ["-1", "1"], ["-3/2", "3/2"]],
    },
}

NORMAL: dict[str, Any] = {
    "name": "normal",
    "network": {"topology": "ring", "agents": 3},
    "regression": {
        "theta": [1.0, -2.0],
        "noise_std": 0.5,
        "prior_covariance": [[1.0, 0.2], [0.2, 2.0]],
        "prior_mean": [0.5, 0.0],
        "agents": [
            {
                "count": 2,
                "second_moment": [[1.0, 0.5], [0.5, 1.0]],
                "batch": 2,
                "tempering": 3.0,
                "prior_std": 2.0,
            },
            {
                "second_moment": [[2.0, 0.0], [0.0, 0.0]],
                "noise_std": 1.5,
                "claimed_noise_std": 1.0,
            },
        ],
        "test_second_moment": [[1.0, 0.0], [0.0, 1.0]],
    },
}


def shorten_verification(monkeypatch: Patch) -> None:
    """Verification with few rounds and replicates."""
    for name, value in (("_ROUNDS", 200), ("_REPLICATES", 300), ("_RECORDS", 6), ("_DRAWS", 20)):
        monkeypatch.setattr(verification, name, value)
