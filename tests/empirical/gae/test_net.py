"""The local net's passes beside a torch module, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from empirical.data import Images
from empirical.gae.net import SIZE, Passes, blocks, initial, scores


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
def some() -> tuple[Tensor, Images]:
    generator = np.random.default_rng(3)
    weights = initial(generator)
    weights += torch.from_numpy(generator.normal(0, 0.02, SIZE).astype(np.float32))  # biases too
    # More than two chunks of images, the last of them not full.
    pixels = generator.integers(0, 256, (150, 28, 28)).astype(np.uint8)
    return weights, Images(pixels, generator.integers(0, 10, 150), "", tuple("0123456789"))


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


def test_scores_and_gradients_are_those_of_modules(some: tuple[Tensor, Images]) -> None:
    weights, images = some
    net = module_of(weights)
    inputs, labels = torch.from_numpy(images.pixels / 255.0), torch.tensor(images.labels)
    said = net(inputs[:, None])
    loss = nn.functional.cross_entropy(said, labels)
    loss.backward()
    passes = Passes(images)
    total, found = passes.gradient(weights, torch.arange(150), 0.0, np.random.default_rng(0))
    # Sums of up to 9216 products in float32: relative errors of some 1e-6 of the largest.
    assert float((scores(weights, inputs.float()) - said.detach()).abs().max()) < 1e-4
    assert total / len(labels) == pytest.approx(float(loss.detach()), rel=1e-6)
    assert passes.accuracy(weights) == float((said.argmax(1) == labels).double().mean())
    for own, parameter in zip(as_module(found.double()), net.parameters(), strict=True):
        assert parameter.grad is not None
        # A largest of four that ties but for rounding may be another: hence not 1e-6.
        assert float((own - parameter.grad).norm() / parameter.grad.norm()) < 1e-3


def test_dropout_drops_a_quarter_and_keeps_the_mean(some: tuple[Tensor, Images]) -> None:
    """Of a net whose loss is linear in what is dropped, the mean gradient is that without it."""
    flat, passes = some[0].clone(), Passes(some[1])
    parts = dict(zip([one.name for one in blocks()], flat.split(
        [int(np.prod(one.shape)) for one in blocks()]), strict=True))  # fmt: skip
    parts["dense-3.weight"].zero_()  # all scores are 0: the gradient of dense-3 is linear in them
    parts["dense-1.bias"].fill_(1e3)  # both ReLUs open
    parts["dense-2.weight"].abs_()

    def found(dropout: float, seed: int) -> np.ndarray:
        _, out = passes.gradient(flat, torch.arange(32), dropout, np.random.default_rng(seed))
        start = next(one.start for one in blocks() if one.name == "dense-3.weight")
        return out[start : start + 640].double().numpy()

    plain = found(0.0, 0)
    draws = np.array([found(0.25, seed) for seed in range(20)])
    assert (draws[0] == found(0.25, 0)).all()
    assert (draws.std(axis=0) > 0).any()
    error = draws.std(axis=0, ddof=1) / np.sqrt(20)
    # Twenty draws: a t distribution; of 640 entries none should be beyond 6 standard errors.
    assert (np.abs(draws.mean(axis=0) - plain) <= 6 * error + 1e-4 * np.abs(plain).max()).all()
