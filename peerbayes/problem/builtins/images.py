"""Problems whose hypotheses are classifiers trained on images (docs: concepts).

Ten classifiers, trained once, are the hypotheses of all variants of a data set; the variants
differ in who holds which images, and in the network. Agents draw from their own images with
replacement, so that every divergence is an exact average over images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from empirical import Images
    from peerbayes.problem.finite import Problem
    from theory.progress import Progress


# Of the classifiers' training samples and of the deal of images: part of the problems' definition.
# Chosen from twelve: with it no two hypotheses nearly tie at any of the edge confidences,
# so that every rate can be measured to 2 % in seconds.
SEED = 5


@dataclass(frozen=True)
class ImageVariant:
    """Who holds which labels, and where the informative agent sits.

    `place` is a place in the 3 x 3 grid, or None for the star with `edge_confidence`;
    `label_split` is 1 or 2, those of P2's Fashion-MNIST runs.
    """

    name: str
    label_split: int
    edge_confidence: float | None = None
    place: str | None = None

    @property
    def parameters(self) -> dict[str, float | int | str]:
        """What tells this variant from the others."""
        if self.place is not None:
            return {"informative_agent": self.place, "label_split": self.label_split}
        assert self.edge_confidence is not None
        return {"edge_confidence": self.edge_confidence, "label_split": self.label_split}


def image_variants(dataset: str, edge_confidences: Sequence[float]) -> tuple[ImageVariant, ...]:
    """Two stars a label split and edge confidence, and the grid with two placements."""
    stars = [
        ImageVariant(f"{dataset} star a={a:g} split {split}", split, edge_confidence=a)
        for split in (1, 2)
        for a in edge_confidences
    ]
    grids = [ImageVariant(f"{dataset} grid {place}", 1, place=place) for place in _GRID_PLACES]
    return (*stars, *grids)


_GRID_PLACES = ("centre", "corner")


def image_problems(
    dataset: str,
    variants: Sequence[ImageVariant],
    *,
    data: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Problem, ...]:
    """Train the classifiers once and pose the problem of each variant.

    Parameters
    ----------
    dataset
        ``"digits"`` or ``"fashion-mnist"``.
    data
        Folder of the image files, if not in one of the usual places; not used for the digits.
    progress
        Called with (classifiers trained, classifiers in all).

    Raises
    ------
    ValueError
        If the image files are absent (then it is an ``empirical.DataNotFound``) or damaged.
    """
    from empirical import (
        GRID_PLACEMENTS,
        LABEL_SPLITS,
        classifier_model,
        likelihood_table,
        star_partition,
    )
    from peerbayes.problem.finite import Problem
    from theory.network import Network

    images = _images(dataset, data)
    table = likelihood_table(images, seed=SEED, progress=progress)
    problems = []
    for variant in variants:
        split = LABEL_SPLITS[f"star-fmnist-{variant.label_split}"]
        partition = star_partition(
            images.labels, centre_labels=split.centre, edge_labels=split.edges, seed=SEED
        )
        if variant.place is None:
            network = Network.from_topology(
                "star", agents=partition.agents, edge_confidence=variant.edge_confidence
            )
            where = "in the centre of a star"
        else:
            partition = partition.placed_at(GRID_PLACEMENTS[variant.place])
            network = Network.from_topology("grid", shape=[3, 3])
            where = f"at the {variant.place} of a grid"
        problems.append(
            Problem(
                name=variant.name,
                title=f"ten classifiers of {dataset}, the informative agent {where}",
                network=network,
                model=classifier_model(table, partition),
                family=dataset,
                parameters=variant.parameters,
            )
        )
    return tuple(problems)


def _images(dataset: str, data: Path | None) -> Images:
    from empirical import load_digits, load_images

    return load_digits() if dataset == "digits" else load_images(dataset, directory=data)
