"""Not times, but what is learned: learners, codecs and priors that get the same search.

Settings are chosen by trials on images held out of the training images; what was chosen runs with
several seeds, ``--repeats``, and those runs alone look at the test images. Scores are means over
the agents, of predictions that average posterior samples where a learner has a belief. Every trial
is kept at once, beside the file (FILE with the ending ``.trials.json``), and none that is there is
run again: a comparison may be stopped and taken up. Images are looked for as everywhere.

What each is about, and how settings are chosen, is in `cases.toml`. The tables of ``priors`` come
with packages that are not imported:

        pip install --no-deps statsmodels palmerpenguins
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn import datasets

import peerbayes as pb
from benchmarks.tables import CASES, Options, Row, shown
from empirical.data import Images, load_digits
from empirical.dealing import DEALINGS, Dirichlet
from empirical.messages.codecs import codec_from_words
from empirical.nets.architecture import Architecture, perceptron
from empirical.train.comparing import Length, SplitImages
from empirical.train.recipe import run_of_classes
from empirical.train.scores import score
from exact.whole_files import replacing
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.net_run import network_of
from peerbayes.experiments.tuned import Attempt, split_images
from peerbayes.experiments.tuned_search import METHODS, Settings, grid, recorded_learner
from theory import Network
from theory.design import reweighted
from theory.validation import FloatArray, IntArray

# Who holds what is the same for all learners, settings and seeds.
DEALT = 0
# Columns of a run's scores, with units and digits; and of a point of a run.
SCORES = (
    ("accuracy", 100, 2),
    ("nll", 1, 3),
    ("calibration error", 1, 3),
    ("other data auroc", 1, 3),
)
POINT = (
    *(("round", 1, 0), ("megabytes", 1e-6, 2)),
    *(("accuracy", 100, 2), ("nll", 1, 4), ("calibration error", 1, 4)),
)
NETWORKS: Mapping[str, Network] = {
    "pair": Network([[0.5, 0.5], [0.5, 0.5]]),
    "uneven": Network([[0.45, 0.55], [0.7, 0.3]]),
    "star, .7": Network.from_topology("star", agents=9, edge_confidence=0.7),
    "star, .5": Network.from_topology("star", agents=9, edge_confidence=0.5),
    "torus": Network.from_topology("torus", shape=(4, 4)),
    "ring": Network.from_topology("ring", agents=3),
}


class Trials:
    """Results of trials by their keys, which say everything that a result follows from.

    They are kept in a JSON file beside the numbers, written anew after every trial, so that a long
    comparison may be stopped and taken up.
    """

    def __init__(self, how: Options) -> None:
        self._path = None if how.out is None else how.out.with_suffix(".trials.json")
        there = self._path is not None and self._path.is_file()
        self._known: dict[str, Any] = json.loads(self._path.read_text()) if there else {}
        self.fresh = not how.finished

    def result(self, key: str, trial: Callable[..., Any], *given: Any, **more: Any) -> Any:
        """What is on file, or else what `trial` returns of what it is given, of JSON's kinds.

        Raises
        ------
        KeyError
            If it is not on file, and only what is finished is wanted.
        """
        if key not in self._known:
            if not self.fresh:
                raise KeyError(key)
            self._known[key] = trial(*given, **more)
            if self._path is not None:
                with replacing(self._path) as file:
                    file.write((json.dumps(self._known, indent=1) + "\n").encode())
        return self._known[key]


def scored(
    runs: Sequence[Sequence[float]], columns: Sequence[tuple[str, float, int]]
) -> dict[str, str]:
    """Means and standard errors of what runs came to, by column."""
    return {
        name: shown([unit * run[place] for run in runs], digits)
        for place, (name, unit, digits) in enumerate(columns)
    }


@dataclass(frozen=True)
class Task:
    """Who listens to whom, which nets, how long; `steps` are those of each agent in all.

    With an `influence` agents listen by the weights on the same links that give it.
    """

    name: str
    network: str
    hidden: Sequence[int]
    batch: int
    local_steps: int
    steps: int
    data: str = "fashion-mnist"
    deal: str = ""
    influence: Sequence[float] = ()

    @property
    def graph(self) -> Network:
        """The network."""
        graph = NETWORKS[self.network]
        return reweighted(graph, self.influence) if self.influence else graph

    @property
    def net(self) -> Architecture:
        """The net of each agent."""
        return perceptron(64 if self.data == "digits" else 784, *self.hidden, outputs=10)

    @property
    def length(self) -> Length:
        """Rounds, steps and batch."""
        return Length(self.steps // self.local_steps, self.local_steps, self.batch)

    def dealt(self, labels: IntArray) -> tuple[IntArray, ...]:
        """Rows of each agent: by a dealing of the papers, else by Dirichlet's law."""
        agents = NETWORKS[self.network].agents
        rule = DEALINGS.get(self.deal or self.name)
        rule = rule or Dirichlet(agents, alpha=0.1, minimum=4 * agents)
        return rule.deal(labels, seed=DEALT).indices

    def tried(
        self, trials: Trials, trial: Callable[..., Any], learner: str, settings: Settings,
        *more: Any, seed: int, test: bool = False,
    ) -> Any:  # fmt: skip
        """What a trial gives, or is on file of it, by the key of all that it follows from."""
        words = [self.name, self.local_steps, self.steps, learner, dict(settings), *more, seed]
        key = json.dumps([*words, "test" if test else "validation"])
        return trials.result(key, trial, self, learner, settings, *more, seed=seed, test=test)


