"""Any torch module as a net: the weights of all agents in one tensor, gradients by autograd.

Nets are computed together by ``torch.func``, or one by one (:mod:`empirical.train.module_checks`),
with the same numbers up to rounding. On a CPU the first way pays for small nets alone: from 100 000
weights on, a net's tensors fill the cache, and calls cost little beside the module's products.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import torch
from torch import Tensor, nn

from empirical.messages.codec import Block
from empirical.nets.likelihood import PREDICTED_AT_ONCE
from empirical.nets.likelihood import Likelihood as Losses
from empirical.train.kernel_net import WEIGHTS_AT_ONCE, Groups, aligned
from empirical.train.module_checks import Passes, examine, own_copy
from empirical.train.net import Layout, Net, NoiseKey, built, unknown_start
from theory.validation import as_integer, fail

# Any torch module as a net -----------------------------------------------------------------------


Way = Literal["together", "one by one"]

# Of nets so large that fewer fit the cache at once, each goes alone on a CPU (measured).
FEWEST_TOGETHER = 8


class ModuleNet:
    """The nets that a torch module is with other weights.

    Parameters
    ----------
    module
        Float32, on the CPU; it is copied. It returns a tensor of shape (B, outputs), or a tuple,
        list or dict of such heads, which are put one after the other. Parameters with
        ``requires_grad`` False stay as they are at all agents, and so do buffers; a parameter with
        two names is one. Agents train in ``train()`` mode and predict in ``eval()`` mode; random
        numbers in training come from torch's global generator, seeded anew for each agent and step.
    example_input
        A few inputs, shape (B, …) with B at least 2, float32 or int64, to try the module on.
    build
        A function that returns the module anew: then :meth:`initial` draws its weights by the
        seed. Without it they are the module's own.
    way
        Left out: together where a trial shows that this is possible and it is quick, else one by
        one.

    Raises
    ------
    ValueError
        If the module cannot be a net: statistics of batches, buffers that a pass changes, no
        trainable weight, other weights than float32 on the CPU, outputs of another shape or not
        finite, or outputs that mix the inputs of a batch; in one line, with the remedy.

    Examples
    --------
    >>> module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    >>> net = ModuleNet(module, example_input=torch.zeros(2, 3))
    >>> net.parameters, net.outputs, net.way
    (26, 2, 'together')
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        example_input: Tensor,
        build: Callable[[], nn.Module] | None = None,
        way: Way | None = None,
    ) -> None:
        own = own_copy(module)
        self._example, self._build = example_input, build
        if example_input.ndim < 1 or example_input.shape[0] < 2:
            got = f"shape {tuple(example_input.shape)}"
            raise fail("example_input", "at least two inputs", got, "give a few rows of the data")
        facts = examine(own, example_input)
        self._outputs, self.draws = facts.outputs, facts.draws
        self._layout = Layout.of(own)
        self._start = self._layout.vector(own.state_dict())
        self._passes = Passes(own, self._layout)
        self.way: Way = self._chosen(way)
        self._asked = way is not None
        self._groups = Groups(self._trial)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied; a function that builds the module is left out."""
        return {**vars(self), "_build": None if self._build is None else unknown_start}

    @property
    def together(self) -> bool:
        """Whether a GPU takes any number of nets by the same launches (:class:`Net`)."""
        return self.way == "together"

    @property
    def parameters(self) -> int:
        """The number d of trainable weights."""
        return self._layout.parameters

    @property
    def outputs(self) -> int:
        """How many numbers the module puts out for one input."""
        return self._outputs

    @property
    def words(self) -> Mapping[str, object]:
        """The module's class, and a digest of its text, its tensors' shapes and what is kept."""
        module = self._passes.module
        digest = sha256(repr(module).encode())
        for name, place in self._layout.names.items():
            digest.update(f"{name} {place and place.shape}".encode())
            if name in self._layout.kept:
                kept = self._layout.kept[name].contiguous()
                digest.update(f"{kept.dtype} {tuple(kept.shape)}".encode())
                digest.update(kept.reshape(-1).view(torch.uint8).numpy().tobytes())
        return {
            "kind": "module",
            "module": type(module).__name__,
            "parameters": self.parameters,
            "outputs": self.outputs,
            "sha256": digest.hexdigest(),
        }

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A block for each tensor that is trained."""
        return self._layout.blocks

    def initial(self, seed: int) -> Tensor:
        """The module's own weights, or those drawn by `seed` where a function builds it."""
        if self._build is None:
            return self._start.clone()
        return self._layout.vector(built(self._build, seed).state_dict())

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        """The module's whole ``state_dict`` with these weights, shape (d,)."""
        return self._layout.tensors(weights)

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """What N nets put out in prediction, shape (N, B, outputs); see :class:`Net`."""
        agents, batch = weights.shape[0], inputs.shape[1]
        self._passes.ready(weights.device, training=False)
        found = weights.new_empty(agents, batch, self.outputs)
        alone = weights.device.type == "cpu" or not self._stackable
        with torch.no_grad():
            for start in range(0, batch, PREDICTED_AT_ONCE):
                some = slice(start, start + PREDICTED_AT_ONCE)
                if not alone:
                    found[:, some] = self._passes.together(weights, inputs[:, some])
                    continue
                for agent in range(agents):
                    which = agent if inputs.shape[0] > 1 else 0
                    own = aligned(inputs[which : which + 1, some])
                    row = aligned(weights[agent : agent + 1])
                    found[agent, some] = self._passes.alone(row[0], own[0])
        return found

    def gradient(
        self,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        *,
        likelihood: Losses,
        into: Tensor,
        noise: Sequence[NoiseKey] = (),
    ) -> Tensor:
        """The losses of N nets, and their gradients to `into`; see :class:`Net`."""
        agents = weights.shape[0]
        if self.draws and len(noise) != agents:
            raise fail(
                "noise", f"a key for each of {agents} nets", len(noise), "give each net its own"
            )
        self._passes.ready(weights.device, training=True)
        size = self._at_once(weights.device, agents)

        def alone(
            group: slice, own: Tensor, x: Tensor, y: Tensor, losses: Losses, place: Tensor
        ) -> Tensor:
            key = noise[group.start] if self.draws else None
            return self._passes.gradient_alone(own, x, y, losses, place, key)

        def together(
            group: slice, own: Tensor, x: Tensor, y: Tensor, losses: Losses, place: Tensor
        ) -> Tensor:
            return self._passes.gradient_together(own, x, y, losses, place)

        return self._groups.gradient(
            together if size > 1 else alone, weights, inputs, labels, likelihood, into, size=size
        )

    # Which way --------------------------------------------------------------------------------

    def _at_once(self, device: torch.device, agents: int) -> int:
        """How many nets go together; 1: each alone. On a CPU it depends on the net only."""
        if self.way == "one by one":
            return 1
        if device.type != "cpu":
            return max(2, agents)
        size = WEIGHTS_AT_ONCE // self.parameters
        if self._asked:
            return max(2, size)
        return size if size >= FEWEST_TOGETHER else 1

    def _chosen(self, wanted: Way | None) -> Way:
        """The way asked for, or the one that a trial finds."""
        self._passes.ready(torch.device("cpu"), training=not self.draws)
        trials = (self._trial(2, len(self._example), seed) for seed in (0, 3, 6))
        tried = (self._passes.reason_against(*trial) for trial in trials)
        # Rounding may move a unit across its threshold: what differs once has to differ again.
        reason = next(tried) and (next(tried) or next(tried))
        self._stackable = not reason
        if not reason and self.draws:
            reason = "random numbers, which each net draws on its own"
        if wanted == "together" and reason:
            raise fail("way", "a module that torch.func takes as it is", reason, "leave out way")
        return wanted or ("one by one" if reason else "together")

    def _trial(self, count: int, batch: int, seed: int) -> tuple[Tensor, Tensor]:
        """Weights near the initial ones, and inputs each of whose numbers is that of an example."""
        generator, shape = torch.Generator().manual_seed(seed), self._example.shape
        noise = torch.randn(count, self.parameters, generator=generator)
        start = self._start.cpu()
        rows = torch.randint(shape[0], (count * batch, *shape[1:]), generator=generator)
        inputs = self._example.gather(0, rows).reshape(count, batch, *shape[1:])
        # Near the initial weights, then further: units that are silent there hide differences.
        return start + (0.1, 0.5, 1.0)[seed % 3] * noise * (start.abs() + 0.1), inputs


