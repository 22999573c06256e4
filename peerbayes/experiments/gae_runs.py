"""What `gae` computes: one run with one seed.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from empirical import Images, load_images
from empirical.data import CHECKSUMS
from empirical.dealing import stratified_subset
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
    Run,
    gae_recipe,
    looks,
)
from peerbayes.experiments.record_lines import is_held
from peerbayes.experiments.setting import (
    GAE_AUTOENCODER,
    Setting,
    behaviour_mark,
    lock_of,
    unfinished,
    versions,
)
from theory.progress import Progress
from theory.validation import IntArray, fail

if TYPE_CHECKING:
    from empirical.gae.fitting import Fit, FitPlan
    from empirical.gae.recipe import Recipe
    from empirical.gae.rounds import Nodes, Split
    from empirical.gae.snapshots import SnapshotPlan
    from empirical.keeping import Generations


# The rounds of one run of `gae` ------------------------------------------------------------------


# Purposes of random numbers that all runs of a seed share.
_BEGINNING, _DEALING = 4, 5
# First word of the names that codecs' memories are kept by.
_MEMORY = "memory"


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
    from empirical.gae.local import stream
    from empirical.gae.net import initial
    from empirical.gae.passes import passes
    from empirical.gae.rounds import closing_coder_of, coder_of, split_of

    split = split_of(recipe.split, images.labels, recipe.nodes, stream(seed, _DEALING))
    begin = initial(stream(seed, _BEGINNING))
    coder = coder_of(recipe, begin, autoencoder=autoencoder)
    course = _Course(
        recipe, passes(images, device=setting.device), passes(tested, device=setting.device),
        split, coder, closing_coder_of(recipe, begin, coder), len(tested), seed, setting.workers,
    )  # fmt: skip
    return course.follow(begin.to(setting.device), generations, setting.resume, progress)


class Seen:
    """What a run has shown so far.

    Attributes
    ----------
    nodes, split
        Where training stands; who holds which images.
    rounds, accuracies
        Rounds that were looked at; then of each node.
    closing
        Looks between exchanges after the last round.
    seconds
        Of training and exchange.
    """

    def __init__(self, nodes: Nodes, split: Split) -> None:
        self.nodes, self.split = nodes, split
        self.rounds: list[int] = []
        self.accuracies: list[list[float]] = []
        self.closing: list[GaeClosing] = []
        self.seconds = 0.0


class _Course:
    """The rounds of one run, with looks at test images and states to go on from."""

    def __init__(
        self,
        recipe: Recipe,
        images: Any,
        tested: Any,
        split: Split,
        coder: Any,
        closing_coder: Any,
        test_images: int,
        seed: int,
        workers: int,
    ) -> None:
        self.recipe, self.images, self.tested, self.split = recipe, images, tested, split
        self.coder, self.closing_coder = coder, closing_coder
        self.test_images, self.seed, self.workers = test_images, seed, workers

    def follow(
        self,
        begin: Any,
        generations: Generations | None,
        resume: bool,
        progress: Progress | None,
    ) -> Seen:
        from empirical.gae.rounds import Nodes, one_round

        seen = Seen(Nodes.begin(begin, self.recipe.nodes), self.split)
        if generations is not None and resume:
            _take_up(seen, generations, str(begin.device))
        due = set(looks(self.recipe.rounds))
        between = {0, *looks(self.recipe.closing)}

        def look(exchanges: int) -> None:
            if exchanges in between:
                began = time.perf_counter()
                right, sent = self._right(seen), sum(seen.nodes.sent_bits)
                seen.closing.append(
                    GaeClosing(exchanges=exchanges, accuracies=right, sent_bits=sent)
                )
                seen.seconds -= time.perf_counter() - began

        for done in range(len(seen.nodes.losses) + 1, self.recipe.rounds + 1):
            start = time.perf_counter()
            one_round(
                seen.nodes, self.images, self.split.shares, self.coder, self.recipe,
                seed=self.seed, workers=self.workers, closing_coder=self.closing_coder, look=look,
            )  # fmt: skip
            seen.seconds += time.perf_counter() - start
            if done in due:
                seen.rounds.append(done)
                seen.accuracies.append(self._right(seen))
            if progress is not None:
                progress(done, self.recipe.rounds)
            if generations is not None and done < self.recipe.rounds and generations.due():
                _keep(seen, generations, done, self.recipe.rounds)
        return seen

    def _right(self, seen: Seen) -> list[float]:
        """Each node's accuracy now."""
        from empirical.gae.rounds import accuracies

        return accuracies(seen.nodes, self.tested, self.test_images, workers=self.workers)


def _keep(seen: Seen, generations: Generations, done: int, rounds: int) -> None:
    nodes = seen.nodes
    tensors = {
        "weights": nodes.weights, "first": nodes.moments.first, "second": nodes.moments.second,
        "steps": nodes.moments.steps,
    }  # fmt: skip
    for node, memory in enumerate(nodes.memories):
        tensors |= {f"{_MEMORY}.{node}.{name}": values for name, values in memory.items()}
    words = {
        "losses": nodes.losses, "looks": seen.rounds, "accuracies": seen.accuracies,
        "seconds": seen.seconds, "rounds": rounds, "sent_bits": nodes.sent_bits,
    }  # fmt: skip
    generations.save(done, tensors, words)


