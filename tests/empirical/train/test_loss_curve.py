"""Curves of a network's loss on new images: the engine's nets, by torch's own layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from empirical.forecast import Site
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.curve import loss_curve
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import Learner, learner_of
from empirical.train.run import TrainingRun
from theory import Network
from theory.changing import MarkovNetwork

NET = perceptron(64, 24, outputs=10)
LEARNERS = (
    learner_of("backprop", initial_std=0.03, mean_rate=2e-2, scale_rate=1e-3),
    learner_of("natural-gradient", rate=0.1, weighting="agents", clip=None),
)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_a_curve_is_that_of_the_engine(dealt: Shares, site: Site, learner: Learner) -> None:
    inputs, labels = dealt.inputs[::7], dealt.labels[::7]
    curve = loss_curve(
        dealt, site, learner, architecture=NET, local_steps=5, batch=50, test_inputs=inputs,
        test_labels=labels, record=(0, 2, 3), seed=9,
    )  # fmt: skip
    assert curve.rounds == [0, 2, 3]
    run = TrainingRun(
        KernelNet(NET), Classes(10), dealt, site.network, learner,
        rounds=3, local_steps=5, batch=50, seed=9, schedule="geometric",
    )  # fmt: skip
    for _ in range(3):
        run.run_round()
    # The nets by torch's own layers, one agent at a time.
    for agent, mean in enumerate(run.belief().mean):
        first, second = NET.blocks
        hidden = torch.relu(inputs @ mean[first.weight].reshape(first.shape) + mean[first.bias])
        out = hidden @ mean[second.weight].reshape(second.shape) + mean[second.bias]
        loss = torch.nn.functional.cross_entropy(out, labels)
        assert curve.losses[-1, agent] == pytest.approx(float(loss), rel=1e-4)
        hits = (out.argmax(dim=1) == labels).double().mean()
        assert curve.accuracies[-1, agent] == pytest.approx(float(hits), abs=1e-12)
        sure = torch.softmax(out, dim=1)[labels == 4, 4].double().mean()
        assert curve.label_confidences[agent, 4] == pytest.approx(float(sure), rel=1e-4)
    # Before the consensus an edge, which has labels 0 and 1 alone, is less sure of the others.
    before, after = curve.local_label_confidences, curve.label_confidences
    assert before[1:, 2:].mean() < after[1:, 2:].mean()


def test_networks_that_change_have_curves_too(dealt: Shares, site: Site) -> None:
    grid = Network.from_topology("grid", shape=[3, 3])
    gossip = MarkovNetwork.gossip_pairs(grid, everyone_observes=True)
    curve = loss_curve(
        dealt, Site(gossip, site.partition), LEARNERS[1], architecture=NET, local_steps=2,
        batch=20, test_inputs=dealt.inputs[::7], test_labels=dealt.labels[::7], record=(0, 4),
        seed=1,
    )  # fmt: skip
    assert np.ptp(curve.losses[0]) < 1e-6  # one initialisation, to the rounding of its products
    assert np.ptp(curve.losses[1]) > 1e-3


def test_rounds_of_looks_increase(dealt: Shares, site: Site) -> None:
    with pytest.raises(ValueError, match="record"):
        loss_curve(
            dealt, site, LEARNERS[0], architecture=NET, local_steps=5, batch=50,
            test_inputs=dealt.inputs, test_labels=dealt.labels, record=(3, 3), seed=0,
        )  # fmt: skip


def test_agents_may_count_by_influence(dealt: Shares, site: Site) -> None:
    """The first steps are in the proportion a_i: 1, or n_i/(v_i n)."""
    moved = {}
    for weighting in ("agents", "data"):
        learner = learner_of(
            "natural-gradient", rate=1e-3, weighting=weighting, clip=None, momentum=0.0
        )
        run = TrainingRun(
            KernelNet(NET), Classes(10), dealt, site.network, learner,
            rounds=1, local_steps=1, batch=50, seed=3, schedule="geometric",
        )  # fmt: skip
        start = run.belief().mean[0].clone()
        locally: list[torch.Tensor] = []
        run.run_round(before=lambda belief, kept=locally: kept.append(belief.mean.clone()))
        moved[weighting] = locally[0] - start
    v = torch.tensor(site.network.stationary_distribution)
    held = torch.tensor(dealt.sizes, dtype=torch.float64)
    weight = (held / held.sum() / v)[:, None]
    # Nearly in the proportion a_i: precisions move by little in one step.
    torch.testing.assert_close(
        moved["data"].double(), weight * moved["agents"].double(), rtol=0.02, atol=2e-5
    )
