"""The engine: every network, every learner, any grouping, any number of processes, and resuming."""

from typing import Any

import numpy as np
import pytest
import torch

from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import LEARNERS, Averaging, learner_of
from empirical.train.pooling import Sums, pool_rows, pool_rows_by_torch
from empirical.train.run import TrainingRun
from empirical.train.steps import TrainingFailed
from exact.changing.beliefs import draw_rounds
from tests.empirical.support import refused
from tests.empirical.train.linear import LinearNet, Unit, classified, regression
from tests.empirical.train.test_rounds import NETWORKS
from theory import Network
from theory.network.structure import as_dense

SHARES = regression([12, 7, 9, 12, 5])


def run_of(network: Any, learner: str = "averaging", **settings: Any) -> TrainingRun:
    numbers = {"rounds": 8, "local_steps": 3, "batch": 4, "seed": 2, **settings}
    return TrainingRun(LinearNet(3), Unit(), SHARES, network, learner_of(learner), **numbers)


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("net", [LinearNet(3), KernelNet(perceptron(5, 6, outputs=3))])
def test_grouping_changes_nothing(net: Any, learner: str) -> None:
    """By local reparameterisation too, which `backprop` takes for nets of known layers."""
    linear = isinstance(net, LinearNet)
    likelihood, shares = (Unit(), SHARES) if linear else (Classes(3), classified(5, 12, 5))
    runs = [
        TrainingRun(
            net, likelihood, shares, NETWORKS["presence"], learner_of(learner), at_once=some,
            rounds=8, local_steps=3, batch=4, seed=2,
        )
        for some in (1, 2, 5)
    ]  # fmt: skip
    for run in runs:
        for _ in range(4):
            run.run_round()
        assert same(run.state(), runs[0].state())


@pytest.mark.parametrize("pool", [pool_rows, pool_rows_by_torch])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("columns", [7, 1300])
def test_rows_are_pooled_as_numpy_sums_them(pool: Any, apart: bool, columns: int) -> None:
    """From a table of others, and from the rows themselves, which are overwritten meanwhile."""
    generator = torch.Generator().manual_seed(columns)
    values, others = (torch.randn(5, columns, generator=generator) for _ in range(2))
    table = others if apart else values
    weights = np.random.default_rng(0).random(6)
    rows = Sums(np.array([0, 1, 4]), np.array([0, 3, 4, 6]), np.array([0, 2, 4, 3, 1, 0]), weights)
    exact, wanted = table.double().numpy(), values.double().numpy().copy()
    wanted[0] = weights[:3] @ exact[[0, 2, 4]]
    wanted[1] = weights[3] * exact[3]
    wanted[4] = weights[4:] @ exact[[1, 0]]
    pool(values, table.clone() if apart else values, rows)
    # Sums in float64, rounded once to float32.
    np.testing.assert_allclose(values.numpy(), wanted, rtol=2**-24 + 1e-15, atol=1e-14)