@cache
def data_of(name: str) -> SplitImages:
    """The images of a data set; of the digits, those upside down are of another kind."""
    if name != "digits":
        return split_images(name, None, "cpu", False)
    digits = load_digits()
    test = np.arange(len(digits)) % 4 == 0
    turned = Images(digits.pixels[:, ::-1], digits.labels, "digits", digits.classes, digits.white)
    rest, last = np.flatnonzero(~test), np.flatnonzero(test)
    return SplitImages(digits.at(rest), digits.at(last), turned.at(last))


def knobs(words: Mapping[str, Any]) -> list[str]:
    """Numbers among settings, those of a codec within a codec first."""
    numbers = {**words.get("inner", {}), **words}
    return [f"{key} {v:g}" for key, v in numbers.items() if isinstance(v, int | float)]


# Learners -------------------------------------------------------------------------------------


def trial(task: Task, learner: str, settings: Settings, *, seed: int, test: bool) -> list[float]:
    """Scores as in `SCORES`, and bytes that an agent sends in a round; nothing if it failed."""
    data, length = data_of(task.data), task.length
    how = METHODS[learner], settings, task.net, data.shares(task.dealt), task.graph, length, seed
    found = Attempt(*how, "cpu").run(data, is_test=test, progress=None)
    scores = [mean(values) for values in found["measures"].values()]
    sent = found.get("bytes_sent", 0) / length.rounds / task.graph.agents
    return [*scores, sent] if scores else []


def learners(
    how: Options, *, task: str, learnt: Mapping[str, Any],
    learners: Sequence[str] = ("averaging", "averaging-adam", "natural-gradient", "sites"),
) -> Iterator[Row]:  # fmt: skip
    """Eight settings each: the grids of `peerbayes run ROW --recipe tuned`."""
    what = Task(task, **learnt)
    for learner in learners:
        score_by = partial(what.tried, Trials(how), trial, learner)
        choices = METHODS[learner].grid[: 2 if how.quick else None]
        with suppress(KeyError):  # not on file, and nothing is to be run
            tried = [score_by(one, seed=0) for one in choices]
            losses = [one[1] if one else math.inf for one in tried]
            best = choices[losses.index(min(losses))]
            runs = [score_by(best, seed=seed, test=True) for seed in range(how.repeats)]
            ended = [run for run in runs if run]
            yield {
                "local steps": what.local_steps,
                "rounds": what.length.rounds,
                "learner": learner,
                "settings": ", ".join(knobs(best)),
                "runs that ended": f"{len(ended)} of {how.repeats}",
                **scored(ended, SCORES),
                "megabytes": ended[0][-1] / 1e6 if ended else math.nan,
            }


# As many bytes --------------------------------------------------------------------------------


def pooled_often(row: str, rate: float, seed: int, *, is_quick: bool) -> dict[str, float]:
    """One training of a row by averaging, and its scores on test images, means over the agents."""
    what = ROWS[row]
    variant, data = what.variant(what.main), split_images(what.dataset, None, "cpu", is_quick)
    shares = data.shares(lambda labels: DEALINGS[variant.dealing].deal(labels, seed=seed).indices)
    net = perceptron(*data.input_shape, *what.hidden, outputs=data.classes)
    length = Length(2, 2, 50) if is_quick else Length(rounds=3 * 40, local_steps=50, batch=50)
    how = METHODS["averaging"], {"rate": rate}, net, shares, network_of(variant.network), length
    found = Attempt(*how, seed, "cpu").run(data, is_test=True, progress=None)
    scores = {measure: mean(values) for measure, values in found["measures"].items()}
    return {"bytes_sent": found["bytes_sent"], **scores}


