"""The papers' networks of Bayesian neural nets as experiments: printed, measured, predicted.

A part is one run of one recipe with one seed: of the row's network, or of what it is compared
with. What a part finds does not depend on which other parts are run, so that recipes and seeds can
be added to a record one by one. Listing and reporting need no torch.

A part leaves its beliefs beside its record. The record names the file and its checksum; the file
says itself of which experiment and part it is, so that one put in another's place is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.experiments.experiment import Experiment, Job, Line, parts_named
from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_rows import (
    RECIPE_NAMES,
    Part,
    net_recipe,
    part_values,
    parts_aside,
    parts_of,
    schedule_values,
)
from peerbayes.experiments.net_run import (
    OWN_START,
    RowExperiment,
    check_codec,
    codec_settings,
    run_net_part,
    server_recipe,
    weights_mark,
    written,
)
from peerbayes.experiments.run import KIND, PART_KIND
from peerbayes.experiments.setting import KeptFile, codec_recipes, parts_folder
from peerbayes.experiments.tuned import RECIPE as TUNED
from peerbayes.experiments.tuned import TunedExperiment
from peerbayes.messages import guessed
from peerbayes.records import Record
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.settings.nets import Experiment as Options

FORM = "nets"
DEFAULT_RECIPE = "best"


@dataclass(frozen=True)
class NetExperiment(RowExperiment[Part]):
    """One row with neural nets; a quick run has a tenth of the images, and a few hundred steps.

    Attributes
    ----------
    codec
        Name of what writes the messages; empty: they are sent as they are. With one, only the
        parts whose messages it can write are run, in records of their own.
    """

    codec: str = ""

    options = RowExperiment.options | {"recipe", "codec"}

    @property
    def name(self) -> str:
        """Name of its row, then `quick` for a quick run, then the codec if there is one."""
        words = self.row.name, "quick" * self.is_quick, self.codec
        return " ".join(word for word in words if word)

    @property
    def title(self) -> str:
        """One line that says what the row is about."""
        return f"{self.row.title}, messages by {self.codec}" if self.codec else self.row.title

    def parts_with(
        self, words: str = "", *, seeds: int | None = None, recipe: str = DEFAULT_RECIPE
    ) -> tuple[str, ...]:
        """The parts of one recipe, and of the first seeds, whose names contain these words.

        Parts aside (`net_rows.parts_aside`) are among them only if the words ask for them.

        Raises
        ------
        ValueError
            If there is no such recipe, or no such part.
        """
        if recipe not in RECIPE_NAMES:
            names = (*RECIPE_NAMES, "tuned")
            remedy = guessed(recipe, names, otherwise="choose one of them, or tuned")
            raise fail("--recipe", " or ".join(RECIPE_NAMES), repr(recipe), remedy)
        own = [
            name
            for name, part in self.table.items()
            if part.recipe == recipe and part.asked_for in words
            if seeds is None or part.seed < seeds
        ]
        if not own and not self.codec:
            raise fail("--recipe", "paper or best", repr(recipe), f"{self.row.name} has no priors")
        if not own:
            got, remedy = repr(self.codec), "take the recipe 'best', which averages nets too"
            raise fail("--codec", f"one that writes the beliefs of {recipe!r}", got, remedy)
        return parts_named(own, words, shown=own[:12])

    def configured(self, how: Options, out: Path) -> tuple[Experiment[Any], tuple[str, ...] | None]:
        """The experiment by recipe, codec and seeds, or the comparison of methods on its row.

        Raises
        ------
        ValueError
            If there are no such parts, or what it needs is missing; in one line.
        """
        codec = "" if how.codec in (None, "none") else str(how.codec)
        recipe = how.recipe or DEFAULT_RECIPE
        if recipe == TUNED:
            if codec:
                wanted = "no codec with --recipe tuned"
                raise fail("--codec", wanted, codec, "leave one of them out")
            return TunedExperiment(self.row, seeds=self.seeds).configured(how, out)
        found = self.asked(how, out, codec=codec)
        if codec:  # which parts there are depends on what it can write
            found.check()
        only = found.parts_with(how.part or "", seeds=self.seeds_of(how), recipe=recipe)
        found.check()
        return found, only

    def check(self) -> None:
        """Refuse to run where something is missing, or the codec can write nothing of the row.

        Raises
        ------
        ValueError
            In one line that says how to get it.
        """
        super().check()
        if self.codec:
            check_codec(self.row, self.codec)

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
            **self._coding,
        }

    def depends(self, part: Part) -> dict[str, Any]:
        """What the numbers of one part depend on: of the row, and its recipe."""
        from empirical.data import CHECKSUMS

        row = self.row
        values = part_values(row, part, is_quick=self.is_quick)
        if "server" in values:
            values = {**server_recipe(values).as_json(), **values}
        variant = row.variant(part.variant)
        apart = {"start": OWN_START} if part.role == "own initialisation" else {}
        return {
            "data": dict(CHECKSUMS[row.dataset]),
            "hidden": list(row.hidden),
            "dealing": variant.dealing,
            "network": dict(variant.network),
            "weights": weights_mark(row.name, part.variant),
            "role": part.role,
            "values": values,
            "schedule": schedule_values(row, is_quick=self.is_quick),
            "quick": self.is_quick,
            "device": self.setting.device,
            **apart,
            **self._coding,
        }

    def recipes(self, part: Part) -> tuple[str, ...]:
        """Its own, and those of the codecs."""
        codecs = codec_recipes(codec_settings(self.codec)) if self.codec else ()
        return net_recipe(self.row, part), *codecs

    def find(self, part: Part, job: Job) -> NetPart:
        """Train and measure (`net_run.run_net_part`)."""
        return run_net_part(
            self.row, part, job, is_quick=self.is_quick, codec=self.codec, setting=self.setting
        )

    def damage(self, part: str, content: Mapping[str, Any], folder: Path) -> str | None:
        """What is wrong with the beliefs that a part on record keeps in a folder; None if nothing.

        They are read from the first byte to the last, without torch.
        """
        if content.get("posterior") is None:
            return None
        kept = KeptFile.model_validate(content["posterior"])
        return kept.damage(folder, (self.row.name, part))

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """What is printed of the row, beside what every part found."""
        from peerbayes.experiments.net_lines import net_lines

        return net_lines(self.row, parts)

    @property
    def table(self) -> dict[str, Part]:
        """Its network's, what it is compared with, and those aside."""
        parts = parts_of(self.row, seeds=self.seeds, is_quick=self.is_quick)
        aside = () if self.is_quick or self.codec else parts_aside(self.row, seeds=self.seeds)
        chosen = [p for p in (*parts, *aside) if not self.codec or written(self.row, p, self.codec)]
        return {part.name: part for part in chosen}

    @property
    def _coding(self) -> dict[str, Any]:
        """What is said of the codec, where one writes the messages."""
        return {"codec": codec_settings(self.codec)} if self.codec else {}


# The beliefs that a part leaves -------------------------------------------------------------------


def damaged_posteriors(record: Record) -> Iterator[str]:
    """Yield what is wrong with the beliefs that a record of `run`, or of a part, speaks of.

    A record without the folder of its parts has been taken elsewhere, and is of use by itself.
    """
    if record.kind == PART_KIND:
        contents, folder, row = {"": record.body["content"]}, record.path.parent, None
    elif record.kind == KIND:
        contents, row = record.body["content"], record.body.get("settings", {}).get("row")
        folder = parts_folder(record.path.parent, record.body["experiment"])
    else:
        return
    if not folder.is_dir():
        return
    for name, content in contents.items():
        if isinstance(content, Mapping) and content.get("posterior") is not None:
            part = (
                name or Part(*(content[key] for key in ("recipe", "role", "variant", "seed"))).name
            )
            damage = KeptFile.model_validate(content["posterior"]).damage(folder, (row, part))
            if damage is not None:
                yield damage
