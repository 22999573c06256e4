"""Max-pool, bias, ReLU and dropout in one launch are what torch's operations are."""

import pytest
import torch

from empirical.kernels import pooled_triton
from empirical.kernels.pooled_triton import OUTPUTS, in_one_launch, pooled, pooled_by_torch
from tests.empirical.kernels.triton_by_numpy import Launched

DROPOUT = 1 / 4


def in_float64(values, bias, drawn):
    """By loops over the definition; also the number of inputs that gradients come to."""
    images, channels, side, _ = values.shape
    out = torch.zeros(images, side // 2, side // 2, channels, dtype=torch.float64)
    for n, row, column, c in ((n, i, j, c) for n in range(images) for i in range(side // 2)
                              for j in range(side // 2) for c in range(channels)):  # fmt: skip
        four = values[n, c, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        out[n, row, column, c] = max(float(four.max()) + float(bias[c]), 0.0)
    out = out.flatten(1)
    return out if drawn is None else out * (drawn >= 64) / (1 - DROPOUT)


def gradients(way, values, bias):
    free = values.clone().requires_grad_(), bias.clone().requires_grad_()
    out = way(*free)
    return out.detach(), *torch.autograd.grad(out.square().sum(), free)


@pytest.mark.parametrize("drops", [False, True])
def test_one_launch_gives_what_torch_gives(drops: bool, monkeypatch) -> None:
    if pooled_triton.tl is not None:
        pytest.skip("Triton compiles its kernels for GPUs")
    for name in ("_forward", "_backward"):
        kernel = Launched(getattr(pooled_triton, name), pooled_triton, monkeypatch)
        monkeypatch.setattr(pooled_triton, name, kernel)
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(6, 5, 12, 12, generator=generator)  # more than one program's outputs
    values[0, 0, :2, :2] = 3.0  # the first of equal ones has the gradient
    values[1] = values[1].round()
    bias = torch.randn(5, generator=generator)
    drawn = torch.randint(256, (6, 180), generator=generator).to(torch.uint8) if drops else None
    assert values.numel() // 4 > OUTPUTS
    expected = gradients(
        lambda *free: pooled_by_torch(*free, drawn=drawn, dropout=DROPOUT), values, bias
    )
    assert torch.allclose(expected[0].double(), in_float64(values, bias, drawn), atol=1e-6)
    monkeypatch.setattr(pooled_triton, "in_one_launch", lambda device: True)
    found = gradients(lambda *free: pooled(*free, drawn=drawn, dropout=DROPOUT), values, bias)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-5)
    assert (found[1] != 0).equal(expected[1] != 0)


def test_without_a_gpu_torch_does_it() -> None:
    assert not in_one_launch("cpu")
