"""The parts of `gae` in a campaign: their order, and what each is expected to take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from empirical.gae.recipe import Recipe
from peerbayes.experiments.gae import GAE, GaeExperiment
from peerbayes.experiments.gae_rows import (
    AUTOENCODERS,
    FEW,
    RUNS,
    TABLE_1,
    TRIAL_IMAGES,
    TRIAL_TEST,
    TRIALS,
    GaePart,
    Run,
    looks,
)
from peerbayes.experiments.setting import Setting

_IMAGES, _UNBALANCED, _TESTED = 60_000, 43_360, 10_000
# Seconds of an image that is learnt from and of one that is tested, measured on one core of 2025;
# of a node's message; and of the autoencoder, a curve it learns from.
_LEARNT, _SEEN, _SENT, _CURVE = 2.6e-4, 1.2e-4, 0.05, 6e-3
_FITS = 2
# Snapshots of an autoencoder, and epochs of its training.
_TRAINED = {"": (5500, 25), FEW: (550, 250)}
_AUTOENCODER_WEIGHTS, _NET_WEIGHTS = 12_744_718, 613_514


@dataclass(frozen=True)
class GaeTask:
    """One part of `gae`."""

    part: GaePart
    row: str = "gae"
    kind: str = "gae"
    dataset: str = "mnist"

    @property
    def record(self) -> str:
        """The experiment whose records it goes to."""
        return self.row

    @property
    def name(self) -> str:
        """Such as ``gae: GAE balanced 4 seed 0``."""
        return f"{self.row}: {self.part.name}"

    @property
    def needs(self) -> str | None:
        """The task that must be done before: that of the autoencoder, where it is used."""
        uses = self.part.run is not None and self.part.run.needs_autoencoder
        return f"{self.row}: {self.part.autoencoder.name}" if uses else None

    @property
    def seconds(self) -> float:
        """How long it is expected to take on one core; an estimate to a factor of two."""
        if self.part.run is None:
            curves, epochs = _TRAINED[self.part.snapshots]
            return curves * (_IMAGES * _LEARNT + _FITS * epochs * _CURVE)
        recipe = self.part.run.recipe
        messages = 0 if recipe.exchange == "none" else recipe.nodes * recipe.exchanges
        images = TRIAL_TEST if self.part.run.is_trial else _TESTED
        tested = len(looks(recipe.rounds)) * recipe.nodes * images * _SEEN
        return recipe.rounds * self._images * _LEARNT + messages * _SENT + tested

    @property
    def steps(self) -> int:
        """Steps of all nodes together."""
        recipe = Recipe() if self.part.run is None else self.part.run.recipe
        if self.part.run is None:
            return _TRAINED[self.part.snapshots][0] * 10
        return recipe.rounds * recipe.nodes * recipe.steps(self._images // recipe.nodes)

    @property
    def weights(self) -> int:
        """Weights of one net."""
        return _AUTOENCODER_WEIGHTS if self.part.run is None else _NET_WEIGHTS

    @property
    def agents(self) -> int:
        """How many nets are kept."""
        return 1 if self.part.run is None else self.part.run.recipe.nodes

    def experiment(self, setting: Setting) -> GaeExperiment:
        """The experiment, ready to run this part."""
        return GaeExperiment(seeds=max(GAE.seeds, self.part.seed + 1), setting=setting)

    @property
    def _images(self) -> int:
        run = self.part.run
        if run is None or run.recipe.split != "unbalanced":
            return _IMAGES
        return _UNBALANCED * TRIAL_IMAGES // _IMAGES if run.is_trial else _UNBALANCED


def gae_tasks() -> Iterator[GaeTask]:
    """The nine runs of Table 1 with the first seed, the other seeds, then controls and trials.

    Autoencoders come before the first runs that need them, and behind all of the first seed that
    need none, the one of few snapshots first: it takes three hours, the other a day.
    """
    yield from (GaeTask(GaePart(run)) for run in TABLE_1 if not run.needs_autoencoder)
    for trained in reversed(AUTOENCODERS):
        yield GaeTask(trained)
        yield from (GaeTask(GaePart(run)) for run in RUNS if _is_plain(run, trained))
    for seed in range(1, GAE.seeds):
        yield from (GaeTask(GaePart(run, seed)) for run in TABLE_1)
    for seed in range(GAE.seeds):
        controls = [run for run in RUNS if run not in TABLE_1 and (seed or not run.snapshots)]
        yield from (GaeTask(GaePart(run, seed)) for run in (*controls, *TRIALS))


def _is_plain(run: Run, trained: GaePart) -> bool:
    """Whether it is a run of Table 1 by this autoencoder."""
    recipes = [one.recipe for one in TABLE_1]
    return run.needs_autoencoder and run.snapshots == trained.snapshots and run.recipe in recipes
