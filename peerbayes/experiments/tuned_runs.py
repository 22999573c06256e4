"""One training of `tuned`: its data, its settings, and what it comes to.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from empirical.data import CHECKSUMS, DataNotFound, Images
from empirical.dealing import DEALINGS, stratified_subset
from peerbayes.experiments.net_rows import QUICK_IMAGES, Row
from peerbayes.experiments.net_run import OTHER_IMAGES, network_of
from peerbayes.experiments.setting import Setting, behaviour_mark, tuned_recipe, versions
from peerbayes.experiments.tuned_search import (
    METHODS,
    Method,
    Search,
    Settings,
    Trial,
    TunedCourse,
    TunedPart,
    TunedTraining,
    recorded_learner,
)
from theory.changing import AnyNetwork
from theory.progress import Progress

if TYPE_CHECKING:
    from empirical.nets.architecture import Architecture
    from empirical.nets.descent import Shares
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
        If trials are missing.
    """
    from empirical.nets.architecture import perceptron
    from empirical.train.comparing import Length

    method, before = METHODS[part.method], [one.trial for one in trials]
    choice = search.chosen(method, before) if part.purpose == "seed" else None
    variant = row.variant(row.main)
    data = images_of(row.dataset, setting.data, setting.device, is_quick)
    shares = data.shares(lambda labels: DEALINGS[variant.dealing].deal(labels, seed=seed).indices)
    attempt = Attempt(
        method,
        _settings(method, part, before, search) if choice is None else choice.settings,
        perceptron(*data.input_shape, *row.hidden, outputs=data.classes),
        shares,
        network_of(variant.network),
        Length(part.rounds, part.course.local_steps, part.course.batch),
        seed,
        setting.device,
    )
    ended = attempt.run(data, is_test=choice is not None, progress=progress)
    return TunedTraining(
        method=method.name,
        purpose=part.purpose,
        number=part.number,
        course=TunedCourse(
            local_steps=part.course.local_steps, batch=part.course.batch, rounds=part.rounds
        ),
        settings=dict(attempt.settings),
        edges=[] if choice is None else list(choice.edges),
        validation_loss=None if choice is None else choice.loss,
        agents=shares.agents,
        sizes=list(shares.sizes),
        labels=[sorted(set(shares.labels[rows].tolist())) for rows in shares.indices],
        seed=seed,
        mark=mark,
        behaviour=behaviour_mark(tuned_recipe(method.name)),
        versions=versions(),
        data=dict(CHECKSUMS[row.dataset]),
        **ended,
    )


def _settings(method: Method, part: TunedPart, before: Sequence[Trial], search: Search) -> Settings:
    """What a trial tries: those of the grid depend on no other."""
    return search.settings(method, before) if before else method.grid[part.number - 1]


@dataclass(frozen=True, eq=False)
class Attempt:
    """A method with settings, on data and a network."""

    method: Method
    settings: Settings
    architecture: Architecture
    shares: Shares
    network: AnyNetwork
    length: Length
    seed: int
    device: str

    def run(self, data: SplitImages, *, is_test: bool, progress: Progress | None) -> dict[str, Any]:
        """What it comes to by validation or test data, or why it broke down."""
        from empirical.nets.training import TrainingFailed
        from empirical.train.comparing import judged

        try:
            trained = self._trained(progress)
        except TrainingFailed as error:
            return {"measures": {}, "failed": str(error), "seconds": 0.0}
        cost = {
            "bytes_sent": trained.bytes_sent,
            "local_steps": trained.local_steps,
            "seconds": trained.seconds,
        }
        others = data.others if is_test else None
        examples = data.test if is_test else data.validation
        try:
            found = judged(self.architecture, trained, examples, others=others, seed=self.seed)
        except ValueError as error:  # a prediction is not finite
            return {"measures": {}, "failed": str(error), **cost}
        return {"measures": {name: values.tolist() for name, values in found.items()}, **cost}

    def _trained(self, progress: Progress | None) -> Trained:
        """The nets that the method makes of the data."""
        from empirical.train.comparing import (
            train_alone,
            train_central,
            train_network,
            train_server,
        )

        what = self.architecture, self.shares, self.network
        if self.method.way == "server":
            rate = float(self.settings["rate"])
            return train_server(*what, self.length, rate=rate, seed=self.seed, progress=progress)
        own = {name: value for name, value in self.settings.items() if name != "mixture"}
        learner = recorded_learner(self.method.learner, **own)
        if self.method.way == "alone":
            return train_alone(
                *what, learner, self.length, mixture=str(self.settings["mixture"]),
                seed=self.seed, device=self.device, progress=progress,
            )  # fmt: skip
        train = train_central if self.method.way == "central" else train_network
        return train(
            *what, learner, self.length, seed=self.seed, device=self.device, progress=progress
        )


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
