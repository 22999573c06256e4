"""Which torch modules can be nets of a network, and what is said of those that cannot.

A net must be a function of its weights and of one input. What a module keeps beside its weights
and changes as it runs belongs to no agent's belief and is pooled by nobody; what mixes the inputs
of a batch makes a prediction depend on what it is asked together with. Both are refused, the
common cases by name and all others by trying the module on a few inputs.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.parameter import is_lazy

from empirical.nets.likelihood import Likelihood as Losses
from empirical.train.kernel_net import probed
from empirical.train.net import Layout, NoiseKey, joined, seed_of, seeded
from theory.validation import fail

# Which torch modules can be nets of a network, and what is said of those that cannot -------------


# Two ways through a net in float32 differ by rounding: a few thousand roundings of 6e-8 each.
CLOSE = 1e-3
# Every refusal of a module begins with the argument's name.
refused = partial(fail, "module")


@dataclass(frozen=True)
class Facts:
    """What trying a module showed.

    Attributes
    ----------
    outputs
        How many numbers it puts out for one input.
    draws
        Whether it draws random numbers in training, as dropout does.
    """

    outputs: int
    draws: bool


def own_copy(module: object) -> nn.Module:
    """A copy of a module that can be a net, so that later changes of the user's change nothing.

    Raises
    ------
    ValueError
        If a layer keeps statistics of batches, nothing can be trained, weights are not float32 on
        the CPU or have no shape yet, or the module cannot be copied.
    """
    if not isinstance(module, nn.Module):
        raise refused(
            "a torch.nn.Module, or a function without arguments that returns one",
            type(module).__name__,
            "give the module itself",
        )
    _check_layers(module)
    _check_parameters(module)
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise refused(
            "a module that copy.deepcopy copies",
            first_line(error),
            "keep no results of earlier passes in its attributes",
        ) from None


def _check_layers(module: nn.Module) -> None:
    for name, layer in module.named_modules():
        what = f"{type(layer).__name__}{f' {name!r}' if name else ''}"
        if isinstance(layer, _InstanceNorm):
            if layer.track_running_stats:
                raise refused(
                    "no running averages, which belong to no agent's belief",
                    what,
                    "use track_running_stats=False",
                )
        elif isinstance(layer, _BatchNorm):
            raise refused(
                "no statistics of batches, which are not pooled and differ from agent to agent",
                what,
                "use GroupNorm or LayerNorm in its place",
            )


def _check_parameters(module: nn.Module) -> None:
    tensors = [*module.named_parameters(), *module.named_buffers()]
    for name, tensor in tensors:
        if is_lazy(tensor):
            raise refused(
                "weights of known shapes",
                f"{name!r} without one",
                "call the module once on an input before",
            )
        if tensor.device.type != "cpu":
            raise refused(
                "weights on the CPU; training moves them",
                f"{name!r} on {tensor.device}",
                'call module.to("cpu")',
            )
    trainable = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    if not trainable:
        raise refused("trainable weights", "none", "leave requires_grad of some parameters True")
    for name, parameter in trainable:
        if parameter.dtype != torch.float32:
            complex_ = parameter.dtype.is_complex
            raise refused(
                "real weights in float32",
                f"{name!r} in {str(parameter.dtype).removeprefix('torch.')}",
                "write real and imaginary parts as two" if complex_ else "call module.float()",
            )


def examine(module: nn.Module, example: Tensor) -> Facts:
    """Try a module on a few inputs, shape (B, …), in prediction and in training.

    Raises
    ------
    ValueError
        If it fails, puts out what cannot be outputs, mixes inputs of a batch, or keeps something
        from one pass to the next.
    """
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    module.eval()
    first = _tried(module, example)
    _check_outputs(first, example)
    # All but one: half of them may be the others again, with the same mean.
    count = max(example.shape[0] - 1, 1)
    few = _tried(module, example[:count])
    again = _tried(module, example)
    # Said first: a buffer that changes may change the outputs, and has a name.
    _check_buffers(module, before)
    _check_memory(first, again, "in prediction")
    if not close(few, first[:count]):
        raise refused(
            "outputs of an input that do not depend on the others of its batch",
            "outputs that change with them",
            "use batch_first=True in recurrent and attention layers, and no statistics of batches",
        )
    module.train()
    with seeded(0):
        state = torch.get_rng_state()
        trained = ran(module, example)
        draws = not torch.equal(state, torch.get_rng_state())
    if not trained.requires_grad:
        raise refused("outputs that depend on trainable weights", "others", "use them in forward")
    _check_gradients(module, trained)
    with seeded(0):
        again = _tried(module, example)
    _tried_elsewhere(module, example)
    _check_buffers(module, before)
    _check_memory(trained.detach(), again, "in training, from one seed")
    return Facts(int(first.shape[1]), draws)


def _check_gradients(module: nn.Module, outputs: Tensor) -> None:
    weights = {name: p for name, p in module.named_parameters() if p.requires_grad}
    try:
        found = torch.autograd.grad(outputs.sum(), list(weights.values()), allow_unused=True)
    except Exception as error:
        got = f"{type(error).__name__} ({first_line(error)})"
        remedy = "change what has no gradient in forward"
        raise refused("outputs that can be differentiated", got, remedy) from None
    for name, gradient in zip(weights, found, strict=True):
        if gradient is not None and gradient.layout != torch.strided:
            remedy = "leave sparse=True out"
            raise refused("dense gradients", f"a sparse one of {name!r}", remedy)


def _check_buffers(module: nn.Module, before: dict[str, Tensor]) -> None:
    for name, buffer in module.named_buffers():
        if name not in before or not torch.equal(before[name], buffer):
            raise refused(
                "buffers that no pass changes",
                f"{name!r}, which one changed",
                "make it a parameter, or use a layer without running averages such as GroupNorm",
            )


def _tried_elsewhere(module: nn.Module, example: Tensor) -> None:
    """A pass in training with other weights, for buffers that follow the weights."""
    own = [(p, p.detach().clone()) for p in module.parameters() if p.requires_grad]
    with seeded(0), torch.no_grad():
        for parameter, _ in own:
            parameter.add_(0.1 * torch.randn_like(parameter))
        _tried(module, example)
        for parameter, before in own:
            parameter.copy_(before)


def close(a: Tensor, b: Tensor) -> bool:
    """Whether two results of one computation agree up to rounding in float32."""
    if a.shape != b.shape:
        return False
    scale = max(float(b.abs().max()), 1e-30) if b.numel() else 1.0
    return bool((a - b).abs().max() <= CLOSE * scale) if b.numel() else True


def _tried(module: nn.Module, inputs: Tensor) -> Tensor:
    with torch.no_grad():
        return ran(module, inputs)


def ran(module: nn.Module, inputs: Tensor) -> Tensor:
    """The outputs of a module, shape (B, outputs); what it raises is said in one line."""
    try:
        outputs = module(inputs)
    except Exception as error:
        raise refused(
            f"one that takes inputs of shape (B, {', '.join(map(str, inputs.shape[1:]))})"
            f" in {str(inputs.dtype).removeprefix('torch.')}",
            f"{type(error).__name__} ({first_line(error)})",
            "change the module or the inputs",
        ) from error
    return joined(outputs)


def _check_outputs(outputs: Tensor, example: Tensor) -> None:
    if outputs.shape[0] != example.shape[0]:
        raise refused(
            f"one row of outputs an input, {example.shape[0]} for as many",
            f"shape {tuple(outputs.shape)}",
            "keep the batch in the first axis",
        )
    if outputs.dtype != torch.float32:
        got = str(outputs.dtype).removeprefix("torch.")
        raise refused("outputs in float32", got, "keep its numbers real and in float32")
    if not torch.isfinite(outputs).all():
        bad = outputs[~torch.isfinite(outputs)][0].item()
        raise refused(
            "finite outputs at its initial weights",
            f"{bad}",
            "rescale the inputs, or begin from smaller weights",
        )


def _check_memory(first: Tensor, again: Tensor, when: str) -> None:
    if not close(again, first):
        raise refused(
            f"the same outputs for the same inputs {when}",
            "others at a second pass",
            "draw noise from torch's global generator in training alone, and keep no state",
        )


def first_line(error: Exception) -> str:
    """The first line of an error's message, of 200 signs at most."""
    return (str(error).strip().splitlines() or ["no message"])[0][:200]


