"""Behaviour marks compared with what the code computes now, and renewed.

    python -m peerbayes.experiments.behaviour

runs every recipe's frozen run and rewrites `behaviour_marks.json`. Code may change in any way that
leaves the numbers there; tests name the recipes that compute something else.

A frozen run is three rounds of a recipe, through the code that its parts run through. It has the
recipe's own values but for length and size: few local steps, few examples a step, nets of some
units (those of `gae` have one size), some made-up images.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from empirical.data import Images
from peerbayes.experiments.codecs import CONTENDERS, CodecSetting, overheard_in, trial_of
from peerbayes.experiments.gae_rows import RUNS, TRIALS, GaePart, Run, gae_recipe
from peerbayes.experiments.gae_runs import follow_gae
from peerbayes.experiments.net_rows import ROWS, Part, Row, part_values, parts_aside, parts_of
from peerbayes.experiments.net_run import net_recipe, part_run, problem_of_images
from peerbayes.experiments.setting import (
    CODECS,
    GAE_AUTOENCODER,
    MARKS,
    RENEW,
    Entry,
    Setting,
    all_marks,
    kept_marks,
)
from peerbayes.experiments.tuned import Attempt
from peerbayes.experiments.tuned_search import METHODS
from peerbayes.records import checksum, write_whole
from theory.changing import rotating_star
from theory.validation import IntArray, fail

if TYPE_CHECKING:
    from empirical.gae.fitting import Fit
    from empirical.nets.architecture import Architecture


Numbers: TypeAlias = dict[str, list[list[float]]]
"""What a run came to, round by round: lists of ``losses``, ``accuracies``, ``bits``, and
``divergences`` of what agents believe from what they believed before a round.
"""

ROUNDS, TEST_IMAGES = 3, 50
_SEED, _UNITS = 7, 6
_LOCAL_STEPS, _BATCH = 2, 8
# Of those looked at; of images of so many pixels a side.
_AGENTS, _IMAGES, _SIDE = 2, 400, 5
# Rows that recipes are run on: the first of them that has a recipe.
_ROWS = (
    "fmnist-2-unbalanced", "fmnist-2-iid", "star-mnist-1", "timevarying-25", "fedavg-shards",
    "fmnist-central",
)  # fmt: skip
# Codecs of the means of nets without beliefs.
_OF_MEANS = ("pruned", "spline")
_CODEC_SETTINGS = {"spline": "kept=60,exact=5,knots=6", "pruned": "kept=60"}
# Of `gae`: its images; weights that are kept, ends that are exact, latent numbers.
_GAE_IMAGES, _GAE_SIDE, _GAE_BATCH = 40, 28, 20
_GAE: dict[str, Any] = {"kept": 300, "exact": 10, "latent": 5}


def frozen_run(recipe: str) -> Numbers:
    """What the code of a recipe computes now.

    Raises
    ------
    ValueError
        If there is no such recipe.
    """
    from empirical.nets.threads import one_thread

    runs = _runs()
    if recipe not in runs:
        raise fail("recipe", "one that has a frozen run", repr(recipe), "choose one of recipes()")
    with one_thread():
        return runs[recipe]()


def recipes() -> tuple[str, ...]:
    """The names of all recipes that have a frozen run."""
    return tuple(_runs())


@cache
def _runs() -> Mapping[str, Callable[[], Numbers]]:
    runs: dict[str, Callable[[], Numbers]] = {
        **{f"codec: {name}": partial(_codec_run, name) for name in _codec_names()},
        CODECS: _codecs_run,
        **{f"tuned: {name}": partial(_tuned_run, name) for name in METHODS},
        GAE_AUTOENCODER: _autoencoder_run,
    }
    for row in (ROWS[name] for name in _ROWS):  # the first part of each recipe
        for part in (*parts_of(row, seeds=1, is_quick=False), *parts_aside(row, seeds=1)):
            runs.setdefault(net_recipe(row, part), partial(_net_run, row, part))
    for run in (*RUNS, *TRIALS):
        runs.setdefault(gae_recipe(GaePart(run)), partial(_gae_run, run))
    return runs


def made_up_images(count: int, side: int, *, seed: int = _SEED) -> Images:
    """Images of ten classes in turn, that a net can learn to tell apart."""
    random = np.random.default_rng(seed)
    kinds = np.random.default_rng(_SEED).integers(40, 216, (10, side, side))
    labels = np.arange(count) % 10
    noise = random.integers(-40, 40, (count, side, side))
    pixels = (kinds[labels] + noise).astype(np.uint8)
    return Images(pixels, labels, "made up", tuple("0123456789"))


@cache
def _images(side: int = _SIDE, count: int = _IMAGES) -> tuple[Images, Images]:
    """To learn from, and to test by."""
    return made_up_images(count, side), made_up_images(TEST_IMAGES, side, seed=_SEED + 1)


# Networks of nets ---------------------------------------------------------------------------------


def _net_run(row: Row, part: Part, codec: str = "") -> Numbers:
    from empirical.messages.codecs import codec_named
    from empirical.train.curve import Schedule, curve_of

    small = replace(row, hidden=(_UNITS,) * len(row.hidden))
    train, test = _images()
    problem = problem_of_images(small, part, train, test, others=None, device="cpu", seed=_SEED)
    run, rounds, _ = part_run(
        problem, part, _short(part_values(row, part, is_quick=False)),
        seed=_SEED, device="cpu", codec=codec_named(codec) if codec else None,
    )  # fmt: skip
    looks = Schedule(
        records=2 * ROUNDS, images=TEST_IMAGES, draws=2, last_images=TEST_IMAGES, last_draws=2,
        agents=_AGENTS,
    )  # fmt: skip
    points = curve_of(run, problem.test, rounds=rounds, schedule=looks, seed=_SEED)["points"]
    return {
        "losses": [_of_point(point, "nll") + _numbers_of(point["loss"]) for point in points],
        "divergences": [_numbers_of(point["divergence"]) for point in points],
        "accuracies": [_of_point(point, "accuracy") for point in points],
        "bits": [[8 * point["bytes"]] for point in points],
    }


def _short(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a recipe for a frozen run."""
    changed: dict[str, Any] = {"rounds": ROUNDS, "rounds_run": ROUNDS, "batch": _BATCH}
    if "server" in values:  # its clients hold few images, and count epochs or steps
        from peerbayes.experiments.net_run import server_recipe

        changed["batch"] = _LOCAL_STEPS
        if not server_recipe(values).local_steps:
            return {**values, **changed}
    return {**values, **changed, "local_steps": _LOCAL_STEPS}


