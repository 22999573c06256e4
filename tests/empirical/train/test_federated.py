"""Federated averaging against a plain loop of torch modules, and what a run promises."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from empirical.likelihoods.laws import Classes
from empirical.messages.codecs import codec_named
from empirical.nets.architecture import (
    Architecture,
    Convolution,
    Dense,
    MaxPool,
    first_weights,
    perceptron,
)
from empirical.nets.exchange import OneProcess
from empirical.nets.likelihood import logits
from empirical.nets.shares import Drawn, EpochsAnew, Shares
from empirical.papers import built, tables
from empirical.train.federated import ServedPooling, Server
from empirical.train.history import RoundReport
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import LEARNERS, learner_of
from empirical.train.recipe import FedAvgRecipe
from empirical.train.run import TrainingRun
from empirical.train.steps import TrainingFailed, share_of_rate
from tests.empirical.nets.torch_nets import flat, module_of
from tests.empirical.support import refused
from tests.empirical.train.linear import classified
from tests.empirical.train.test_rounds import NETWORKS
from theory import Network

PERCEPTRON = perceptron(6, 5, 4, outputs=3)
IMAGES = Architecture((1, 6, 6), (Convolution(3, 3, padding=1), MaxPool(2), Dense(4), Dense(3)))
SIZES = (7, 4, 12, 1, 9)


def shares(architecture: Architecture = PERCEPTRON, *, sizes: tuple[int, ...] = SIZES) -> Shares:
    """Clients of unequal size with random data in float64, in which rounding hides no mistake."""
    rng = np.random.default_rng(3)
    n = sum(sizes)
    inputs = torch.tensor(rng.normal(size=(n, *architecture.input_shape)))
    labels = torch.tensor(rng.integers(0, architecture.outputs, n))
    rows = torch.tensor(rng.permutation(n))
    return Shares(inputs, labels, tuple(rows.split(sizes)))


def training(
    recipe: FedAvgRecipe,
    architecture: Architecture = PERCEPTRON,
    *,
    seed: int = 5,
    data: Shares | None = None,
    **how: Any,
) -> TrainingRun:
    """A run in float64, from the usual first weights."""
    start = first_weights(architecture, seed=seed).double()
    return recipe.training(
        data or shares(architecture), architecture=architecture, seed=seed, start=start, **how
    )


def clients_of(report: RoundReport) -> list[int]:
    """Who has learnt something in a round."""
    return np.flatnonzero(~np.isnan(report.loss)).tolist()


def plain(recipe: FedAvgRecipe, run: TrainingRun, architecture: Architecture) -> tuple[Any, Any]:
    """The rounds of a run, client by client, by torch's modules, autograd and optimiser.

    What is random, who takes part and in which order data come, is asked of the run.
    """
    data = shares(architecture)
    server = run.belief().mean[0].clone()
    velocity, history, losses = torch.zeros_like(server), [], []
    for round in range(1, ROUNDS + 1):
        report = run.run_round()
        returned, held = [], []
        for client in clients_of(report):
            net = module_of(architecture, server)
            pace = share_of_rate(recipe.schedule, round, rounds=recipe.rounds, decay=recipe.decay)
            optimiser = torch.optim.SGD(net.parameters(), lr=recipe.rate * pace)
            size = data.sizes[client]
            steps = recipe.local_steps or recipe.epochs * int(np.ceil(size / recipe.batch))
            order = EpochsAnew(size, recipe.batch, seed=run.seed, agent=client)
            losses.append(0.0)
            for batch in order.rows(round, steps):
                rows = data.indices[client][torch.tensor(batch[batch >= 0])]
                optimiser.zero_grad()
                loss = torch.nn.functional.cross_entropy(net(data.inputs[rows]), data.labels[rows])
                loss.backward()
                optimiser.step()
                losses[-1] += float(loss.detach()) / steps
            assert report.loss[client] == pytest.approx(losses[-1], rel=1e-12)
            returned.append(flat(net.parameters()))
            held.append(size)
        mean = sum(n * w for n, w in zip(held, returned, strict=True)) / sum(held)
        velocity = recipe.momentum * velocity + (mean - server)
        server = server + recipe.server_rate * velocity
        history.append(server)
    if recipe.averaging is None:
        return server, server
    # The recursion's closed form: w_t counts as the falling product of what came after it.
    a = recipe.averaging
    counts = [
        (a + 1) / (t + a) * np.prod([1 - (a + 1) / (s + a) for s in range(t + 1, ROUNDS + 1)])
        for t in range(1, ROUNDS + 1)
    ]
    assert sum(counts) == pytest.approx(1.0)
    return server, sum(c * w for c, w in zip(counts, history, strict=True))


ROUNDS = 3
RECIPES = {
    "E = 2": FedAvgRecipe(rounds=4, fraction=0.6, epochs=2, batch=4, rate=0.1, schedule="cosine"),
    "local steps": FedAvgRecipe(rounds=4, fraction=1.0, local_steps=5, batch=4, rate=0.1),
    "server": FedAvgRecipe(
        rounds=4, batch=4, fraction=0.6, rate=0.1, momentum=0.7, server_rate=0.5, averaging=2.0
    ),
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("architecture", [PERCEPTRON, IMAGES], ids=["dense", "convolution"])
@pytest.mark.parametrize("at_once", [1, 3])
def test_rounds_are_those_of_a_plain_loop(
    name: str, architecture: Architecture, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("empirical.train.run.AT_ONCE", at_once)
    recipe = RECIPES[name]
    run = training(recipe, architecture)
    begin = run.belief().mean[0].clone()
    weights, served = plain(recipe, run, architecture)
    assert float((weights - begin).abs().max()) > 0.05  # something was learned
    # A few hundred roundings of numbers below 10.
    torch.testing.assert_close(run.state()["learner.mean"][0], weights, rtol=0, atol=1e-13)
    # All agents have what the server serves.
    belief = run.belief().mean
    torch.testing.assert_close(belief, served.expand(len(SIZES), -1), rtol=0, atol=1e-13)


@given(size=st.integers(1, 30), batch=st.integers(1, 12), steps=st.integers(1, 20))
def test_every_epoch_goes_through_all_examples_once(size: int, batch: int, steps: int) -> None:
    batches = EpochsAnew(size, batch, seed=0, agent=0).rows(1, steps)
    assert batches.shape == (steps, batch)
    assert (batches[:, 0] >= 0).all()  # no batch is empty
    an_epoch = -(-size // batch)
    for begin in range(0, steps, an_epoch):
        seen = batches[begin : begin + an_epoch].ravel()
        seen = seen[seen >= 0]
        assert len(set(seen.tolist())) == seen.size
        if begin + an_epoch <= steps:
            assert sorted(seen.tolist()) == list(range(size))


def test_a_report_counts_steps_and_bytes() -> None:
    report = training(RECIPES["E = 2"]).run_round()
    clients = clients_of(report)
    assert len(clients) == 3
    # ⌈n / 4⌉ batches an epoch, two epochs.
    assert report.local_steps == sum(2 * -(-SIZES[k] // 4) for k in clients)
    # The weights to each client and back, 8 bytes each: float64 here.
    assert report.bytes_sent == 2 * 3 * 8 * PERCEPTRON.parameters
    assert report.round == 1


def test_every_client_is_drawn_equally_often() -> None:
    begin = {"mean": torch.zeros(1)}
    rounds = ServedPooling(Network(np.full((5, 5), 0.2)), Server(3), begin=begin, seed=0)
    counts = np.bincount(np.concatenate([rounds.at(t).clients for t in range(2000)]), minlength=5)
    # 1 200 expected, standard deviation sqrt(2000 .6 .4) = 22; five of them.
    assert (np.abs(counts - 1200) < 110).all()


def test_what_diverges_is_named() -> None:
    run = training(FedAvgRecipe(rounds=2, fraction=1.0, batch=4, rate=1e200), seed=0)
    with pytest.raises(TrainingFailed, match=r"at agent \d in round 1; lower the learning rate"):
        run.run_round()


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "sites"])
def test_all_clients_of_a_server_are_a_network_that_averages(name: str) -> None:
    """One round from one beginning: where all take part, the server's row is every agent's."""
    settings = {"weighting": "agents"} if name.startswith("averaging") else {}
    data, learner = classified(4, 12, 6), learner_of(name, **settings)
    how: dict[str, Any] = {"rounds": 4, "local_steps": 3, "batch": 4, "seed": 1}
    row = Network(np.full((4, 4), 0.25))
    net, law = KernelNet(PERCEPTRON), Classes(3)
    served = TrainingRun(net, law, data, row, learner, server=Server(4), **how)
    plain_run = TrainingRun(net, law, data, row, learner, **how)
    # Both go through the data in the server's order.
    orders = [EpochsAnew(12, 4, seed=1, agent=k) for k in range(4)]
    plain_run._drawn = Drawn(orders)
    for order in orders:
        order.rows = partial(_first_round, order.rows)  # type: ignore[method-assign]
    reports = [run.run_round() for run in (served, plain_run)]
    np.testing.assert_array_equal(reports[0].loss, reports[1].loss)
    beliefs = (vars(run.belief()).values() for run in (served, plain_run))
    for one, other in zip(*beliefs, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.equal(one, other)


def _first_round(rows: Any, first: int, count: int) -> Any:
    return rows(1, count)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"server": Server(6)}, "clients: expected at most 5, the agents of the network"),
    ({"network": Network.from_topology("ring", agents=5)}, "network: expected one row of weights"),
    ({"network": NETWORKS["presence"]}, "network: expected one row.*got one that changes"),
    ({"learner": learner_of("sites")}, "learner: expected one whose agents keep nothing"),
    ({"codec": codec_named("sign")}, "codec: expected messages without a codec"),
    ({"exchange": OneProcess(2, 0)}, "processes: expected one process, for clients"),
    ({"start": torch.zeros(5, PERCEPTRON.parameters)}, "start: expected one row.*got 5 rows"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_no_server_can_serve(changes: dict[str, Any], message: str) -> None:
    given = {
        "net": KernelNet(PERCEPTRON), "likelihood": Classes(3), "shares": classified(5, 12, 6),
        "network": Network(np.full((5, 5), 0.2)), "learner": learner_of("averaging"),
        "server": Server(2), "rounds": 2, "local_steps": 1, "batch": 4, "seed": 0, **changes,
    }  # fmt: skip
    refused(f"^{message}", TrainingRun, **given)


def test_equal_steps_learn_a_stars_shares_and_equal_epochs_drown_the_small(
    dealt: Shares,
) -> None:
    """The split of the star networks: one client holds most, the others share two classes."""

    def learned(**steps: int) -> list[float]:
        """The share of right answers for each label, on the training images themselves."""
        recipe = FedAvgRecipe(
            rounds=60, fraction=1.0, batch=20, rate=0.2, schedule="cosine", **steps
        )
        net = perceptron(64, 40, outputs=10)
        run = recipe.training(dealt, architecture=net, seed=0)
        for _ in range(recipe.rounds):
            run.run_round()
        right = logits(net, run.belief().mean[:1], dealt.inputs[None])[0].argmax(1) == dealt.labels
        return [float(right[dealt.labels == label].double().mean()) for label in range(10)]

    # A tenth of an epoch at the centre each round, yet every label above .83.
    assert min(learned(local_steps=5)) > 0.75
    # 72 steps at the centre, 3 at an edge: .99 and more, but .35 for label 1.
    drowned = learned(epochs=1)
    assert min(drowned[2:]) > 0.95
    assert drowned[1] < 0.6


BAD: list[tuple[dict[str, Any], str]] = [
    ({"rounds": 0}, "rounds: expected a whole number of at least 1"),
    ({"rounds": 1, "fraction": 0.0}, "fraction: expected a number in"),
    ({"rounds": 1, "rate": -1.0}, "rate: expected a finite number above 0"),
    ({"rounds": 1, "momentum": 1.0}, "momentum: expected a number of at least 0 and below 1"),
    ({"rounds": 1, "averaging": -1.0}, "averaging: expected a finite number"),
    ({"rounds": 1, "schedule": "step"}, "schedule: expected 'cosine' or 'geometric'"),
]


@pytest.mark.parametrize(("settings", "message"), BAD)
def test_settings_out_of_range(settings: dict[str, Any], message: str) -> None:
    refused(f"^{message}", FedAvgRecipe, **settings)


def test_data_and_start_fit_the_architecture() -> None:
    make = partial(RECIPES["E = 2"].training, shares(), seed=0)
    refused("^architecture: expected inputs of", make, architecture=IMAGES)
    start = torch.zeros(3)
    refused("^start: expected weights of shape", make, architecture=PERCEPTRON, start=start)


def test_the_slides_settings() -> None:
    """Slides, hyperparameters: η = .01, E = 5 (and 1), B = 10, C = .1, plain SGD and averaging."""
    for epochs in (1, 5):
        recipe = built(FedAvgRecipe, tables("rows")["federated"][f"paper, E={epochs}"])
        assert (recipe.rate, recipe.epochs, recipe.batch, recipe.fraction) == (
            0.01,
            epochs,
            10,
            0.1,
        )
        assert (recipe.schedule, recipe.decay) == ("geometric", 1.0)
        assert (recipe.momentum, recipe.averaging) == (0.0, None)
