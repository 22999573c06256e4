"""Whole runs by what they send: bytes until nets are good, and how good they are at equal bytes.

Nine agents on the star of P2 4.2 (`star-mnist-1`, weight .5 on the centre, which has the labels 2
to 9; the edges share 0 and 1), 784-200-200-10. For every learner one of six settings is chosen
without a codec, then for every codec one of two at that setting, each by one run of the whole
length on images held out of the training images; what was chosen runs with several seeds, and those
runs alone look at the test images.

``target``  bytes of all agents together until the mean accuracy is 97 and 97.5 %; scores there
``end``     the scores at the end, and all bytes
``equal``   the scores at as many bytes as others' codecs spend in all: CHOCO with the largest
            hundredth, and wavelets with 15 %

Scores are means over the agents, of predictions that average posterior samples where a learner has
a belief. Runs are scored at some rounds alone, so that bytes are those of the first such round.

`--repeats` is the number of seeds. Every trial is kept at once, beside the file (FILE with the
ending ``.trials.json``), and none that is there is run again.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from torch import Tensor

from benchmarks.learners import Task, data_of
from benchmarks.tables import Options, Row, shown
from benchmarks.trials import Trials
from empirical.likelihoods.laws import Classes
from empirical.messages.codecs import codec_from_words
from empirical.nets.architecture import perceptron
from empirical.train.kernel_net import KernelNet
from empirical.train.run import TrainingRun
from empirical.train.scores import Scores, score
from peerbayes.experiments.tuned_search import Settings, grid, recorded_learner
from peerbayes.terminal import Stages
from theory import Network

DRAWS = 3
# Shares of the rounds after which runs are scored.
SCORED_AT = (0.2, 0.4, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
# Held-out images that settings are chosen by.
CHOSEN_BY = 4000
# log 1.1 / log 2: half the bytes for 10 % more loss are no change.
PRICE = 0.1375
MEASURES = ("accuracy", "nll", "calibration_error")

Words = dict[str, Any]
# Rounds, bytes so far, and the scores in the order of `MEASURES`.
Point = list[float]
# By method: its settings, and the courses of its final runs.
Found = Mapping[str, tuple[str, list[list[Point]]]]


@dataclass(frozen=True)
class Method:
    """A learner, and the settings of a codec that are tried; none: float32 without frames."""

    learner: str
    codecs: tuple[Words | None, ...] = (None,)


def difference(inner: Words, *mixings: float) -> tuple[Words, ...]:
    return tuple({"codec": "difference", "inner": inner, "mixing": one} for one in mixings)


def posterior(*steps: float, **more: int) -> tuple[Words, ...]:
    return tuple({"codec": "posterior", "step": one, **more} for one in steps)


GRIDS: Mapping[str, Sequence[Settings]] = {
    "averaging": grid(rate=[0.02, 0.06, 0.2], momentum=[0.8, 0.9]),
    "natural-gradient": grid(rate=[0.03, 0.05, 0.1], initial_curvature=[0.1, 0.3]),
    "sites": grid(rate=[0.05, 0.1, 0.2], trust=[3.0], standing=[0.25, 0.5]),
}
HUNDREDTH: Words = {"codec": "topk", "share": 0.01}
CHOCO, WAVELETS = "averaging, difference + topk", "averaging, wavelet, 15 %"
METHODS: Mapping[str, Method] = {
    "averaging": Method("averaging"),
    "beliefs": Method("natural-gradient"),
    CHOCO: Method("averaging", difference(HUNDREDTH, 0.1, 0.4)),
    "beliefs, posterior": Method("natural-gradient", posterior(1.0, 2.0, halvings=3)),
    "beliefs, posterior, half steps": Method("natural-gradient", posterior(0.5, halvings=3)),
    "beliefs, posterior, steps stay": Method("natural-gradient", posterior(1.0)),
    "averaging, wavelet": Method(
        "averaging", tuple({"codec": "wavelet", "share": share} for share in (0.01, 0.03))
    ),
    # As many bytes as half steps.
    WAVELETS: Method("averaging", ({"codec": "wavelet", "share": 0.15},)),
    "averaging, difference + sign": Method("averaging", difference({"codec": "sign"}, 0.4, 1.0)),
    # Exact replicas: averaging by the lazier weights (1 − γ) I + γ W.
    "averaging, difference + plain": Method(
        "averaging", difference({"codec": "plain"}, 0.1, 0.3, 0.6)
    ),
    "averaging, difference + quantised": Method(
        "averaging", difference({"codec": "quantised", "step": 1.0}, 0.4, 1.0)
    ),
    "sites, posterior": Method("sites", posterior(1.0, 2.0, halvings=3)),
}


@dataclass(frozen=True)
class Plan:
    """What is run, and which accuracy is wanted."""

    task: Task
    targets: tuple[float, ...]


def plan() -> Plan:
    star = Network.from_topology("star", agents=9, edge_confidence=0.5)
    net = perceptron(784, 200, 200, outputs=10)
    return Plan(Task("star-mnist-1", star, net, 50, 20, 6000, "mnist"), (0.97, 0.975))


def toy() -> Plan:
    ring = Network.from_topology("ring", agents=3)
    net = perceptron(64, 8, outputs=10)
    return Plan(Task("toy", ring, net, 10, 2, 8, "digits"), (0.05,))


def begun(
    task: Task, learner: str, settings: Settings, codec: Words | None, *, seed: int
) -> TrainingRun:
    """A run on what is not held out, before its first round."""
    return TrainingRun(
        KernelNet(task.net),
        Classes(task.net.outputs),
        data_of(task.data).shares(task.deal),
        task.network,
        recorded_learner(learner, **settings),
        rounds=task.length.rounds,
        local_steps=task.local_steps,
        batch=task.batch,
        seed=seed,
        codec=codec and codec_from_words(codec),
    )


def scored(run: TrainingRun, examples: tuple[Tensor, Tensor]) -> Scores:
    """All agents on the same examples."""
    belief, agents = run.belief(), range(run.network.agents)
    width = belief.variance
    return score(
        run.net,
        run.likelihood,
        [(k, belief.mean[k], None if width is None else width[k]) for k in agents],
        [examples] * len(agents),
        draws=0 if width is None else DRAWS,
        seed=run.seed,
    )


def trial(
    task: Task, learner: str, settings: Settings, codec: Words | None, *, seed: int, test: bool
) -> list[Point]:
    """The course of a run at the rounds that are scored; cut short where training failed."""
    data = data_of(task.data)
    run = begun(task, learner, settings, codec, seed=seed)
    examples = data.test if test else data.validation
    if not test:
        examples = examples[0][:CHOSEN_BY], examples[1][:CHOSEN_BY]
    rounds, sent = {math.ceil(share * run.rounds) for share in SCORED_AT}, 0
    points: list[Point] = []
    try:
        while run.round < run.rounds:
            sent += run.run_round().bytes_sent
            if run.round in rounds:
                found = scored(run, examples)
                values = [float(found[measure].mean()) for measure in MEASURES]
                points.append([run.round, sent, *values])
    except ValueError:  # a loss, a message or a prediction is not finite
        points.append([run.round, sent, 0.0, math.inf, 1.0])
    return points


@dataclass(frozen=True)
class Search:
    """Trials of one plan."""

    plan: Plan
    trials: Trials

    def course(
        self, method: Method, settings: Settings, codec: Words | None, *, seed: int, test: bool
    ) -> list[Point]:
        """Of a trial, run now if it is not on file."""
        task, learner = self.plan.task, method.learner
        words = [task.name, task.local_steps, task.steps, learner, dict(settings), codec, seed]
        found: list[Point] = self.trials.result(
            json.dumps([*words, "test" if test else "validation"]),
            lambda: trial(task, learner, settings, codec, seed=seed, test=test),
        )
        return found

    def settings(self, learner: str) -> Settings:
        """Of those tried without a codec the one with the least loss at the end."""
        tried = GRIDS[learner]
        ends = [self.course(Method(learner), one, None, seed=0, test=False)[-1] for one in tried]
        losses = [point[3] for point in ends]
        return tried[losses.index(min(losses))]

    def codec(self, method: Method, settings: Settings) -> Words | None:
        """The one with the least loss at the end, by the bytes spent: see `price`."""

        def cost(codec: Words | None) -> float:
            return price(self.course(method, settings, codec, seed=0, test=False)[-1])

        return min(method.codecs, key=cost) if len(method.codecs) > 1 else method.codecs[0]

    def courses(self, method: Method, *, seeds: int) -> tuple[str, list[list[Point]]]:
        """Settings in words, and the final runs."""
        settings = self.settings(method.learner)
        codec = self.codec(method, settings)
        courses = []
        for seed in range(seeds):
            with nullcontext() if self.trials.fresh or not seed else suppress(KeyError):
                courses.append(self.course(method, settings, codec, seed=seed, test=True))
        return ", ".join([*knobs(settings), *knobs(codec or {})]), courses


def knobs(words: Mapping[str, Any]) -> list[str]:
    """Numbers among settings, those of a codec within a codec first."""
    numbers = {**words.get("inner", {}), **words}
    return [f"{key} {v:g}" for key, v in numbers.items() if isinstance(v, int | float)]


def price(point: Point) -> float:
    """What the end of a trial costs: half the bytes are worth a tenth of the loss."""
    return point[3] * point[1] ** PRICE


def reached(course: list[Point], target: float) -> Point:
    """The first point that is as accurate as that; empty if there is none."""
    return next((point for point in course if point[2] >= target), [])


def spent(course: list[Point], most: float) -> Point:
    """The last point with at most so many bytes; empty if all have more."""
    return next((point for point in reversed(course) if point[1] <= most), [])


def target_rows(found: Found, target: float) -> list[Row]:
    """Bytes to an accuracy."""
    table: list[Row] = []
    there = {
        name: [point for point in (reached(one, target) for one in courses) if point]
        for name, (_, courses) in found.items()
    }
    plain = [point[1] for point in there.get("beliefs", [])]
    for name, points in there.items():
        ratios = [statistics.mean(plain) / point[1] for point in points] if plain else []
        table.append(
            {
                "part": "target",
                "accuracy wanted": f"{100 * target:g}",
                "method": name,
                "runs that got there": f"{len(points)} of {len(found[name][1])}",
                "round": shown([point[0] for point in points], 0),
                "beliefs over this": shown(ratios, 1),
                **spent_and_scored(points),
            }
        )
    return table


def end_rows(found: Found) -> list[Row]:
    """Whole runs."""
    return [
        {
            "part": "end",
            "method": name,
            "settings": settings,
            "runs": len(courses),
            "rounds": f"{courses[0][-1][0]:g}",
            **spent_and_scored([course[-1] for course in courses]),
        }
        for name, (settings, courses) in found.items()
    ]


def equal_rows(found: Found) -> list[Row]:
    """Scores at the bytes that others' codecs spend."""
    table: list[Row] = []
    for other in (CHOCO, WAVELETS):
        if other not in found:
            continue
        most = 1.01 * max(course[-1][1] for course in found[other][1])
        for name, (_, courses) in found.items():
            points = [point for point in (spent(course, most) for course in courses) if point]
            if points:
                rounds = shown([point[0] for point in points], 0)
                named = {"part": "equal", "bytes of": other, "method": name, "round": rounds}
                table.append({**named, **spent_and_scored(points)})
    return table


def spent_and_scored(points: list[Point]) -> Row:
    columns = (("megabytes", 1e-6, 2), ("accuracy", 100, 2), ("nll", 1, 4))
    return {
        name: shown([unit * point[1 + place] for point in points], digits)
        for place, (name, unit, digits) in enumerate((*columns, ("calibration error", 1, 4)))
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    trials = Trials(how.trials, fresh=not how.finished)
    search = Search(toy() if how.quick else plan(), trials)
    found = {}
    names = [name for name in METHODS if fnmatch(name, how.only)]
    with Stages() as stages:
        progress = stages("methods")
        for done, name in enumerate(names):
            progress(done, len(names))
            with suppress(LookupError):  # not on file, and nothing is to be run
                found[name] = search.courses(METHODS[name], seeds=how.repeats)
        progress(len(names), len(names))
    found_rows = [row for target in search.plan.targets for row in target_rows(found, target)]
    return found_rows + end_rows(found) + equal_rows(found)
