"""Learners tuned alike and laid side by side: few rounds, many local steps, unlike data.

For every task and learner the same number of settings is tried, each once, on images held out of
the training images; the one with the least loss there is run with several seeds, and the test
images are looked at by those runs alone. Scores are means over the agents, of predictions that
average posterior samples where a learner has a belief.

`--repeats` is the number of seeds. Every trial is kept at once, beside the file (FILE with the
ending ``.trials.json``), and none that is there is run again: the comparison may be stopped and
taken up. Fashion-MNIST and MNIST are looked for as everywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Options, Row, shown
from benchmarks.trials import Trials
from empirical.data import Images, load_digits
from empirical.dealing import DEALINGS, Dirichlet
from empirical.nets.architecture import Architecture, perceptron
from empirical.train.comparing import Length, SplitImages, judged, train_network
from peerbayes.experiments.tuned import split_images
from peerbayes.experiments.tuned_search import METHODS, Settings, recorded_learner
from peerbayes.terminal import Stages
from theory import Network
from theory.design import reweighted
from theory.validation import IntArray

# Who holds what is the same for all learners, settings and seeds.
DEALT = 0
# The same task by other weights: each agent's influence is its share of the images.
BY_DATA = ", v by data"
MEASURES = ("accuracy", "nll", "calibration_error", "other_data_auroc")
# Eight settings each: the grids of `peerbayes run ROW --recipe tuned`.
SEARCH: Mapping[str, Sequence[Settings]] = {
    name: METHODS[name].grid
    for name in ("averaging", "averaging-adam", "natural-gradient", "sites")
}


@dataclass(frozen=True)
class Task:
    """Who listens to whom, which nets, how long; `steps` are those of each agent in all."""

    name: str
    network: Network
    net: Architecture
    batch: int
    local_steps: int
    steps: int
    data: str
    learners: tuple[str, ...] = tuple(SEARCH)

    @property
    def length(self) -> Length:
        """Rounds, steps and batch."""
        return Length(self.steps // self.local_steps, self.local_steps, self.batch)

    def deal(self, labels: IntArray) -> tuple[IntArray, ...]:
        """Rows of each agent."""
        dealing = self.name.removesuffix(BY_DATA)
        if dealing in DEALINGS:
            return DEALINGS[dealing].deal(labels, seed=DEALT).indices
        rule = Dirichlet(self.network.agents, alpha=0.1, minimum=4 * self.network.agents)
        return rule.deal(labels, seed=DEALT).indices


@cache
def data_of(name: str) -> SplitImages:
    """The images of a data set; of the digits, those upside down are of another kind."""
    if name != "digits":
        return split_images(name, None, "cpu", False)
    digits = load_digits()
    test = np.arange(len(digits)) % 4 == 0

    def some(pixels: NDArray[np.uint8], rows: NDArray[np.bool_]) -> Images:
        return Images(pixels[rows], digits.labels[rows], "digits", digits.classes, digits.white)

    upside_down = digits.pixels[:, ::-1]
    return SplitImages(
        *(some(digits.pixels, rows) for rows in (~test, test)), some(upside_down, test)
    )


def tasks() -> list[Task]:
    pair = Network([[0.5, 0.5], [0.5, 0.5]])
    uneven = Network([[0.45, 0.55], [0.7, 0.3]])
    star = Network.from_topology("star", agents=9, edge_confidence=0.7)
    torus = Network.from_topology("torus", shape=(4, 4))
    small, large = perceptron(784, 400, outputs=10), perceptron(784, 200, 200, outputs=10)
    data = "fashion-mnist"
    pairs = (
        ("fmnist-2-balanced-a", pair, small, 100),
        ("fmnist-2-balanced-b", pair, small, 100),
        ("fmnist-2-unbalanced", uneven, small, 100),
    )
    more = (
        ("star-fmnist-1", star, large, 50),
        ("Dirichlet(.1), torus of 16", torus, large, 50),
    )
    found = [
        Task(*words, local_steps, steps, data)
        for local_steps, steps in ((50, 3000), (600, 6000))
        for words in (*pairs, *more)
    ]
    # Sites send three vectors where averaging sends one: averaging with as many bytes in all.
    found += [
        Task(*words, local_steps, steps, data, ("averaging",))
        for local_steps, steps in ((17, 3009), (200, 6000))
        for words in pairs
    ]
    # Shares of the images as labels are dealt: eight of ten, and six.
    by_data = (
        (f"fmnist-2-unbalanced{BY_DATA}", reweighted(uneven, [8, 2]), small, 100),
        (f"star-fmnist-1{BY_DATA}", reweighted(star, [12] + 8 * [1]), large, 50),
    )
    return found + [
        Task(*words, local_steps, steps, data, ("averaging", "sites"))
        for local_steps, steps in ((50, 3000), (600, 6000))
        for words in by_data
    ]


def toy_tasks() -> list[Task]:
    ring = Network.from_topology("ring", agents=3)
    return [Task("toy", ring, perceptron(64, 8, outputs=10), 10, 2, 4, "digits")]


def trial(task: Task, learner: str, settings: Settings, *, seed: int, test: bool) -> list[float]:
    """Scores in the order of `MEASURES`, and bytes that an agent sends in a round; none: failed."""
    data = data_of(task.data)
    shares, how = data.shares(task.deal), recorded_learner(learner, **settings)
    try:
        trained = train_network(task.net, shares, task.network, how, task.length, seed=seed)
        examples = data.test if test else data.validation
        others = data.others if test else None
        found = judged(task.net, trained, examples, others=others, seed=seed)
    except ValueError:  # a loss, a message or a prediction is not finite
        return []
    scores = [float(found[measure].mean()) for measure in MEASURES if measure in found]
    return [*scores, trained.bytes_sent / task.length.rounds / shares.agents]


def scores(
    trials: Trials, task: Task, learner: str, settings: Settings, *, seed: int, test: bool
) -> list[float]:
    """Of a trial, run now if it is not on file."""
    found: list[float] = trials.result(
        _key(task, learner, settings, seed=seed, test=test),
        lambda: trial(task, learner, settings, seed=seed, test=test),
    )
    return found


def is_finished(
    trials: Trials, task: Task, learner: str, choices: Sequence[Settings], *, seeds: int
) -> bool:
    """Whether all that a line of the table needs is on file."""

    def known(settings: Settings, seed: int, *, test: bool) -> bool:
        return _key(task, learner, settings, seed=seed, test=test) in trials

    tried = all(known(one, 0, test=False) for one in choices)
    return tried and any(all(known(c, s, test=True) for s in range(seeds)) for c in choices)


def _key(task: Task, learner: str, settings: Settings, *, seed: int, test: bool) -> str:
    words = [task.name, task.local_steps, task.steps, learner, dict(settings), seed]
    return json.dumps([*words, "test" if test else "validation"])


def compare(
    task: Task, learner: str, choices: Sequence[Settings], trials: Trials, *, seeds: int
) -> Row:
    """One line of the table: settings chosen on held-out images, scores on the test images."""
    looked = [scores(trials, task, learner, one, seed=0, test=False) for one in choices]
    losses = [one[1] if one else math.inf for one in looked]
    best = choices[losses.index(min(losses))]
    runs = [scores(trials, task, learner, best, seed=seed, test=True) for seed in range(seeds)]
    ended = [run for run in runs if run]
    row: dict[str, Any] = {
        "task": task.name,
        "local steps": task.local_steps,
        "rounds": task.steps // task.local_steps,
        "learner": learner,
        "settings": ", ".join(f"{name} {value:g}" for name, value in best.items()),
        "runs that ended": f"{len(ended)} of {seeds}",
    }
    for place, (measure, digits) in enumerate(zip(MEASURES, (2, 3, 3, 3), strict=True)):
        values = [run[place] * (100 if measure == "accuracy" else 1) for run in ended]
        row[measure.replace("_", " ")] = shown(values, digits)
    row["megabytes"] = ended[0][-1] / 1e6 if ended else math.nan
    return row


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    chosen = toy_tasks() if how.quick else tasks()
    chosen = [one for one in chosen if fnmatch(f"{one.name} {one.local_steps}", how.only)]
    search = {k: v[:2] for k, v in SEARCH.items()} if how.quick else SEARCH
    trials = Trials(how.trials)
    pairs = [(task, learner) for task in chosen for learner in search if learner in task.learners]
    if how.finished:
        seeds = how.repeats
        pairs = [p for p in pairs if is_finished(trials, *p, search[p[1]], seeds=seeds)]
    found = []
    with Stages() as stages:
        progress = stages("tasks and learners")
        for done, (task, learner) in enumerate(pairs):
            progress(done, len(pairs))
            found.append(compare(task, learner, search[learner], trials, seeds=how.repeats))
        progress(len(pairs), len(pairs))
    return found
