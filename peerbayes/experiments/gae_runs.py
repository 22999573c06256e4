"""What `gae` computes: one run with one seed, or the training of the autoencoder on its snapshots.

Needs torch: `gae` imports it when a part is run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from empirical import Images, load_images
from empirical.data import CHECKSUMS
from empirical.dealing import stratified_subset
from empirical.gae.fitting import (
    SPLITS,
    Fit,
    FitPlan,
    SnapshotPlan,
    fit,
    held_out_curves,
    snapshots,
)
from empirical.gae.net import SIZE, Passes, initial, stream
from empirical.gae.recipe import Recipe
from empirical.gae.rounds import (
    LOSS_BITS,
    Gossip,
    Split,
    closing_coder_of,
    coder_of,
    printed_bits,
    split_of,
)
from empirical.keeping import Generations, Kept, read_words, verify_file
from empirical.messages.autoencoder import weights_of
from empirical.messages.codecs.pruned import knot_ranks, on_lines
from empirical.train.follow import Watch, follow
from empirical.train.history import RoundReport
from peerbayes.experiments.experiment import Job
from peerbayes.experiments.gae_rows import (
    QUICK_IMAGES,
    QUICK_TEST,
    TRIAL_IMAGES,
    TRIAL_TEST,
    GaeAutoencoderPart,
    GaeClosing,
    GaeCurve,
    GaeFit,
    GaePart,
    GaeRunPart,
    GaeTraffic,
    looks,
    plans_of,
    recipe_of,
    words_of,
)
from peerbayes.experiments.setting import Setting, is_held, lock_of, unfinished
from theory.progress import Progress
from theory.validation import fail

Plans = tuple[SnapshotPlan, FitPlan]

# Purposes of random numbers that all runs of a seed share.
_BEGINNING, _DEALING = 4, 5
# What is kept of what a run has shown, under these names.
_SEEN = ("losses", "sent_bits", "looked", "accuracies")
# Of the few images of a quick run.
_DEAL = 0
# Seconds between two looks at whether another process has trained it.
_PAUSE = 1.0
# Ranks at which a curve is kept for its figure.
_SHOWN = 240


# The rounds of a run ------------------------------------------------------------------------------


class Seen(Watch):
    """What a run has shown so far.

    Parameters
    ----------
    run, recipe, split, shown
        Where training stands, what it goes by, who holds which images, and those nodes are looked
        at by.

    Attributes
    ----------
    losses, sent_bits
        Of each round: of every node, in nats; bits of all bodies.
    looked, accuracies
        Rounds that were looked at; then of each node.
    closing
        Looks between exchanges after the last round.
    """

    def __init__(self, run: Gossip, recipe: Recipe, split: Split, shown: Passes) -> None:
        super().__init__()
        self.run, self.split, self._shown = run, split, shown
        self._due, self._closing = {*looks(recipe.rounds)}, {0, *looks(recipe.closing)}
        self.losses, self.accuracies = list[list[float]](), list[list[float]]()
        self.sent_bits, self.looked, self.closing = list[int](), list[int](), list[GaeClosing]()

    def before(self, round: int) -> Callable[[int], None]:
        """What is called before each closing exchange."""
        return self._look

    def _look(self, exchanges: int) -> None:
        """How good nodes are after so many closing exchanges, which takes no time of the run."""
        if exchanges in self._closing:
            began, sent = time.perf_counter(), sum(self.sent_bits) + self.run.sent_bits
            right = self.run.accuracies(self._shown)
            self.closing.append(GaeClosing(exchanges=exchanges, accuracies=right, sent_bits=sent))
            self.seconds -= time.perf_counter() - began

    def see(self, report: RoundReport) -> None:
        """Take in a round, and look at the nodes after some."""
        super().see(report)
        self.losses.append(report.loss.tolist())
        self.sent_bits.append(self.run.sent_bits)
        if report.round in self._due:
            self.looked.append(report.round)
            self.accuracies.append(self.run.accuracies(self._shown))

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """All that was seen, in plain values."""
        tensors, words = super().state()
        own = {name: getattr(self, name) for name in _SEEN}
        return tensors, {**words, **own, "closing": [one.as_json() for one in self.closing]}

    def restore(self, kept: Kept) -> None:
        """Go on from a :meth:`state`."""
        super().restore(kept)
        vars(self).update({name: kept.words[name] for name in _SEEN})
        self.closing = [GaeClosing.model_validate(one) for one in kept.words["closing"]]


def follow_gae(
    recipe: Recipe,
    images: Images,
    tested: Images,
    *,
    seed: int,
    setting: Setting,
    autoencoder: Path | None,
    generations: Generations | None = None,
    progress: Progress | None = None,
) -> Seen:
    """Deal the images, train by a recipe to its last round, and look on.

    Parameters
    ----------
    images, tested
        To learn from, and to look at.
    autoencoder
        The file of a trained one, where the exchange needs it.
    generations
        Where unfinished states are kept, and taken up if the setting says so; None: nowhere.

    Raises
    ------
    ValueError
        If the images cannot be dealt so, the autoencoder is of another recipe, or training breaks
        down.
    """
    begin = initial(stream(seed, _BEGINNING))
    coder = coder_of(recipe, begin, autoencoder=autoencoder)
    split = split_of(recipe.split, images.labels, recipe.nodes, stream(seed, _DEALING))
    learnt, shown = (Passes(some, device=setting.device) for some in (images, tested))
    run = Gossip(
        learnt, split.shares, coder, recipe, begin=begin.to(setting.device), seed=seed,
        workers=setting.workers, closing_coder=closing_coder_of(recipe, begin, coder),
    )  # fmt: skip
    return follow(
        run, recipe.rounds, Seen(run, recipe, split, shown),
        kept=generations, resume=setting.resume, progress=progress,
    )  # fmt: skip


# One run ------------------------------------------------------------------------------------------


def file_of(part: GaePart) -> str:
    """The name of the file of the autoencoder that a part trains or uses."""
    return f"{part.autoencoder.name.replace(' ', '-')}.safetensors"


def images_of(setting: Setting, *, is_quick: bool) -> tuple[Images, Images]:
    """Training and test images of MNIST, all of them or few of each digit."""
    found = []
    for split, few in (("train", QUICK_IMAGES), ("test", QUICK_TEST)):
        images = load_images("mnist", split=split, directory=setting.data)
        chosen = stratified_subset(images.labels, few, seed=_DEAL) if is_quick else None
        found.append(images if chosen is None else images.at(chosen))
    return found[0], found[1]


def images_of_trial(setting: Setting) -> tuple[Images, Images]:
    """Training images to learn from, and others that a trial is judged by."""
    images = load_images("mnist", split="train", directory=setting.data)
    held = stratified_subset(images.labels, TRIAL_TEST, seed=_DEAL)
    left = images.at(np.setdiff1d(np.arange(len(images)), held))
    return left.at(stratified_subset(left.labels, TRIAL_IMAGES, seed=_DEAL)), images.at(held)


def run_gae(part: GaePart, job: Job, *, is_quick: bool, setting: Setting) -> GaeRunPart:
    """Run all rounds.

    Raises
    ------
    ValueError
        If the autoencoder is missing or of other settings, or training breaks down.
    """
    run, recipe = part.run, recipe_of(part, is_quick=is_quick, device=setting.device)
    assert run is not None
    images, tested = (
        images_of_trial(setting) if run.is_trial else images_of(setting, is_quick=is_quick)
    )
    path, checksum = None, None
    if run.needs_autoencoder:
        path, checksum = _autoencoder_file(part, setting, words_of(part, is_quick=is_quick))
    seen = follow_gae(
        recipe, images, tested, seed=job.seed, setting=setting, autoencoder=path,
        generations=unfinished(part, setting, job.fingerprint), progress=job.progress,
    )  # fmt: skip
    split = seen.split
    return GaeRunPart(
        run=run.name,
        seed=part.seed,
        printed=run.printed,
        recipe=recipe.as_json(),
        images=sum(split.sizes),
        test_images=len(tested),
        digits=[list(own) for own in split.digits],
        missing_digits=list(split.missing),
        rounds=seen.looked,
        accuracies=seen.accuracies,
        closing=seen.closing,
        mean_losses=[float(np.mean(row)) for row in seen.losses],
        traffic=_traffic(seen, recipe),
        autoencoder=checksum,
        data=dict(CHECKSUMS["mnist"]),
        seconds=seen.seconds,
    )


def _traffic(seen: Seen, recipe: Recipe) -> GaeTraffic | None:
    """What went over the ring; None where nothing is sent."""
    bits = seen.sent_bits
    messages = recipe.nodes * recipe.exchanges
    if not sum(bits):
        return None
    return GaeTraffic(
        message_bits=sum(bits) / messages,
        printed_bits=printed_bits(recipe, SIZE)[recipe.exchange],
        beside_bits=LOSS_BITS,
        messages=messages,
        sent_bits=[sum(bits[:done]) for done in seen.looked] if len(set(bits)) > 1 else None,
    )


def _autoencoder_file(part: GaePart, setting: Setting, words: dict[str, Any]) -> tuple[Path, str]:
    """The file of the autoencoder and its checksum, if it is there and of these settings."""
    remedy = f'train it first: --part "{part.autoencoder.name}"'
    path = (setting.folder or Path()) / file_of(part)
    while not path.is_file() and is_held(lock_of(part.autoencoder, path.parent)):
        time.sleep(_PAUSE)  # another process trains it
    if not path.is_file():
        raise fail(str(path), "the trained autoencoder", "no such file", remedy)
    found = read_words(path)
    if {name: found.get(name) for name in words} != words:
        raise fail(str(path), "an autoencoder of these settings", "one of others", remedy)
    return path, verify_file(path).sha256


# The autoencoder ----------------------------------------------------------------------------------


def train_autoencoder(
    part: GaePart, job: Job, *, is_quick: bool, setting: Setting
) -> GaeAutoencoderPart:
    """Make snapshots, train by both splits, and keep the autoencoder of the paper's.

    Raises
    ------
    ValueError
        If there is no folder for it, training breaks down, or a file cannot be written.
    """
    if setting.folder is None:
        raise fail("--out", "a folder for the autoencoder", "none", "name one")
    start = time.perf_counter()
    recipe = recipe_of(part, is_quick=is_quick, device=setting.device)
    snapshot_plan, plan = plans_of(part, is_quick=is_quick)
    images, _ = images_of(setting, is_quick=is_quick)
    stages = snapshot_plan.trajectories, *(plan.epochs for _ in SPLITS)
    report = partial(_stage, job.progress, stages)
    curves = snapshots(
        snapshot_plan, Passes(images, device=setting.device), images,
        setting.folder / "snapshots", recipe=recipe, device=setting.device,
        workers=setting.workers, progress=report(0), notice=setting.notice,
    )  # fmt: skip
    own = [replace(plan, split=split) for split in SPLITS]
    fits = [
        _fitted(part, setting, job.fingerprint, curves, one, recipe, report(number))
        for number, one in enumerate(own, 1)
    ]
    used = replace(fits[0].autoencoder, words=words_of(part, is_quick=is_quick))
    file = file_of(part)
    sha256 = used.save(setting.folder / file)
    held = [held_out_curves(curves, one, recipe) for one in own]
    return GaeAutoencoderPart(
        snapshots=asdict(snapshot_plan),
        plan=asdict(plan),
        curves=curves.shape[0] * curves.shape[1],
        images=len(images),
        weights=weights_of(used.between, used.latent),
        fits=[
            GaeFit(
                split=one.split,
                training=list(fit.training),
                validation=list(fit.validation),
                constant=fit.variance,
                spline=_spline_error(out.numpy(), recipe),
            )
            for one, fit, out in zip(own, fits, held, strict=True)
        ],
        curve=_curve(used, held[0][-1], recipe),
        file=file,
        sha256=sha256,
        seconds=time.perf_counter() - start,
    )


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
    kept = unfinished(part, setting, fingerprint, plan.split)
    if kept is not None and not setting.resume:
        kept.remove()
    return fit(curves, plan, recipe, device=setting.device, generations=kept, progress=progress)


def _stage(
    progress: Progress | None, stages: tuple[int, ...], number: int
) -> Callable[[int, int], None] | None:
    """Progress of one of several stages in succession, as that of all."""
    if progress is None:
        return None
    return lambda done, _: progress(sum(stages[:number]) + done, sum(stages))


def _splined(curve: Any, recipe: Recipe) -> Any:
    """A curve by as many knots as the autoencoder has latent numbers."""
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