def equal_bytes(how: Options, *, row: str, rate: float) -> Iterator[Row]:
    """Settings of `tuned`, three times the rounds: sites send three vectors, averaging one."""
    trials = Trials(how)
    for seed in range(how.repeats):
        key = f"{row}, seed {seed}"
        scores = trials.result(key, pooled_often, row, rate, seed, is_quick=how.quick)
        measured = {name: scores[name.replace(" ", "_")] for name, _, _ in SCORES}
        yield {"seed": seed, "megabytes": scores["bytes_sent"] / 1e6, **measured}


# Runs by what they send -----------------------------------------------------------------------

# Posterior samples of a prediction; held-out images that settings are chosen by.
DRAWS, CHOSEN_BY = 3, 4000
# Shares of the rounds after which runs are scored.
SCORED_AT = (0.2, 0.4, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
# log 1.1 / log 2: half the bytes for 10 % more loss are no change.
PRICE = 0.1375

Words = Mapping[str, Any]
# Rounds, bytes so far, and the first three of `SCORES`.
Point = list[float]


def course(
    task: Task, learner: str, settings: Settings, codec: Words | None, *, seed: int, test: bool
) -> list[Point]:
    """A run at the rounds that are scored, all agents on the same examples; cut short if it failed.

    Training leaves out what is held out.
    """
    data = data_of(task.data)
    run = run_of_classes(
        task.net, data.shares(task.dealt), task.graph, recorded_learner(learner, **settings),
        **vars(task.length), seed=seed, codec=codec and codec_from_words(codec),
    )  # fmt: skip
    inputs, labels = data.test if test else (part[:CHOSEN_BY] for part in data.validation)
    rounds, sent = {math.ceil(share * run.rounds) for share in SCORED_AT}, 0
    points: list[Point] = []
    try:
        while run.round < run.rounds:
            sent += run.run_round().bytes_sent
            if run.round not in rounds:
                continue
            belief = run.belief()
            width = belief.variance
            nets = [(k, m, None if width is None else width[k]) for k, m in enumerate(belief.mean)]
            found = score(
                run.net, run.likelihood, nets, [(inputs, labels)] * len(nets),
                draws=0 if width is None else DRAWS, seed=seed,
            )  # fmt: skip
            scores = [float(values.mean()) for values in found.by_measure().values()]
            points.append([run.round, sent, *scores[:3]])
    except ValueError:  # a loss, a message or a prediction is not finite
        points.append([run.round, sent, 0.0, math.inf, 1.0])
    return points


class Runs(NamedTuple):
    """What a method came to: its settings in words, and the courses of its final runs."""

    settings: str
    courses: Sequence[list[Point]]

    def within(
        self, place: int, *, least: float = -math.inf, most: float = math.inf
    ) -> list[list[Point]]:
        """The points of each run whose number at that place is within bounds, if it has any."""
        those = ([p for p in one if least <= p[place] <= most] for one in self.courses)
        return [points for points in those if points]


def runs_of(
    task: Task, trials: Trials, grids: Mapping[str, Sequence[Settings]], *,
    learner: str, codecs: Sequence[Words | None] = (None,), seeds: int,
) -> Runs:  # fmt: skip
    """The setting with the least loss without a codec, the codec by its price, then seeds."""
    run = partial(task.tried, trials, course, learner)

    def price(codec: Words | None) -> float:
        _, sent, _, loss, _ = run(best, codec, seed=0)[-1]
        return float(loss * sent**PRICE)

    best = min(grids[learner], key=lambda one: run(one, None, seed=0)[-1][3])
    codec = min(codecs, key=price) if len(codecs) > 1 else codecs[0]
    courses = []
    for seed in range(seeds):
        with nullcontext() if trials.fresh or not seed else suppress(KeyError):
            courses.append(run(best, codec, seed=seed, test=True))
    return Runs(", ".join([*knobs(best), *knobs(codec or {})]), courses)


def message_runs(how: Options) -> Iterator[Row]:
    """Bytes until an accuracy, whole runs, and scores at the bytes that others' codecs spend."""
    case = CASES["message_runs"]
    plan, trials = case["toy" if how.quick else "plan"], Trials(how)
    task = Task(**plan["task"])
    grids = {learner: grid(**choices) for learner, choices in case["grids"].items()}
    found: dict[str, Runs] = {}
    for name, method in case["methods"].items():
        with suppress(KeyError):  # not on file, and nothing is to be run
            if how.wants(name):
                found[name] = runs_of(task, trials, grids, **method, seeds=how.repeats)
    for target in plan["targets"]:
        there = {
            name: [some[0] for some in runs.within(2, least=target)] for name, runs in found.items()
        }
        plain = [point[1] for point in there.get("beliefs", [])]
        for name, points in there.items():
            ratios = [mean(plain) / point[1] for point in points] if plain else []
            yield {
                "part": "target",
                "accuracy wanted": f"{100 * target:g}",
                "method": name,
                "runs that got there": f"{len(points)} of {len(found[name].courses)}",
                "beliefs over this": shown(ratios, 1),
                **scored(points, POINT),
            }
    for name, runs in found.items():
        yield {
            "part": "end",
            "method": name,
            "settings": runs.settings,
            "runs": len(runs.courses),
            "rounds": f"{runs.courses[0][-1][0]:g}",
            **scored([one[-1][1:] for one in runs.courses], POINT[1:]),
        }
    for other in (name for name in case["bytes_of"] if name in found):
        most = 1.01 * max(one[-1][1] for one in found[other].courses)
        for name, runs in found.items():
            points = [some[-1] for some in runs.within(1, most=most)]
            if points:
                named = {"part": "equal", "bytes of": other, "method": name}
                yield {**named, **scored(points, POINT)}


# Priors ---------------------------------------------------------------------------------------

AGENTS, ROUNDS, LOCAL_STEPS, BATCH, MOST_ROWS = 5, 200, 10, 20, 500
PRIORS: Mapping[str, Settings] = {
    "δ = 1e-4": {"prior_precision": 1e-4},
    **{f"σ₀ = {std:g}": {"prior_std": std} for std in (1.5, 1.0, 0.7, 0.5)},
}


def examples_of(
    table: str, load: str = "", package: str = "", file: str = "", x: str = "", y: str = "",
    above: float | None = None, equals: str | None = None, unit: float | None = None,
) -> tuple[FloatArray, np.ndarray]:  # fmt: skip
    """A table of scikit-learn, or of a CSV file of an installed package; y in classes or a unit."""
    if load:
        loader: Callable[..., tuple[FloatArray, np.ndarray]] = getattr(datasets, load)
        return loader(return_X_y=True)
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"priors: no package {package}: see docs/benchmarks.md")
    with open(Path(found.origin).parent / file, newline="") as lines:
        text = lines.read().replace("\t", ",").replace("'", "")
    rows = [row for row in csv.DictReader(text.splitlines()) if "NA" not in row.values()]
    inputs = np.array([[float(row[name]) for name in x.split()] for row in rows])
    if equals is not None:
        return inputs, np.array([int(row[y] == equals) for row in rows])
    values = np.array([float(row[y]) for row in rows])
    if unit is not None:
        return inputs, values / unit
    return inputs, (values if above is None else values > above).astype(int)


