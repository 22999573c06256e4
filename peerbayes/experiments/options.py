"""The command line's options, given to the experiments that have a use for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from peerbayes.experiments.codecs import CodecsExperiment
from peerbayes.experiments.experiment import Experiment
from peerbayes.experiments.gae import GaeExperiment
from peerbayes.experiments.link import RateLink
from peerbayes.experiments.nets import NetExperiment
from peerbayes.experiments.run import parts_folder
from peerbayes.experiments.setting import Setting
from peerbayes.experiments.tuned import RECIPE as TUNED
from peerbayes.experiments.tuned import TunedExperiment
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes import settings

DEFAULT_RECIPE = "best"
_Checked = TypeVar(
    "_Checked", RateLink, CodecsExperiment, GaeExperiment, TunedExperiment, NetExperiment
)


def configured(
    experiment: Experiment, how: settings.Experiment, out: Path
) -> tuple[Experiment, tuple[str, ...] | None]:
    """The experiment as it is to be run, and which of its parts; None for all.

    `out` is the folder of records.

    Raises
    ------
    ValueError
        If a setting is of no use to it, or what it needs is missing; in one line.
    """
    codec = None if how.codec == "none" else how.codec
    if codec is not None and not isinstance(experiment, NetExperiment):
        raise fail("--codec", "a row of Bayesian nets", experiment.name, "leave it out")
    if how.workers is not None and not isinstance(experiment, GaeExperiment):
        remedy = "leave it out; to run parts side by side use campaign --workers, or torchrun"
        raise fail("--workers", "gae, whose nodes train side by side", experiment.name, remedy)
    if how.recipe and isinstance(experiment, RateLink | GaeExperiment | CodecsExperiment):
        raise fail("--recipe", "an experiment with recipes", experiment.name, "leave it out")
    device, part = how.device or "cpu", how.part or ""
    if isinstance(experiment, RateLink):
        link = experiment.quick() if how.quick else experiment
        link = link.placed(device=device, data=how.images)
        return _ready(link, link.parts_with(part))
    if isinstance(experiment, CodecsExperiment):
        if device != "cpu":
            raise fail("--device", "cpu, where codecs work", repr(device), "leave it out")
        return _codecs(experiment, how)

    def setting(name: str, *threads: int) -> Setting:
        folder = parts_folder(out, name)
        return Setting(device, how.images, folder, how.resume, how.notice, *threads)

    seeds = how.replicates or (1 if how.quick else experiment.replicates)
    if isinstance(experiment, GaeExperiment):
        gae = replace(experiment, seeds=max(seeds, experiment.seeds), is_quick=how.quick)
        gae = gae.with_setting(setting(gae.name, how.workers or 1))
        return _ready(gae, gae.parts_with(part, seeds=seeds))
    if not isinstance(experiment, NetExperiment):
        for name in ("recipe", "part", "quick", "device"):
            if getattr(how, name):
                wanted = "an experiment with neural nets"
                raise fail(f"--{name}", wanted, experiment.name, "leave it out")
        return experiment, None
    # Seeds that are on record stay there, though fewer be asked for.
    chosen = how.recipe or DEFAULT_RECIPE
    if chosen == TUNED:
        if codec:
            raise fail("--codec", "no codec with --recipe tuned", codec, "leave one of them out")
        tuned = TunedExperiment(experiment.row, max(seeds, experiment.seeds), is_quick=how.quick)
        tuned = tuned.with_setting(setting(tuned.name))
        return _ready(tuned, tuned.parts_with(part, seeds=seeds))
    found = replace(
        experiment, seeds=max(seeds, experiment.seeds), is_quick=how.quick, codec=codec or ""
    )
    found = found.with_setting(setting(found.name))
    if codec:  # which parts there are depends on what it can write
        found.check()
    return _ready(found, found.parts_with(recipe=chosen, words=part, seeds=seeds))


def _ready(experiment: _Checked, only: tuple[str, ...]) -> tuple[_Checked, tuple[str, ...]]:
    """The parts were found; now what they need is: a wrong name costs no search for data."""
    experiment.check()
    return experiment, only


def _codecs(
    experiment: CodecsExperiment, how: settings.Experiment
) -> tuple[CodecsExperiment, tuple[str, ...]]:
    seeds = how.replicates or (1 if how.quick else experiment.seeds)
    setting = replace(experiment.setting, data=how.images)
    found = replace(experiment, seeds=max(seeds, experiment.seeds), setting=setting)
    found = found.quick() if how.quick else found
    return _ready(found, found.parts_with(how.part or "", seeds=seeds))
