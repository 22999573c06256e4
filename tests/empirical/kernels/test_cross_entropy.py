"""Cross-entropy against torch's, in float64."""

import math

import pytest
import torch

from empirical.kernels.cross_entropy import cross_entropy, fits


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_against_torch(scale: float) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(3, 50, 10, generator=generator) * scale
    labels = torch.randint(10, (3, 50), generator=generator)
    assert fits(outputs, labels)
    losses, grad = cross_entropy(outputs, labels)
    exact = outputs.double().requires_grad_()
    expected = torch.nn.functional.cross_entropy(
        exact.reshape(-1, 10), labels.reshape(-1), reduction="none"
    )
    expected.reshape(3, 50).mean(dim=1).sum().backward()
    # Ten exponentials and fifty sums in float32.
    assert torch.allclose(losses.double(), expected.reshape(3, 50).mean(dim=1), rtol=2e-6)
    assert torch.allclose(grad.double(), exact.grad, atol=2e-8)


def test_what_is_no_number_stays_none() -> None:
    outputs, labels = torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.int64)
    outputs[1, 2, 3] = math.nan
    losses, _ = cross_entropy(outputs, labels)
    assert losses[0] == pytest.approx(math.log(4))
    assert losses[1].isnan()
    losses, _ = cross_entropy(torch.zeros(1, 3, 4), torch.tensor([[0, 1, 4]]))
    assert losses[0].isnan()


def test_what_does_not_fit() -> None:
    labels = torch.zeros(2, 3, dtype=torch.int64)
    assert not fits(torch.zeros(2, 3, 4, dtype=torch.float64), labels)
    assert not fits(torch.zeros(2, 4, 3).transpose(1, 2), labels)
    assert not fits(torch.zeros(2, 3, 4), labels.int())