# Forward and backward passes of a torch module with other weights than its own, in two ways ------


class Passes:
    """A module that takes weights from outside.

    Parameters
    ----------
    module
        Is not copied; it ends each pass with its own weights.
    layout
        Where its trainable tensors stand in a weight vector.
    """

    def __init__(self, module: nn.Module, layout: Layout) -> None:
        self.module, self._layout = module, layout
        self._slots = _slots(module)
        self._own = self._trainable()
        self._home = [parameter.data for parameter in self._own]

    def ready(self, device: torch.device, *, training: bool) -> None:
        """Put the module on a device and into its mode for training or prediction."""
        if self._home[0].device != device:
            self.module.to(device)
            self._own = self._trainable()
            self._home = [parameter.data for parameter in self._own]
        if self.module.training != training:
            self.module.train(training)

    # Forward ----------------------------------------------------------------------------------

    def together(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """Outputs of N nets, shape (N, B, outputs); inputs of shape (N or 1, B, …)."""
        return self._stacked(self._layout.views(weights), inputs)

    def alone(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """Outputs of one net, shape (B, outputs), from weights (d,) and inputs (B, …)."""
        with self._holding(weights):
            return ran(self.module, inputs)

    def _stacked(self, views: Sequence[Tensor], inputs: Tensor) -> Tensor:
        def of_one(parameters: dict[str, Tensor], own: Tensor) -> Tensor:
            return joined(functional_call(self.module, parameters, (own,), tie_weights=False))

        shared = inputs.shape[0] == 1
        parameters = {name: views[index] for name, index in self._slots.items()}
        run = vmap(of_one, in_dims=(0, None if shared else 0))
        # On a CPU only this way of attention goes together.
        with sdpa_kernel(SDPBackend.MATH) if inputs.device.type == "cpu" else nullcontext():
            found: Tensor = run(parameters, inputs[0] if shared else inputs)
        return found

    @contextmanager
    def _holding(self, weights: Tensor) -> Iterator[None]:
        """The module has these weights, shape (d,), and its own again afterwards."""
        try:
            for parameter, view in zip(self._own, self._layout.views(weights), strict=True):
                parameter.data = view
            yield
        finally:
            for parameter, home in zip(self._own, self._home, strict=True):
                parameter.data = home

    def _trainable(self) -> list[nn.Parameter]:
        return [p for p in self.module.parameters() if p.requires_grad]

    # And backward -----------------------------------------------------------------------------

    def gradient_together(
        self, weights: Tensor, inputs: Tensor, labels: Tensor, likelihood: Losses, into: Tensor
    ) -> Tensor:
        """Losses of N nets, shape (N,); their gradients are written to `into`, shape (N, d)."""
        leaves = [view.detach().requires_grad_() for view in self._layout.views(weights)]
        return self._back(self._stacked(leaves, inputs), labels, likelihood, leaves, into)

    def gradient_alone(
        self,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        likelihood: Losses,
        into: Tensor,
        noise: NoiseKey | None = None,
    ) -> Tensor:
        """The loss of one net, shape (1,); all arguments as those of N nets, with N = 1."""
        draws = nullcontext() if noise is None else seeded(seed_of(noise), weights.device)
        with self._holding(weights[0]):
            with draws:
                outputs = ran(self.module, inputs[0])[None]
            return self._back(outputs, labels, likelihood, self._own, into[0])

    def _back(
        self,
        outputs: Tensor,
        labels: Tensor,
        likelihood: Losses,
        leaves: Sequence[Tensor],
        into: Tensor,
    ) -> Tensor:
        """Losses; the gradient by the leaves to `into`, 0 where outputs do not depend on one."""
        # A copy, which the likelihood may overwrite: autograd may need what was put out.
        loss, grad = likelihood.loss(outputs.detach().clone(), labels)
        back = torch.autograd.grad(outputs, leaves, grad, allow_unused=True)
        for place, found in zip(self._layout.views(into), back, strict=True):
            place.zero_() if found is None else place.copy_(found)
        return loss

    def reason_against(self, weights: Tensor, inputs: Tensor) -> str:
        """Why nets cannot go together, found by trying: '' if they can.

        Parameters
        ----------
        weights, inputs
            Of a few nets: shapes (N, d) and (N, B, …).
        """
        expected = probed(lambda _, *own: self.gradient_alone(*own), weights, inputs, size=1)
        count = weights.shape[0]
        try:
            # Filters of warnings are the whole process's, too.
            with seeded(0), warnings.catch_warnings():
                # Said of what vmap does in a loop of its own, at a loss.
                warnings.filterwarnings("error", message="There is a performance drop")
                found = probed(
                    lambda _, *own: self.gradient_together(*own), weights, inputs, size=count
                )
        except Exception as error:  # whatever a module does under vmap, it does not alone
            return f"{type(error).__name__}: {(str(error).strip() or '?').splitlines()[0][:160]}"
        if not all(close(a, b) for a, b in zip(found, expected, strict=True)):
            return "other numbers together than alone"
        return ""


def _slots(module: nn.Module) -> dict[str, int]:
    """Each attribute of a layer that holds a trainable parameter, and which of them it holds.

    A parameter that two layers share has two; a layer that stands in two places has one.
    """
    trainable = [p for p in module.parameters() if p.requires_grad]
    numbers = {id(parameter): index for index, parameter in enumerate(trainable)}
    return {
        f"{name}.{key}" if name else key: numbers[id(parameter)]
        for name, layer in module.named_modules()
        for key, parameter in layer.named_parameters(recurse=False, remove_duplicate=False)
        if id(parameter) in numbers
    }
