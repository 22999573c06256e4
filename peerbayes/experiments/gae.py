"""`gae`: compressed gossip by pruning and an autoencoder, as its paper has it, and controls.

A part is one run with one seed, or the training of the autoencoder, which runs of the exchange
"GAE" need: it is kept in the folder of the parts. Seeds are paired: runs of a seed share first
weights and, of a split, the images of each node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from empirical.gae.recipe import Recipe
from peerbayes.documents import Document
from peerbayes.experiments.experiment import Line, PartsBySeed, parts_named
from peerbayes.experiments.gae_rows import (
    AUTOENCODERS,
    RUNS,
    TRIAL_IMAGES,
    TRIAL_TEST,
    TRIALS,
    GaePart,
    gae_recipe,
    quick_recipe,
)
from peerbayes.experiments.setting import (
    GAE_AUTOENCODER,
    Setting,
    alone,
    behaviour_mark,
    check_installed,
    forget_unfinished,
)
from theory.progress import Progress
from theory.validation import as_integer

if TYPE_CHECKING:
    from empirical.gae.fitting import FitPlan
    from empirical.gae.snapshots import SnapshotPlan

FORM = "gae"


@dataclass(frozen=True)
class GaeExperiment(PartsBySeed):
    """The nine runs of the paper's Table 1, with controls.

    Attributes
    ----------
    seeds
        How many of each run.
    is_quick
        A look of a minute: few images, three rounds, one seed, fewer controls. It has a name, and
        so records, of its own.
    setting
        Where and how it runs.
    """

    seeds: int = 5
    is_quick: bool = False
    setting: Setting = field(default_factory=Setting)
    title: str = "gossip of pruned and autoencoded weights on a ring, MNIST"
    source: str = "GAE, section 5"

    def __post_init__(self) -> None:
        as_integer("seeds", self.seeds, minimum=1)

    @property
    def name(self) -> str:
        """``gae``, or ``gae quick``."""
        return "gae quick" if self.is_quick else "gae"

    @property
    def parts(self) -> tuple[str, ...]:
        """The autoencoders, then every run, seed by seed."""
        return tuple(self._parts)

    def part(self, name: str) -> GaePart:
        """The part of a name."""
        return self._parts[name]

    def parts_with(self, words: str, *, seeds: int | None = None) -> tuple[str, ...]:
        """The parts of the first seeds whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        first = self.seeds if seeds is None else seeds
        own = (name for name, part in self._parts.items() if part.seed < first)
        return parts_named(own, words, shown=self.parts[:10])

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If torch, the data or the device are missing; in one line that says how to get them.
        """
        check_installed(self.name)
        from empirical.data import locate
        from empirical.nets.training import check_device

        check_device(self.setting.device)
        locate("mnist", directory=self.setting.data)

    def settings(self) -> dict[str, Any]:
        """What all parts have in common."""
        return {"form": FORM, "quick": self.is_quick, "device": self.setting.device}

    def part_settings(self, name: str) -> dict[str, Any]:
        """What the numbers of one part depend on: its recipe, and what the code does."""
        from empirical.data import CHECKSUMS

        part = self._parts[name]
        mark = behaviour_mark(gae_recipe(part))
        common = {**self.settings(), "data": dict(CHECKSUMS["mnist"]), "behaviour": mark}
        trained = {"autoencoder": self._plans(part)}
        if part.run is None:
            return {**common, **trained}
        own = {**common, "recipe": self._recipe(part).as_json()}
        if part.run.is_trial:
            own["images"] = [TRIAL_IMAGES, TRIAL_TEST]
        return {**own, **trained} if part.run.needs_autoencoder else own

    def stream(self, name: str) -> int:
        """The number of its seed."""
        return self._parts[name].seed

    def run_part(
        self, name: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
        """One run, or the autoencoder.

        Raises
        ------
        ValueError
            If something is missing, or training breaks down.
        """
        from exact.checkpoint import fingerprint

        self.check()  # before torch is asked for
        from empirical.nets.threads import one_thread
        from peerbayes.experiments.gae_autoencoder import train_autoencoder
        from peerbayes.experiments.gae_runs import run_gae

        part, setting = self._parts[name], self.setting
        mark = fingerprint(self.name, name, seed, self.part_settings(name))
        words = {"plans": self._plans(part), "behaviour": behaviour_mark(GAE_AUTOENCODER)}
        with one_thread(), alone(part, setting):
            if part.run is not None:
                return run_gae(
                    part.run, self._recipe(part), part, is_quick=self.is_quick, setting=setting,
                    seed=seed, fingerprint=mark, autoencoder=words, progress=progress,
                )  # fmt: skip
            snapshot_plan, plan = self._plan(part)
            return train_autoencoder(
                part, self._recipe(part), snapshot_plan, plan, is_quick=self.is_quick,
                setting=setting, fingerprint=mark, words=words, progress=progress,
            )  # fmt: skip

    def settled(self, name: str) -> None:
        """The part is on record: what was kept to take it up again goes."""
        from empirical.gae.fitting import SPLITS

        part = self._parts[name]
        forget_unfinished(part, self.setting, *(SPLITS if part.run is None else ()))

    def damage(self, name: str, content: Mapping[str, Any], folder: Path) -> str | None:
        """What is wrong with the autoencoder that a part on record keeps; None if nothing."""
        if self._parts[name].run is not None:
            return None
        from empirical.tensor_files import verify_file

        try:
            right = verify_file(folder / content["file"]).sha256 == content["sha256"]
        except ValueError as error:
            return str(error)
        return None if right else "another autoencoder"

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """Table 1 and the bits, beside what was measured."""
        from peerbayes.experiments.gae_lines import gae_lines
        from peerbayes.experiments.gae_rows import GaeContent

        return gae_lines(GaeContent.of(parts))

    def with_setting(self, setting: Setting) -> GaeExperiment:
        """The same, to be run elsewhere."""
        return replace(self, setting=setting)

    @property
    def _parts(self) -> dict[str, GaePart]:
        runs = [run for run in (*RUNS, *TRIALS) if run.in_quick or not self.is_quick]
        own = [GaePart(run, seed) for seed in range(self.seeds) for run in runs]
        trained = AUTOENCODERS[:1] if self.is_quick else AUTOENCODERS
        return {part.name: part for part in (*trained, *own)}

    def _recipe(self, part: GaePart) -> Recipe:
        recipe = Recipe() if part.run is None else part.run.recipe
        return quick_recipe(recipe) if self.is_quick else recipe

    def _plan(self, part: GaePart) -> tuple[SnapshotPlan, FitPlan]:
        from empirical.gae.fitting import FitPlan
        from empirical.gae.snapshots import SnapshotPlan

        if self.is_quick:
            return (
                SnapshotPlan(trajectories=2, epochs=6, batch=160),
                FitPlan(epochs=10, batch=4, held_out=1 / 2),
            )
        if part.autoencoder.snapshots:  # a tenth, and as many steps
            return SnapshotPlan(trajectories=11), FitPlan(epochs=250)
        return SnapshotPlan(), FitPlan()

    def _plans(self, part: GaePart) -> dict[str, Any]:
        snapshot_plan, plan = self._plan(part)
        return {"snapshots": snapshot_plan.as_json(), "fit": plan.as_json()}


GAE = GaeExperiment()
"""The experiment."""
