"""The parts without a shared initialisation: who begins where, and what else stays the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from empirical.nets.architecture import first_weights, initialisations_apart, perceptron
from peerbayes.experiments.campaign_plan import planned
from peerbayes.experiments.net_lines import net_lines
from peerbayes.experiments.net_rows import ROWS, NetPart
from peerbayes.experiments.registry import NetExperiment
from peerbayes.experiments.run import Parts
from tests.peerbayes.commands import Patch
from tests.peerbayes.tiny_nets import make_tiny

APART, TOGETHER = "paper own initialisation seed 0", "paper seed 0"


def test_agents_begin_apart_by_the_law_of_the_shared_draw() -> None:
    net = perceptron(300, 200, outputs=10)
    apart = initialisations_apart(net, 3, seed=11)
    assert torch.equal(apart[0], first_weights(net, seed=11))
    weight = net.blocks[0].weight
    first, second, third = (apart[agent, weight].numpy() for agent in range(3))
    for one, other in ((first, second), (second, third), (first, third)):
        # Independent draws: a correlation of 60 000 pairs is within five standard errors of 0.
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(len(one))
    for one in (second, third):
        # He's variance; that of so many draws has the relative standard error √(2/n).
        assert one.var() == pytest.approx(2 / 300, rel=5 * np.sqrt(2 / len(one)))
    assert torch.equal(initialisations_apart(net, 3, seed=11), apart)


def test_only_the_beginning_differs(tmp_path: Path, monkeypatch: Patch) -> None:
    make_tiny(monkeypatch.setattr)
    row = ROWS["fmnist-2-iid"]
    experiment = NetExperiment(row, seeds=1)
    apart, together = (experiment.part_settings(name) for name in (APART, TOGETHER))
    assert set(apart) - set(together) == {"start"}  # older parts keep their fingerprints
    assert {key for key in together if apart[key] != together[key]} == {"role", "behaviour"}
    assert experiment.stream(APART) == experiment.stream(TOGETHER)
    parts = {name: Parts(experiment, tmp_path).keep(name, None) for name in (APART, TOGETHER)}
    first, second = (NetPart.model_validate(parts[name]) for name in (APART, TOGETHER))
    assert (first.role, second.role) == ("own initialisation", "cooperating")
    assert first.network == second.network
    ours, theirs = (run.curve.points[0].before for run in (first, second))
    assert ours is not None
    assert theirs is not None
    # Agent 0 begins where it always does, with the same noise and data; agent 1 elsewhere.
    assert ours.way.nll[0] == theirs.way.nll[0]
    assert ours.way.nll[1] != theirs.way.nll[1]
    whats = [line.what for line in net_lines(row, parts)]
    assert "accuracy [%], paper, own initialisation, node 2, before consensus" in whats


def test_the_campaign_has_one_seed_of_each() -> None:
    names = [task.name for task in planned() if "own initialisation" in task.name]
    assert names == [
        f"{row}: {APART}" for row in ("fmnist-2-balanced-a", "fmnist-2-iid", "star-mnist-1")
    ]


def test_they_are_run_only_where_they_are_asked_for() -> None:
    experiment = NetExperiment(ROWS["fmnist-2-iid"], seeds=2)
    assert APART in experiment.parts
    for words in ("", "seed 0", "paper"):
        assert not any("own" in name for name in experiment.parts_with(recipe="paper", words=words))
    chosen = experiment.parts_with(recipe="paper", words="own initialisation")
    assert chosen == (APART, APART.replace("0", "1"))
    with pytest.raises(ValueError, match="--part"):
        experiment.parts_with(recipe="best", words="own initialisation")
