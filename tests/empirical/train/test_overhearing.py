"""What agents say in training is what they believe before they pool."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import perceptron
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import learner_of
from empirical.train.overhearing import overheard
from empirical.train.run import TrainingRun
from tests.empirical.train.linear import classified
from theory import Network

HOW: dict[str, Any] = {"local_steps": 3, "batch": 5, "seed": 4}


@pytest.mark.parametrize("name", ["natural-gradient", "averaging"])
def test_who_is_alone_says_what_it_ends_the_round_with(name: str) -> None:
    net, alone = KernelNet(perceptron(6, 4, outputs=3)), Network([[1.0]])
    shares = classified(1, 40, 6)
    heard, run = (
        TrainingRun(net, Classes(3), shares, alone, learner_of(name), rounds=1000, **HOW)
        for _ in range(2)
    )
    found = overheard(heard, shares, rounds=4)
    assert len(found.said) == 4
    assert found.layout.size == net.parameters
    for said in found.said:
        run.run_round()
        belief = run.belief()
        if name == "averaging":
            assert torch.equal(said["mean"], belief.mean[0])
            continue
        # A precision for one datum, of forty; two roundings of float32 each.
        assert found.layout.examples == pytest.approx(40, rel=1e-5)
        assert belief.variance is not None
        assert torch.allclose(said["precision"] * 40 * belief.variance[0], torch.ones(()), 4e-7)
        assert torch.allclose(said["shift"] / said["precision"], belief.mean[0], 4e-7)
    assert not torch.equal(*(found.said[k][next(iter(found.said[k]))] for k in (0, 1)))
