"""What cannot be a net is refused early, in one line that says what to do."""

import pytest
import torch
from torch import nn

from empirical.nets.architecture import perceptron as perceptron_of
from empirical.train.kernel_net import KernelNet
from empirical.train.making import net_of
from empirical.train.module_net import ModuleNet
from empirical.train.net import Layout, built
from tests.empirical.support import refused
from tests.empirical.train.modules import Transformer, perceptron, some


class Does(nn.Module):
    """A module whose forward pass is a function of itself, a linear layer's outputs and x."""

    def __init__(self, act, *, outputs=3):
        super().__init__()
        self.linear = nn.Linear(4, outputs)
        self.act, self.seen = act, None
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        return self.act(self, self.linear(x), x)


def counting(self, y, x):
    self.count += 1
    return y


def counting_in_training(self, y, x):
    return counting(self, y, x) if self.training else y


def remembering(self, y, x):
    before, self.seen = self.seen, y.detach().mean()
    return y if before is None else y + before


def own_generator(self, y, x):
    if self.seen is None:
        self.seen = torch.Generator().manual_seed(0)
    return y + torch.randn(y.shape, generator=self.seen) if self.training else y


def spectral_norm(*, seed):
    """Its buffers change in training; from some weights (seed 111), its outputs do too."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(3)

    def forward(self, x):
        return self.layer(x)


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 3, sparse=True)

    def forward(self, x):
        return self.words(x.long().clamp(0, 8)).sum(dim=1)


def frozen():
    module = nn.Linear(4, 3)
    return module.requires_grad_(False)


def keeping_a_result():
    module = nn.Linear(4, 3)
    module.kept = module(torch.zeros(1, 4))
    return module


def complex_linear():
    return nn.Linear(4, 3, dtype=torch.complex64)


REFUSED = {
    "batch norm": (
        lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)),
        "no statistics of batches.*got BatchNorm1d '1'; use GroupNorm or LayerNorm",
    ),
    "batch norm without running averages": (
        lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False)),
        "BatchNorm1d '1'; use GroupNorm",
    ),
    "instance norm": (
        lambda: nn.Sequential(nn.Linear(4, 3), nn.InstanceNorm1d(3, track_running_stats=True)),
        "running averages.*InstanceNorm1d '1'; use track_running_stats=False",
    ),
    "a buffer that counts": (
        lambda: Does(counting),
        "buffers that no pass changes, got 'count', which one changed; make it a parameter",
    ),
    "a buffer that counts in training": (
        lambda: Does(counting_in_training),
        "buffers that no pass changes, got 'count'",
    ),
    "spectral norm": (
        lambda: spectral_norm(seed=0),
        "buffers that no pass changes, got 'parametrizations.weight.0._",
    ),
    "spectral norm that has not settled": (
        lambda: spectral_norm(seed=111),
        "buffers that no pass changes, got 'parametrizations.weight.0._",
    ),
    "memory": (lambda: Does(remembering), "same outputs for the same inputs in prediction"),
    "a generator of its own": (
        lambda: Does(own_generator),
        "same outputs for the same inputs in training, from one seed.*global generator",
    ),
    "noise in prediction": (
        lambda: Does(lambda self, y, x: nn.functional.dropout(y)),
        "same outputs for the same inputs in prediction.*noise .* in training alone",
    ),
    "rows that mix": (
        lambda: Does(lambda self, y, x: y - y.mean(dim=0)),
        "outputs of an input that do not depend on the others.*batch_first=True",
    ),
    "attention along the batch": (
        lambda: nn.Sequential(
            nn.Linear(4, 16),
            nn.Unflatten(1, (2, 8)),
            nn.TransformerEncoderLayer(8, 1, 4, 0.0),
            nn.Flatten(),
            nn.Linear(16, 3),
        ),
        "batch_first=True",
    ),
    "nothing to train": (frozen, "trainable weights, got none; leave requires_grad"),
    "no weights": (nn.Flatten, "trainable weights, got none"),
    "double": (lambda: nn.Linear(4, 3).double(), "in float64; call module.float()"),
    "half": (lambda: nn.Linear(4, 3).half(), "in float16; call module.float()"),
    "complex": (complex_linear, "in complex64; write real and imaginary parts as two"),
    "lazy": (Lazy, "weights of known shapes, got 'layer.weight' without one; call the module once"),
    "meta": (lambda: nn.Linear(4, 3, device="meta"), r"got 'weight' on meta; call module.to\("),
    "a kept result": (keeping_a_result, "copy.deepcopy.*keep no results"),
    "images": (
        lambda: nn.Conv2d(1, 3, 3),
        r"inputs of shape \(B, 4\) in float32, got RuntimeError",
    ),
    "another width": (
        lambda: nn.Linear(5, 3),
        r"takes inputs of shape \(B, 4\) in float32, got RuntimeError \(mat1 and mat2",
    ),
    "a sequence": (
        lambda: nn.Sequential(nn.Linear(4, 6), nn.Unflatten(1, (2, 3))),
        r"outputs of shape \(B, numbers\).*got shape \(4, 2, 3\)",
    ),
    "a number for all": (
        lambda: Does(lambda self, y, x: y.sum()),
        r"outputs of shape \(B, numbers\).*got shape \(\)",
    ),
    "nothing put out": (lambda: Does(lambda self, y, x: None), "got NoneType"),
    "fewer rows": (lambda: Does(lambda self, y, x: y[1:]), "one row of outputs an input, 4"),
    "NaN": (lambda: Does(lambda self, y, x: y.log() * 0 - torch.inf + torch.inf), "got nan"),
    "infinity": (lambda: Does(lambda self, y, x: y / 0.0), "finite outputs at its initial weights"),
    "whole numbers": (lambda: Does(lambda self, y, x: y.long()), "outputs in float32, got int64"),
    "double outputs": (lambda: Does(lambda self, y, x: y.double()), "in float32, got float64"),
    "outputs of no weight": (
        lambda: Does(lambda self, y, x: x[:, :3] * 2),
        "outputs that depend on trainable weights",
    ),
    "entries": (
        lambda: Does(lambda self, y, x: {"logits": y, "hidden": (x, x)}),
        r"got a dict of 'logits' \(shape \(4, 3\)\), 'hidden' \(tuple\); wrap it",
    ),
    "no gradient": (
        lambda: Does(lambda self, y, x: y.exp().mul_(2).add_(y.exp_())),
        "outputs that can be differentiated, got RuntimeError",
    ),
    "sparse gradients": (
        Sparse,
        "dense gradients, got a sparse one of 'words.weight'; leave sparse=True out",
    ),
    "a class": (lambda: nn.Linear, "module: "),
    "text": (lambda: "resnet", "expected a torch.nn.Module, .*got str"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_a_net_is_refused_in_one_line(name):
    build, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        net_of(build(), some(4), outputs=3)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_running_averages_that_stay_are_kept():
    """A buffer that no pass changes belongs to the family of nets, as frozen weights do."""
    module = Does(lambda self, y, x: y + self.count)
    module.count += 3.0
    net = net_of(module, some(4), outputs=3)
    assert net.tensors(net.initial(0))["count"] == 3.0


def test_outputs_must_be_as_many_as_the_likelihood_asks():
    for module in (perceptron(), nn.Sequential(nn.Linear(4, 3), nn.Sigmoid())):
        with pytest.raises(
            ValueError, match=r"module: expected 10 outputs, .*got 3; change its last"
        ):
            net_of(module, some(4), outputs=10)
    with pytest.raises(ValueError, match="module: expected 10 outputs"):
        net_of(perceptron_of(4, outputs=3), some(4), outputs=10)
    with pytest.raises(ValueError, match=r"architecture: expected inputs of shape \(5,\)"):
        net_of(perceptron_of(4, outputs=3), some(5), outputs=3)


def test_tokens_are_those_that_the_module_knows():
    net = net_of(Transformer(), torch.zeros(4, 6, dtype=torch.int64), outputs=3)
    assert isinstance(net, ModuleNet)
    weights = net.initial(0)[None]
    with pytest.raises(ValueError, match=r"module: .*IndexError .index out of range in self"):
        net.outputs_of(weights, torch.full((1, 2, 6), 11))
    with pytest.raises(ValueError, match="example_input: expected at least two inputs"):
        ModuleNet(nn.Linear(4, 3), example_input=torch.zeros(1, 4))


def _with_hidden(width, activation):
    return nn.Sequential(nn.Linear(4, width), activation, nn.Linear(width, 3))


def test_a_function_must_return_the_same_module_each_time():
    with pytest.raises(ValueError, match="a function that returns str; return the module"):
        net_of(lambda: "net", some(4), outputs=3)
    with pytest.raises(ValueError, match=r"got TypeError \(.*; give the module itself"):
        net_of(lambda width: nn.Linear(4, width), some(4), outputs=3)
    for middle in (nn.ReLU(), nn.GELU()):
        widths = iter((5, 6))
        net = net_of(
            lambda own=middle, widths=widths: _with_hidden(next(widths), own),
            some(4),
            outputs=3,
        )
        refused(r"a tensor '0.weight' of shape \(5, 4\), got shape", net.initial, 0)
    layout = Layout.of(nn.Linear(4, 3))
    with pytest.raises(
        ValueError, match=r"a tensor 'weight' of shape \(3, 4\), got shape \(3, 5\)"
    ):
        layout.vector(nn.Linear(5, 3).state_dict())
    with pytest.raises(ValueError, match=r"a tensor 'bias' of shape .*got none"):
        layout.vector(nn.Linear(4, 3, bias=False).state_dict())
    refused("seed: expected a whole number", built, lambda: nn.Linear(1, 1), -1)


def test_kernels_need_a_name_for_each_layer():
    with pytest.raises(ValueError, match="prefixes: expected one for each of 2 layers"):
        KernelNet(perceptron_of(4, 3, outputs=2), prefixes=("only",))
