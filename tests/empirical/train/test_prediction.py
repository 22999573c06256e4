"""Nets trained as hypotheses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from empirical import Images, classifier_model
from empirical.forecast import LabelHypothesis, Site, label_hypotheses, rate_forecast
from empirical.nets.architecture import first_weights, perceptron
from empirical.nets.shares import Shares
from empirical.train.prediction import train_snapshots
from empirical.train.recipe import Recipe
from tests.empirical.support import refused
from theory import Network

NET = perceptron(64, 24, outputs=10)
RECIPE = Recipe(
    rounds=20, local_steps=5, batch=50, mean_rate=2e-2, mean_epsilon=1e-2, schedule="geometric"
)


def test_nets_know_the_labels_that_they_were_trained_on(
    digits: Images, site: Site, dealt: Shares
) -> None:
    hypotheses = label_hypotheses([range(2, 10), [0, 1]])
    nets = train_snapshots(dealt, hypotheses, RECIPE, architecture=NET, seed=1, stages=(0, 3))
    table = nets.table(dealt.inputs, dealt.labels)
    known = np.array([np.isin(digits.labels, h.labels).mean() for h in hypotheses])
    # A net never names a label it has not seen, and names most of the others.
    assert (table.accuracies[: len(known)] <= known + 1e-12).all()
    assert (table.accuracies[: len(known)] > 0.8 * known).all()
    assert table.hypotheses[-2:] == ("all labels, after 0 rounds", "all labels, after 3 rounds")
    start = first_weights(NET, seed=1)
    torch.testing.assert_close(nets.means[-2], start, rtol=0, atol=0)

    found = rate_forecast(table.only(range(len(hypotheses))), site)
    assert found.reference == "all labels"
    # c_y is v_1/8 = .045 for the centre's labels and .32 for the edges'.
    assert found.binding in {f"without {y}" for y in range(2, 10)}
    # The rate against the untrained net knows nothing of who holds what; K does.
    stages = table.only([0, len(hypotheses)])
    trusted = replace(site, network=Network.from_topology("star", agents=9, edge_confidence=0.1))
    assert rate_forecast(stages, trusted).rate > 0.8 * rate_forecast(stages, site).rate
    labels = table.only(range(len(hypotheses)))
    assert rate_forecast(labels, trusted).rate < 0.5 * found.rate
    assert classifier_model(table, site.partition).agents == 9


def test_nets_do_not_hear_of_each_other(dealt: Shares) -> None:
    few = replace(RECIPE, rounds=2)
    one, two, three = (LabelHypothesis(str(y), (y, y + 1)) for y in (0, 3, 6))
    first = train_snapshots(dealt, [one, two], few, architecture=NET, seed=4)
    second = train_snapshots(dealt, [one, three], few, architecture=NET, seed=4)
    # Batched products of other neighbours may round otherwise.
    torch.testing.assert_close(first.means[0], second.means[0])
    assert (first.means[1] - second.means[1]).abs().max() > 1e-3


def test_bad_input_is_refused(dealt: Shares) -> None:
    nobody = [LabelHypothesis("all", tuple(range(10))), LabelHypothesis("none", (11,))]
    refused("hypothesis 'none'", train_snapshots, dealt, nobody, RECIPE, architecture=NET, seed=0)
    with pytest.raises(ValueError, match="stages"):
        train_snapshots(dealt, nobody[:1] * 2, RECIPE, architecture=NET, seed=0, stages=(21,))