def loss(spec: Mapping[str, Any], settings: Settings, seed: int, rounds: int) -> float:
    """Mean −log p of the agents' held-out rows after the last round, nats."""
    x, y = examples_of(**spec)
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    outputs = int(y.max()) + 1 if y.dtype.kind == "i" else 1

    def build() -> torch.nn.Module:
        hidden = torch.nn.Linear(x.shape[1], 32)
        return torch.nn.Sequential(hidden, torch.nn.ReLU(), torch.nn.Linear(32, outputs))

    trained = pb.train(
        build, [(x[own], y[own]) for own in np.array_split(rows, AGENTS)],
        pb.Network.from_topology("ring", agents=AGENTS), rounds=rounds, seed=seed,
        local_steps=LOCAL_STEPS, learner={"learner": "natural-gradient", **settings},
        examples=pb.Examples(batch=BATCH, validation=0.3, every=rounds),
    )  # fmt: skip
    scores = trained.metrics.validation
    assert scores is not None
    return scores.mean("nll")


def priors(how: Options) -> Iterator[Row]:
    """Five agents on a ring share each table; 30 % of every agent's rows are held out.

    Training is not stopped early. The last row is the mean over the tables, seed by seed.
    """
    rounds, specs = ROUNDS, CASES["priors"]["data"]
    if how.quick:
        rounds, specs = 2, [spec for spec in specs if spec["table"] == "iris"]
    gaps: dict[str, list[list[float]]] = {prior: [] for prior in PRIORS}
    trials = Trials(how)
    for spec in specs:
        found = {
            prior: [
                trials.result(
                    f"{spec['table']}, {prior}, seed {seed}, {rounds} rounds",
                    *(loss, spec, words, seed, rounds),
                )
                for seed in range(how.repeats)
            ]
            for prior, words in PRIORS.items()
        }
        yield {"table": spec["table"], **{p: shown(values, 3) for p, values in found.items()}}
        for prior, losses in found.items():
            pairs = zip(losses, found["δ = 1e-4"], strict=True)
            gaps[prior].append([one - before for one, before in pairs])
    every = {p: [mean(seed) for seed in zip(*each, strict=True)] for p, each in gaps.items()}
    yield {"table": "mean above δ = 1e-4", **{p: shown(v, 3) for p, v in every.items()}}