def _take_up(seen: Seen, generations: Generations, device: str) -> None:
    from empirical.gae.adam import Moments
    from empirical.gae.rounds import Nodes

    kept = generations.load()
    if kept is None:
        return
    own = {name: kept.tensors[name].to(device) for name in ("weights", "first", "second")}
    moments = Moments(own["first"], own["second"], kept.tensors["steps"])
    memories: list[dict[str, Any]] = [{} for _ in own["weights"]]
    for key, values in kept.tensors.items():
        if key.startswith(_MEMORY):
            _, node, name = key.split(".", 2)
            memories[int(node)][name] = values
    seen.nodes = Nodes(
        own["weights"], moments, kept.words["losses"], memories=memories,
        sent_bits=kept.words["sent_bits"],
    )  # fmt: skip
    seen.rounds, seen.accuracies = kept.words["looks"], kept.words["accuracies"]
    seen.seconds = kept.words["seconds"]


# What `gae` computes -----------------------------------------------------------------------------


# Of the few images of a quick run.
_DEAL = 0
# Seconds between two looks at whether another process has trained it.
_PAUSE = 1.0


def file_of(part: GaePart) -> str:
    """The name of the file of the autoencoder that a part trains or uses."""
    return f"{part.autoencoder.name.replace(' ', '-')}.safetensors"


def images_of(split: str, setting: Setting, *, is_quick: bool) -> Images:
    """All images of MNIST, or few of each digit."""
    images = load_images("mnist", split=split, directory=setting.data)
    if not is_quick:
        return images
    few = QUICK_IMAGES if split == "train" else QUICK_TEST
    return _chosen(images, stratified_subset(images.labels, few, seed=_DEAL))


def images_of_trial(setting: Setting) -> tuple[Images, Images]:
    """Training images to learn from, and others that a trial is judged by."""
    images = load_images("mnist", split="train", directory=setting.data)
    held = stratified_subset(images.labels, TRIAL_TEST, seed=_DEAL)
    left = _chosen(images, np.setdiff1d(np.arange(len(images)), held))
    learnt = stratified_subset(left.labels, TRIAL_IMAGES, seed=_DEAL)
    return _chosen(left, learnt), _chosen(images, held)


def _chosen(images: Images, places: IntArray) -> Images:
    return Images(images.pixels[places], images.labels[places], images.name, images.classes)


def run_gae(
    run: Run,
    recipe: Recipe,
    part: GaePart,
    *,
    is_quick: bool,
    setting: Setting,
    seed: int,
    fingerprint: str,
    autoencoder: dict[str, Any],
    progress: Progress | None,
) -> GaeRunPart:
    """Run all rounds; `autoencoder` has the words that its file must have.

    Raises
    ------
    ValueError
        If the autoencoder is missing or of other settings, or training breaks down.
    """
    if run.is_trial:
        images, tested = images_of_trial(setting)
    else:
        images, tested = (
            images_of(split, setting, is_quick=is_quick) for split in ("train", "test")
        )
    path = _autoencoder_file(part, setting, autoencoder) if run.needs_autoencoder else None
    seen = follow_gae(
        recipe, images, tested, seed=seed, setting=setting, autoencoder=path,
        generations=unfinished(part, setting, fingerprint), progress=progress,
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
        rounds=seen.rounds,
        accuracies=seen.accuracies,
        closing=seen.closing,
        mean_losses=[float(np.mean(row)) for row in seen.nodes.losses],
        traffic=_traffic(seen, recipe),
        autoencoder=None if path is None else _checksum(path),
        behaviour=behaviour_mark(gae_recipe(part)),
        versions=versions(),
        data=dict(CHECKSUMS["mnist"]),
        seconds=seen.seconds,
    )


def _traffic(seen: Seen, recipe: Recipe) -> GaeTraffic | None:
    """What went over the ring; None where nothing is sent."""
    from empirical.gae.net import SIZE
    from empirical.gae.rounds import LOSS_BITS, printed_bits

    bits = seen.nodes.sent_bits
    messages = recipe.nodes * recipe.exchanges
    if not sum(bits):
        return None
    return GaeTraffic(
        message_bits=sum(bits) / messages,
        printed_bits=printed_bits(recipe, SIZE)[recipe.exchange],
        beside_bits=LOSS_BITS,
        messages=messages,
        sent_bits=[sum(bits[:done]) for done in seen.rounds] if len(set(bits)) > 1 else None,
    )


def _autoencoder_file(part: GaePart, setting: Setting, words: dict[str, Any]) -> Path:
    """The file of the autoencoder, if it is there and of these settings."""
    from empirical.tensor_files import read_words

    remedy = f'train it first: --part "{part.autoencoder.name}"'
    path = (setting.folder or Path()) / file_of(part)
    while not path.is_file() and is_held(lock_of(part.autoencoder, path.parent)):
        time.sleep(_PAUSE)  # another process trains it
    if not path.is_file():
        raise fail(str(path), "the trained autoencoder", "no such file", remedy)
    found = read_words(path)
    if {name: found.get(name) for name in words} != words:
        raise fail(str(path), "an autoencoder of these settings", "one of others", remedy)
    return path


def _checksum(path: Path) -> str:
    from empirical.tensor_files import verify_file

    return verify_file(path).sha256


# The part of `gae` that trains the autoencoder, on snapshots that it makes first -----------------


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
