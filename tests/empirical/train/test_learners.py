"""What each learner converges to, against closed forms of linear regression."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from empirical.kernels.noise import (
    Noise,
    keys,
)
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import perceptron
from empirical.nets.likelihood import gradient
from empirical.nets.shares import Order, Shares
from empirical.nets.update import Adam, update_by_torch
from empirical.train.averaging import Belief, Share
from empirical.train.learners import (
    LEARNERS,
    Averaging,
    Backprop,
    NaturalGradient,
    Sites,
    learner_of,
)
from empirical.train.run import TrainingRun
from tests.empirical.support import refused
from tests.empirical.train.linear import LinearNet, Unit, regression
from theory import Network

SIZES = (8, 16, 24)
SHARES = regression(SIZES)
v = np.array([0.25, 0.5, 0.25])
TOGETHER = Network(np.tile(v, (3, 1)))
LINE = Network([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]])  # the same v
X = [SHARES.inputs[rows].double().numpy() for rows in SHARES.indices]
Y = [SHARES.labels[rows].double().numpy() for rows in SHARES.indices]
H = [x.T @ x / len(x) for x in X]  # of mean losses
OWN = [np.linalg.solve(h, x.T @ y / len(x)) for h, x, y in zip(H, X, Y, strict=True)]
n = sum(SIZES)
a = np.array(SIZES) / (n * v)
ALL = sum(x.T @ x for x in X) / n
BEST = np.linalg.solve(ALL, sum(x.T @ y for x, y in zip(X, Y, strict=True)) / n)
EXACT = LinearNet(3, torch.float64)


def run_of(learner: Any, network: Network = TOGETHER, **settings: Any) -> TrainingRun:
    numbers = {"rounds": 10**6, "local_steps": 1, "batch": 8, "seed": 5, **settings}
    numbers = {"schedule": "geometric", **numbers}  # the rate stays as it is
    return TrainingRun(EXACT, Unit(), SHARES, network, learner, **numbers)


class FullBatches(TrainingRun):
    """Every step sees all data of its agent: gradients are exact."""

    def _places(self, some: list[int]) -> Any:
        # The engine wants batches of one size: each share as often as the largest takes.
        size = 48
        rows = [self._shares.indices[k].repeat(size // self._shares.sizes[k]) for k in some]
        count = int(self._counts[some[0]])
        return torch.stack(rows)[None].repeat(count, 1, 1), None


def settled(learner: Any, network: Network, local_steps: int, rounds: int) -> TrainingRun:
    run = FullBatches(
        EXACT, Unit(), SHARES, network, learner, rounds=10**6, local_steps=local_steps,
        batch=48, seed=5, schedule="geometric",
    )  # fmt: skip
    for _ in range(rounds):
        run.run_round()
    return run


@pytest.mark.parametrize("local_steps", [1, 10])
def test_averaging_settles_where_the_closed_form_says(local_steps: int) -> None:
    rate = 0.3
    run = settled(
        Averaging(rate=rate, momentum=0.0), TOGETHER, local_steps, max(20, 600 // local_steps)
    )
    eye = np.eye(3)
    kept = [
        np.linalg.matrix_power(eye - rate * w * h, local_steps) for w, h in zip(a, H, strict=True)
    ]
    pull = sum(share * (eye - k) for share, k in zip(v, kept, strict=True))
    push = sum(share * (eye - k) @ own for share, k, own in zip(v, kept, OWN, strict=True))
    fixed = np.linalg.solve(pull, push)
    # a_i is float64 and so is all else: rounding alone, and what the rounds leave of the start.
    np.testing.assert_allclose(run.belief().mean.numpy(), np.tile(fixed, (3, 1)), atol=1e-10)
    gap = np.abs(fixed - BEST).max()
    assert gap < 1e-12 if local_steps == 1 else gap > 1e-3


@pytest.mark.parametrize(
    ("standing", "network", "local_steps"), [(0.0, TOGETHER, 6), (0.5, LINE, 1), (1.0, LINE, 6)]
)
def test_sites_settle_at_the_best_whatever_the_number_of_local_steps(
    standing: float, network: Network, local_steps: int
) -> None:
    """Where averaging with as many steps is thousands of times further off."""
    learner = Sites(
        rate=0.5, momentum=0.0, initial_curvature=1.0, prior_precision=1e-9, temperature=1e-12,
        damping=1.0, standing=standing,
    )  # fmt: skip
    got = settled(learner, network, local_steps, 150).belief().mean.numpy()
    # Weights are drawn with standard deviations of 1e-7; the prior shifts by 1e-9.
    np.testing.assert_allclose(got, np.tile(BEST, (3, 1)), atol=1e-6)


def test_sums_of_sites_reach_everybody_exactly() -> None:
    learner = Sites(initial_curvature=1.0, prior_precision=0.01, rate=0.03)
    run = run_of(learner, LINE, local_steps=7)
    for _ in range(40):
        run.run_round()
        state = {key.removeprefix("learner."): x.numpy() for key, x in run.state().items()}
        # Forty sums of three numbers of size 10 in float64.
        np.testing.assert_allclose(
            v @ state["all_gradient"], state["site_gradient"].sum(axis=0), atol=1e-12
        )
        np.testing.assert_allclose(
            v @ state["precision"], 0.31 + state["site_curvature"].sum(axis=0), atol=1e-12
        )


def central(learner: NaturalGradient, steps: int, seed: int) -> tuple[Any, Any]:
    """The central learner: the mean gradient of all agents' batches and draws, one belief."""
    m = EXACT.initial(seed).numpy()
    prior = learner.prior_precision
    assert prior is not None
    s = np.full(3, learner.initial_curvature + prior)
    u = np.zeros(3)
    orders = [Order(size, 8, seed=seed, agent=i) for i, size in enumerate(SIZES)]
    for t in range(steps):
        noise = Noise(keys(seed, range(3)), [t] * 3).normals(torch.empty(3, 3)).double().numpy()
        g, h = np.zeros(3), np.zeros(3)
        for i in range(3):
            rows = orders[i].rows(t)[0]
            w = m + noise[i] / np.sqrt(n * s)
            x, y = X[i][rows], Y[i][rows]
            own = SIZES[i] / n * x.T @ (x @ w - y) / 8
            g += own
            h += own * noise[i] * np.sqrt(n * s)
        u = learner.momentum * u + (1 - learner.momentum) * g
        s = s + (1 - learner.curvature_memory) * (h + prior - s)
        step = u / (1 - learner.momentum ** (t + 1)) + prior * m
        m = m - learner.rate * step / s
    return m, s


