"""Averaging for as many bytes as sites send: settings of `tuned`, three times the rounds.

Sites send three vectors where averaging sends one. Every seed's run is kept at once, beside the
file; the test images are looked at once a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch

from benchmarks.tables import Options, Row
from benchmarks.trials import Trials
from empirical.dealing import DEALINGS
from empirical.nets.architecture import perceptron
from empirical.train.comparing import Length
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.net_run import network_of
from peerbayes.experiments.tuned import Attempt, split_images
from peerbayes.experiments.tuned_search import METHODS
from peerbayes.terminal import Stages

# The rates that averaging by momentum was chosen with, on validation data, for 40 rounds.
RATES = {"fmnist-2-balanced-a": 0.0324, "star-fmnist-2": 0.0173}
LENGTH = Length(rounds=3 * 40, local_steps=50, batch=50)
MEASURES = ("accuracy", "nll", "calibration_error", "other_data_auroc")


def run(name: str, seed: int, *, is_quick: bool) -> dict[str, float]:
    """One training of a row, and its scores on test images, means over the agents."""
    row = ROWS[name]
    variant = row.variant(row.main)
    data = split_images(row.dataset, None, "cpu", is_quick)
    shares = data.shares(lambda labels: DEALINGS[variant.dealing].deal(labels, seed=seed).indices)
    net = perceptron(*data.input_shape, *row.hidden, outputs=data.classes)
    length = Length(2, 2, 50) if is_quick else LENGTH
    attempt = Attempt(
        METHODS["averaging"], {"rate": RATES[name]}, net, shares, network_of(variant.network),
        length, seed, "cpu",
    )  # fmt: skip
    found = attempt.run(data, is_test=True, progress=None)
    scores = {measure: sum(v) / len(v) for measure, v in found["measures"].items()}
    return {"bytes_sent": found["bytes_sent"], **scores}


def rows(how: Options) -> Sequence[Row]:
    """The table."""
    trials = Trials(how.trials, fresh=not how.finished)
    names = [name for name in RATES if fnmatch(name, how.only)][: 1 if how.quick else None]
    wanted = [(name, seed) for name in names for seed in range(how.repeats)]
    found: list[Row] = []
    with Stages() as stages:
        progress = stages("equal bytes")
        for done, (name, seed) in enumerate(wanted):
            progress(done, len(wanted))
            scores = trials.result(
                f"{name}, seed {seed}", lambda n=name, s=seed: run(n, s, is_quick=how.quick)
            )
            found.append(
                {
                    "row": name,
                    "seed": seed,
                    "megabytes": scores["bytes_sent"] / 1e6,
                    **{measure.replace("_", " "): scores[measure] for measure in MEASURES},
                }
            )
        progress(len(wanted), len(wanted))
    return found
