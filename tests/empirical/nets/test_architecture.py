"""Shapes and places of weights, who holds what, what goes between processes, a step of Adam."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from empirical.data import load_digits
from empirical.nets.architecture import (
    Architecture,
    Convolution,
    Dense,
    MaxPool,
    first_weights,
    perceptron,
)
from empirical.nets.exchange import OneProcess, block_of, connect, routes
from empirical.nets.shares import Drawn, Order, Shares, as_inputs
from empirical.nets.update import LARGEST_STEP, Adam, update, update_by_torch
from empirical.partition import Partition
from tests.empirical.nets.torch_nets import module_of
from tests.empirical.support import refused

# Shapes and places of weights, against torch's own layers ----------------------------------------


NETS = {
    "2NN": perceptron(784, 200, 200, outputs=10),
    "one layer": perceptron(3, outputs=1),
    "convolutional": Architecture(
        (2, 9, 7), (Convolution(3, 3, 2, 1), MaxPool(2), Convolution(4, 1), Dense(5), Dense(3))
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_as_many_weights_as_torchs_modules(name: str) -> None:
    net = NETS[name]
    peer = module_of(net, torch.zeros(net.parameters))
    assert net.parameters == sum(values.numel() for values in peer.parameters())
    x = torch.zeros(2, *net.input_shape)
    shapes = []
    for module in peer:
        x = module(x)
        if not isinstance(module, torch.nn.Flatten | torch.nn.ReLU):
            shapes.append(tuple(x.shape[1:]))
    assert tuple(shapes) == net.shapes


@pytest.mark.parametrize("name", NETS)
def test_places_tile_the_vector(name: str) -> None:
    net = NETS[name]
    place = 0
    for block in net.blocks:
        for part in (block.weight, block.bias):
            assert part.start == place
            place = part.stop
        size = block.weight.stop - block.weight.start
        assert size == torch.zeros(block.shape).numel()
        units = block.bias.stop - block.bias.start
        assert block.fan_in * units == size
    assert place == net.parameters


@pytest.mark.parametrize(
    ("shape", "layers", "words"),
    [
        ((4,), (), "no layers"),
        ((4, 4), (Dense(2),), "input_shape"),
        ((1, 4, 4), (Dense(2), MaxPool(2)), "a dense layer at the end"),
        ((4,), (Convolution(2, 3), Dense(2)), r"layers\[0\].*before dense layers"),
        ((1, 4, 4), (Convolution(2, 5), Dense(2)), r"layers\[0\].*smaller kernel"),
        ((1, 4, 4), (MaxPool(2), MaxPool(3), Dense(2)), r"layers\[1\].*smaller kernel"),
        ((0,), (Dense(2),), "input_shape"),
    ],
)
def test_layers_that_do_not_fit(shape: tuple[int, ...], layers: tuple, words: str) -> None:
    refused(words, Architecture, shape, layers)


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


# Who holds what, and in which order --------------------------------------------------------------


@pytest.mark.parametrize(("size", "batch"), [(10, 3), (12, 3), (2, 5), (1, 4), (7, 7)])
def test_an_epoch_shows_each_example_once(size: int, batch: int) -> None:
    order = Order(size, batch, seed=1, agent=2)
    per_epoch = max(size // batch, 1)
    for epoch in range(3):
        rows = order.rows(epoch * per_epoch, per_epoch).reshape(-1)
        assert rows.size == per_epoch * batch
        counts = np.bincount(rows, minlength=size)
        assert counts.max() - counts.min() <= 1
        if size >= batch:
            assert counts.max() == 1


def test_a_batch_depends_on_seed_agent_and_step_alone() -> None:
    one = Order(50, 7, seed=3, agent=4)
    forward = one.rows(0, 30).tolist()
    again = Order(50, 7, seed=3, agent=4)
    assert [again.rows(step)[0].tolist() for step in reversed(range(30))][::-1] == forward
    assert Order(50, 7, seed=3, agent=5).rows(0)[0].tolist() != forward[0]
    assert Order(50, 7, seed=4, agent=4).rows(0)[0].tolist() != forward[0]
    assert forward[0] != forward[7]


def test_images_become_inputs() -> None:
    images = load_digits()
    shares = Shares.from_images(images, Partition(([0, 2], [1])), input_shape=(1, 8, 8))
    assert shares.sizes == (2, 1)
    assert shares.inputs.dtype == torch.float32
    assert float(shares.inputs.max()) == 1.0
    assert (shares.inputs[5, 0] * 16 == torch.tensor(images.pixels[5].astype(np.float32))).all()
    assert as_inputs(images, input_shape=(64,)).shape == (1797, 64)
    assert shares.together().indices[0].tolist() == [0, 1, 2]
    assert shares.of([1]).sizes == (1,)


def test_an_agent_without_data_is_named() -> None:
    x, y = torch.zeros(3, 2), torch.zeros(3, dtype=torch.int64)
    some, none = torch.tensor([0]), torch.tensor([], dtype=torch.int64)
    refused(r"indices.*none for agent 1", Shares, x, y, (some, none))
    refused(r"rows from 0 to 2.*agent 0", Shares, x, y, (torch.tensor([3]),))
    refused("labels", Shares, x, y[:2], (some,))
    refused("indices", Shares, x, y, ())


def test_labels_may_be_several_numbers_except_in_the_papers_training() -> None:
    x, y, some = torch.zeros(3, 2), torch.zeros(3, 4), (torch.tensor([0, 2]),)
    several = Shares(x, y, some)
    assert several.of([0]).labels.shape == several.together().labels.shape == (3, 4)
    for wrong in (y[:2], y[:, :, None], torch.zeros(())):
        refused(r"labels: expected shape \(3,\), or several numbers", Shares, x, wrong, some)
    with pytest.raises(ValueError, match=r"labels: expected shape \(3,\), for .*\(3, 4\)"):
        several.check_fits(perceptron(2, 3, outputs=2))
    Shares(x, y[:, 0], some).check_fits(perceptron(2, 3, outputs=2))


def test_what_is_drawn_ahead_is_what_is_asked_for() -> None:
    plain, ahead = (Drawn([Order(20, 3, seed=1, agent=k) for k in range(3)]) for _ in range(2))
    some, since = [0, 2], [0, 0]
    for guess in ([4, 4], [9, 4], [4, 4]):  # the second guess is wrong
        found = ahead.rows(some, since, 4)
        np.testing.assert_array_equal(found, plain.rows(some, since, 4))
        ahead.ahead(some, guess, 4)
        since = [4, 4]


# Which agents' messages go from process to process; runs -----------------------------------------


def test_without_torchrun_all_is_in_one_process() -> None:
    with connect() as exchange:
        assert exchange == OneProcess()


@given(agents=st.integers(1, 40), processes=st.integers(1, 40))
def test_blocks_follow_each_other_and_hold_everybody(agents: int, processes: int) -> None:
    if processes > agents:
        said = rf"^processes: expected at most {agents}, .*, got {processes}; start fewer"
        refused(said, block_of, agents, processes=processes, rank=0)
        return
    blocks = [block_of(agents, processes=processes, rank=rank) for rank in range(processes)]
    assert [agent for block in blocks for agent in block] == list(range(agents))
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1


@st.composite
def who_hears_whom(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    agents = draw(st.integers(2, 9))
    return tuple(
        tuple(sorted(draw(st.sets(st.integers(0, agents - 1))) - {i})) for i in range(agents)
    )


@settings(max_examples=40)
@given(heard=who_hears_whom(), processes=st.integers(2, 4))
def test_both_ends_agree_and_nothing_is_sent_in_vain(
    heard: tuple[tuple[int, ...], ...], processes: int
) -> None:
    agents = len(heard)
    processes = min(processes, agents)
    home = {
        agent: rank
        for rank in range(processes)
        for agent in block_of(agents, processes=processes, rank=rank)
    }
    ways = [routes(heard, processes=processes, rank=rank) for rank in range(processes)]
    sent = {
        (j, way.process) for rank in range(processes) for way in ways[rank] for j in way.outgoing
    }
    wanted = {(j, home[i]) for i in range(agents) for j in heard[i] if home[i] != home[j]}
    assert sent == wanted
    for rank in range(processes):
        for way in ways[rank]:
            (back,) = (other for other in ways[way.process] if other.process == rank)
            assert way.incoming == back.outgoing == tuple(sorted(way.incoming))


# One step of Adam with the divergence ------------------------------------------------------------


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