def _of_point(point: Mapping[str, Any], what: str) -> list[float]:
    """What was measured before the consensus, if there is one, and after it."""
    seen = (point[when] for when in ("before", "after") if point[when] is not None)
    return [value for one in seen for way in one.values() for value in way[what]]


def _numbers_of(values: Sequence[float | None] | None) -> list[float]:
    return [value for value in values or () if value is not None]


# Codecs -------------------------------------------------------------------------------------------


def _codec_names() -> list[str]:
    """Those that a row can be run with: all but the one that has to be trained."""
    from empirical.messages.codecs import CODECS as KNOWN

    return [name for name in KNOWN if name != "autoencoder"]


def _codec_run(name: str) -> Numbers:
    row = ROWS[_ROWS[0]]
    role = "averaging" if name in _OF_MEANS else "cooperating"
    part = next(one for one in parts_of(row, seeds=1, is_quick=False)
                if (one.recipe, one.role) == ("best", role))  # fmt: skip
    return _net_run(row, part, ":".join(filter(None, (name, _CODEC_SETTINGS.get(name)))))


def _codecs_run() -> Numbers:
    setting = CodecSetting("made up", (_UNITS,), ROUNDS, _LOCAL_STEPS, _BATCH)
    said = overheard_in(setting, _images()[0], seed=_SEED)
    found = [trial_of(one, said, seed=_SEED) for one in CONTENDERS]
    return {"losses": [[one.nats for one in found]], "bits": [[one.bits for one in found]]}


# Methods that are tuned alike ---------------------------------------------------------------------


