"""Federated averaging against a plain loop of torch modules, and what a run promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from empirical.nets.architecture import (
    Architecture,
    Convolution,
    Dense,
    MaxPool,
    perceptron,
)
from empirical.nets.posterior import first_weights
from empirical.nets.shares import Shares
from empirical.train import fedavg
from empirical.train.fedavg import FedAvg, descend, epochs_of_batches
from empirical.train.recipe import FEDAVG_RECIPES, FedAvgRecipe
from empirical.train.steps import TrainingFailed
from tests.empirical.nets.torch_nets import flat, module_of
from tests.empirical.support import refused

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


def plain(run: FedAvg, rounds: int) -> tuple[Any, Any]:
    """The same rounds, client by client, by torch's modules, autograd and optimiser.

    What is random, who takes part and in which order data come, is asked of the run.
    """
    recipe, data = run.recipe, run.shares
    server, velocity = run.weights.clone(), torch.zeros_like(run.weights)
    history = []
    for round in range(1, rounds + 1):
        returned, held = [], []
        for client in run.clients_in(round):
            net = module_of(run.architecture, server)
            optimiser = torch.optim.SGD(net.parameters(), lr=recipe.rate_in(round))
            size = data.sizes[client]
            steps = recipe.local_steps or recipe.epochs * int(np.ceil(size / recipe.batch))
            rng = np.random.default_rng(np.random.SeedSequence(run.seed, spawn_key=(round, client)))
            for batch in epochs_of_batches(size, recipe.batch, steps=steps, rng=rng):
                rows = data.indices[client][torch.tensor(batch[batch >= 0])]
                optimiser.zero_grad()
                out = net(data.inputs[rows])
                torch.nn.functional.cross_entropy(out, data.labels[rows]).backward()
                optimiser.step()
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
        (a + 1) / (t + a) * np.prod([1 - (a + 1) / (s + a) for s in range(t + 1, rounds + 1)])
        for t in range(1, rounds + 1)
    ]
    assert sum(counts) == pytest.approx(1.0)
    return server, sum(c * w for c, w in zip(counts, history, strict=True))


RECIPES = {
    "E = 2": FedAvgRecipe(rounds=4, fraction=0.6, epochs=2, batch=4, rate=0.1, schedule="cosine"),
    "local steps": FedAvgRecipe(rounds=4, fraction=1.0, local_steps=5, batch=4, rate=0.1),
    "server": FedAvgRecipe(
        rounds=4, batch=4, fraction=0.6, rate=0.1, momentum=0.7, server_rate=0.5, averaging=2.0
    ),
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("architecture", [PERCEPTRON, IMAGES], ids=["dense", "convolution"])
def test_rounds_are_those_of_a_plain_loop(name: str, architecture: Architecture) -> None:
    run = FedAvg(shares(architecture), RECIPES[name], architecture=architecture, seed=5)
    weights, served = plain(run, 3)
    begin = run.weights.clone()
    for _ in range(3):
        run.run_round()
    assert float((weights - begin).abs().max()) > 0.05  # something was learned
    # A few hundred roundings of numbers below 10.
    torch.testing.assert_close(run.weights, weights, rtol=0, atol=1e-13)
    torch.testing.assert_close(run.served, served, rtol=0, atol=1e-13)


def test_adding_the_gradient_within_the_product_is_adding_it_afterwards() -> None:
    """The two ways to take a step, in float32; a dense net may also be written with an image."""
    flat_inputs = torch.rand(3, 4, 36, generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([[0, 1, 2, 1]]).repeat(3, 1)
    share = torch.tensor([[0.25] * 4, [0.5, 0.5, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3, 0.0]])
    dense = perceptron(36, 5, outputs=3)
    # A pooling of single pixels changes nothing but the way the step is taken.
    pooled = Architecture((1, 6, 6), (MaxPool(1), Dense(5), Dense(3)))
    start = first_weights(dense, seed=0).repeat(3, 1)
    one, other = start.clone(), start.clone()
    losses = descend(dense, one, flat_inputs, labels, share=share, rate=0.5)
    images = flat_inputs.reshape(3, 4, 1, 6, 6)
    again = descend(pooled, other, images, labels, share=share, rate=0.5)
    # Single precision: 1e-7 of numbers below 2.
    torch.testing.assert_close(one, other, rtol=0, atol=5e-7)
    torch.testing.assert_close(losses, again, rtol=1e-6, atol=0)
    assert float((one - start).abs().max()) > 0.05


@given(size=st.integers(1, 30), batch=st.integers(1, 12), steps=st.integers(1, 20))
def test_every_epoch_goes_through_all_examples_once(size: int, batch: int, steps: int) -> None:
    batches = epochs_of_batches(size, batch, steps=steps, rng=np.random.default_rng(0))
    assert batches.shape == (steps, batch)
    assert (batches[:, 0] >= 0).all()  # no batch is empty
    an_epoch = -(-size // batch)
    for begin in range(0, steps, an_epoch):
        seen = batches[begin : begin + an_epoch].ravel()
        seen = seen[seen >= 0]
        assert len(set(seen.tolist())) == seen.size
        if begin + an_epoch <= steps:
            assert sorted(seen.tolist()) == list(range(size))


def test_who_is_computed_together_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def weights() -> Any:
        run = FedAvg(shares(), RECIPES["E = 2"], architecture=PERCEPTRON, seed=5)
        report = run.run_round()
        return run.weights, report.loss

    together, losses = weights()
    monkeypatch.setattr(fedavg, "AT_ONCE", 1)
    monkeypatch.setattr(fedavg, "STEPS_AT_ONCE", 2)
    apart, same = weights()
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-14)
    np.testing.assert_allclose(losses, same, rtol=1e-13)


def test_a_report_counts_steps_and_bytes() -> None:
    run = FedAvg(shares(), RECIPES["E = 2"], architecture=PERCEPTRON, seed=5)
    report = run.run_round()
    assert report.clients == run.clients_in(1)
    assert len(report.clients) == 3
    # ⌈n / 4⌉ batches an epoch, two epochs.
    assert report.local_steps == sum(2 * -(-SIZES[k] // 4) for k in report.clients)
    # The weights to each client and back, 8 bytes each: float64 here.
    assert report.bytes_sent == 2 * 3 * 8 * PERCEPTRON.parameters
    assert (report.round, report.loss.shape) == (1, (3,))
    probabilities = run.probabilities(run.shares.inputs)
    torch.testing.assert_close(
        probabilities[0],
        torch.softmax(module_of(PERCEPTRON, run.weights)(run.shares.inputs), dim=1).detach(),
    )


def test_every_client_is_drawn_equally_often() -> None:
    run = FedAvg(shares(), RECIPES["E = 2"], architecture=PERCEPTRON, seed=0)
    counts = np.bincount(np.concatenate([run.clients_in(t) for t in range(2000)]), minlength=5)
    # 1 200 expected, standard deviation sqrt(2000 .6 .4) = 22; five of them.
    assert (np.abs(counts - 1200) < 110).all()


def test_what_diverges_is_named_and_the_last_good_round_kept() -> None:
    recipe = FedAvgRecipe(rounds=2, fraction=1.0, batch=4, rate=1e200)
    run = FedAvg(shares(), recipe, architecture=PERCEPTRON, seed=0)
    before = {name: value.clone() for name, value in run.state().items()}
    with pytest.raises(TrainingFailed, match=r"at client \d in round 1; lower the learning rate"):
        run.run_round()
    assert all(torch.equal(value, run.state()[name]) for name, value in before.items())


def test_equal_steps_learn_a_stars_shares_and_equal_epochs_drown_the_small(
    dealt: Shares,
) -> None:
    """The split of the star networks: one client holds most, the others share two classes."""

    def learned(**steps: int) -> list[float]:
        """The share of right answers for each label, on the training images themselves."""
        recipe = FedAvgRecipe(
            rounds=60, fraction=1.0, batch=20, rate=0.2, schedule="cosine", **steps
        )
        run = FedAvg(dealt, recipe, architecture=perceptron(64, 40, outputs=10), seed=0)
        for _ in range(recipe.rounds):
            run.run_round()
        right = run.probabilities(dealt.inputs)[0].argmax(dim=1) == dealt.labels
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
    some, recipe = shares(), RECIPES["E = 2"]
    refused("^architecture: expected inputs of", FedAvg, some, recipe, architecture=IMAGES, seed=0)
    three = {"start": torch.zeros(3), "architecture": PERCEPTRON}
    refused("^start: expected shape", FedAvg, some, recipe, seed=0, **three)


def test_rates_follow_their_schedule() -> None:
    geometric = FedAvgRecipe(rounds=10, rate=0.5, decay=0.9)
    assert [geometric.rate_in(t) for t in (1, 2, 3)] == pytest.approx([0.5, 0.45, 0.405])
    cosine = FedAvgRecipe(rounds=4, rate=1.0, schedule="cosine")
    expected = [1.0, 0.5 + 0.5**1.5, 0.5, 0.5 - 0.5**1.5]
    assert [cosine.rate_in(t) for t in (1, 2, 3, 4)] == pytest.approx(expected)


def test_the_slides_settings() -> None:
    """Slides, hyperparameters: η = .01, E = 5 (and 1), B = 10, C = .1, plain SGD and averaging."""
    for epochs in (1, 5):
        recipe = FEDAVG_RECIPES[f"paper, E={epochs}"]
        assert (recipe.rate, recipe.epochs, recipe.batch, recipe.fraction) == (
            0.01,
            epochs,
            10,
            0.1,
        )
        assert (recipe.rate_in(1), recipe.momentum, recipe.averaging) == (0.01, 0.0, None)
        assert recipe.rate_in(recipe.rounds) == 0.01
