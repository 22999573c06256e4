"""The part of `gae` that trains the autoencoder, on snapshots that it makes first.

Everything that needs torch is imported when the part is run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from peerbayes.experiments.gae_rows import GaeAutoencoderPart, GaeCurve, GaeFit, GaePart
from peerbayes.experiments.gae_runs import file_of, images_of
from peerbayes.experiments.setting import (
    GAE_AUTOENCODER,
    Setting,
    behaviour_mark,
    unfinished,
    versions,
)
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from empirical.gae.fitting import Fit, FitPlan
    from empirical.gae.recipe import Recipe
    from empirical.gae.snapshots import SnapshotPlan

# Ranks at which a curve is kept for its figure.
_SHOWN = 240


def train_autoencoder(
    part: GaePart,
    recipe: Recipe,
    snapshot_plan: SnapshotPlan,
    plan: FitPlan,
    *,
    is_quick: bool,
    setting: Setting,
    fingerprint: str,
    words: dict[str, Any],
    progress: Progress | None,
) -> GaeAutoencoderPart:
    """Make snapshots, train by both splits, and keep the autoencoder of the paper's.

    Raises
    ------
    ValueError
        If there is no folder for it, training breaks down, or a file cannot be written.
    """
    from empirical.gae.fitting import SPLITS, held_out_curves
    from empirical.gae.passes import passes
    from empirical.gae.snapshots import snapshots
    from empirical.messages.autoencoder import weights_of

    if setting.folder is None:
        raise fail("--out", "a folder for the autoencoder", "none", "name one")
    start = time.perf_counter()
    images = images_of("train", setting, is_quick=is_quick)
    steps = snapshot_plan.trajectories + len(SPLITS) * plan.epochs
    curves = snapshots(
        snapshot_plan, passes(images, device=setting.device), images,
        setting.folder / "snapshots", recipe=recipe, device=setting.device,
        workers=setting.workers, progress=_from(progress, 0, steps), notice=setting.notice,
    )  # fmt: skip
    fits = []
    for number, split in enumerate(SPLITS):
        report = _from(progress, snapshot_plan.trajectories + number * plan.epochs, steps)
        own = replace(plan, split=split)
        fits.append(_fitted(part, setting, fingerprint, curves, own, recipe, report))
    used = replace(fits[0].autoencoder, words=words)
    file = file_of(part)
    sha256 = used.save(setting.folder / file)
    held = [held_out_curves(curves, replace(plan, split=split), recipe) for split in SPLITS]
    return GaeAutoencoderPart(
        snapshots=snapshot_plan.as_json(),
        plan=plan.as_json(),
        curves=curves.shape[0] * curves.shape[1],
        images=len(images),
        weights=weights_of(used.between, used.latent),
        fits=[
            _as_document(split, one, own.numpy(), recipe)
            for split, one, own in zip(SPLITS, fits, held, strict=True)
        ],
        curve=_curve(used, held[0][-1], recipe),
        file=file,
        sha256=sha256,
        behaviour=behaviour_mark(GAE_AUTOENCODER),
        versions=versions(),
        seconds=time.perf_counter() - start,
    )  # fmt: skip


def _fitted(
    part: GaePart,
    setting: Setting,
    fingerprint: str,
    curves: Any,
    plan: FitPlan,
    recipe: Recipe,
    progress: Progress | None,
) -> Fit:
    """One training, gone on with where it was if that is asked for."""
    from empirical.gae.fitting import fit

    kept = unfinished(part, setting, fingerprint, plan.split)
    if kept is not None and not setting.resume:
        kept.remove()
    return fit(curves, plan, recipe, generations=kept, progress=progress)


def _as_document(split: str, one: Fit, curves: Any, recipe: Recipe) -> GaeFit:
    """One training; `curves` are those held out."""
    return GaeFit(
        split=split,
        training=list(one.training),
        validation=list(one.validation),
        constant=one.variance,
        spline=_spline_error(curves, recipe),
    )


def _from(progress: Progress | None, begin: int, total: int) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, _: progress(begin + done, total)


def _splined(curve: Any, recipe: Recipe) -> Any:
    """A curve by as many knots as the autoencoder has latent numbers."""
    from empirical.messages.codecs.pruned import knot_ranks, on_lines

    below = int((curve < 0).sum())
    ranks = knot_ranks(curve.size, below, recipe.latent)
    return on_lines(ranks, curve[ranks], curve.size, below)


def _spline_error(curves: Any, recipe: Recipe) -> float:
    """Mean squared error over curves."""
    errors = [float(np.square(_splined(own, recipe) - own).mean()) for own in curves]
    return float(np.mean(errors))


def _curve(used: Any, curve: Any, recipe: Recipe) -> GaeCurve:
    """A curve and what is made of it, at some ranks."""
    ranks = np.linspace(0, len(curve) - 1, _SHOWN).round().astype(int)
    own = curve.numpy()
    decoded = used.decode(used.encode(curve)).numpy()
    return GaeCurve(
        ranks=(ranks + recipe.exact).tolist(),
        sorted=own[ranks].tolist(),
        autoencoder=decoded[ranks].tolist(),
        spline=_splined(own, recipe)[ranks].tolist(),
    )
