"""Nets of torch modules: every way against the module itself with autograd, and each other."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from empirical.likelihoods.heads import Heads
from empirical.likelihoods.laws import Classes, Counts, Gaussian
from empirical.nets.architecture import perceptron
from empirical.train.kernel_net import Groups, KernelNet, aligned_rows
from empirical.train.making import net_of
from empirical.train.module_checks import Passes
from empirical.train.module_net import ModuleNet, with_constants
from empirical.train.net import NoiseKey
from tests.empirical.train.modules import (
    ALONE,
    KERNELS,
    MODULES,
    TOGETHER,
    Branching,
    Recurrent,
    Transformer,
    inputs_for,
    some,
)

# Nets of torch modules ---------------------------------------------------------------------------


AGENTS, BATCH = 3, 5
CASES = [(name, way) for name, (_, _, ways) in MODULES.items() for way in ways]

# Two orders of summation in float32 through twenty layers: relative to the largest entry.
ROUNDING = 1e-5


def built(name, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MODULES[name][0]()


def net_by(name, way, module=None):
    module = module or built(name)
    if way == KERNELS:
        return net_of(module, inputs_for(name, 4), outputs=3)
    return ModuleNet(module, example_input=inputs_for(name, 4, seed=9), way=way)


def weights_near(net, agents=AGENTS, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return net.initial(0) + 0.1 * torch.randn(agents, net.parameters, generator=generator)


def labels_for(agents, batch, seed=2):
    return torch.randint(3, (agents, batch), generator=torch.Generator().manual_seed(seed))


def torchs(net, module, weights, inputs, labels):
    """Outputs, loss and gradients by name of one net: load the weights, run it, go backward."""
    module = copy.deepcopy(module).train()
    module.load_state_dict(net.tensors(weights))
    outputs = module(inputs)
    if isinstance(outputs, dict):
        outputs = torch.cat([outputs["classes"], outputs["number"][:, None]], dim=1)
    loss = nn.functional.cross_entropy(outputs, labels)
    loss.backward()
    found = {
        key: torch.zeros_like(p) if p.grad is None else p.grad
        for key, p in module.named_parameters()
        if p.requires_grad
    }
    return outputs.detach(), loss.detach(), found


def assert_near(found, expected):
    scale = float(expected.abs().max()) + 1e-6
    torch.testing.assert_close(found, expected, rtol=0, atol=ROUNDING * scale)


@pytest.mark.parametrize(("name", "way"), CASES)
def test_outputs_and_gradients_are_those_of_the_module(name, way):
    module = built(name)
    net = net_by(name, way, module)
    assert isinstance(net, KernelNet) == (way == KERNELS)
    weights, inputs = weights_near(net), inputs_for(name, AGENTS, BATCH)
    labels, into = labels_for(AGENTS, BATCH), torch.full_like(weights, torch.nan)
    losses = net.gradient(weights, inputs, labels, likelihood=Classes(3), into=into)
    outputs = net.outputs_of(weights, inputs)
    assert losses.shape == (AGENTS,)
    assert outputs.shape == (AGENTS, BATCH, 3)
    assert not outputs.requires_grad
    for agent in range(AGENTS):
        own = inputs[agent], labels[agent]
        expected, loss, gradients = torchs(net, module, weights[agent], *own)
        assert_near(outputs[agent], expected)
        assert losses[agent].item() == pytest.approx(loss.item(), rel=1e-5)
        by_name = net.tensors(into[agent])
        for key, gradient in gradients.items():
            assert_near(by_name[key], gradient)


# Kernels take batches apart in registers, torch.func by its libraries' own rules, loops not at all.
BATCHES = {KERNELS: (1, 3, 8, 17), TOGETHER: (17,), ALONE: (3,)}


@pytest.mark.parametrize(
    ("name", "way", "batch"), [(*case, batch) for case in CASES for batch in BATCHES[case[1]]]
)
def test_a_gradient_does_not_depend_on_whom_it_is_grouped_with(name, way, batch):
    """Bit for bit, for groups of any size, wherever rows stand in memory."""
    net = net_by(name, way)
    agents = 7
    weights, inputs = weights_near(net, agents), inputs_for(name, agents, batch)
    labels, into = labels_for(agents, batch), torch.empty(agents, net.parameters)
    together = net.gradient(weights, inputs, labels, likelihood=Classes(3), into=into)
    rows = aligned_rows(agents, net.parameters).copy_(weights)
    for start, end in ((0, 1), (1, 3), (2, 7)):
        some = slice(start, end)
        for own in (weights[some], weights[some].clone(), rows[some]):
            part = torch.empty_like(own)
            losses = net.gradient(
                own, inputs[some].clone(), labels[some], likelihood=Classes(3), into=part
            )
            assert torch.equal(part, into[some])
            assert torch.equal(losses, together[some])
    outputs = net.outputs_of(weights, inputs)
    assert torch.equal(net.outputs_of(weights[3:5].clone(), inputs[3:5]), outputs[3:5])


@pytest.mark.parametrize(("name", "way"), CASES)
def test_the_same_inputs_for_all_and_more_than_fit_at_once(name, way, monkeypatch):
    net = net_by(name, way)
    weights, inputs = weights_near(net), inputs_for(name, 1, 7)
    whole = net.outputs_of(weights, inputs.repeat(AGENTS, *[1] * (inputs.ndim - 1)))
    assert torch.equal(net.outputs_of(weights, inputs), whole)
    for module in ("module_net", "kernel_net"):
        monkeypatch.setattr(f"empirical.train.{module}.PREDICTED_AT_ONCE", 3)
    assert_near(net.outputs_of(weights, inputs), whole)


@pytest.mark.parametrize(("name", "way"), CASES)
def test_the_users_module_takes_the_weights_back(name, way):
    module = built(name)
    net = net_by(name, way, module)
    assert torch.equal(net.initial(0), net.initial(5))
    state = module.state_dict()
    own = net.tensors(net.initial(0))
    assert list(own) == list(state)
    assert all(torch.equal(own[key], state[key]) for key in state)
    assert all(tensor.is_contiguous() for tensor in own.values())
    places = [tensor.untyped_storage().data_ptr() for tensor in own.values()]
    assert len(set(places)) == len(places)  # as safetensors asks
    other = built(name, seed=1)
    other.load_state_dict(net.tensors(weights_near(net)[0]), strict=True)


@pytest.mark.parametrize("name", ["perceptron", "tabular"])
def test_a_function_that_builds_a_module_is_drawn_by_the_seed(name):
    state = torch.get_rng_state()
    net = net_of(MODULES[name][0], inputs_for(name, 4), outputs=3)
    assert isinstance(net, KernelNet) == (name == "perceptron")
    first, again, other = net.initial(3), net.initial(3), net.initial(4)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    expected = built(name, seed=3).state_dict()
    assert all(torch.equal(v, expected[key]) for key, v in net.tensors(first).items())


def test_a_module_that_changes_later_changes_nothing():
    module = built("tabular")
    net = net_by("tabular", "one by one", module)
    before = net.initial(0)
    nn.init.zeros_(module.rest[0].weight)
    assert torch.equal(net.initial(0), before)
    weights = weights_near(net, 1)
    net.outputs_of(weights, inputs_for("tabular", 1, 4))
    weights.zero_()
    assert torch.equal(net.initial(0), before)
    # Nor does the net hold on to weights of an earlier pass.
    assert torch.equal(net._layout.vector(net._passes.module.state_dict()), before)


def test_words_tell_families_apart():
    nets = {name: net_by(name, "one by one") for name in MODULES}
    words = [str(net.words) for net in nets.values()]
    assert len(set(words)) == len(words)
    assert net_by("GRU", "one by one").words == nets["GRU"].words
    other = net_by("frozen", "one by one", built("frozen", seed=1))
    assert other.words != nets["frozen"].words  # what stays as it is belongs to the family
    assert net_by("GRU", "one by one", built("GRU", seed=1)).words == nets["GRU"].words
    assert KernelNet(perceptron(3, 2, outputs=2)).words != KernelNet(perceptron(3, outputs=2)).words


def test_the_way_is_found_by_trying():
    ways = {name: ModuleNet(built(name), example_input=inputs_for(name, 4)).way for name in MODULES}
    assert {name for name, way in ways.items() if way == "one by one"} == {"GRU", "branching"}
    with pytest.raises(ValueError, match=r"way: expected a module that torch.func takes as it is"):
        ModuleNet(Branching(), example_input=torch.randn(4, 4), way="together")
    with pytest.raises(ValueError, match="way: expected"):
        ModuleNet(Recurrent(), example_input=torch.randn(4, 7, 4), way="together")


@pytest.mark.parametrize(("differ", "way"), [("x--", "together"), ("x-x", "one by one")])
def test_one_trial_that_differs_is_not_enough(monkeypatch, differ, way):
    """A unit at its threshold goes one way or the other by rounding: once, not in three trials."""
    said = iter(differ)
    monkeypatch.setattr(
        Passes, "reason_against", lambda *_: "other numbers" if next(said) == "x" else ""
    )
    assert ModuleNet(built("tabular"), example_input=inputs_for("tabular", 4)).way == way


# Dropout --------------------------------------------------------------------------------------


def noisy(agents, *, seed=0, step=0):
    """A transformer with dropout: the gradients of some agents at the same weights and inputs."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = Transformer(dropout=0.5)
    net = ModuleNet(module, example_input=inputs_for("transformer", 4))
    weights = net.initial(0).repeat(len(agents), 1)
    inputs = inputs_for("transformer", 1, BATCH).expand(len(agents), BATCH, 6)
    labels = labels_for(1, BATCH).expand(len(agents), BATCH)
    into = torch.empty_like(weights)
    keys = [NoiseKey(seed, agent, step) for agent in agents]
    net.gradient(weights, inputs, labels, likelihood=Classes(3), into=into, noise=keys)
    return net, into


