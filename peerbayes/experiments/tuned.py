"""`tuned`: on a row with neural nets, methods that get the same search and are tested once.

Each method's settings are chosen by trials with seed 0 on images held out of the training images;
then the chosen setting is run with several seeds, and those runs alone look at the test images. A
part is one training, so that a record grows training by training.

Lines have means over agents, then over seeds; standard errors are over seeds. Where methods are
compared, each kind is stood for by the method with the least loss on validation data, and seeds are
paired. No theorem speaks of these numbers: no line is predicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.experiments.experiment import Job, Line, code_words, line, mean_and_error
from peerbayes.experiments.net_run import (
    OTHER_IMAGES,
    RowExperiment,
    images_of,
    network_of,
    others_of,
    weights_mark,
)
from peerbayes.experiments.short_records import read_row
from peerbayes.experiments.tuned_search import (
    COURSES,
    METHODS,
    Method,
    Search,
    Settings,
    TunedCourse,
    TunedPart,
    TunedTraining,
    recorded_learner,
    search_of,
    trainings_of,
    tuned_parts,
)
from peerbayes.records import file_name, read_record
from theory.lazy import later
from theory.validation import fail

if TYPE_CHECKING:
    import numpy as np

    from empirical.nets.architecture import Architecture
    from empirical.nets.shares import Shares
    from empirical.train.comparing import Length, SplitImages, Trained
    from theory.changing import AnyNetwork
    from theory.progress import Progress
else:
    np = later("numpy")


MEASURES: Mapping[str, str] = {
    "accuracy": "accuracy [%]",
    "nll": "NLL",
    "calibration_error": "ECE",
    "other_data_auroc": "AUROC of other data",
}
"""What is measured, and its name in lines."""

_PAIRED = "the best with beliefs and the best without, by validation data; seeds paired"


@dataclass(frozen=True)
class Estimate:
    """A mean over some seeds and its standard error; None for a single seed."""

    mean: float
    error: float | None
    seeds: int

    @classmethod
    def of(cls, values: Collection[float]) -> Estimate:
        """The estimate from one value a seed."""
        return cls(*mean_and_error(list(values)), len(values))

    @property
    def margin(self) -> float:
        """Half the 95 % interval by Student's t: a normal law of the seeds is assumed."""
        if self.error is None:
            return math.inf
        from scipy.stats import t

        return self.error * float(t.ppf(0.975, self.seeds - 1))

    def __str__(self) -> str:
        error = "" if self.error is None else f" ± {self.error:.3f}"
        return f"{self.mean:.3f}{error}"


@dataclass(frozen=True)
class MethodResult:
    """What a method came to in a course.

    Attributes
    ----------
    course
        Such as ``50 steps a round``; with the mark where a method has several.
    method
        Who learnt how.
    tests
        Those that ended, one a seed.
    begun
        How many tests there are, those that broke down among them.
    """

    course: str
    method: Method
    tests: tuple[TunedTraining, ...]
    begun: int

    def by_seed(self, measure: str) -> dict[int, float]:
        """The mean over agents of each test; accuracies in %."""
        scale = 100 if measure == "accuracy" else 1
        return {
            one.number: scale * one.mean(measure) for one in self.tests if measure in one.measures
        }

    def estimate(self, measure: str) -> Estimate | None:
        """Mean and standard error over seeds; None where it was not measured."""
        values = list(self.by_seed(measure).values())
        return Estimate.of(values) if values else None

    @property
    def megabytes(self) -> float:
        """That an agent sends in all, a server's included, the mean over agents."""
        one = self.tests[0]
        return one.bytes_sent / one.agents / 1e6

    @property
    def steps(self) -> float:
        """Local steps of an agent in all, the mean over agents; of the one central learner."""
        one = self.tests[0]
        learners = 1 if self.method.way == "central" else one.agents
        return one.local_steps / learners

    @property
    def settings(self) -> str:
        """What was chosen, and where nothing was tried beyond it."""
        one = self.tests[0]
        words = [
            f"{name} {value if isinstance(value, str) else format(value, 'g')}"
            + (" (at the edge)" if name in one.edges else "")
            for name, value in one.settings.items()
        ]
        return ", ".join(words)

    @property
    def validation_loss(self) -> float:
        """Of the chosen trial."""
        loss = self.tests[0].validation_loss
        assert loss is not None
        return loss


