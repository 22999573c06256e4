"""One step of Adam with the divergence: the sweep against torch's operations and its optimiser."""

import math
from dataclasses import replace

import pytest
import torch

from empirical.nets.update import LARGEST_STEP, Adam, update, update_by_torch

SIZE = 1001
ADAM = Adam(1e-3, 1e-8, 0.9, 0.999)
RATES = {"mean_rate": 1e-2, "scale_rate": 3e-2}


def columns(steps: int, adam: Adam = ADAM, **changed: float) -> torch.Tensor:
    """Of one agent whose loss counts .7 and whose divergence .01."""
    weights = (torch.tensor([[weight]]) for weight in (0.7, 0.01))
    names = ("loss_weight", "divergence_weight")
    taken = torch.tensor([[float(steps)]], dtype=torch.float64)
    return adam.columns(taken, **{**RATES, **changed}, **dict(zip(names, weights, strict=True)))


def tensors(seed: int, *, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def normal() -> torch.Tensor:
        return torch.randn(1, SIZE, generator=generator).to(dtype)

    return {
        "mean": normal(),
        "variance": torch.exp(2 * normal() - 4),
        "mean_gradient": normal() * torch.exp(3 * normal()),
        "variance_gradient": normal(),
        "prior_mean": normal(),
        "prior_variance": torch.exp(normal() - 3),
        "moments": torch.stack([normal(), normal() ** 2, normal(), normal() ** 2]),
    }


def stepped(function, values, *, prior: bool, scales: bool, steps: int = 4, **rates: float):
    kept = {name: tensor.clone() for name, tensor in values.items()}
    adam = replace(ADAM, scales=scales)
    function(
        (kept["mean"], kept["variance"], *kept["moments"], kept["prior_mean"],
         kept["prior_variance"]),
        (kept["mean_gradient"], kept["variance_gradient"]),
        adam, columns(steps, adam, **rates), prior=prior,
    )  # fmt: skip
    return kept


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("scales", [True, False])
def test_the_sweep_does_what_torch_does(prior: bool, scales: bool) -> None:
    values = tensors(0)
    one = stepped(update, values, prior=prior, scales=scales)
    exact = stepped(
        update_by_torch,
        {name: tensor.double() for name, tensor in values.items()},
        prior=prior,
        scales=scales,
    )
    for name in ("mean", "variance", "moments"):
        # A dozen operations in float32, each right to 6e-8; sums may cancel, hence the absolute
        # part, of the size of what was added up.
        assert torch.allclose(one[name].double(), exact[name], rtol=3e-6, atol=3e-6), name
    if not scales:
        assert (one["variance"] == values["variance"]).all()
        assert (one["moments"][2:] == values["moments"][2:]).all()


def test_against_torchs_adam() -> None:
    """Steps of μ and of ρ = log σ by autograd on the written-out objective."""
    values = tensors(1, dtype=torch.float64)
    mean = values["mean"].clone().requires_grad_()
    rho = (0.5 * values["variance"].log()).requires_grad_()
    a, c = 0.7, 0.01
    optimiser = torch.optim.Adam(
        [
            {"params": [mean], "lr": 1e-2, "eps": 1e-3},
            {"params": [rho], "lr": 3e-2, "eps": 1e-8},
        ],
        betas=(0.9, 0.999),
    )
    moved, spread = values["mean"].float(), values["variance"].float()
    moments = [torch.zeros_like(moved) for _ in range(4)]
    prior = torch.distributions.Normal(values["prior_mean"], values["prior_variance"].sqrt())
    for step in range(1, 6):
        slope = values["mean_gradient"] * math.cos(step), values["variance_gradient"] / step
        optimiser.zero_grad()
        belief = torch.distributions.Normal(mean, rho.exp())
        linear = (mean * slope[0]).sum() + (rho.exp() ** 2 * slope[1]).sum()
        (a * linear + c * torch.distributions.kl_divergence(belief, prior).sum()).backward()
        optimiser.step()
        update(
            (moved, spread, *moments, values["prior_mean"].float(),
             values["prior_variance"].float()),
            (slope[0].float(), slope[1].float()),
            ADAM, columns(step), prior=True,
        )  # fmt: skip
    assert torch.allclose(moved.double(), mean.detach(), rtol=1e-4, atol=1e-5)
    assert torch.allclose(spread.double(), rho.detach().exp() ** 2, rtol=1e-4, atol=1e-7)


def test_a_step_of_the_scale_is_held() -> None:
    values = tensors(2)
    moved = stepped(update, values, prior=True, scales=True, steps=1, scale_rate=50.0)
    ratio = (moved["variance"] / values["variance"]).log().abs()
    # The polynomial for exp is right to 1e-7 at the limit.
    assert float(ratio.max()) <= LARGEST_STEP + 1e-6
    assert (moved["variance"] > 0).all()
