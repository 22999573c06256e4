"""Beliefs over weights, in memory and on disk; torch.distributions has the divergence."""

from pathlib import Path

import pytest
import torch

from empirical.keeping import save_tensors
from empirical.nets.architecture import perceptron
from empirical.nets.posterior import (
    Posterior,
    first_weights,
    kl_divergence,
    load_posterior,
    save_posterior,
)
from tests.empirical.support import refused

NET = perceptron(5, 4, outputs=3)


def belief(seed: int, *, agents: int = 3, spread: float = 1.0) -> Posterior:
    generator = torch.Generator().manual_seed(seed)
    shape = (agents, NET.parameters)
    mean = torch.randn(shape, generator=generator)
    variance = torch.exp(spread * torch.randn(shape, generator=generator))
    return Posterior(NET, mean, variance)


@pytest.mark.parametrize("spread", [0.1, 1.0, 8.0])
def test_divergence_against_torchs(spread: float) -> None:
    q, p = belief(0, spread=spread), belief(1, spread=spread)
    peers = [
        torch.distributions.Normal(one.mean.double(), one.variance.double().sqrt())
        for one in (q, p)
    ]
    expected = torch.distributions.kl_divergence(*peers).sum(dim=1)
    # Both are float64 sums of 39 terms.
    assert torch.allclose(kl_divergence(q, p), expected, rtol=1e-12, atol=0.0)


def test_divergence_of_a_belief_from_itself_is_zero() -> None:
    q = belief(2)
    assert kl_divergence(q, q).tolist() == [0.0, 0.0, 0.0]


def test_the_beginning_is_of_hes_size() -> None:
    net = perceptron(784, 400, outputs=10)
    start = first_weights(net, seed=1)
    for block in net.blocks:
        assert (start[block.bias] == 0).all()
        drawn = start[block.weight]
        # The standard error of a standard deviation of n normal numbers is σ / sqrt(2n).
        wanted = (2.0 / block.fan_in) ** 0.5
        assert abs(float(drawn.std()) - wanted) < 4 * wanted / (2 * drawn.numel()) ** 0.5
    assert (first_weights(net, seed=1) == start).all()
    assert (first_weights(net, seed=2) != start).any()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mean", float("nan")),
        ("mean", float("-inf")),
        ("variance", 0.0),
        ("variance", -1.0),
        ("variance", float("nan")),
        ("variance", float("inf")),
    ],
)
def test_damage_names_the_agent(field: str, value: float) -> None:
    good = belief(3)
    tensors = {"mean": good.mean.clone(), "variance": good.variance.clone()}
    tensors[field][1, 7] = value
    refused("agent 1", Posterior, NET, **tensors)


def test_shapes_are_checked() -> None:
    good = belief(4)
    refused("mean: expected shape", Posterior, NET, good.mean[:, 1:], good.variance[:, 1:])
    refused("variance: expected shape", Posterior, NET, good.mean, good.variance[:2])
    refused("p: expected beliefs", kl_divergence, good, good.of([0, 1]))


def test_some_agents_are_copied() -> None:
    good = belief(5)
    some = good.of([2, 0])
    assert (some.mean == good.mean[[2, 0]]).all()
    some.mean.zero_()
    assert (good.mean[2] != 0).any()


def test_beliefs_come_back_as_they_were(tmp_path: Path) -> None:
    kept = belief(1)
    save_posterior(tmp_path / "p", kept, {"round": 0})
    again = load_posterior(tmp_path / "p", NET)
    assert torch.equal(again.mean, kept.mean)
    assert torch.equal(again.variance, kept.variance)
    other = perceptron(4, 2, outputs=2)
    refused("mean: expected shape", load_posterior, tmp_path / "p", other)
    save_tensors(tmp_path / "x", {"x": torch.zeros(1)}, {})
    message = "expected the tensors mean and variance, got x"
    refused(message, load_posterior, tmp_path / "x", other)