def method_results(parts: Mapping[str, Any]) -> tuple[MethodResult, ...]:
    """One result a course, method and mark, of the tests that are there."""
    tests = [one for one in trainings_of(parts) if one.purpose == "seed"]
    codes = code_words(tests, lambda one: (one.course.local_steps, one.method))
    groups: dict[tuple[str, str], list[TunedTraining]] = {}
    for one, code in zip(tests, codes, strict=True):
        course = f"{one.course.local_steps} steps a round"
        words = f"{course} ({code})" if code else course
        groups.setdefault((words, one.method), []).append(one)
    return tuple(
        MethodResult(course, METHODS[name], tuple(one for one in own if not one.failed), len(own))
        for (course, name), own in groups.items()
    )


def tuned_lines(parts: Mapping[str, Any]) -> tuple[Line, ...]:
    """All lines of a record."""
    results = method_results(parts)
    lines = [_line(one) for one in results]
    for course in dict.fromkeys(one.course for one in results):
        lines += _differences([one for one in results if one.course == course and one.tests])
    return tuple(lines)


def _line(result: MethodResult) -> Line:
    what = f"accuracy [%], {result.method.name}, {result.course}"
    ended = len(result.tests)
    if not ended:
        return line(what, remark=f"0 of {result.begun} runs ended")
    words = [result.method.title, result.settings]
    for measure, name in MEASURES.items():
        found = result.estimate(measure)
        if measure != "accuracy" and found is not None:
            words.append(f"{name} {found}")
    words.append(f"{result.megabytes:.4g} MB an agent")
    words.append(f"{result.steps:.0f} steps")
    if ended < result.begun:
        words.append(f"{ended} of {result.begun} runs ended")
    return line(what, result.by_seed("accuracy").values(), remark="; ".join(words))


def contenders(results: Sequence[MethodResult]) -> tuple[MethodResult, MethodResult] | None:
    """The best with beliefs and the best that averages weights, both by validation data.

    None where one of the kinds has no test.
    """
    network = [one for one in results if one.method.way == "network" and one.tests]
    kinds = [[one for one in network if one.method.has_beliefs is kind] for kind in (True, False)]
    if not all(kinds):
        return None
    bayes, plain = (min(kind, key=lambda one: one.validation_loss) for kind in kinds)
    return bayes, plain


def difference(one: MethodResult, other: MethodResult, measure: str) -> Estimate | None:
    """One less the other over the seeds that both have; None where there is none."""
    first, second = one.by_seed(measure), other.by_seed(measure)
    gaps = [value - second[seed] for seed, value in first.items() if seed in second]
    return Estimate.of(gaps) if gaps else None


def _differences(results: Sequence[MethodResult]) -> list[Line]:
    """What beliefs gain over averaged weights."""
    pair = contenders(results)
    if pair is None:
        return []
    bayes, plain = pair
    lines = []
    for measure, name in MEASURES.items():
        gap = difference(bayes, plain, measure)
        if gap is not None:
            what = f"{name}, {bayes.method.name} less {plain.method.name}, {bayes.course}"
            beyond = "beyond" if abs(gap.mean) > gap.margin else "not beyond"
            judged = f"{beyond} a 95 % margin of {gap.margin:.3g}"
            remark = f"{_PAIRED}; {judged if gap.error is not None else 'one seed has no margin'}"
            lines.append(Line(what, "", gap.mean, gap.error, None, None, remark))
    return lines


# `tuned` ------------------------------------------------------------------------------------------

FORM, RECIPE = "tuned", "tuned"


