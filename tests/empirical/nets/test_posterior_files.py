"""Beliefs on disk: what is read back is what was written; tensors of others are refused."""

from __future__ import annotations

from pathlib import Path

import torch

from empirical.keeping import save_tensors
from empirical.nets.architecture import perceptron
from empirical.nets.posterior import load_posterior, save_posterior, shared_initialisation
from tests.empirical.support import refused


def test_beliefs_come_back_as_they_were(tmp_path: Path) -> None:
    net = perceptron(3, 2, outputs=2)
    start = shared_initialisation(net, 3, std=0.1, seed=1)
    save_posterior(tmp_path / "p", start, {"round": 0})
    again = load_posterior(tmp_path / "p", net)
    assert torch.equal(again.mean, start.mean)
    assert torch.equal(again.variance, start.variance)
    refused("mean: expected shape", load_posterior, tmp_path / "p", perceptron(4, 2, outputs=2))


def test_other_tensors_are_no_beliefs(tmp_path: Path) -> None:
    save_tensors(tmp_path / "x", {"x": torch.zeros(1)}, {})
    refused(
        "expected the tensors mean and variance, got x",
        load_posterior,
        tmp_path / "x",
        perceptron(2, outputs=2),
    )