def test_natural_gradient_with_one_step_a_round_is_the_central_learner() -> None:
    learner = NaturalGradient(
        rate=0.1, initial_curvature=1.0, curvature_memory=0.99, prior_precision=0.01, clip=np.inf
    )
    run = run_of(learner)
    for _ in range(200):
        run.run_round()
    m, s = central(learner, 200, seed=5)
    # Two hundred steps of some ten roundings each, in float64.
    np.testing.assert_allclose(run.belief().mean.numpy(), np.tile(m, (3, 1)), atol=1e-11)
    np.testing.assert_allclose(
        1 / run.belief().variance.numpy() / n, np.tile(s, (3, 1)), rtol=1e-11
    )
    # With two steps a round it is not.
    other = run_of(learner, local_steps=2)
    for _ in range(100):
        other.run_round()
    assert np.abs(other.belief().mean.numpy() - m).max() > 1e-4


@pytest.mark.parametrize("learner", [NaturalGradient, Sites])
def test_a_prior_has_a_precision_a_datum_or_a_width(learner: Any) -> None:
    means = []
    for prior in ({"prior_precision": 0.02}, {"prior_std": (0.02 * n) ** -0.5}, {"prior_std": 0.1}):
        run = run_of(learner(rate=0.05, clip=np.inf, **prior), local_steps=3)
        run.run_round()
        means.append(run.belief().mean.numpy().copy())
    # A root and its square: a rounding or two of float64 in every step.
    np.testing.assert_allclose(means[0], means[1], rtol=1e-12)
    assert np.abs(means[0] - means[2]).max() > 1e-6


