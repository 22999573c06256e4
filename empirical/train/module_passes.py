"""Forward and backward passes of a torch module with other weights than its own, in two ways.

*Together*: ``torch.func`` runs the module on the weights of many nets at once (``functional_call``
under ``vmap``). *Alone*: the module is given the weights of one net, as views, and runs as its
author wrote it; this takes every module, recurrent ones and those whose control flow depends on
data among them. Both differentiate the outputs by the derivative that the likelihood writes out.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from empirical.nets.likelihood import Likelihood as Losses
from empirical.train.groups import probed
from empirical.train.layout import Layout
from empirical.train.module_checks import close, ran
from empirical.train.module_outputs import joined
from empirical.train.net import NoiseKey
from empirical.train.seeding import seed_of, seeded


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
        try:
            self._take(weights)
            return ran(self.module, inputs)
        finally:
            self._let_go()

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

    def _take(self, weights: Tensor) -> None:
        for parameter, view in zip(self._own, self._layout.views(weights), strict=True):
            parameter.data = view

    def _let_go(self) -> None:
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
        outputs = self._stacked(leaves, inputs)
        # A copy, which the likelihood may overwrite: autograd may need what was put out.
        loss, grad = likelihood.loss(outputs.detach().clone(), labels)
        back = torch.autograd.grad(outputs, leaves, grad, allow_unused=True)
        _write(self._layout.views(into), back)
        return loss

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
        try:
            self._take(weights[0])
            draws = nullcontext() if noise is None else seeded(seed_of(noise), weights.device)
            with draws:
                outputs = ran(self.module, inputs[0])
            loss, grad = likelihood.loss(outputs.detach().clone()[None], labels)
            back = torch.autograd.grad(outputs, self._own, grad[0], allow_unused=True)
        finally:
            self._let_go()
        _write(self._layout.views(into[0]), back)
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


def _write(places: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> None:
    """Gradients to their places; a weight that the outputs do not depend on has gradient 0."""
    for place, found in zip(places, gradients, strict=True):
        if found is None:
            place.zero_()
        else:
            place.copy_(found)
