"""The families of built-in problems: names, titles, variants, and how to build them.

Each built-in is a family of variants, one of which is the default: ``p2-star`` stands for five
edge confidences. Most families are written as problem files and can be saved, changed and read
back; ``digits`` and ``fashion-mnist`` have classifiers trained on images as hypotheses
(`peerbayes.problem.builtins.images`) and live in memory. What reads problem files is imported when
a problem is built: listing names is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from peerbayes.problem.builtins.changing import (
    liars_documents,
    restless_ring_documents,
    rotating_star_documents,
)
from peerbayes.problem.builtins.diabetes import DiabetesBuiltin
from peerbayes.problem.builtins.digit_readers import GRID_PLACES, grid_document, star_document
from peerbayes.problem.builtins.images import image_problems, image_variants
from peerbayes.problem.builtins.labels import LabelBuiltin
from peerbayes.problem.builtins.regressions import p1_documents, p2_documents

if TYPE_CHECKING:
    from peerbayes.problem.problems import AnyProblem
    from theory.progress import Progress

EDGE_CONFIDENCES = ("1/10", "1/5", "3/10", "1/2", "7/10")

TWO_COINS: dict[str, Any] = {
    "name": "two-coins",
    "title": "two agents decide whether a coin is fair; what they see depends on an input",
    "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
    "model": {
        "hypotheses": ["fair", "loaded"],
        "agents": [
            {
                "count": 2,
                "inputs": ["1/2", "1/2"],
                "truth": [["1/2", "1/2"], ["1/2", "1/2"]],
                "likelihood": [
                    [["1/2", "1/2"], ["1/2", "1/2"]],
                    [["3/4", "1/4"], ["1/2", "1/2"]],
                ],
                "prior": ["1/2", "1/2"],
            }
        ],
    },
}


@dataclass(frozen=True)
class WrittenBuiltin:
    """Variants that are problem files: for each name the document and what was varied."""

    name: str
    title: str
    default: str
    documents: Mapping[str, tuple[dict[str, Any], dict[str, float | int | str]]]
    needs_data: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants' names, in order."""
        return tuple(self.documents)

    def build(
        self, names: tuple[str, ...], *, data: Path | None, progress: Progress | None
    ) -> tuple[AnyProblem, ...]:
        """The problems of some of the variants."""
        from peerbayes.problem.reading import problem_from_document

        problems = []
        for name in names:
            document, parameters = self.documents[name]
            problems.append(
                problem_from_document(
                    document, source=name, family=self.name, parameters=parameters
                )
            )
        return tuple(problems)


@dataclass(frozen=True)
class ImageBuiltin:
    """Variants on one set of images, with the same trained classifiers."""

    name: str
    title: str
    default: str
    needs_data: bool

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants' names, in order."""
        return tuple(variant.name for variant in image_variants(self.name, _confidences()))

    def build(
        self, names: tuple[str, ...], *, data: Path | None, progress: Progress | None
    ) -> tuple[AnyProblem, ...]:
        """The problems of some of the variants; the classifiers are trained once."""
        every = image_variants(self.name, _confidences())
        chosen = [variant for variant in every if variant.name in names]
        return image_problems(self.name, chosen, data=data, progress=progress)


Builtin = WrittenBuiltin | ImageBuiltin | LabelBuiltin | DiabetesBuiltin
"""A family: its name, title, variants and default, and how to build some of them."""


def _confidences() -> list[float]:
    return [float(Fraction(a)) for a in EDGE_CONFIDENCES]


def _families() -> tuple[Builtin, ...]:
    stars = [star_document(a) for a in EDGE_CONFIDENCES]
    grids = {place: grid_document(place) for place in GRID_PLACES}
    return (
        WrittenBuiltin(
            "two-coins",
            "two agents, a coin that is fair or loaded",
            "two-coins",
            {"two-coins": (TWO_COINS, {})},
        ),
        WrittenBuiltin(
            "p2-star",
            "P2's star of nine digit readers, five edge confidences a",
            "p2-star a=0.5",
            {
                document["name"]: (document, {"edge_confidence": a})
                for document, a in zip(stars, _confidences(), strict=True)
            },
        ),
        WrittenBuiltin(
            "p2-grid",
            "P2's 3 x 3 grid of digit readers, three places of the informative one",
            "p2-grid centre",
            {
                document["name"]: (document, {"informative_agent": place})
                for place, document in grids.items()
            },
        ),
        ImageBuiltin(
            "digits",
            "ten classifiers of scikit-learn's digits, on stars and grids",
            "digits star a=0.7 split 1",
            needs_data=False,
        ),
        ImageBuiltin(
            "fashion-mnist",
            "ten classifiers of Fashion-MNIST, on stars and grids",
            "fashion-mnist star a=0.7 split 1",
            needs_data=True,
        ),
        LabelBuiltin(
            "label-partitions",
            "who holds which labels in the papers' experiments: which labels suffer",
            "label-partitions star-mnist-2",
        ),
        WrittenBuiltin(
            "rotating-star",
            "P2's stars that take turns: 25 agents by fives, 100 by tens",
            "rotating-star 25",
            rotating_star_documents(),
        ),
        WrittenBuiltin(
            "restless-ring",
            "eight digit readers on a ring, under every kind of change",
            "restless-ring links",
            restless_ring_documents(),
        ),
        WrittenBuiltin(
            "liars-torus",
            "25 agents on a torus, up to three of them liars, by four rules",
            "liars-torus trimmed-mean 1",
            liars_documents(),
        ),
        WrittenBuiltin(
            "p1-regression",
            "P1's two nodes, a linear regression; two variants of its own",
            "p1-regression",
            p1_documents(),
        ),
        WrittenBuiltin(
            "p2-regression",
            "P2's four nodes, a linear regression; two variants of its own",
            "p2-regression",
            p2_documents(),
        ),
        DiabetesBuiltin(
            "diabetes",
            "scikit-learn's diabetes data, a regression split over agents in three ways",
            "diabetes features",
        ),
    )


BUILTINS: Mapping[str, Builtin] = MappingProxyType({family.name: family for family in _families()})
"""The built-in families by name."""
