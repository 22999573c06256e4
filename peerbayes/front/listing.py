"""`peerbayes list`: the built-in problems and the experiments, with what is on record of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from peerbayes.documents import Document
from peerbayes.experiments.registry import EXPERIMENTS
from peerbayes.experiments.run import what_is_done
from peerbayes.problem.builtins.families import BUILTINS

if TYPE_CHECKING:
    from rich.console import RenderableType


class BuiltinDocument(Document):
    """A built-in problem and its variants."""

    name: str
    title: str
    needs_data: bool = Field(description="whether it needs image files")
    default: str = Field(description="the variant that its name alone stands for")
    variants: list[str] = Field(min_length=1)


class ExperimentDocument(Document):
    """An experiment of the papers."""

    name: str
    title: str
    source: str
    done: str = Field(
        description="what is on record in the --out folder, in words; empty if nothing is"
    )


class Listing(Document):
    """What there is, by name."""

    problems: list[BuiltinDocument]
    experiments: list[ExperimentDocument]

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from rich.text import Text

        from peerbayes.tables import names_table

        hint = Text("Variants go by name too (see 'peerbayes list --json').")
        problems = names_table("Built-in problems", "name", "what it is", "variants")
        for problem in self.problems:
            problems.add_row(problem.name, problem.title, str(len(problem.variants)))
        problems.columns[-1].justify = "right"
        experiments = names_table(
            "Experiments, for 'peerbayes run'", "name", "what it is", "source", "on record"
        )
        experiments.columns[2].no_wrap = True
        for entry in self.experiments:
            experiments.add_row(entry.name, entry.title, entry.source, entry.done)
        return [problems, hint, experiments]


def listing(out: Path) -> Listing:
    """What there is, and what is on record in a folder."""
    return Listing(
        problems=[
            BuiltinDocument(
                name=family.name,
                title=family.title,
                needs_data=family.needs_data,
                default=family.default,
                variants=list(family.variants),
            )
            for family in BUILTINS.values()
        ],
        experiments=[
            ExperimentDocument(
                name=entry.name,
                title=entry.title,
                source=entry.source,
                done=what_is_done(entry.name, out),
            )
            for entry in EXPERIMENTS.values()
        ],
    )
