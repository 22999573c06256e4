"""The autoencoder: the snapshots that it learns from, its training, and what it is worth on others.

A trajectory is one training of the local net from fresh weights, on all images in one place, with a
snapshot after each epoch: the N_p weights of largest square, in ascending order. Trajectories are
kept in a file each, so that making them can be interrupted.

The paper draws its 500 validation snapshots at random from trajectories that the other 5 000 are
of, so that nearly every one has a neighbour of an epoch away among them. Beside that split,
"random", stands one by whole trajectories.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from empirical.data import Images
from empirical.gae.net import (
    SIZE,
    Passes,
    State,
    begin,
    epoch,
    initial,
    side_by_side,
    step,
    stream,
)
from empirical.gae.recipe import Recipe
from empirical.gae.rounds import largest_places
from empirical.keeping import Generations, save_tensors, usable
from empirical.messages.autoencoder import Autoencoder, untrained
from empirical.train.pooling import restore_tensors
from theory.progress import Progress
from theory.validation import as_integer, fail

# What the autoencoder learns from ----------------------------------------------------------------


KIND = "gae-trajectory"
_SNAPSHOTS = 2  # the first place of its streams


@dataclass(frozen=True)
class SnapshotPlan:
    """How many snapshots, of what.

    Attributes
    ----------
    trajectories, epochs
        Trainings from fresh weights, and epochs of each: 110 of 50 make the paper's 5 500
        ([C] started afresh every 50 epochs; [P] 5 000 and 500).
    batch
        Images a step ([C]).
    kept
        N_p.
    seed
        Of these trainings alone: no run of GAE shares it.
    """

    trajectories: int = 110
    epochs: int = 50
    batch: int = 6000
    kept: int = 50_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("trajectories", "epochs", "batch", "kept"):
            as_integer(name, getattr(self, name), minimum=1)
        if self.kept > SIZE:
            raise fail("kept", f"at most {SIZE}, the weights of the net", self.kept, "keep fewer")


def snapshots(
    plan: SnapshotPlan,
    passes: Passes,
    images: Images,
    folder: Path,
    *,
    recipe: Recipe,
    device: str = "cpu",
    workers: int = 1,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> Tensor:
    """All snapshots, shape (trajectories, epochs, kept), made or read back from `folder`.

    Parameters
    ----------
    recipe
        Of the net and its training; its batch is the plan's instead.
    workers
        Trajectories made side by side, each by a thread; no bit depends on them. On a GPU all are
        made by one.
    notice
        Told of files that are made again.

    Raises
    ------
    ValueError
        If training breaks down, or a file cannot be written.
    """
    workers = workers if device == "cpu" else 1
    found = torch.empty(plan.trajectories, plan.epochs, plan.kept)
    own = replace(recipe, batch=plan.batch, nodes=1, exchange="none")
    words = {**asdict(plan), **own.as_json(), "kind": KIND, "images": len(images)}
    del words["trajectories"]  # more of them may be added
    paths = [folder / f"trajectory-{n:03d}.safetensors" for n in range(plan.trajectories)]
    make, missing = partial(_trajectory, plan, passes, len(images), own, device), []
    for number, path in enumerate(paths):
        kept = usable(path, words, notice)
        if kept is None:
            missing.append(number)
        else:
            found[number] = kept.tensors["sorted"]
    for start in range(0, len(missing), workers):
        numbers = missing[start : start + workers]
        if progress is not None:
            progress(plan.trajectories - len(missing) + start, plan.trajectories)
        made = side_by_side(make, numbers, workers=workers)
        for number, sorted_weights in zip(numbers, made, strict=True):
            save_tensors(paths[number], {"sorted": sorted_weights}, words)
            found[number] = sorted_weights
    if progress is not None:
        progress(plan.trajectories, plan.trajectories)
    return found


def _trajectory(
    plan: SnapshotPlan, passes: Passes, images: int, recipe: Recipe, device: str, number: int
) -> Tensor:
    """One of them; shape (epochs, kept)."""
    weights = initial(stream(plan.seed, _SNAPSHOTS, number))[None].to(device)
    state, found = begin(weights), torch.empty(plan.epochs, plan.kept)
    for place in range(plan.epochs):
        random = stream(plan.seed, _SNAPSHOTS, number, place)
        epoch(passes, state, 0, np.arange(images), recipe, random)
        found[place] = weights[0, largest_places(weights[0], plan.kept)].sort().values
    return found


# Training the autoencoder on snapshots, and what it is worth on those that it has not seen -------


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
    device: str = "cpu",
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
    w, curves = recipe.exact, curves.to(device)
    between = curves.shape[-1] - 2 * w
    taken = _halves(curves, plan)[0][:, w : w + between]
    held_out = held_out_curves(curves, plan, recipe)
    own = untrained(
        between, recipe.latent, size=SIZE, kept=curves.shape[-1], exact=w,
        random=stream(plan.seed, _FITTING),
    )  # fmt: skip
    flat = torch.cat([part.reshape(-1) for layer in own.layers for part in layer])
    state = begin(flat[None].to(device))
    training, validation = list[float](), list[float]()
    kept = None if generations is None else generations.load()
    if kept is not None:
        restore_tensors(state, kept.tensors)
        training, validation = kept.words["training"], kept.words["validation"]
    for number in range(len(training), plan.epochs):
        training.append(_epoch(state, taken, own, plan, number))
        validation.append(_error(_with(own, state["weights"][0]), held_out))
        if progress is not None:
            progress(number + 1, plan.epochs)
        if generations is not None and generations.due():
            words = {"training": training, "validation": validation, "rounds": plan.epochs}
            generations.save(number + 1, state, words)
    variance = float((held_out - taken.mean(dim=0)).square().mean())
    made = _with(own, state["weights"][0].cpu())
    return Fit(made, tuple(training), tuple(validation), variance)


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


def _epoch(state: State, curves: Tensor, own: Autoencoder, plan: FitPlan, number: int) -> float:
    """Once over the curves; returns the mean squared error on the way."""
    order = torch.from_numpy(stream(plan.seed, _FITTING, 2, number).permutation(len(curves)))
    total = 0.0
    for start in range(0, len(order), plan.batch):
        chosen = order[start : start + plan.batch]
        some, free = curves[chosen], state["weights"][0].detach().requires_grad_()
        model = _with(own, free)
        error = functional.mse_loss(model.decode(model.encode(some)), some)
        (gradient,) = torch.autograd.grad(error, free)
        step(state, 0, gradient, Recipe())  # Adam's numbers are the library's
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
