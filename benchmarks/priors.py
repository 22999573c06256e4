"""Which prior a learner has that is given none: small public tables, validation data alone.

Five agents on a ring share each table; 30 % of every agent's rows are held out, and training is
not stopped early. All but the prior is the learner's default, for every prior alike. The
hospitals' table of the pages is none of these.

    pip install --no-deps statsmodels palmerpenguins   # the tables; the packages are not imported
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from sklearn import datasets

import peerbayes as pb
from benchmarks.tables import Options, Row, shown
from benchmarks.trials import Trials
from theory.validation import FloatArray

AGENTS, ROUNDS, LOCAL_STEPS, BATCH, MOST_ROWS = 5, 200, 10, 20, 500
PRIORS: dict[str, dict[str, float]] = {
    "δ = 1e-4": {"prior_precision": 1e-4},
    **{f"σ₀ = {std:g}": {"prior_std": std} for std in (1.5, 1.0, 0.7, 0.5)},
}
Table = tuple[FloatArray, np.ndarray]


def _file(package: str, name: str, delimiter: str = ",") -> list[dict[str, str]]:
    """Rows of a CSV file of an installed package."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"priors: no package {package}: see docs/benchmarks.md")
    with open(Path(found.origin).parent / name, newline="") as file:
        return [
            {key.strip("'"): value for key, value in row.items()}
            for row in csv.DictReader(file, delimiter=delimiter)
        ]


def _numbers(rows: list[dict[str, str]], columns: str) -> FloatArray:
    return np.array([[float(row[name]) for name in columns.split()] for row in rows])


def _of_sklearn(load: Callable[..., Table]) -> Callable[[], Table]:
    return lambda: load(return_X_y=True)


def _vote() -> Table:
    rows = _file("statsmodels", "datasets/anes96/anes96.csv", "\t")
    x = _numbers(rows, "TVnews selfLR ClinLR DoleLR PID age educ income")
    return x, _numbers(rows, "vote")[:, 0].astype(int)


def _affairs() -> Table:
    rows = _file("statsmodels", "datasets/fair/fair_pt.csv")
    x = _numbers(rows, "sex age nmarried nchildren religious education occupation rate_marriage")
    return x, (_numbers(rows, "naffairs")[:, 0] > 0).astype(int)


def _doctor() -> Table:
    rows = _file("statsmodels", "datasets/randhie/randhie.csv")
    x = _numbers(rows, "lncoins idp lpi fmde physlm disea hlthg hlthf hlthp")
    return x, (_numbers(rows, "mdvis")[:, 0] > 0).astype(int)


def _penguins() -> list[dict[str, str]]:
    return [r for r in _file("palmerpenguins", "data/penguins.csv") if "NA" not in r.values()]


def _sex() -> Table:
    x = _numbers(_penguins(), "bill_length_mm bill_depth_mm flipper_length_mm body_mass_g")
    return x, np.array([int(row["sex"] == "male") for row in _penguins()])


def _mass() -> Table:
    x = _numbers(_penguins(), "bill_length_mm bill_depth_mm flipper_length_mm")
    return x, _numbers(_penguins(), "body_mass_g")[:, 0] / 1000


TABLES: dict[str, Callable[[], Table]] = {
    "breast cancer": _of_sklearn(datasets.load_breast_cancer),
    "wine": _of_sklearn(datasets.load_wine),
    "iris": _of_sklearn(datasets.load_iris),
    "digits": _of_sklearn(datasets.load_digits),
    "vote": _vote,
    "affairs": _affairs,
    "doctor": _doctor,
    "penguins, sex": _sex,
    "penguins, mass": _mass,
}


def loss(table: str, settings: dict[str, float], seed: int, rounds: int) -> float:
    """Mean −log p of the agents' held-out rows after the last round, nats."""
    x, y = TABLES[table]()
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    classes = y.dtype.kind == "i"
    outputs = int(y.max()) + 1 if classes else 1

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


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    rounds, tables = (2, ["iris"]) if how.quick else (ROUNDS, list(TABLES))
    trials = Trials(how.trials)

    def tried(table: str, prior: str, seed: int) -> float:
        key = f"{table}, {prior}, seed {seed}, {rounds} rounds"
        found: float = trials.result(key, lambda: loss(table, PRIORS[prior], seed, rounds))
        return found

    shown_rows: list[Row] = []
    gaps: dict[str, list[list[float]]] = {prior: [] for prior in PRIORS}
    for table in tables:
        found = {p: [tried(table, p, seed) for seed in range(how.repeats)] for p in PRIORS}
        shown_rows.append({"table": table, **{p: shown(values, 3) for p, values in found.items()}})
        before = found[next(iter(PRIORS))]
        for prior, losses in found.items():
            gaps[prior].append([a - b for a, b in zip(losses, before, strict=True)])
    every = {p: [mean(seed) for seed in zip(*each, strict=True)] for p, each in gaps.items()}
    last = {"table": "mean above δ = 1e-4", **{p: shown(v, 3) for p, v in every.items()}}
    return [*shown_rows, last]