def check_the_best_of_independent_gaussians(learner: Any, local_steps: int) -> None:
    """The exact posterior's mean, and its precision's diagonal: each datum counts once."""
    settings = {"initial_curvature": 1.0, "curvature_memory": 0.99, "prior_precision": 0.02}
    made = learner(rate=0.05, clip=np.inf, curvature="draws", damping=0.0, **settings)
    run = settled(made, TOGETHER, local_steps, 300)
    means, precisions = [], []
    for _ in range(600):
        run.run_round()
        means.append(run.belief().mean[0].numpy().copy())
        precisions.append(1 / run.belief().variance[0].numpy())
    posterior = n * (ALL + 0.02 * np.eye(3))
    mean = np.linalg.solve(posterior, n * ALL @ BEST)
    # The scatter left by drawn weights: four standard errors of means over 12 blocks.
    for got, wanted in ((means, mean), (precisions, np.diag(posterior))):
        blocks = np.array(got).reshape(12, 50, 3).mean(axis=1)
        error = blocks.std(axis=0, ddof=1) / np.sqrt(12)
        assert (np.abs(blocks.mean(axis=0) - wanted) < 4 * error).all()
        assert (error < 0.05 * np.abs(wanted).max()).all()


def test_beliefs_are_the_best_of_independent_gaussians() -> None:
    """Of sites, with several steps a round: tests/thorough/empirical."""
    check_the_best_of_independent_gaussians(NaturalGradient, local_steps=1)


def test_backprop_counts_data_again_in_every_round() -> None:
    """It is many times surer than all data allow, and becomes surer still."""
    run = settled(Backprop(mean_rate=0.01, scale_rate=0.05), LINE, 20, 30)
    early = 1 / run.belief().variance.numpy()
    assert (early > 5 * n * np.diag(ALL)).all()
    for _ in range(30):
        run.run_round()
    late = 1 / run.belief().variance.numpy()
    assert (late > early).all()
    assert late.mean() > 1.05 * early.mean()


@dataclass
class OneBatch:
    """Steps of one net of the papers' kernels on a batch that stays."""

    architecture: Any
    inputs: Any
    labels: Any
    noise: Any
    rate: float = 0.5
    done: int = 0
    count: int = 6
    steps: Any = field(default_factory=lambda: torch.zeros(1, 1, dtype=torch.float64))

    @property
    def first(self) -> bool:
        return self.done == 1

    def gradient(self, weights: Any, into: Any) -> Any:
        return gradient(
            self.architecture, weights, weights, self.inputs, self.labels,
            likelihood=Classes(self.architecture.outputs), estimator="point", into=(into, into),
        )  # fmt: skip

    def normals(self, like: Any) -> Any:
        return self.noise[self.done - 1]

    def local_gradient(self, mean: Any, variance: Any, into: Any) -> None:
        return None

    def local_step(self, tensors: Any, adam: Any, columns: Any, *, prior: bool) -> None:
        return None


