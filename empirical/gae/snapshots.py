"""What the autoencoder learns from: sorted weights of a net trained on all images in one place.

A trajectory is one training from fresh weights, with a snapshot after each epoch: the N_p weights
of largest square, in ascending order. Trajectories are kept in a file each, so that making them can
be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from empirical.data import Images
from empirical.gae.net import SIZE, Moments, Passes, epoch, initial, side_by_side, stream
from empirical.gae.recipe import Recipe
from empirical.keeping import load_tensors, save_tensors
from empirical.messages.codecs.pruned import largest
from theory.progress import Progress
from theory.validation import IntArray, as_integer, fail

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

    def as_json(self) -> dict[str, Any]:
        """All settings, in plain values."""
        return asdict(self)


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
        Trajectories made side by side, each by a thread; no bit depends on them.
    notice
        Told of files that are made again.

    Raises
    ------
    ValueError
        If training breaks down, or a file cannot be written.
    """
    found = torch.empty(plan.trajectories, plan.epochs, plan.kept)
    own = replace(recipe, batch=plan.batch, nodes=1, exchange="none")
    every = torch.arange(len(images)).numpy()
    words = {**plan.as_json(), **own.as_json(), "kind": KIND, "images": len(images)}
    del words["trajectories"]  # more of them may be added
    paths = [folder / f"trajectory-{n:03d}.safetensors" for n in range(plan.trajectories)]
    missing = []
    for number, path in enumerate(paths):
        kept = _read(path, words, notice)
        if kept is None:
            missing.append(number)
        else:
            found[number] = kept
    for start in range(0, len(missing), workers):
        numbers = missing[start : start + workers]
        if progress is not None:
            progress(plan.trajectories - len(missing) + start, plan.trajectories)
        made = _trajectories(plan, numbers, passes, every, own, device)
        for number, kept in zip(numbers, made, strict=True):
            save_tensors(paths[number], {"sorted": kept}, words)
            found[number] = kept
    if progress is not None:
        progress(plan.trajectories, plan.trajectories)
    return found


def _read(path: Path, words: dict[str, Any], notice: Callable[[str], None] | None) -> Tensor | None:
    if not path.exists():
        return None
    try:
        kept = load_tensors(path)
    except ValueError as error:
        if notice is not None:
            notice(str(error))
        return None
    if kept.words != words:
        if notice is not None:
            notice(f"{path}: not used, for it is of other settings")
        return None
    return kept.tensors["sorted"]


def _trajectories(
    plan: SnapshotPlan,
    numbers: Sequence[int],
    passes: Passes,
    every: IntArray,
    recipe: Recipe,
    device: str,
) -> Tensor:
    """Some of them, a thread each, epoch by epoch; shape (trajectories, epochs, kept)."""
    weights = torch.stack([initial(stream(plan.seed, _SNAPSHOTS, n)) for n in numbers]).to(device)
    moments = Moments.none(weights)
    found = torch.empty(len(numbers), plan.epochs, plan.kept)

    def one(row: int, place: int) -> None:
        random = stream(plan.seed, _SNAPSHOTS, numbers[row], place)
        epoch(passes, weights, moments, row, every, recipe, random)
        values = weights[row].cpu()
        kept = values[torch.from_numpy(largest(values.numpy(), plan.kept))]
        found[row, place] = kept.sort().values

    for place in range(plan.epochs):
        side_by_side(partial(one, place=place), len(numbers), workers=len(numbers))
    return found
