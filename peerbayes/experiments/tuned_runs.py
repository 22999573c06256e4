"""One training of `tuned`: its data, its settings, and what it comes to.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from empirical.data import CHECKSUMS, DataNotFound, Images
from empirical.dealing import DEALINGS, stratified_subset
from peerbayes.experiments.build import build_of_tuned
from peerbayes.experiments.net_parts import QUICK_IMAGES
from peerbayes.experiments.net_problem import OTHER_IMAGES, network_of
from peerbayes.experiments.net_rows import Row
from peerbayes.experiments.net_run import Setting, versions
from peerbayes.experiments.tuned_documents import TunedCourse, TunedTraining
from peerbayes.experiments.tuned_plan import TunedPart
from peerbayes.experiments.tuned_search import METHODS, Method, Search, Settings
from theory.changing import AnyNetwork
from theory.progress import Progress

if TYPE_CHECKING:
    from empirical.nets.architecture import Architecture
    from empirical.nets.shares import Shares
    from empirical.train.comparing import Length, Trained
    from empirical.train.split_images import SplitImages


def run_tuned(
    row: Row,
    part: TunedPart,
    trials: Sequence[TunedTraining],
    search: Search,
    *,
    is_quick: bool,
    setting: Setting,
    seed: int,
    mark: str,
    progress: Progress | None,
) -> TunedTraining:
    """Train and judge: a trial by validation data, what is chosen by test data.

    A training that breaks down is a result too; `trials` are those before this part.

    Raises
    ------
    ValueError
        If trials are missing, or parts do not fit each other.
    """
    from empirical.nets.architecture import perceptron
    from empirical.nets.training import TrainingFailed
    from empirical.train.comparing import Length, judged

    method, is_test = METHODS[part.method], part.purpose == "seed"
    before = [one.trial for one in trials]
    choice = search.chosen(method, before) if is_test else None
    if choice is None:
        settings = search.settings(method, before) if before else method.grid[part.number - 1]
    else:
        settings = choice.settings
    variant = row.variant(row.main)
    data = images_of(row.dataset, setting.data, setting.device, is_quick)
    dealing = DEALINGS[variant.dealing]
    shares = data.shares(lambda labels: dealing.deal(labels, seed=seed).indices)
    architecture = perceptron(*data.input_shape, *row.hidden, outputs=data.classes)
    length = Length(part.rounds, part.course.local_steps, part.course.batch)
    trained, measures, failed = None, {}, ""
    try:
        trained = _trained(
            method, settings, architecture, shares, network_of(variant.network), length,
            seed=seed, device=setting.device, progress=progress,
        )  # fmt: skip
    except TrainingFailed as error:
        failed = str(error)
    if trained is not None:
        others = data.others if is_test else None
        examples = data.test if is_test else data.validation
        try:
            measures = judged(architecture, trained, examples, others=others, seed=seed)
        except ValueError as error:  # a prediction is not finite
            failed = str(error)
    return TunedTraining(
        method=method.name,
        purpose=part.purpose,
        number=part.number,
        course=TunedCourse(
            local_steps=length.local_steps, batch=length.batch, rounds=length.rounds
        ),
        settings=dict(settings),
        edges=[] if choice is None else list(choice.edges),
        validation_loss=None if choice is None else choice.loss,
        agents=shares.agents,
        sizes=list(shares.sizes),
        labels=_held(shares),
        measures={name: [float(v) for v in values] for name, values in measures.items()},
        failed=failed,
        bytes_sent=0 if trained is None else trained.bytes_sent,
        local_steps=0 if trained is None else trained.local_steps,
        seconds=0.0 if trained is None else trained.seconds,
        seed=seed,
        mark=mark,
        build=build_of_tuned(),
        versions=versions(),
        data=dict(CHECKSUMS[row.dataset]),
    )


def _trained(
    method: Method,
    settings: Settings,
    architecture: Architecture,
    shares: Shares,
    network: AnyNetwork,
    length: Length,
    *,
    seed: int,
    device: str,
    progress: Progress | None,
) -> Trained:
    """What a method makes of the data."""
    from empirical.train.comparing import (
        train_alone,
        train_central,
        train_network,
        train_server,
    )
    from empirical.train.learners import learner_of

    if method.way == "server":
        return train_server(
            architecture, shares, network, length,
            rate=float(settings["rate"]), seed=seed, progress=progress,
        )  # fmt: skip
    own = {name: value for name, value in settings.items() if name != "mixture"}
    learner = learner_of(method.learner, **own)
    if method.way == "alone":
        return train_alone(
            architecture, shares, network, learner, length, mixture=str(settings["mixture"]),
            seed=seed, device=device, progress=progress,
        )  # fmt: skip
    train = train_central if method.way == "central" else train_network
    return train(
        architecture, shares, network, learner, length,
        seed=seed, device=device, progress=progress,
    )  # fmt: skip


def _held(shares: Shares) -> list[list[int]]:
    """The labels that each agent has."""
    return [sorted(set(shares.labels[rows].tolist())) for rows in shares.indices]


@cache
def images_of(dataset: str, folder: Path | None, device: str, is_quick: bool) -> SplitImages:
    """The images of a data set, and some of the other one; a sample of both for a quick run."""
    from empirical.data import load_images
    from empirical.train.split_images import SplitImages

    train, test = (load_images(dataset, split=s, directory=folder) for s in ("train", "test"))
    other = next(name for name in CHECKSUMS if name != dataset)
    try:
        others = _first(load_images(other, split="test", directory=folder), OTHER_IMAGES)
    except (DataNotFound, ValueError):  # an explicit folder may hold one data set only
        others = None
    if is_quick:
        few = stratified_subset(train.labels, QUICK_IMAGES, seed=0)
        train = Images(train.pixels[few], train.labels[few], train.name, train.classes, train.white)
        test = _first(test, OTHER_IMAGES)
    return SplitImages(train, test, others, device=device)


def _first(images: Images, count: int) -> Images:
    some = np.arange(min(count, len(images)))
    return Images(
        images.pixels[some], images.labels[some], images.name, images.classes, images.white
    )
