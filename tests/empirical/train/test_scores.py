"""Mixtures, their uncertainty and their scores, against direct sums and a case known in full."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from empirical.likelihoods.heads import Heads
from empirical.likelihoods.laws import Classes, Counts, Gaussian
from empirical.train.evaluation import judged
from empirical.train.history import scores_from, words_of
from empirical.train.mixture import doubt, drawn_weights, predict, uncertainty_of
from empirical.train.scores import as_rows, from_rows, interval_error, measures_of, score
from tests.empirical.train.linear import LinearNet

RNG = np.random.default_rng(3)
X = torch.tensor(RNG.normal(size=(40, 3)), dtype=torch.float32)
DRAWS = 7


def belief(net: LinearNet, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(net.parameters, generator=generator)
    return mean, 0.3 * torch.rand(net.parameters, generator=generator)


def drawn(mean: torch.Tensor, variance: torch.Tensor | None, draws: int = DRAWS, agent: int = 2):  # type: ignore[no-untyped-def]
    return drawn_weights(mean, variance, draws=draws, seed=1, agent=agent)


def direct(net: LinearNet, mean: torch.Tensor, variance: torch.Tensor) -> np.ndarray:
    """Outputs of every draw, shape (draws, n, outputs), in float64 by numpy."""
    each = drawn(mean, variance)
    return np.stack(
        [X.double().numpy() @ w.double().numpy().reshape(net.outputs, 3).T for w in each]
    )


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_classes_agree_with_sums_over_draws() -> None:
    net, likelihood = LinearNet(12, outputs=4), Classes(4)
    mean, variance = belief(net)
    y = torch.tensor(RNG.integers(4, size=40))
    found = predict(net, likelihood, drawn(mean, variance), X, y)
    p = softmax(direct(net, mean, variance))
    # Outputs are float32: 1e-5 is a hundred times their rounding.
    np.testing.assert_allclose(found.mean, p.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(found.between, p.var(axis=0), atol=1e-5)
    entropy = -(p * np.log(p)).sum(axis=2)
    np.testing.assert_allclose(found.entropy_within, entropy.mean(axis=0), atol=1e-5)
    truth = np.log(p.mean(axis=0)[np.arange(40), y.numpy()])
    np.testing.assert_allclose(found.log_density, truth, atol=1e-5)
    # The other way to the epistemic part: each net's divergence from the mixture.
    aleatoric, epistemic = uncertainty_of(found)
    centre = p.mean(axis=0)
    divergence = (p * np.log(p / centre)).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(epistemic, divergence, atol=1e-5)
    total = -(centre * np.log(centre)).sum(axis=1)
    np.testing.assert_allclose(aleatoric + epistemic, total, atol=1e-5)
    np.testing.assert_allclose(doubt(found), total, atol=1e-5)


def test_numbers_agree_with_the_known_predictive_distribution() -> None:
    # Weights N(m, V) and noise σ give y ~ N(x·m, x·V x + σ²): drawn nets must come near.
    net, likelihood = LinearNet(3), Gaussian(0.5)
    mean, variance = belief(net, seed=5)
    y = torch.tensor(RNG.normal(size=40), dtype=torch.float32)
    draws = 3000
    found = predict(net, likelihood, drawn(mean, variance, draws), X, y)
    x = X.double().numpy()
    centre, spread = x @ mean.double().numpy(), (x**2) @ variance.double().numpy()
    error = np.sqrt(spread / draws)
    assert (np.abs(found.mean[:, 0] - centre) < 5 * error).all()
    np.testing.assert_allclose(found.within, 0.25, rtol=1e-6)
    # The variance of a sample variance of normals is 2/S: five standard errors.
    assert (np.abs(found.between[:, 0] / spread - 1) < 5 * np.sqrt(2 / draws)).all()
    known = stats.norm(centre, np.sqrt(spread + 0.25))
    np.testing.assert_allclose(found.rank[:, 0], known.cdf(y.numpy()), atol=0.05)
    near = np.abs(known.cdf(y.numpy()) - 0.5) < 0.45  # in the tails few draws decide
    np.testing.assert_allclose(found.log_density[near], known.logpdf(y.numpy())[near], atol=0.15)


def test_without_width_or_draws_the_mean_weights_predict() -> None:
    net, likelihood = LinearNet(12, outputs=4), Classes(4)
    mean, variance = belief(net)
    plain = softmax(X.double().numpy() @ mean.double().numpy().reshape(4, 3).T)
    for draws, width in ((0, variance), (5, None)):
        found = predict(net, likelihood, drawn(mean, width, draws), X)
        np.testing.assert_allclose(found.mean, plain, atol=1e-6)
        assert (found.between == 0).all()
        assert found.log_density is None


def test_a_draw_depends_on_seed_agent_and_number_alone() -> None:
    mean, variance = torch.zeros(5), torch.ones(5)

    def some(draws: int, seed: int, agent: int, in_turn: bool) -> torch.Tensor:
        of = {"draws": draws, "seed": seed, "agent": agent, "in_turn": in_turn}
        return torch.cat(list(drawn_weights(mean, variance, **of)))  # type: ignore[arg-type]

    for in_turn in (False, True):
        assert torch.equal(some(3, 0, 1, in_turn), some(5, 0, 1, in_turn)[:3])
        assert not torch.equal(some(3, 0, 1, in_turn), some(3, 0, 2, in_turn))
        assert not torch.equal(some(3, 0, 1, in_turn), some(3, 1, 1, in_turn))
    assert not torch.equal(some(3, 0, 1, True), some(3, 0, 1, False))


def scored(likelihood, labels, *, outputs: int, unit=1.0, others=None):  # type: ignore[no-untyped-def]
    net = LinearNet(3 * outputs, outputs=outputs)
    beliefs = [(agent, *belief(net, seed=agent)) for agent in range(3)]
    examples = [(X, labels), (X[:0], labels[:0]), (X[:20], labels[:20])]
    return net, beliefs, score(
        net, likelihood, beliefs, examples, draws=DRAWS, seed=1, unit=unit, others=others
    )  # fmt: skip


def test_class_scores_are_those_of_the_nets_of_the_papers() -> None:
    y = torch.tensor(RNG.integers(4, size=40))
    net, beliefs, found = scored(Classes(4), y, outputs=4, others=X + 5)
    _, mean, variance = beliefs[2]
    own = predict(net, Classes(4), drawn(mean, variance), X[:20])
    known = judged([own.mean], y[:20])
    assert found.measures[:3] == known.measures
    np.testing.assert_allclose(found.values[2, :3], known.values[0], rtol=1e-6)
    np.testing.assert_array_equal(found.bins[2], known.bins[0])
    assert found.bins[2][:, 0].sum() == 20
    assert np.isnan(found.values[1]).all()
    assert found.examples.tolist() == [40, 0, 20]
    assert found["other_data_auroc"][0] != 0.5
    weighted = (40 * found["nll"][0] + 20 * found["nll"][2]) / 60
    np.testing.assert_allclose(found.mean("nll"), weighted, rtol=1e-12)


def test_numbers_are_scored_in_the_users_units() -> None:
    y = torch.tensor(RNG.normal(size=40), dtype=torch.float32)
    _, _, plain = scored(Gaussian(0.5), y, outputs=1)
    _, _, scaled = scored(Gaussian(0.5), y, outputs=1, unit=np.array([10.0]))
    np.testing.assert_allclose(scaled["rmse"][0], 10 * plain["rmse"][0], rtol=1e-12)
    np.testing.assert_allclose(scaled["nll"][0], plain["nll"][0] + np.log(10), rtol=1e-12)
    assert scaled["calibration_error"][0] == plain["calibration_error"][0]


def test_calibrated_numbers_have_a_flat_transform_and_others_have_not() -> None:
    rng = np.random.default_rng(0)
    size = 20_000
    # Ranks of a calibrated prediction are uniform: the largest of 19 gaps of shares of n labels
    # is below 5 √(¼/n); sure predictions are far beyond.
    assert interval_error(rng.uniform(size=size)) < 5 * np.sqrt(0.25 / size)
    sure = stats.norm.cdf(2 * rng.normal(size=size))
    assert interval_error(sure) > 0.15


def test_counts_and_heads() -> None:
    y = torch.tensor(RNG.integers(5, size=40), dtype=torch.float32)
    _, beliefs, found = scored(Counts(), y, outputs=1)
    _, mean, variance = beliefs[0]
    weights = torch.cat(list(drawn(mean, variance, agent=0))).double().numpy()
    rates = np.exp(X.double().numpy() @ weights.T)
    chance = stats.poisson.pmf(y.numpy()[:, None], rates).mean(axis=1)
    np.testing.assert_allclose(found["nll"][0], -np.log(chance).mean(), rtol=1e-5)
    error = np.abs(y.numpy() - rates.mean(axis=1)).mean()
    np.testing.assert_allclose(found["mean_error"][0], error, rtol=1e-5)
    both = Heads((Classes(3), Gaussian("input")))
    labels = torch.stack([torch.tensor(RNG.integers(3, size=40)).float(), y], dim=1)
    _, beliefs, heads = scored(both, labels, outputs=5, unit=np.array([1.0, 2.0]))
    assert heads.measures == measures_of(both)
    classes = scored_part(beliefs[0], Classes(3), labels[:, 0], slice(0, 3))
    np.testing.assert_allclose(heads["accuracy of 0"][0], classes["accuracy"][0])
    np.testing.assert_allclose(heads["nll of 0"][0], classes["nll"][0], rtol=1e-6)
    numbers = scored_part(beliefs[0], Gaussian("input"), labels[:, 1], slice(3, 5), unit=2.0)
    np.testing.assert_allclose(heads["rmse of 1"][0], numbers["rmse"][0], rtol=1e-6)
    np.testing.assert_allclose(heads["nll of 1"][0], numbers["nll"][0], rtol=1e-6)


def scored_part(belief, likelihood, labels, some, unit=1.0):  # type: ignore[no-untyped-def]
    """One head by itself: the same drawn weights, of which only its rows are looked at."""

    class Part(LinearNet):
        def outputs_of(self, weights, inputs):  # type: ignore[no-untyped-def]
            return LinearNet.outputs_of(self, weights, inputs)[:, :, some]

    net = Part(15, outputs=5)
    return score(net, likelihood, [belief], [(X, labels)], draws=DRAWS, seed=1, unit=unit)


def test_rows_and_words_come_back() -> None:
    y = torch.tensor(RNG.integers(4, size=40))
    _, _, found = scored(Classes(4), y, outputs=4)
    for again in (
        from_rows(as_rows(found), found.measures, found.draws),
        scores_from(words_of(found)),
    ):
        for name in ("values", "bins", "examples"):
            np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
        assert (again.measures, again.draws) == (found.measures, found.draws)


def test_predictions_that_are_not_finite_are_named() -> None:
    net = LinearNet(12, outputs=4)
    mean, variance = belief(net)
    mean[0] = torch.nan
    y = torch.zeros(40, dtype=torch.int64)
    with pytest.raises(ValueError, match="predictions: expected finite ones, got others for agent"):
        score(net, Classes(4), [(6, mean, variance)], [(X, y)], draws=2, seed=0)