def test_backprop_takes_the_steps_of_the_papers_training() -> None:
    architecture = perceptron(6, 5, outputs=3)
    generator = torch.Generator().manual_seed(1)
    inputs = torch.rand(1, 9, 6, generator=generator)
    labels = torch.randint(0, 3, (1, 9), generator=generator)
    start = 0.3 * torch.randn(architecture.parameters, generator=generator)
    draws = [Noise(keys(100, [0]), [t]) for t in range(6)]
    noise = [draw.normals(torch.empty(1, architecture.parameters)) for draw in draws]
    share = Share(torch.tensor([[40.0]]), torch.tensor([[0.5]]), 80)
    learner = Backprop(
        initial_std=0.2, mean_rate=0.01, scale_rate=0.02, mean_epsilon=1e-8, estimator="weights"
    )
    state = learner.start(start, share)
    work = learner.begin(state, share)
    batch = OneBatch(architecture, inputs, labels, noise)
    mean, variance = start[None].clone(), torch.full_like(start[None], 0.04)
    moments = [torch.zeros_like(mean) for _ in range(4)]
    tensors = (mean, variance, *moments, mean.clone(), variance.clone())
    adam = Adam(1e-8, 1e-8, 0.9, 0.999)
    into = torch.empty_like(mean), torch.empty_like(mean)
    for t in range(6):
        batch.done, batch.steps = t + 1, batch.steps + 1
        loss = learner.step(state, work, batch, share)
        other = gradient(
            architecture, mean, variance, inputs, labels, likelihood=Classes(architecture.outputs),
            estimator="weights", noise=draws[t], into=into,
        )  # fmt: skip
        columns = adam.columns(
            batch.steps, mean_rate=0.005, scale_rate=0.01,
            loss_weight=torch.ones(1, 1), divergence_weight=torch.full((1, 1), 1 / 40),
        )  # fmt: skip
        update_by_torch(tensors, into, adam, columns, prior=t > 0)
        # Six steps of float32.
        torch.testing.assert_close(loss, other, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(state["mean"], mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(state["variance"], variance, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *((name, {}) for name in LEARNERS),
        ("sites", {"prior_precision": 1e-5}),
        ("backprop", {"prior_std": 0.5, "forget": True}),
        ("averaging-adam", {"forget": True}),
    ],
)
def test_words_make_the_learner_again(name: str, settings: Any) -> None:
    made = learner_of(name, **settings)
    words = made.words()
    assert learner_of(words.pop("learner"), **words) == made
    assert settings.items() <= words.items()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("adam", {}, "learner: expected one of backprop, averaging, averaging-adam, natural-gra"),
        ("averaging", {"speed": 1.0}, "settings of averaging: expected any of rate, momentum"),
        ("averaging", {"rate": "fast"}, "rate: expected such as 0.02, got 'fast'"),
        ("averaging", {"rate": -1.0}, "rate: expected"),
        ("averaging", {"momentum": 1.0}, "momentum: expected a number of at least 0 and below 1"),
        ("averaging", {"weighting": "size"}, "weighting: expected 'data' or 'agents'"),
        ("averaging-adam", {"epsilon": 0.0}, "epsilon: expected"),
        ("backprop", {"estimator": "point"}, "estimator: expected 'local' or 'weights'"),
        ("backprop", {"divergence": -1.0}, "divergence: expected a finite number of at least 0"),
        ("natural-gradient", {"clip": 0.0}, "clip: expected"),
        ("natural-gradient", {"temperature": 2.0}, "temperature: expected a number above 0"),
        ("natural-gradient", {"prior_std": 0.0}, "prior_std: expected a finite number above 0"),
        ("sites", {"prior_std": -1}, "prior_std: expected a finite number above 0"),
        ("sites", {"prior_precision": "1"}, "prior_precision: expected a number, got '1'"),
        ("sites", {"prior_precision": 1, "prior_std": 1}, "prior_std: expected one prior"),
        ("sites", {"standing": 1.5}, "standing: expected a number from 0 to 1, got 1.5"),
        ("sites", {"trust": -0.1}, "trust: expected a finite number of at least 0"),
        ("sites", {"initial_curvature": 0.0}, "initial_curvature: expected"),
    ],
)
def test_bad_settings(name: str, settings: dict[str, Any], message: str) -> None:
    refused(message, learner_of, name, **settings)


def test_bad_shares() -> None:
    with pytest.raises(ValueError, match="indices: expected at least one example for each agent"):
        Shares(SHARES.inputs, SHARES.labels, (SHARES.indices[0], SHARES.indices[1][:0]))


@pytest.mark.parametrize("spread", [0.1, 1.0, 8.0])
def test_divergence_against_torchs(spread: float) -> None:
    generator = torch.Generator().manual_seed(0)

    def normals() -> torch.Tensor:
        return torch.randn(3, 39, generator=generator)

    q, p = (Belief(normals(), torch.exp(spread * normals())) for _ in "qp")
    torchs = (
        torch.distributions.Normal(b.mean.double(), b.variance.double().sqrt()) for b in (q, p)
    )
    expected = torch.distributions.kl_divergence(*torchs).sum(dim=1)
    # Both are float64 sums of 39 terms.
    torch.testing.assert_close(q.divergence(p), expected, rtol=1e-12, atol=0.0)
    assert q.divergence(q).tolist() == [0.0, 0.0, 0.0]
