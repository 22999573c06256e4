"""The local net's compiled passes beside a torch module, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from empirical.gae.net import SIZE, blocks, gradient, initial, scores
from empirical.gae.passes import reference_gradient, reference_scores


def module_of(weights: Tensor) -> nn.Sequential:
    """The net as modules, in double precision; channels first, so that dense-1's rows move."""
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(9216, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
        nn.Linear(64, 10),
    ).double()  # fmt: skip
    with torch.no_grad():
        for parameter, values in zip(net.parameters(), as_module(weights.double()), strict=True):
            parameter.copy_(values)
    return net


def as_module(flat: Tensor) -> list[Tensor]:
    """A vector of the net's order as the module's parameters."""
    parts = [
        part.view(one.shape)
        for one, part in zip(
            blocks(), flat.split([int(np.prod(one.shape)) for one in blocks()]), strict=True
        )
    ]
    moved = []
    for one, part in zip(blocks(), parts, strict=True):
        if one.name == "dense-1.weight":
            part = part.view(12, 12, 64, 64).permute(2, 0, 1, 3).reshape(9216, 64)
        if part.ndim == 4:
            part = part.permute(3, 2, 0, 1)
        moved.append(part.T if part.ndim == 2 else part)
    return moved


@pytest.fixture(scope="module")
def some() -> tuple[Tensor, Tensor, Tensor]:
    generator = np.random.default_rng(3)
    weights = initial(generator)
    weights += torch.from_numpy(generator.normal(0, 0.02, SIZE).astype(np.float32))  # biases too
    # More than two chunks of images, the last of them not full.
    images = torch.from_numpy(generator.random((259, 28, 28), dtype=np.float32))
    return weights, images, torch.from_numpy(generator.integers(0, 10, 259))


def test_sizes_are_those_of_the_paper() -> None:
    assert [int(np.prod(one.shape)) for one in blocks()] == [
        288, 32, 18_432, 64, 589_824, 64, 4_096, 64, 640, 10,
    ]  # fmt: skip
    assert SIZE == 613_514


def test_weights_begin_as_glorot_says() -> None:
    weights = initial(np.random.default_rng(0))
    parts = as_module(weights)
    for part, inner, outer in ((parts[0], 9, 288), (parts[2], 288, 576), (parts[4], 9216, 64)):
        limit = np.sqrt(6 / (inner + outer))
        assert part.abs().max() <= limit
        # The variance of a uniform number; 288 numbers of the smallest tell it to 20 %.
        assert float(part.var()) == pytest.approx(limit**2 / 3, rel=0.2)
    assert all(float(part.abs().max()) == 0 for part in parts[1::2])


def test_scores_and_gradients_are_those_of_modules(some: tuple[Tensor, Tensor, Tensor]) -> None:
    weights, images, labels = some
    net = module_of(weights)
    said = net(images.double()[:, None])
    loss = nn.functional.cross_entropy(said, labels)
    loss.backward()
    expected = [parameter.grad for parameter in net.parameters()]
    found = np.empty(SIZE, np.float32)
    total = gradient(
        weights.numpy(), images.numpy(), labels.numpy(), dropout=0.0,
        random=np.random.default_rng(0), out=found,
    )  # fmt: skip
    # Sums of up to 9216 products in float32: relative errors of some 1e-6 of the largest.
    assert np.abs(scores(weights.numpy(), images.numpy()) - said.detach().numpy()).max() < 1e-4
    assert total / len(labels) == pytest.approx(float(loss.detach()), rel=1e-6)
    for own, other in zip(as_module(torch.from_numpy(found).double()), expected, strict=True):
        assert other is not None
        # A largest of four that ties but for rounding may be another: hence not 1e-6.
        assert float((own - other).norm() / other.norm()) < 1e-3


def test_torch_on_its_own_says_the_same(some: tuple[Tensor, Tensor, Tensor]) -> None:
    weights, images, labels = some
    found = np.empty(SIZE, np.float32)
    total = gradient(
        weights.numpy(), images.numpy(), labels.numpy(), dropout=0.0,
        random=np.random.default_rng(0), out=found,
    )  # fmt: skip
    loss, expected = reference_gradient(weights, images, labels, dropout=0.0)
    assert total == pytest.approx(float(loss), rel=1e-5)
    assert np.linalg.norm(found - expected.numpy()) < 1e-3 * float(expected.norm())
    other = reference_scores(weights, images).numpy()
    assert np.abs(scores(weights.numpy(), images.numpy()) - other).max() < 1e-4


def test_dropout_drops_a_quarter_and_keeps_the_mean(some: tuple[Tensor, Tensor, Tensor]) -> None:
    """Of a net whose loss is linear in what is dropped, the mean gradient is that without it."""
    weights, images, labels = some
    flat = weights.clone()
    parts = dict(zip([one.name for one in blocks()], flat.split(
        [int(np.prod(one.shape)) for one in blocks()]), strict=True))  # fmt: skip
    parts["dense-3.weight"].zero_()  # all scores are 0: the gradient of dense-3 is linear in them
    parts["dense-1.bias"].fill_(1e3)  # both ReLUs open
    parts["dense-2.weight"].abs_()
    few = images[:32].numpy(), labels[:32].numpy()

    def found(dropout: float, seed: int) -> np.ndarray:
        out = np.empty(SIZE, np.float32)
        random = np.random.default_rng(seed)
        gradient(flat.numpy(), *few, dropout=dropout, random=random, out=out)
        start = next(one.start for one in blocks() if one.name == "dense-3.weight")
        return out[start : start + 640].astype(np.float64)

    plain = found(0.0, 0)
    draws = np.array([found(0.25, seed) for seed in range(20)])
    assert (draws[0] == found(0.25, 0)).all()
    assert (draws.std(axis=0) > 0).any()
    error = draws.std(axis=0, ddof=1) / np.sqrt(20)
    # Twenty draws: a t distribution; of 640 entries none should be beyond 6 standard errors.
    assert (np.abs(draws.mean(axis=0) - plain) <= 6 * error + 1e-4 * np.abs(plain).max()).all()
