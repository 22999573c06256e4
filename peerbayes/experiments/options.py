"""The command line's options, given to the experiments that have a use for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from peerbayes.experiments.codecs import CodecsExperiment
from peerbayes.experiments.experiment import Experiment
from peerbayes.experiments.gae import GaeExperiment
from peerbayes.experiments.link import RateLink
from peerbayes.experiments.net_run import Setting
from peerbayes.experiments.nets import NetExperiment
from peerbayes.experiments.run import parts_folder
from peerbayes.experiments.tuned import RECIPE as TUNED
from peerbayes.experiments.tuned import TunedExperiment
from theory.validation import as_integer, fail

DEFAULT_RECIPE = "best"
_Checked = TypeVar(
    "_Checked", RateLink, CodecsExperiment, GaeExperiment, TunedExperiment, NetExperiment
)


def configured(
    experiment: Experiment,
    *,
    replicates: int | None,
    recipe: str | None,
    part: str | None,
    quick: bool,
    device: str | None,
    codec: str | None = None,
    workers: int | None = None,
    data: Path | None,
    resume: bool,
    out: Path,
    notice: Callable[[str], None] | None,
) -> tuple[Experiment, tuple[str, ...] | None]:
    """The experiment as it is to be run, and which of its parts; None for all.

    Raises
    ------
    ValueError
        If an option is of no use to it, or what it needs is missing; in one line.
    """
    codec = None if codec == "none" else codec
    if codec is not None and not isinstance(experiment, NetExperiment):
        raise fail("--codec", "a row of Bayesian nets", experiment.name, "leave it out")
    if workers is not None and not isinstance(experiment, GaeExperiment):
        remedy = "leave it out; to run parts side by side use campaign --workers, or torchrun"
        raise fail("--workers", "gae, whose nodes train side by side", experiment.name, remedy)
    threads = as_integer("workers", 1 if workers is None else workers, minimum=1)
    if recipe and isinstance(experiment, RateLink | GaeExperiment | CodecsExperiment):
        raise fail("--recipe", "an experiment with recipes", experiment.name, "leave it out")
    if isinstance(experiment, RateLink):
        link = experiment.quick() if quick else experiment
        link = link.placed(device=device or "cpu", data=data)
        return _ready(link, link.parts_with(part or ""))
    if isinstance(experiment, CodecsExperiment):
        if device not in (None, "cpu"):
            raise fail("--device", "cpu, where codecs work", repr(device), "leave it out")
        return _codecs(experiment, replicates, part or "", quick=quick, data=data)
    seeds = replicates or (1 if quick else experiment.replicates)
    if isinstance(experiment, GaeExperiment):
        gae = replace(experiment, seeds=max(seeds, experiment.seeds), is_quick=quick)
        folder = parts_folder(out, gae.name)
        gae = gae.with_setting(Setting(device or "cpu", data, folder, resume, notice, threads))
        return _ready(gae, gae.parts_with(part or "", seeds=seeds))
    if not isinstance(experiment, NetExperiment):
        given = {"--recipe": recipe, "--part": part, "--quick": quick, "--device": device}
        for option, value in given.items():
            if value:
                wanted = "an experiment with neural nets"
                raise fail(option, wanted, experiment.name, "leave it out")
        return experiment, None
    # Seeds that are on record stay there, though fewer be asked for.
    chosen = recipe or DEFAULT_RECIPE
    if chosen == TUNED:
        if codec:
            raise fail("--codec", "no codec with --recipe tuned", codec, "leave one of them out")
        tuned = TunedExperiment(experiment.row, max(seeds, experiment.seeds), is_quick=quick)
        setting = Setting(device or "cpu", data, parts_folder(out, tuned.name), resume, notice)
        tuned = tuned.with_setting(setting)
        return _ready(tuned, tuned.parts_with(part or "", seeds=seeds))
    found = replace(
        experiment, seeds=max(seeds, experiment.seeds), is_quick=quick, codec=codec or ""
    )
    folder = parts_folder(out, found.name)
    found = found.with_setting(Setting(device or "cpu", data, folder, resume, notice))
    if codec:  # which parts there are depends on what it can write
        found.check()
    return _ready(found, found.parts_with(recipe=chosen, words=part or "", seeds=seeds))


def _ready(experiment: _Checked, only: tuple[str, ...]) -> tuple[_Checked, tuple[str, ...]]:
    """The parts were found; now what they need is: a wrong name costs no search for data."""
    experiment.check()
    return experiment, only


def _codecs(
    experiment: CodecsExperiment,
    replicates: int | None,
    words: str,
    *,
    quick: bool,
    data: Path | None,
) -> tuple[CodecsExperiment, tuple[str, ...]]:
    seeds = replicates or (1 if quick else experiment.seeds)
    setting = replace(experiment.setting, data=data)
    found = replace(experiment, seeds=max(seeds, experiment.seeds), setting=setting)
    found = found.quick() if quick else found
    return _ready(found, found.parts_with(words, seeds=seeds))