def test_noise_belongs_to_agent_and_step():
    state = torch.get_rng_state()
    net, together = noisy([0, 1, 2])
    assert torch.equal(torch.get_rng_state(), state)
    assert net.draws
    assert net.way == "one by one"
    assert torch.equal(noisy([2, 0])[1], together[[2, 0]])
    assert not torch.equal(together[0], together[1])
    assert not torch.equal(noisy([0], step=1)[1][0], together[0])
    assert not torch.equal(noisy([0], seed=1)[1][0], together[0])
    weights, inputs = weights_near(net), inputs_for("transformer", AGENTS, BATCH)
    assert torch.equal(net.outputs_of(weights, inputs), net.outputs_of(weights, inputs))


def test_noise_needs_a_key_for_each_net():
    net, _ = noisy([0])
    weights = weights_near(net, 2)
    with pytest.raises(ValueError, match="noise: expected a key for each of 2 nets, got 0"):
        net.gradient(
            weights,
            inputs_for("transformer", 2, BATCH),
            labels_for(2, BATCH),
            likelihood=Classes(3),
            into=torch.empty_like(weights),
        )


def test_dropout_in_training_has_the_mean_of_none():
    """A linear net: its outputs' mean over masks are those without; 5 standard errors."""
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(6, 1))
    net = ModuleNet(module, example_input=torch.randn(4, 6))

    class Kept:
        def loss(self, outputs, labels):
            seen.append(outputs.clone())
            return outputs.sum(dim=(1, 2)), torch.ones_like(outputs)

    seen, weights, x = [], net.initial(0)[None], torch.ones(1, 50, 6)
    for step in range(200):
        net.gradient(
            weights,
            x,
            torch.zeros(1, 50),
            likelihood=Kept(),
            into=torch.empty_like(weights),
            noise=[NoiseKey(0, 0, step)],
        )
    drawn = torch.cat(seen).flatten()
    error = drawn.std() / drawn.numel() ** 0.5
    assert abs(drawn.mean() - net.outputs_of(weights, x).mean()) < 5 * error


