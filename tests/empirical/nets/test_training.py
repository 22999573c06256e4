"""Training a network: exact Gaussian beliefs, resuming, resting agents, and failure."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from empirical.likelihoods.laws import Gaussian
from empirical.nets.architecture import perceptron
from empirical.nets.descent import Shares
from empirical.nets.likelihood import mean_probabilities
from empirical.nets.posterior import Posterior
from empirical.nets.recipe import Recipe
from empirical.nets.training import Training, TrainingFailed
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


def run(recipe: Recipe = RECIPE, *, rounds: int = 30, network=None, seed: int = 0) -> Training:
    training = Training(blobs(), network or Network(W), recipe, architecture=NET, seed=seed)
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
        batch=4 * copies,
        mean_rate=2e-3,
        scale_rate=2e-3,
        second_beta=0.99,
        divergence=float(copies),
        forget=True,
    )
    weights = np.array([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]])
    start = Posterior(net, torch.zeros(3, 4), torch.full((3, 4), start_std**2))
    training = Training(
        shares,
        Network(weights),
        recipe,
        architecture=net,
        seed=0,
        likelihood=Gaussian(noise),
        start=start,
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
    gap = np.abs(training.posterior.mean.numpy() - beliefs.mean)
    assert (gap < 0.05 * exact_std.min()).all()
    assert np.abs(training.posterior.std.numpy() / exact_std - 1).max() < 0.05
    # The two rounds moved the beliefs far more than that: the comparison can fail.
    assert np.abs(exact_std / start_std - 1).min() > 0.5


# Runs -----------------------------------------------------------------------------------------


def test_agents_learn_the_class_they_never_saw() -> None:
    training = run(LONGER, rounds=80)
    shares = blobs(seed=9)
    p = mean_probabilities(training.posterior, shares.inputs)
    accuracy = (p.argmax(dim=2) == shares.labels).float().mean(dim=1)
    assert float(accuracy.min()) > 0.95
    alone = Training(blobs().of([0]), Network([[1.0]]), LONGER, architecture=NET, seed=0)
    for _ in range(80):
        alone.run_round()
    p = mean_probabilities(alone.posterior, shares.inputs)
    assert float((p.argmax(dim=2) == shares.labels).float().mean()) < 0.75


def test_resting_agents_rest() -> None:
    half = [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1.0]]
    rest = [[0.5, 0, 0.5], [0, 1.0, 0], [0.5, 0, 0.5]]
    network = PeriodicNetwork([Phase(half, [0, 1]), Phase(rest, [0, 2])])
    training = run(network=network, rounds=1)
    start = run(network=network, rounds=0).posterior
    assert torch.equal(training.posterior.mean[2], start.mean[2])
    assert torch.equal(training.posterior.variance[2], start.variance[2])
    before = training.posterior.mean.clone()
    report = training.run_round(divergence=True)
    assert report.local_steps == 2 * RECIPE.local_steps
    assert report.bytes_sent == 2 * 8 * NET.parameters
    assert np.isnan(report.loss[1])
    assert np.isfinite(report.loss[[0, 2]]).all()
    assert torch.equal(training.posterior.mean[1], before[1])
    assert not torch.equal(training.posterior.mean[2], before[2])
    assert report.divergence[1] == 0.0
    assert (report.divergence[[0, 2]] > 0).all()


def test_point_nets_keep_their_variances_and_average() -> None:
    recipe = Recipe(**{**RECIPE.as_json(), "estimator": "point"})
    training = Training(blobs(), Network(W), recipe, architecture=NET, seed=0)
    training.local_phase()
    means = training.posterior.mean.double().clone()
    training.pool()
    weights = torch.tensor([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]], dtype=torch.float64)
    assert torch.allclose(training.posterior.mean.double(), weights @ means, atol=1e-6)
    assert torch.allclose(training.posterior.std, torch.tensor(0.03), rtol=1e-6)


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
    training = Training(
        shares, network, recipe, architecture=perceptron(1, outputs=1), seed=1,
        likelihood=Gaussian(1.0),
    )  # fmt: skip
    kept = []
    for t in range(1200):
        training.run_round()
        if t >= 400:
            kept.append(torch.stack([training.posterior.mean[:, 1], training.posterior.std[:, 1]]))
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
    training = Training(
        Shares(broken, shares.labels, shares.indices), Network(W), RECIPE, architecture=NET, seed=0
    )
    with pytest.raises(TrainingFailed, match="agent 1 in round 1"):
        training.run_round()


def test_beliefs_that_blow_up_name_agent_and_round() -> None:
    training = run(rounds=2)
    training.posterior.mean[2, 0] = torch.inf
    training.round += 1
    with pytest.raises(TrainingFailed, match=r"agent 2.*round 3"):
        training.pool()


def test_what_does_not_fit_is_refused() -> None:
    shares = blobs()
    with pytest.raises(ValueError, match="network: expected weights for 3 agents"):
        Training(shares, Network([[1.0]]), RECIPE, architecture=NET, seed=0)
    with pytest.raises(ValueError, match="architecture"):
        Training(shares, Network(W), RECIPE, architecture=perceptron(3, outputs=3), seed=0)
    refused("device", Training, shares, Network(W), RECIPE, architecture=NET, seed=0, device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match=r"CUDA.*use the device 'cpu'"):
            Training(shares, Network(W), RECIPE, architecture=NET, seed=0, device="cuda")
    refused("seed", Training, shares, Network(W), RECIPE, architecture=NET, seed=-1)
    start = run(rounds=0).posterior.of([0])
    refused("start", Training, shares, Network(W), RECIPE, architecture=NET, seed=0, start=start)


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
    cosine = Recipe(rounds=10, local_steps=1, batch=1)
    rates = [cosine.rate(t) for t in range(1, 11)]
    assert rates[0] == 1.0
    assert all(a > b > 0 for a, b in pairwise(rates))
    geometric = Recipe(rounds=10, local_steps=1, batch=1, schedule="geometric", decay=0.99)
    assert geometric.rate(3) == pytest.approx(0.99**2)
    warm = Recipe(rounds=100, local_steps=1, batch=1, warm_up=0.1)
    assert warm.rate(5) == pytest.approx(0.5 * Recipe(rounds=100, local_steps=1, batch=1).rate(5))
