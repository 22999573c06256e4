"""Training by a recipe: exact Gaussian beliefs, resting agents, priors, and failure."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from empirical.likelihoods.laws import Gaussian
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.evaluation import mean_probabilities
from empirical.train.kernel_net import KernelNet
from empirical.train.recipe import Recipe
from empirical.train.run import TrainingRun
from empirical.train.steps import TrainingFailed
from exact.regression import GaussianBeliefs
from tests.empirical.support import refused
from theory.changing import PeriodicNetwork, Phase
from theory.network import Network

W = [["1/2", "1/2", "0"], ["1/4", "1/2", "1/4"], ["0", "1/2", "1/2"]]


def blobs(agents: int = 3, each: int = 40, *, seed: int = 0) -> Shares:
    """Three classes in the plane, agent i without class i."""
    rng = np.random.default_rng(seed)
    seen = [[c for c in range(3) if c != agent] for agent in range(agents)]
    labels = np.concatenate([rng.choice(own, each) for own in seen])
    centres = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    x = centres[labels] + 0.5 * rng.standard_normal((labels.size, 2))
    rows = torch.arange(labels.size).split(each)
    return Shares(torch.tensor(x, dtype=torch.float32), torch.tensor(labels), tuple(rows))


NET = perceptron(2, 8, outputs=3)
RECIPE = Recipe(rounds=30, local_steps=3, batch=10, mean_rate=2e-2, scale_rate=1e-2)
LONGER = Recipe(rounds=80, local_steps=3, batch=10, mean_rate=5e-2, scale_rate=1e-2)


def run(recipe: Recipe = RECIPE, *, rounds: int = 30, network=None, seed: int = 0) -> TrainingRun:
    training = recipe.training(blobs(), network or Network(W), architecture=NET, seed=seed)
    for _ in range(rounds):
        training.run_round()
    return training


# A conjugate model ----------------------------------------------------------------------------


def test_a_linear_model_reaches_the_exact_beliefs() -> None:
    """Orthogonal designs: exact's posterior has no correlations, and the family contains it.

    Each round every agent takes in its whole batch; the network pools. `exact` does both in closed
    form. The last layer's bias is one of the coefficients.
    """
    rng = np.random.default_rng(3)
    # ±1 columns, orthogonal to each other and to the bias.
    design = np.array([[a, b, a * b] for a in (-1, 1) for b in (-1, 1)], dtype=float)
    noise, start_std, rounds, copies = 0.8, 0.7, 2, 200
    truth = np.array([0.5, -0.3, 0.2, 0.4])
    features = np.column_stack([design, np.ones(4)])
    targets = features @ truth + noise * rng.standard_normal((3, 4))
    net = perceptron(3, outputs=1)
    shares = Shares(
        torch.tensor(np.tile(design, (3, 1)), dtype=torch.float32),
        torch.tensor(targets.ravel(), dtype=torch.float32),
        # Each example many times in a batch: many draws of the noise a step.
        tuple(own.repeat(copies) for own in torch.arange(12).split(4)),
    )
    recipe = Recipe(
        rounds=rounds,
        local_steps=1500,
        schedule="geometric",
        initial_std=start_std,
        batch=4 * copies,
        mean_rate=2e-3,
        scale_rate=2e-3,
        second_beta=0.99,
        divergence=float(copies),
        forget=True,
    )
    weights = np.array([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]])
    training = recipe.training(
        shares,
        Network(weights),
        architecture=net,
        seed=0,
        likelihood=Gaussian(noise),
        start=torch.zeros(4),
    )
    beliefs = GaussianBeliefs.from_moments(np.zeros(4), start_std**2 * np.eye(4), agents=3)
    designs = np.broadcast_to(features, (3, 4, 4))
    for _ in range(rounds):
        training.run_round()
        beliefs = beliefs.update(designs, targets, noise_std=noise).consensus(weights)
    exact_std = np.sqrt(np.diagonal(beliefs.covariance, axis1=-2, axis2=-1))
    off = beliefs.covariance - exact_std[..., None] ** 2 * np.eye(4)
    assert np.abs(off).max() < 1e-12
    # Adam with a constant rate hovers around the optimum; the square of the distance is in
    # proportion to the rate and to the noise of a step. Measured: 4 % of σ at most.
    found = training.belief()
    assert found.variance is not None
    gap = np.abs(found.mean.numpy() - beliefs.mean)
    assert (gap < 0.05 * exact_std.min()).all()
    assert np.abs(found.variance.sqrt().numpy() / exact_std - 1).max() < 0.05
    # The two rounds moved the beliefs far more than that: the comparison can fail.
    assert np.abs(exact_std / start_std - 1).min() > 0.5


# Runs -----------------------------------------------------------------------------------------


def test_agents_learn_the_class_they_never_saw() -> None:
    training = run(LONGER, rounds=80)
    shares = blobs(seed=9)
    p = mean_probabilities(KernelNet(NET), training.belief(), shares.inputs)
    assert (p.argmax(axis=2) == shares.labels.numpy()).mean(axis=1).min() > 0.95
    alone = LONGER.training(blobs().of([0]), Network([[1.0]]), architecture=NET, seed=0)
    for _ in range(80):
        alone.run_round()
    p = mean_probabilities(KernelNet(NET), alone.belief(), shares.inputs)
    assert (p.argmax(axis=2) == shares.labels.numpy()).mean() < 0.75


def test_resting_agents_rest() -> None:
    half = [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1.0]]
    rest = [[0.5, 0, 0.5], [0, 1.0, 0], [0.5, 0, 0.5]]
    network = PeriodicNetwork([Phase(half, [0, 1]), Phase(rest, [0, 2])])
    training = run(network=network, rounds=1)
    start = run(network=network, rounds=0).belief()
    belief = training.belief()
    assert torch.equal(belief.mean[2], start.mean[2])
    assert torch.equal(belief.variance[2], start.variance[2])
    before, locally = belief.mean.clone(), []
    report = training.run_round(before=lambda here: locally.append(here.mean.clone()))
    assert report.local_steps == 2 * RECIPE.local_steps
    assert report.bytes_sent == 2 * 8 * NET.parameters
    assert np.isnan(report.loss[1])
    assert np.isfinite(report.loss[[0, 2]]).all()
    assert torch.equal(training.belief().mean[1], before[1])
    assert not torch.equal(training.belief().mean[2], before[2])
    assert torch.equal(locally[0][1], before[1])
    assert not torch.equal(locally[0][2], before[2])


def test_point_nets_average_and_send_half_as_much() -> None:
    recipe = Recipe(**{**RECIPE.as_json(), "estimator": "point"})
    training = recipe.training(blobs(), Network(W), architecture=NET, seed=0)
    means = []
    report = training.run_round(before=lambda belief: means.append(belief.mean.double().clone()))
    weights = torch.tensor([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]], dtype=torch.float64)
    assert torch.allclose(training.belief().mean.double(), weights @ means[0], rtol=2**-24, atol=0)
    assert training.belief().variance is None
    assert report.bytes_sent == 4 * 4 * NET.parameters


def test_batches_of_agents_are_in_proportion_to_their_data() -> None:
    """Beside a run of one agent with such a batch, which draws the same batches and noise."""
    data = Shares(blobs().inputs, blobs().labels, (torch.arange(60), torch.arange(60, 80)))
    recipe = replace(RECIPE, batch=12, batches="proportional")
    assert recipe.batch_sizes(data.sizes) == (18, 8)
    both = recipe.training(data, Network([[0.5, 0.5], [0.5, 0.5]]), architecture=NET, seed=0)
    loss, _ = both.local_phase()
    alone = replace(recipe, batch=18, batches="equal")
    one = alone.training(data.of([0]), Network([[1.0]]), architecture=NET, seed=0)
    assert one.local_phase()[0][0] == loss[0]
    assert torch.equal(one.belief().mean[0], both.belief().mean[0])


def test_agents_begin_with_weights_of_their_own() -> None:
    start = torch.randn(3, NET.parameters, generator=torch.Generator().manual_seed(1))
    training = RECIPE.training(blobs(), Network(W), architecture=NET, seed=0, start=start)
    assert torch.equal(training.belief().mean, start)
    refused("start: expected weights of shape", RECIPE.training, blobs(), Network(W),
            architecture=NET, seed=0, start=start[:2])  # fmt: skip


RESTING = PeriodicNetwork([Phase([[0.5, 0.5], [0, 1]], [0]), Phase([[1, 0], [0.5, 0.5]], [1])])


@pytest.mark.parametrize(
    ("network", "sizes", "batch", "scale_rate"),
    [(Network(W), (4, 4, 16), 4, 0.6), (RESTING, (8, 16), 8, 0.0)],
)
def test_each_datum_counts_once_with_a_fixed_prior(
    network: Network, sizes: tuple[int, ...], batch: int, scale_rate: float
) -> None:
    """A mean with a known variance: the network's fixed point is the posterior of all data.

    Data are N(θ, 1), shares and influence unequal, the net one bias: the posterior of all data has
    precision 1/s² + n, wherever they lie. Of two who talk in turn, with influences 1/6 and 1/6,
    too: if the prior weighed a third of itself, the mean would be .08 higher.
    """
    rng = np.random.default_rng(0)
    y = torch.tensor(1.0 + rng.standard_normal(24), dtype=torch.float32)
    shares = Shares(torch.zeros(24, 1), y, torch.arange(24).split(sizes))
    recipe = Recipe(
        rounds=1200, local_steps=1, batch=batch, prior="fixed", prior_std=0.5, initial_std=0.5,
        mean_rate=0.2, scale_rate=scale_rate, schedule="geometric",
        # Far above any gradient: a step is then in proportion to it, as the average needs.
        mean_epsilon=10.0, scale_epsilon=10.0,
    )  # fmt: skip
    training = recipe.training(
        shares, network, architecture=perceptron(1, outputs=1), seed=1,
        likelihood=Gaussian(1.0),
    )  # fmt: skip
    kept = []
    for t in range(1200):
        training.run_round()
        if t >= 400:
            belief = training.belief()
            kept.append(torch.stack([belief.mean[:, 1], belief.variance[:, 1].sqrt()]))
    mean, std = torch.stack(kept).double().mean(dim=0)
    precision = 1 / 0.25 + 24
    assert (mean - float(y.double().sum()) / precision).abs().max() < 0.03
    if scale_rate:
        assert (std * precision**0.5 - 1).abs().max() < 0.08


# Failure --------------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_names_agent_and_round() -> None:
    shares = blobs()
    broken = shares.inputs.clone()
    broken[shares.indices[1]] = torch.nan
    data = Shares(broken, shares.labels, shares.indices)
    training = RECIPE.training(data, Network(W), architecture=NET, seed=0)
    with pytest.raises(TrainingFailed, match="agent 1 in round 1"):
        training.run_round()


def test_beliefs_that_blow_up_name_agent_and_round() -> None:
    training = run(rounds=2)
    training.belief().mean[2, 0] = torch.inf
    with pytest.raises(TrainingFailed, match=r"agent 2 in round 3"):
        training.run_round()


def test_what_does_not_fit_is_refused() -> None:
    def made(network=None, architecture=NET, **changed: object) -> TrainingRun:
        how = {"seed": 0, **changed}
        return RECIPE.training(blobs(), network or Network(W), architecture=architecture, **how)

    refused("network: expected weights for 3 agents", made, Network([[1.0]]))
    refused("architecture", made, architecture=perceptron(3, outputs=3))
    refused("device", made, device="tpu")
    if not torch.cuda.is_available():
        refused("CUDA.*use the device 'cpu'", made, device="cuda")
    refused("seed", made, seed=-1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rounds", 0),
        ("batch", 2.5),
        ("mean_rate", -1.0),
        ("mean_rate", float("nan")),
        ("initial_std", 0.0),
        ("first_beta", 1.0),
        ("schedule", "step"),
        ("estimator", "dropout"),
        ("prior", "none"),
        ("warm_up", 1.0),
    ],
)
def test_a_recipes_numbers_are_checked(name: str, value: object) -> None:
    refused(name, Recipe, **{**RECIPE.as_json(), name: value})


def test_schedules() -> None:
    def rate(number: int, **how: object) -> float:
        recipe = Recipe(rounds=100, local_steps=1, batch=1, **how)
        return recipe.training(blobs(), Network(W), architecture=NET, seed=0).rate(number)

    rates = [rate(t) for t in range(1, 101)]
    assert rates[0] == 1.0
    assert all(a > b > 0 for a, b in pairwise(rates))
    assert rate(3, schedule="geometric", decay=0.99) == pytest.approx(0.99**2)
    assert rate(5, warm_up=0.1) == pytest.approx(0.5 * rate(5))