# Constants ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["perceptron", "two heads", "GRU"])
@pytest.mark.parametrize(
    "likelihood",
    [Gaussian("learned", 3), Counts(3, "learned"), Heads((Gaussian("learned", 2), Counts()))],
)
def test_constants_are_trained_as_finite_differences_say(name, likelihood):
    inner = net_by(name, MODULES[name][2][0])
    net = with_constants(inner, likelihood.constants)
    assert net.outputs == likelihood.outputs
    assert net.words != inner.words
    assert net.initial(0)[inner.parameters :].tolist() == [0.0] * likelihood.constants
    weights = weights_near(net).double()
    inputs = inputs_for(name, AGENTS, BATCH).double()
    labels = labels_for(AGENTS, 3 * BATCH).reshape(AGENTS, BATCH, 3).double()
    outputs = net.outputs_of(weights, inputs)
    constants = weights[:, inner.parameters :]
    assert torch.equal(outputs[:, 2, 3:], constants)
    into = torch.empty_like(weights)
    losses = net.gradient(weights, inputs, labels, likelihood=likelihood, into=into)
    expected = -likelihood.log_density(outputs, labels).mean(dim=1)
    torch.testing.assert_close(losses, expected, rtol=1e-10, atol=1e-10)
    generator = torch.Generator().manual_seed(5)
    direction = torch.randn(weights.shape, generator=generator, dtype=torch.float64)
    step = 1e-6
    ends = [
        -likelihood.log_density(net.outputs_of(weights + s * direction, inputs), labels)
        for s in (step, -step)
    ]
    slope = (ends[0] - ends[1]).mean(dim=1) / (2 * step)
    torch.testing.assert_close((into * direction).sum(dim=1), slope, rtol=1e-6, atol=1e-7)
    module = built(name)
    module.load_state_dict(net.tensors(weights[0].float()))


