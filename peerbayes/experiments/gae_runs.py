"""What `gae` computes: one run with one seed.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from empirical import Images, load_images
from empirical.data import CHECKSUMS
from empirical.dealing import stratified_subset
from peerbayes.experiments.gae_course import Seen, follow_gae
from peerbayes.experiments.gae_rows import (
    QUICK_IMAGES,
    QUICK_TEST,
    TRIAL_IMAGES,
    TRIAL_TEST,
    GaePart,
    GaeRunPart,
    GaeTraffic,
    Run,
    gae_recipe,
)
from peerbayes.experiments.record_lines import is_held
from peerbayes.experiments.setting import Setting, behaviour_mark, lock_of, unfinished, versions
from theory.progress import Progress
from theory.validation import IntArray, fail

if TYPE_CHECKING:
    from empirical.gae.recipe import Recipe

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