# Outputs that are trained numbers rather than matters of the input, beside a net's own -----------


def with_constants(net: Net, count: int) -> Net:
    """A net that puts out `count` more numbers, the last, the same for all inputs and trained.

    What a likelihood's ``constants`` asks for: log standard deviations, log dispersions. They
    begin at 0 and are the last of the weights, so that they are learned and pooled like them.
    ``tensors`` gives the net's own tensors alone, as its module takes them.

    Raises
    ------
    ValueError
        If `count` is not a whole number of at least 0.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> from empirical.train.kernel_net import KernelNet
    >>> net = with_constants(KernelNet(perceptron(3, 4, outputs=2)), 2)
    >>> net.outputs, net.parameters
    (4, 28)
    """
    count = as_integer("count", count, minimum=0)
    return _WithConstants(net, count) if count else net


@dataclass(frozen=True)
class _WithConstants:
    net: Net
    count: int

    @property
    def together(self) -> bool:
        return bool(getattr(self.net, "together", False))

    @property
    def parameters(self) -> int:
        return self.net.parameters + self.count

    @property
    def outputs(self) -> int:
        return self.net.outputs + self.count

    @property
    def words(self) -> Mapping[str, object]:
        return {**self.net.words, "constants": self.count}

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (*self.net.blocks, Block("constants", self.net.parameters, (self.count,)))

    def initial(self, seed: int) -> Tensor:
        own = self.net.initial(seed)
        return torch.cat([own, own.new_zeros(self.count)])

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        own, constants = weights[:, : -self.count], weights[:, -self.count :]
        return _appended(self.net.outputs_of(own, inputs), constants)

    def gradient(
        self,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        *,
        likelihood: Losses,
        into: Tensor,
        noise: Sequence[NoiseKey] = (),
    ) -> Tensor:
        through = _Appending(likelihood, weights[:, -self.count :], into[:, -self.count :])
        loss = self.net.gradient(
            weights[:, : -self.count],
            inputs,
            labels,
            likelihood=through,
            into=into[:, : -self.count],
            noise=noise,
        )
        assert through.seen == weights.shape[0], "a likelihood sees each net once, in order"
        return loss

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        if weights.shape != (self.parameters,):
            raise fail(
                "weights",
                f"shape ({self.parameters},)",
                f"shape {tuple(weights.shape)}",
                "give the weights of one net",
            )
        return self.net.tensors(weights[: -self.count])


class _Appending:
    """A likelihood of a net's own outputs: constants are put behind them, net after net."""

    def __init__(self, likelihood: Losses, constants: Tensor, into: Tensor) -> None:
        self._likelihood = likelihood
        self._constants, self._into = constants, into
        self.seen = 0

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        some = slice(self.seen, self.seen + outputs.shape[0])
        self.seen = some.stop
        own = outputs.shape[2]
        loss, grad = self._likelihood.loss(_appended(outputs, self._constants[some]), labels)
        torch.sum(grad[:, :, own:], dim=1, out=self._into[some])
        return loss, grad[:, :, :own].contiguous()


def _appended(outputs: Tensor, constants: Tensor) -> Tensor:
    """Shape (N, B, outputs) and (N, k): (N, B, outputs + k)."""
    widened = constants[:, None].expand(-1, outputs.shape[1], -1)
    return torch.cat([outputs, widened], dim=2)