@dataclass(frozen=True)
class TunedExperiment(RowExperiment[TunedPart]):
    """The comparison of all methods on one row; a quick run has short courses and three trials.

    Attributes
    ----------
    records
        Folder of short records in which trials are looked for too; None: there is none.

    Raises
    ------
    ValueError
        If the row has no network of several agents.
    """

    records: Path | None = None

    shown = slice(0, 102, 17)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.row.name not in COURSES:
            raise fail(
                "--recipe", f"tuned for a row with a network: {', '.join(COURSES)}",
                self.row.name, "choose another recipe, or one of these rows",
            )  # fmt: skip

    @property
    def name(self) -> str:
        """That of the row, with ``-tuned`` behind it: it has records of its own."""
        return tuned_name(self.row.name) + ("-quick" if self.is_quick else "")

    @property
    def title(self) -> str:
        """One line that says what it is about."""
        return f"{self.row.title}; all methods tuned alike"

    @property
    def search(self) -> Search:
        """The search that every method gets."""
        return search_of(is_quick=self.is_quick)

    def settings(self) -> dict[str, Any]:
        """What all parts have in common."""
        return {
            "form": FORM,
            "dataset": self.row.dataset,
            "hidden": list(self.row.hidden),
            "quick": self.is_quick,
            "device": self.setting.device,
        }

    def depends(self, part: TunedPart) -> dict[str, Any]:
        """What the numbers of one part depend on; a test's on how its settings are searched."""
        from empirical.data import CHECKSUMS

        variant = self.row.variant(self.row.main)
        return {
            **self.settings(),
            **part.settings,
            "search": self.search.as_json(),
            "data": dict(CHECKSUMS[self.row.dataset]),
            "dealing": variant.dealing,
            "network": dict(variant.network),
            "weights": weights_mark(self.row.name, self.row.main),
        }

    def recipes(self, part: TunedPart) -> tuple[str, ...]:
        """That of its method."""
        return (f"tuned: {part.method}",)

    def find(self, part: TunedPart, job: Job) -> TunedTraining:
        """A trial, judged by validation data, or a test of what the trials on record choose.

        A training that breaks down is a result too.

        Raises
        ------
        ValueError
            If trials are missing.
        """
        from empirical.data import CHECKSUMS
        from empirical.dealing import DEALINGS
        from empirical.nets.architecture import perceptron
        from empirical.train.comparing import Length

        row, where, method = self.row, self.setting, METHODS[part.method]
        before = [one.trial for one in self._trials_before(part)]
        choice = self.search.chosen(method, before) if part.purpose == "seed" else None
        if choice is not None:
            settings = choice.settings
        else:  # those of the grid depend on no other trial
            settings = (
                self.search.settings(method, before) if before else method.grid[part.number - 1]
            )
        variant = row.variant(row.main)
        data = split_images(row.dataset, where.data, where.device, self.is_quick)
        shares = data.shares(
            lambda labels: DEALINGS[variant.dealing].deal(labels, seed=job.seed).indices
        )
        length = Length(part.rounds, part.course.local_steps, part.course.batch)
        net = perceptron(*data.input_shape, *row.hidden, outputs=data.classes)
        attempt = Attempt(
            method, settings, net, shares, network_of(variant.network), length, job.seed,
            where.device,
        )  # fmt: skip
        ended = attempt.run(data, is_test=choice is not None, progress=job.progress)
        return TunedTraining(
            method=method.name,
            purpose=part.purpose,
            number=part.number,
            course=TunedCourse(**asdict(length)),
            settings=dict(settings),
            edges=[] if choice is None else list(choice.edges),
            validation_loss=None if choice is None else choice.loss,
            agents=shares.agents,
            sizes=list(shares.sizes),
            labels=[sorted(set(shares.labels[rows].tolist())) for rows in shares.indices],
            seed=job.seed,
            mark=self.settings_mark(part.name),
            data=dict(CHECKSUMS[row.dataset]),
            **ended,
        )

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """One line a method and course, and what separates the best of both kinds."""
        return tuned_lines(parts)

    # Trials on record -------------------------------------------------------------------------

    def _trials_before(self, part: TunedPart) -> Iterator[TunedTraining]:
        """The trials that a part builds upon, in turn."""
        ahead = self.search.trials if part.purpose == "seed" else part.number - 1
        if ahead < self.search.first:
            return  # settings of the grid depend on no other
        for number in range(1, ahead + 1):
            yield self._trial(replace(part, purpose="search", number=number))

    def _trial(self, part: TunedPart) -> TunedTraining:
        """A trial on record.

        Raises
        ------
        ValueError
            If it is not there, or of other settings.
        """
        for content in self._records_of(part.name):
            found = TunedTraining.model_validate(content)
            if found.mark == self.settings_mark(part.name):
                return found
        raise fail(
            self.name, f"the trial {part.name} on record", "none of these settings",
            f"run it first, with --part {part.method}-search",
        )  # fmt: skip

    def _records_of(self, name: str) -> Iterator[Any]:
        """What a part found, by its full record and by its short one, if they are there."""
        full = None if self.setting.folder is None else self.setting.folder / file_name(name)
        if full is not None and full.exists():
            yield read_record(full).body["content"]
        if self.records is not None:
            short = read_row(self.records, self.name).parts.get(name)
            if short is not None:
                yield short.content

    @property
    def table(self) -> dict[str, TunedPart]:
        """Of each method its trials in turn, then its tests."""
        parts = tuned_parts(self.row, seeds=self.seeds, is_quick=self.is_quick)
        return {part.name: part for part in parts}


def tuned_name(row: str) -> str:
    """The name of the records of a row's comparison."""
    return f"{row}-tuned"


# One training of `tuned` -------------------------------------------------------------------------


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
    from empirical.train.comparing import SplitImages

    train, test = images_of(dataset, folder, is_quick)
    if is_quick:
        test = test.at(np.arange(min(OTHER_IMAGES, len(test))))
    return SplitImages(train, test, others_of(dataset, folder), device=device)
