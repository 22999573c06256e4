"""The papers' networks of Bayesian neural nets as experiments: printed, measured, predicted.

A part is one run of one recipe with one seed: of the row's network, or of what it is compared
with. What a part finds does not depend on which other parts are run, so that recipes and seeds can
be added to a record one by one. Listing and reporting need no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from peerbayes.experiments.build import build_of_nets
from peerbayes.experiments.experiment import Line
from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_parts import (
    Part,
    part_values,
    parts_apart,
    parts_of,
    schedule_values,
)
from peerbayes.experiments.net_recipes import RECIPE_NAMES
from peerbayes.experiments.net_rows import Row
from peerbayes.experiments.net_run import Setting, check_setting, forget_unfinished, run_net_part
from peerbayes.experiments.own_start import mark_of_own_start
from peerbayes.messages import guessed
from theory.progress import Progress
from theory.validation import as_integer, fail

FORM = "nets"


@dataclass(frozen=True)
class NetExperiment:
    """One row with neural nets.

    Attributes
    ----------
    row
        What is run.
    seeds
        How many of each part.
    is_quick
        A look of seconds: a tenth of the images, a few hundred steps, and one seed. It has a name,
        and so records, of its own.
    setting
        Where and how it runs.
    """

    row: Row
    seeds: int = 3
    is_quick: bool = False
    setting: Setting = field(default_factory=Setting)

    def __post_init__(self) -> None:
        as_integer("seeds", self.seeds, minimum=1)

    @property
    def name(self) -> str:
        """Name of the experiment: that of its row, followed by `quick` for a quick run."""
        return f"{self.row.name} quick" if self.is_quick else self.row.name

    @property
    def title(self) -> str:
        """One line that says what the row is about."""
        return self.row.title

    @property
    def source(self) -> str:
        """Paper and section that the row is from."""
        return self.row.source

    @property
    def replicates(self) -> int:
        """How many seeds."""
        return self.seeds

    @property
    def replicates_are_parts(self) -> bool:
        """Each seed is a part."""
        return True

    @property
    def parts(self) -> tuple[str, ...]:
        """Every recipe's, each with all its seeds."""
        return tuple(self._parts)

    def parts_with(
        self, *, recipe: str, words: str = "", seeds: int | None = None
    ) -> tuple[str, ...]:
        """The parts of one recipe, and of the first seeds, whose names contain these words.

        Parts with initialisations of the agents' own are among them only if the words say "own".

        Raises
        ------
        ValueError
            If there is no such recipe, or no such part.
        """
        if recipe not in RECIPE_NAMES:
            remedy = guessed(recipe, RECIPE_NAMES, otherwise="choose one of them")
            raise fail("--recipe", " or ".join(RECIPE_NAMES), repr(recipe), remedy)
        first = self.seeds if seeds is None else seeds
        own = [
            name
            for name, part in self._parts.items()
            if part.recipe == recipe
            and part.seed < first
            and (part.role != "own initialisation" or "own" in words)
        ]
        if not own:
            raise fail("--recipe", "paper or best", repr(recipe), f"{self.row.name} has no priors")
        chosen = tuple(name for name in own if words in name)
        if not chosen:
            raise fail("--part", f"words of {', '.join(own[:12])}", repr(words), "use such words")
        return chosen

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If torch, the data or the device are missing; in one line that says how to get them.
        """
        check_setting(self.row, self.setting)

    def settings(self) -> dict[str, Any]:
        """What all parts have in common."""
        row = self.row
        return {
            "form": FORM,
            "row": row.name,
            "dataset": row.dataset,
            "hidden": list(row.hidden),
            "main": row.main,
            "confusion": row.confusion,
            "order": row.order,
            "groups": [[name, list(agents)] for name, agents in row.groups],
            "quick": self.is_quick,
            "device": self.setting.device,
        }

    def part_settings(self, name: str) -> dict[str, Any]:
        """What the numbers of one part depend on: of the row, its recipe, and the code."""
        from empirical.data import CHECKSUMS
        from peerbayes.experiments.net_problem import server_recipe, weights_mark

        part = self._parts[name]
        values = part_values(self.row, part, is_quick=self.is_quick)
        if "server" in values:
            values = {**server_recipe(values).as_json(), **values}
        variant = self.row.variant(part.variant)
        apart = {"start": mark_of_own_start()} if part.role == "own initialisation" else {}
        return {
            "data": dict(CHECKSUMS[self.row.dataset]),
            "hidden": list(self.row.hidden),
            "dealing": variant.dealing,
            "network": dict(variant.network),
            "weights": weights_mark(variant.network),
            "role": part.role,
            "values": values,
            "schedule": schedule_values(self.row, is_quick=self.is_quick),
            "quick": self.is_quick,
            "device": self.setting.device,
            "build": build_of_nets(),
            **apart,
        }

    def stream(self, name: str) -> int:
        """The number of its seed: recipes and variants are compared on the same draws."""
        return self._parts[name].seed

    def run_part(
        self, name: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> NetPart:
        """One training, measured over its rounds."""
        from exact.checkpoint import fingerprint

        self.check()  # before torch is asked for
        from empirical.nets.threads import one_thread

        with one_thread():
            return run_net_part(
                self.row,
                self._parts[name],
                is_quick=self.is_quick,
                setting=self.setting,
                seed=seed,
                fingerprint=fingerprint(self.name, name, seed, self.part_settings(name)),
                progress=progress,
            )

    def settled(self, name: str) -> None:
        """The part is on record: what was kept to take it up again goes."""
        forget_unfinished(self._parts[name], self.setting)

    def damage(self, name: str, content: Mapping[str, Any], folder: Path) -> str | None:
        """What is wrong with the beliefs that a part on record keeps in a folder; None if nothing.

        They are read from the first byte to the last, without torch.
        """
        from peerbayes.experiments.posterior_files import posterior_damage

        return posterior_damage(content, folder, experiment=self.row.name, part=name)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """What is printed of the row, beside what every part found."""
        from peerbayes.experiments.net_lines import net_lines

        return net_lines(self.row, parts)

    def with_setting(self, setting: Setting) -> NetExperiment:
        """The same, to be run elsewhere."""
        return replace(self, setting=setting)

    @property
    def _parts(self) -> dict[str, Part]:
        parts = parts_of(self.row, seeds=self.seeds, is_quick=self.is_quick)
        apart = () if self.is_quick else parts_apart(self.row, seeds=self.seeds)
        return {part.name: part for part in (*parts, *apart)}
