"""Training the autoencoder on snapshots, and what it is worth on those that it has not seen.

The paper draws its 500 validation snapshots at random from trajectories that the other 5 000 are
of, so that nearly every one has a neighbour of an epoch away among them. Beside that split,
"random", stands one by whole trajectories.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from empirical.gae.adam import Moments, step
from empirical.gae.local import stream
from empirical.gae.net import SIZE
from empirical.gae.recipe import Recipe
from empirical.keeping import Generations
from empirical.messages.autoencoder import Autoencoder, untrained
from theory.progress import Progress
from theory.validation import as_integer, fail

SPLITS = ("random", "trajectories")
_FITTING = 3  # the first place of its streams


@dataclass(frozen=True)
class FitPlan:
    """How the autoencoder is trained.

    Attributes
    ----------
    epochs
        [P] 25.
    batch
        [C] 256.
    held_out
        Share of snapshots that are kept for validation; [P] 500 of 5 500.
    split
        Which: one of SPLITS; [C] "random".
    seed
        Of initial weights, the split and the order of snapshots.
    """

    epochs: int = 25
    batch: int = 256
    held_out: float = 1 / 11
    split: str = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        as_integer("epochs", self.epochs, minimum=1)
        as_integer("batch", self.batch, minimum=1)
        if not 0.0 < self.held_out < 1.0:
            raise fail("held_out", "a share between 0 and 1", self.held_out, "give such a share")
        if self.split not in SPLITS:
            wanted = " or ".join(map(repr, SPLITS))
            raise fail("split", wanted, repr(self.split), "choose one of them")

    def as_json(self) -> dict[str, Any]:
        """All settings, in plain values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Fit:
    """A trained autoencoder and its course.

    Attributes
    ----------
    autoencoder
        The last epoch's.
    training, validation
        Mean squared errors after each epoch.
    variance
        Mean squared distance of validation curves from the training curves' mean: what a constant
        curve would leave.
    """

    autoencoder: Autoencoder
    training: tuple[float, ...]
    validation: tuple[float, ...]
    variance: float


def fit(
    curves: Tensor,
    plan: FitPlan,
    recipe: Recipe,
    *,
    generations: Generations | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Train on sorted weights.

    Parameters
    ----------
    curves
        Shape (trajectories, epochs, N_p), each ascending.
    recipe
        Says N_p, w and N_l.
    generations
        Where unfinished states are kept, and taken up; None: nowhere.

    Raises
    ------
    ValueError
        If there are too few snapshots to hold some out.
    """
    w = recipe.exact
    between = curves.shape[-1] - 2 * w
    taken = _halves(curves, plan)[0][:, w : w + between]
    held_out = held_out_curves(curves, plan, recipe)
    own = untrained(
        between, recipe.latent, size=SIZE, kept=curves.shape[-1], exact=w,
        random=stream(plan.seed, _FITTING),
    )  # fmt: skip
    flat = torch.cat([part.reshape(-1) for layer in own.layers for part in layer])[None]
    moments, training, validation = Moments.none(flat), list[float](), list[float]()
    kept = None if generations is None else generations.load()
    if kept is not None:
        flat, first = kept.tensors["weights"], kept.tensors["first"]
        moments = Moments(first, kept.tensors["second"], kept.tensors["steps"])
        training, validation = kept.words["training"], kept.words["validation"]
    for number in range(len(training), plan.epochs):
        training.append(_epoch(flat, moments, taken, own, plan, number))
        validation.append(_error(_with(own, flat[0]), held_out))
        if progress is not None:
            progress(number + 1, plan.epochs)
        if generations is not None and generations.due():
            tensors = {
                "weights": flat, "first": moments.first, "second": moments.second,
                "steps": moments.steps,
            }  # fmt: skip
            words = {"training": training, "validation": validation, "rounds": plan.epochs}
            generations.save(number + 1, tensors, words)
    variance = float((held_out - taken.mean(dim=0)).square().mean())
    return Fit(_with(own, flat[0]), tuple(training), tuple(validation), variance)


def held_out_curves(curves: Tensor, plan: FitPlan, recipe: Recipe) -> Tensor:
    """The curves that a plan holds out, without their exact ends; shape (n, N_p − 2w)."""
    w = recipe.exact
    return _halves(curves, plan)[1][:, w : curves.shape[-1] - w]


def _halves(curves: Tensor, plan: FitPlan) -> tuple[Tensor, Tensor]:
    """Curves to train on and curves held out, shapes (n, N_p)."""
    whole = plan.split == "trajectories"
    units = curves if whole else curves.reshape(-1, 1, curves.shape[-1])
    out = round(plan.held_out * len(units))
    if not 0 < out < len(units):
        wanted = f"enough to hold {plan.held_out:.3g} of them out"
        what = "trajectories" if whole else "snapshots"
        raise fail(what, wanted, len(units), "make more")
    order = torch.from_numpy(stream(plan.seed, _FITTING, 1).permutation(len(units)))
    return tuple(units[own].flatten(0, 1) for own in (order[out:], order[:out]))  # type: ignore[return-value]


def _epoch(
    flat: Tensor, moments: Moments, curves: Tensor, own: Autoencoder, plan: FitPlan, number: int
) -> float:
    """Once over the curves; returns the mean squared error on the way."""
    order = torch.from_numpy(stream(plan.seed, _FITTING, 2, number).permutation(len(curves)))
    total = 0.0
    for start in range(0, len(order), plan.batch):
        chosen = order[start : start + plan.batch]
        some, free = curves[chosen], flat[0].detach().requires_grad_()
        model = _with(own, free)
        error = functional.mse_loss(model.decode(model.encode(some)), some)
        (gradient,) = torch.autograd.grad(error, free)
        step(flat, moments, 0, gradient)
        total += float(error.detach()) * len(some)
    return total / len(curves)


@torch.no_grad()
def _error(own: Autoencoder, curves: Tensor) -> float:
    """The mean squared error."""
    return float((own.decode(own.encode(curves)) - curves).square().mean())


def _with(own: Autoencoder, flat: Tensor) -> Autoencoder:
    """The same with its weights as views of one vector."""
    layers, start = [], 0
    for weights, biases in own.layers:
        middle = start + weights.numel()
        end = middle + biases.numel()
        layers.append((flat[start:middle].view(weights.shape), flat[middle:end]))
        start = end
    return replace(own, layers=tuple(layers))