def test_no_constants_leave_a_net_as_it_is():
    net = KernelNet(perceptron(2, outputs=1))
    assert with_constants(net, 0) is net
    with pytest.raises(ValueError, match=r"weights: expected shape \(4,\), got shape \(3,\)"):
        with_constants(net, 1).tensors(torch.zeros(3))


# Architectures --------------------------------------------------------------------------------


def test_images_go_flat_into_a_dense_layer():
    net = net_of(perceptron(12, 4, outputs=3), some(3, 4), outputs=3)
    x = torch.randn(2, 5, 3, 4)
    weights = weights_near(net, 2)
    assert torch.equal(net.outputs_of(weights, x), net.outputs_of(weights, x.flatten(2)))


# Nets are computed together only where a trial of the same kind gave each its own bits -----------


SIZE = 3


class Squares:
    """A likelihood whose loss is half a square."""

    def loss(self, outputs: Any, labels: Any) -> Any:
        return (outputs**2).sum(dim=(1, 2)) / 2, outputs


class Sums:
    """Nets that put out wᵀx; what `spoils` names comes out differently in company."""

    def __init__(self, spoils: Callable[[int, Any], bool]) -> None:
        self._spoils = spoils
        self.sizes: list[int] = []  # of groups that were asked for, trials left out
        self.trials = 0

    def trial(self, count: int, batch: int, seed: int) -> Any:
        self.trials += seed == 0
        generator = torch.Generator().manual_seed(seed)
        weights = torch.randn(count, SIZE, generator=generator)
        return weights, torch.randn(count, batch, SIZE, generator=generator)

    def __call__(
        self, group: slice, weights: Any, inputs: Any, labels: Any, likelihood: Any, into: Any, /
    ) -> Any:
        count, batch = inputs.shape[:2]
        outputs = (inputs * weights[:, None]).sum(dim=2, keepdim=True)
        if count > 1 and self._spoils(batch, weights.dtype):
            outputs = outputs * 1.5
        losses, slopes = likelihood.loss(outputs, labels)
        into.copy_((slopes * inputs).sum(dim=1))
        if isinstance(likelihood, Squares):
            self.sizes.append(count)
        return losses


def gradient(groups: Groups, run: Sums, batch: int, dtype: Any = torch.float32) -> Any:
    """Of four nets, at most four together; how they were grouped, and what came out."""
    generator = torch.Generator().manual_seed(9)
    weights = torch.randn(4, SIZE, generator=generator, dtype=dtype)
    inputs = torch.randn(4, batch, SIZE, generator=generator, dtype=dtype)
    into, run.sizes = torch.empty_like(weights), []
    groups.gradient(run, weights, inputs, torch.zeros(4, batch), Squares(), into, size=4)
    # By hand: each net by itself.
    for net in range(4):
        x, w = inputs[net].double(), weights[net].double()
        assert torch.allclose(into[net].double(), (x * (x @ w)[:, None]).sum(dim=0), rtol=1e-4)
    return run.sizes


def test_each_batch_size_has_a_trial_of_its_own() -> None:
    run = Sums(lambda batch, dtype: batch == 5)
    groups = Groups(run.trial)
    assert gradient(groups, run, 4) == [4]
    assert gradient(groups, run, 5) == [1, 1, 1, 1]
    assert gradient(groups, run, 4) == [4]
    assert run.trials == 2  # a kind is tried once


def test_each_type_of_numbers_has_a_trial_of_its_own() -> None:
    run = Sums(lambda batch, dtype: dtype == torch.float64)
    groups = Groups(run.trial)
    assert gradient(groups, run, 4) == [4]
    assert gradient(groups, run, 4, torch.float64) == [1, 1, 1, 1]
    assert run.trials == 2


def test_each_product_has_a_trial_of_its_own() -> None:
    run = Sums(lambda batch, dtype: torch.is_autocast_enabled("cpu"))
    groups = Groups(run.trial)
    assert gradient(groups, run, 4) == [4]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert gradient(groups, run, 4) == [1, 1, 1, 1]
    assert gradient(groups, run, 4) == [4]
    assert run.trials == 2


def test_two_groups_of_one_family_do_not_share_what_they_found() -> None:
    good, bad = Sums(lambda *_: False), Sums(lambda *_: True)
    assert gradient(Groups(good.trial), good, 4) == [4]
    assert gradient(Groups(bad.trial), bad, 4) == [1, 1, 1, 1]