@pytest.mark.parametrize("name", NETWORKS)
def test_pooling_is_what_exact_says_agents_go_through(name: str) -> None:
    """Weights that do not train are averaged by the drawn W of each round, aged as drawn."""
    network = NETWORKS[name]
    run = TrainingRun(
        LinearNet(3), Unit(), SHARES, network, Averaging(rate=1e-30),
        rounds=9, local_steps=1, batch=4, seed=2,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    nudges = rng.normal(size=(9, 5, 3)).astype(np.float32)
    said = [run.belief().mean.double().numpy().copy()]
    fixed = name == "fixed"
    drawn = None if fixed else draw_rounds(network, rounds=9, seed=2)
    heard = said[0]
    for t in range(9):
        with torch.no_grad():
            run.belief().mean.add_(torch.from_numpy(nudges[t]))
        said.append(heard + nudges[t])
        weights = as_dense(network.weights if drawn is None else drawn.phases[t].weights)
        ages = np.zeros((5, 5), dtype=int) if drawn is None else drawn.ages[t]
        heard = np.array(
            [sum(weights[i, j] * said[t + 1 - ages[i, j]][j] for j in range(5)) for i in range(5)]
        )
        run.run_round()
        # Nine roundings of float32 to numbers of at most 8.
        np.testing.assert_allclose(run.belief().mean.numpy(), heard, rtol=0, atol=9 * 8 * 2**-24)


def test_bytes_are_those_of_the_messages_that_travel() -> None:
    star = Network.from_topology("star", agents=5, edge_confidence=0.5)
    sent = {name: run_of(star, name).run_round().bytes_sent for name in LEARNERS}
    # Eight directed links, vectors of three numbers of four bytes.
    vectors = {name: values / (8 * 3 * 4) for name, values in sent.items()}
    said = {"backprop": 2, "averaging": 1, "averaging-adam": 1, "natural-gradient": 2, "sites": 3}
    assert vectors == said
    lossy = run_of(NETWORKS["last"])
    drawn = draw_rounds(NETWORKS["last"], rounds=4, seed=2)
    for phase, ages in zip(drawn.phases, drawn.ages, strict=True):
        table = np.array(as_dense(phase.weights))
        np.fill_diagonal(table, 0.0)
        assert lossy.run_round().bytes_sent == 12 * ((table > 0) & (ages == 0)).sum()


@pytest.mark.parametrize("learner", LEARNERS)
def test_who_rests_keeps_its_belief_and_takes_no_step(learner: str) -> None:
    network = NETWORKS["presence"]
    drawn = draw_rounds(network, rounds=8, seed=2)
    run = run_of(network, learner)
    rested = 0
    for phase in drawn.phases:
        before = {key: value.clone() for key, value in run.state().items()}
        report = run.run_round()
        away = ~phase.observes
        rested += away.sum()
        assert np.isnan(report.loss).tolist() == away.tolist()
        assert report.local_steps == 3 * int(phase.observes.sum())
        for key in run.state().keys() - {"round", "products"}:
            assert torch.equal(run.state()[key][away], before[key][away])
    assert rested > 0


def test_late_messages_are_kept_as_long_as_they_may_be_pooled_and_no_longer() -> None:
    run = run_of(NETWORKS["delayed"])
    for _ in range(7):
        run.run_round()
    keys = run.state()["history.keys"]
    assert keys[:, 1].min() >= 7 - 3  # the longest delay is 3
    assert len(keys) <= 5 * 4
    assert run.state()["history.mean"].shape == (len(keys), 3)
    assert not any(key.startswith("history") for key in run_of(NETWORKS["own"]).state())


def test_a_run_that_fails_names_agent_and_round() -> None:
    labels = SHARES.labels.clone()
    labels[SHARES.indices[3]] = torch.nan
    broken = Shares(SHARES.inputs, labels, SHARES.indices)
    run = TrainingRun(
        LinearNet(3), Unit(), broken, NETWORKS["fixed"], Averaging(),
        rounds=2, local_steps=1, batch=4, seed=0,
    )  # fmt: skip
    with pytest.raises(TrainingFailed, match="finite losses, got nan at agent 3 in round 1; lower"):
        run.run_round()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 0}, "rounds: expected a whole number of at least 1"),
        ({"local_steps": 0}, "local_steps: expected a whole number"),
        ({"batch": 0}, "batch: expected a whole number"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"warm_up": 1.0}, "warm_up: expected a number of at least 0 and below 1"),
        ({"decay": 0.0}, "decay: expected"),
        ({"device": "tpu"}, "device: expected 'cpu' or 'cuda'"),
    ],
)
def test_bad_numbers(change: dict[str, Any], message: str) -> None:
    refused(message, run_of, NETWORKS["fixed"], **change)


def test_parts_that_do_not_fit() -> None:
    numbers = {"rounds": 1, "local_steps": 1, "batch": 1, "seed": 0}
    star = Network.from_topology("star", agents=5, edge_confidence=0.5)
    with pytest.raises(ValueError, match="network: expected weights for 2 agents"):
        TrainingRun(LinearNet(3), Unit(), regression([4, 4]), star, Averaging(), **numbers)
    with pytest.raises(ValueError, match="net: expected 2 outputs, as the likelihood takes, got 1"):
        TrainingRun(LinearNet(3), Unit(2), SHARES, star, Averaging(), **numbers)