def _tuned_run(name: str) -> Numbers:
    from empirical.nets.architecture import perceptron
    from empirical.train.comparing import Length, SplitImages

    train, test = _images()
    data = SplitImages(train, test, None)
    net: Architecture = perceptron(*data.input_shape, _UNITS, outputs=data.classes)
    network = rotating_star(groups=2, group_size=2, edge_confidence=0.5)
    attempt = Attempt(
        METHODS[name],
        METHODS[name].grid[1],
        net,
        data.shares(partial(_unequal, agents=network.agents)),
        network,
        Length(ROUNDS, _LOCAL_STEPS, _BATCH),
        _SEED,
        "cpu",
    )
    found = attempt.run(data, is_test=True, progress=None)
    return {
        "losses": [found["measures"]["nll"]],
        "accuracies": [found["measures"]["accuracy"]],
        "bits": [[8 * found["bytes_sent"]]],
    }


def _unequal(labels: IntArray, *, agents: int) -> list[IntArray]:
    """Rows of each agent: half of them are the first one's."""
    half = len(labels) // 2
    rest = np.arange(half, len(labels))
    return [np.arange(half), *(rest[k :: agents - 1] for k in range(agents - 1))]


# Compressed gossip --------------------------------------------------------------------------------


def _gae_run(run: Run) -> Numbers:
    """An exchange after the second round, so that the third learns from what was merged."""
    nodes = 3 if run.recipe.neighbour == "random" else 2  # of two there is one neighbour
    recipe = replace(
        run.recipe, split="unbalanced-all", nodes=nodes, rounds=ROUNDS, every=2,
        closing=min(1, run.recipe.closing), batch=_GAE_BATCH, **_GAE,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        path = None
        if run.needs_autoencoder:
            path = Path(folder) / "autoencoder.safetensors"
            _fits()[0].autoencoder.save(path)
        seen = follow_gae(
            recipe, *_images(_GAE_SIDE, _GAE_IMAGES), seed=_SEED, setting=Setting(),
            autoencoder=path,
        )  # fmt: skip
    return {
        "losses": seen.losses,
        "accuracies": [*(one.accuracies for one in seen.closing), *seen.accuracies],
        "bits": [[bits] for bits in seen.sent_bits],
    }


def _autoencoder_run() -> Numbers:
    return {
        "losses": [[*one.training, *one.validation, one.variance] for one in _fits()],
    }


@cache
def _fits() -> tuple[Fit, ...]:
    """A trained autoencoder by each split of snapshots."""
    from empirical.gae.fitting import SPLITS, FitPlan, SnapshotPlan, fit, snapshots
    from empirical.gae.net import Passes
    from empirical.gae.recipe import Recipe

    recipe = Recipe(**_GAE)
    images, _ = _images(_GAE_SIDE, _GAE_IMAGES)
    plan = SnapshotPlan(trajectories=2, epochs=2, batch=_GAE_BATCH, kept=recipe.kept)
    with TemporaryDirectory() as folder:
        curves = snapshots(plan, Passes(images, device="cpu"), images, Path(folder), recipe=recipe)
    return tuple(
        fit(curves, FitPlan(epochs=ROUNDS, batch=2, held_out=1 / 2, split=split), recipe)
        for split in SPLITS
    )


# Behaviour marks compared with what the code computes now, and renewed ----------------------------

REMEDY = (
    f"if the change is meant, run `{RENEW}` (renews the file), and say so in CHANGELOG.md; the"
    " version rises"
)
_DIGITS = 7
# Libraries and machines differ in the last bits of float32. Where inputs do, or the order of sums
# (AVX2, AVX-512), no loss moves by more than 5e-6 of its size, but those near 0; no divergence by
# more than 1e-5; and of what an entropy coder writes a few words.
_RELATIVE = {"losses": 1e-5, "divergences": 1e-4, "bits": 1e-4}
# Where messages are rounded or the largest numbers chosen, a last bit can decide what is sent. On
# another processor losses of these moved by up to 5e-4, bits by 1 %.
_ROUNDED = {"codec: quantised": 200, "codec: wavelet": 200, "codecs": 200}
_NEAR_ZERO = 1e-10


def mark_of_numbers(numbers: Mapping[str, Any]) -> str:
    """The first 12 hex digits of the SHA-256 of numbers in canonical JSON.

    Examples
    --------
    >>> mark_of_numbers({"losses": [[0.5]]}) == mark_of_numbers({"losses": [[0.25]]})
    False
    """
    return checksum(numbers)[:12]


def entry_of(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a frozen run.

    Examples
    --------
    >>> entry_of({"losses": [[0.123456789]]})["numbers"]
    {'losses': [[0.1234568]]}
    """
    rounded = {
        kind: [[_rounded(value) for value in one] for one in rounds]
        for kind, rounds in numbers.items()
    }
    return {"mark": mark_of_numbers(rounded), "numbers": rounded}


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")


def difference(kept: Entry, now: Entry, *, slack: float = 1) -> str:
    """The first number in which a frozen run differs from the one kept; empty if none does.

    Losses are alike within 1e-5 of their size, divergences and bits within 1e-4, each times
    `slack`; accuracies within one test image.

    Examples
    --------
    >>> difference(entry_of({"losses": [[1.0, 2.0]]}), entry_of({"losses": [[1.0, 2.1]]}))
    'losses, round 1, number 2: 2.0 kept, 2.1 now'
    """
    one, other = (dict(_by_place(entry["numbers"])) for entry in (kept, now))
    for place, value in one.items():
        if place not in other or not _alike(place, value, other[place], slack):
            return f"{place}: {value} kept, {other.get(place, 'none')} now"
    more = next((place for place in other if place not in one), None)
    return "" if more is None else f"{more}: none kept, {other[more]} now"


def _by_place(numbers: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for kind, rounds in numbers.items():
        for round, values in enumerate(rounds, start=1):
            for place, value in enumerate(values, start=1):
                yield f"{kind}, round {round}, number {place}", value


def _alike(place: str, kept: float, now: float, slack: float) -> bool:
    if place.startswith("accuracies"):
        return abs(kept - now) <= 1.001 / TEST_IMAGES
    relative = slack * _RELATIVE[place.partition(",")[0]]
    return math.isclose(kept, now, rel_tol=relative, abs_tol=_NEAR_ZERO)


def changed(names: Iterable[str]) -> dict[str, str]:
    """Run recipes anew: those that are not as kept, and how they differ, in words."""
    kept = kept_marks()
    words = {}
    for recipe in names:
        now = entry_of(frozen_run(recipe))
        told = "no mark is kept"
        if recipe in kept:
            told = difference(kept[recipe], now, slack=_ROUNDED.get(recipe, 1))
        if told:
            words[recipe] = told
    return words


def complaint(changed: Mapping[str, str]) -> str:
    """What a test says of changed recipes, in one line: which, how the first differs, the remedy.

    Examples
    --------
    >>> complaint({"tuned: sites": "losses, round 1, number 2: 2.0 kept, 2.1 now"})[:68]
    'tuned: sites: losses, round 1, number 2: 2.0 kept, 2.1 now; if the c'
    """
    names = "; ".join(changed)
    first = next(iter(changed.values()), "nothing changed")
    return f"{names}: {first}; {REMEDY}"


def renew() -> list[str]:
    """Run all recipes anew and rewrite the file in one step; returns a sentence a changed mark.

    What is alike within the tolerance stays as it is kept, to the last digit.

    Raises
    ------
    ValueError
        If the file cannot be written; in one line.
    """
    kept = kept_marks() if MARKS.exists() else {}
    now = {recipe: entry_of(frozen_run(recipe)) for recipe in recipes()}
    for recipe in kept:
        slack = _ROUNDED.get(recipe, 1)
        if recipe in now and not difference(kept[recipe], now[recipe], slack=slack):
            now[recipe] = dict(kept[recipe])
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(now[name])}" for name in sorted(now))
    write_whole(MARKS, f"{{\n{lines}\n}}\n")
    kept_marks.cache_clear()
    all_marks.cache_clear()
    return [
        f"{name}: {_word(kept, name)} -> {_word(now, name)}"
        for name in sorted({*kept, *now})
        if _word(kept, name) != _word(now, name)
    ]


def _word(entries: Mapping[str, Entry], recipe: str) -> str:
    return str(entries[recipe]["mark"]) if recipe in entries else "none"


if __name__ == "__main__":
    for sentence in renew() or [f"no mark changed: all are {all_marks()}"]:
        sys.stdout.write(f"{sentence}\n")
