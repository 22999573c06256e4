"""One training of `tuned`: its data, its settings, and what it comes to.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from empirical.data import CHECKSUMS
from empirical.dealing import DEALINGS
from peerbayes.experiments.experiment import Job
from peerbayes.experiments.net_rows import Row
from peerbayes.experiments.net_run import OTHER_IMAGES, images_of, network_of, others_of
from peerbayes.experiments.setting import Setting
from peerbayes.experiments.tuned_search import (
    METHODS,
    Method,
    Search,
    Settings,
    TunedCourse,
    TunedPart,
    TunedTraining,
    recorded_learner,
)
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
    job: Job,
    *,
    is_quick: bool,
    setting: Setting,
    mark: str,
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
    if choice is not None:
        settings = choice.settings
    else:  # those of the grid depend on no other trial
        settings = search.settings(method, before) if before else method.grid[part.number - 1]
    variant = row.variant(row.main)
    data = split_images(row.dataset, setting.data, setting.device, is_quick)
    shares = data.shares(
        lambda labels: DEALINGS[variant.dealing].deal(labels, seed=job.seed).indices
    )
    course = TunedCourse(
        local_steps=part.course.local_steps, batch=part.course.batch, rounds=part.rounds
    )
    attempt = Attempt(
        method, settings, perceptron(*data.input_shape, *row.hidden, outputs=data.classes), shares,
        network_of(variant.network), Length(course.rounds, course.local_steps, course.batch),
        job.seed, setting.device,
    )  # fmt: skip
    ended = attempt.run(data, is_test=choice is not None, progress=job.progress)
    return TunedTraining(
        method=method.name,
        purpose=part.purpose,
        number=part.number,
        course=course,
        settings=dict(settings),
        edges=[] if choice is None else list(choice.edges),
        validation_loss=None if choice is None else choice.loss,
        agents=shares.agents,
        sizes=list(shares.sizes),
        labels=[sorted(set(shares.labels[rows].tolist())) for rows in shares.indices],
        seed=job.seed,
        mark=mark,
        data=dict(CHECKSUMS[row.dataset]),
        **ended,
    )


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
        from empirical.train.comparing import judged
        from empirical.train.steps import TrainingFailed

        try:
            trained = self._trained(progress)
        except TrainingFailed as error:
            return {"measures": {}, "failed": str(error), "seconds": 0.0}
        cost = {k: getattr(trained, k) for k in ("bytes_sent", "local_steps", "seconds")}
        others = data.others if is_test else None
        examples = data.test if is_test else data.validation
        try:
            found = judged(self.architecture, trained, examples, others=others, seed=self.seed)
        except ValueError as error:  # a prediction is not finite
            return {"measures": {}, "failed": str(error), **cost}
        return {"measures": {name: values.tolist() for name, values in found.items()}, **cost}

    def _trained(self, progress: Progress | None) -> Trained:
        """The nets that the method makes of the data."""
        from empirical.train import comparing

        what = self.architecture, self.shares, self.network
        how: dict[str, Any] = {"seed": self.seed, "progress": progress}
        own = dict(self.settings)
        if self.method.way == "server":
            return comparing.train_server(*what, self.length, rate=float(own["rate"]), **how)
        how["device"] = self.device
        if self.method.way == "alone":
            how["mixture"] = str(own.pop("mixture"))
        train: Mapping[str, Callable[..., Trained]] = {
            "alone": comparing.train_alone,
            "central": comparing.train_central,
            "network": comparing.train_network,
        }
        return train[self.method.way](
            *what, recorded_learner(self.method.learner, **own), self.length, **how
        )


@cache
def split_images(dataset: str, folder: Path | None, device: str, is_quick: bool) -> SplitImages:
    """The images of a data set, and some of the other one; a sample of both for a quick run."""
    from empirical.train.split_images import SplitImages

    train, test = images_of(dataset, folder, is_quick)
    if is_quick:
        test = test.at(np.arange(min(OTHER_IMAGES, len(test))))
    return SplitImages(train, test, others_of(dataset, folder), device=device)
