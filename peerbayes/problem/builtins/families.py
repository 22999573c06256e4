"""The families of built-in problems: names, titles, variants, and how to build them.

Each built-in is a family of variants, one of which is the default: ``p2-star`` stands for five
edge confidences. Most families are written as problem files (``families.toml``, or
`peerbayes.problem.builtins.label_partitions`) and can be saved, changed and read back. The others
are made of data and live in memory: ``digits`` and ``fashion-mnist`` have classifiers trained on
images as hypotheses, ``diabetes`` is a regression on a data set. What reads problem files is
imported when a problem is built: listing names is quick.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from peerbayes.problem.builtins.label_partitions import PARTITIONS, label_document

if TYPE_CHECKING:
    from peerbayes.problem.problems import AnyProblem, Parameters, Problem, RegressionProblem
    from theory.progress import Progress

Table = dict[str, Any]

EDGE_CONFIDENCES = (0.1, 0.2, 0.3, 0.5, 0.7)
"""Weights of the edges on the centre, in all families of stars."""


@dataclass(frozen=True)
class Builtin:
    """A family of problems that go by name.

    Attributes
    ----------
    name, title, default
        Its name, a line about it, and the variant that goes by the family's name alone.
    parameters
        What tells each variant from the others, by the variants' names.
    make
        Makes the problems of some variants, from the family, their names, the folder of the image
        files and a progress function.
    needs_data
        Whether image files are needed.
    """

    name: str
    title: str
    default: str
    parameters: Mapping[str, Parameters]
    make: Callable[..., tuple[AnyProblem, ...]]
    needs_data: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants' names, in order."""
        return tuple(self.parameters)

    def build(
        self, names: tuple[str, ...], *, data: Path | None, progress: Progress | None
    ) -> tuple[AnyProblem, ...]:
        """The problems of some of the variants; classifiers are trained once for all of them."""
        return self.make(self, [name for name in self.variants if name in names], data, progress)

    def from_file(self, name: str, document: Table) -> AnyProblem:
        """The problem of one variant, of its file."""
        from peerbayes.problem.reading import problem_from_document

        parameters = self.parameters[name]
        return problem_from_document(document, source=name, family=self.name, parameters=parameters)


# Files ------------------------------------------------------------------------------------------

_FILE = tomllib.loads((files(__package__) / "families.toml").read_text("utf-8"))


@dataclass(frozen=True)
class WrittenBuiltin(Builtin):
    """Variants that are problem files, of ``families.toml``."""

    @classmethod
    def named(cls, name: str) -> WrittenBuiltin:
        """The family of that name."""
        family = _FILE[name]
        parameters = {name: own["parameters"] for name, own in family["variants"].items()}
        return cls(name, family["title"], family["default"], parameters, _of_files)

    @cached_property
    def documents(self) -> Mapping[str, tuple[Table, Parameters]]:
        """For each name the document, and what was varied."""
        family = _FILE[self.name]
        found = {}
        for name, own in family["variants"].items():
            document = _like_shared(merged({"name": name, **family["problem"]}, own))
            found[name] = document, document.pop("parameters")
        return found


def _of_files(family: WrittenBuiltin, names: list[str], *_: Any) -> tuple[AnyProblem, ...]:
    return tuple(family.from_file(name, family.documents[name][0]) for name in names)


def merged(base: Table, over: Table) -> Table:
    """Tables are merged key by key; anything else is replaced."""
    return base | {
        key: merged(base[key], value)
        if isinstance(value, dict) and isinstance(base.get(key), dict)
        else value
        for key, value in over.items()
    }


def _like_shared(value: Any) -> Any:
    """The value, its tables with the keys of the shared ones that they are like."""
    if isinstance(value, list):
        return [_like_shared(one) for one in value]
    if not isinstance(value, dict):
        return value
    own = {key: _like_shared(one) for key, one in value.items() if key != "like"}
    return _like_shared(_FILE["shared"][value["like"]]) | own if "like" in value else own


def _of_partitions(family: Builtin, names: list[str], *_: Any) -> tuple[AnyProblem, ...]:
    """Who holds which labels: problem files, written when they are asked for."""
    partitions = (PARTITIONS[str(family.parameters[name]["partition"])] for name in names)
    return tuple(
        family.from_file(name, label_document(partition, name=name))
        for name, partition in zip(names, partitions, strict=True)
    )


# Classifiers of images --------------------------------------------------------------------------

# Of the classifiers' training samples and of the deal of images: part of the problems' definition.
# Chosen from twelve: with it no two hypotheses nearly tie at any of the edge confidences,
# so that every rate can be measured to 2 % in seconds.
_IMAGE_SEED = 5


def _image_family(name: str, title: str, *, needs_data: bool) -> Builtin:
    """Two stars a label split and edge confidence, and the grid with two placements.

    Label splits are those of P2's Fashion-MNIST runs; the informative agent is in the centre of a
    star, or at a place of the 3 x 3 grid.
    """
    stars = {
        f"{name} star a={a:g} split {split}": {"edge_confidence": a, "label_split": split}
        for split in (1, 2)
        for a in EDGE_CONFIDENCES
    }
    grids = {
        f"{name} grid {place}": {"informative_agent": place, "label_split": 1}
        for place in ("centre", "corner")
    }
    variants: Mapping[str, Parameters] = {**stars, **grids}
    return Builtin(name, title, f"{name} star a=0.7 split 1", variants, of_images, needs_data)


def of_images(
    family: Builtin, names: list[str], data: Path | None, progress: Progress | None
) -> tuple[Problem, ...]:
    """Ten classifiers, trained once, are the hypotheses of all variants (docs: concepts).

    Variants differ in who holds which images, and in the network. Agents draw from their own images
    with replacement, so that every divergence is an exact average over images.

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
        load_digits,
        load_images,
        star_partition,
    )
    from peerbayes.problem.problems import Problem
    from theory.network import Network

    is_small = family.name == "digits"
    images = load_digits() if is_small else load_images(family.name, directory=data)
    table = likelihood_table(images, seed=_IMAGE_SEED, progress=progress)
    problems = []
    for name in names:
        parameters: Mapping[str, Any] = family.parameters[name]
        split = LABEL_SPLITS[f"star-fmnist-{parameters['label_split']}"]
        partition = star_partition(
            images.labels, centre_labels=split.centre, edge_labels=split.edges, seed=_IMAGE_SEED
        )
        place = parameters.get("informative_agent")
        if place is None:
            a = parameters["edge_confidence"]
            network = Network.from_topology("star", agents=partition.agents, edge_confidence=a)
            where = "in the centre of a star"
        else:
            partition = partition.placed_at(GRID_PLACEMENTS[place])
            network = Network.from_topology("grid", shape=[3, 3])
            where = f"at the {place} of a grid"
        title = f"ten classifiers of {family.name}, the informative agent {where}"
        model = classifier_model(table, partition)
        problems.append(Problem(name, title, network, model, None, family.name, parameters))
    return tuple(problems)


# A regression on data ---------------------------------------------------------------------------

# Of the split into training and test patients, and of the deal: part of the problems' definition.
_PATIENT_SEED = 0
_SHARES = (0.5, 0.25, 0.25)
_SPLITS = {
    "features": "three agents with a group of features each, on all patients",
    "components": "three agents with a group of principal components each, on all patients",
    "rows": "three agents with all features, of patients of their own",
}


def _of_patients(family: Builtin, names: list[str], *_: Any) -> tuple[RegressionProblem, ...]:
    """Three ways to split scikit-learn's diabetes data over a path of three agents.

    Labels are those of the data, which no linear model explains: errors are those against the
    regression on all features of all training patients. Beside the network stands a central node
    that sees all features of one patient a round.
    """
    from empirical import load_diabetes, split_features, split_rows
    from peerbayes.problem.problems import RegressionProblem
    from theory.network import Network
    from theory.regression import RegressionAgent

    problems = []
    for name in names:
        split, table = str(family.parameters[name]["split"]), load_diabetes(seed=_PATIENT_SEED)
        if split == "rows":
            model = split_rows(table, _SHARES, seed=_PATIENT_SEED)
        elif split == "features":
            model = split_features(table)
        else:
            table = table.principal_components()
            parts = table.features[1:]
            groups = {"first": parts[:4], "second": parts[4:7], "third": parts[7:]}
            model = split_features(table, groups)
        noise = table.noise_std
        problem = RegressionProblem(
            name=name,
            title=f"scikit-learn's diabetes data, {_SPLITS[split]}",
            network=Network.from_topology("path", agents=3),
            regression=model,
            family=family.name,
            parameters={"split": split},
            node=RegressionAgent(inputs=table.inputs, targets=table.targets, noise_std=noise),
        )
        problems.append(problem)
    return tuple(problems)


# All of them ------------------------------------------------------------------------------------

_FAMILIES = (
    *map(WrittenBuiltin.named, ("two-coins", "p2-star", "p2-grid")),
    _image_family(
        "digits", "ten classifiers of scikit-learn's digits, on stars and grids", needs_data=False
    ),
    _image_family(
        "fashion-mnist", "ten classifiers of Fashion-MNIST, on stars and grids", needs_data=True
    ),
    Builtin(
        "label-partitions",
        "who holds which labels in the papers' experiments: which labels suffer",
        "label-partitions star-mnist-2",
        {f"label-partitions {name}": {"partition": name} for name in PARTITIONS},
        _of_partitions,
    ),
    *map(WrittenBuiltin.named, ("rotating-star", "restless-ring", "liars-torus")),
    *map(WrittenBuiltin.named, ("p1-regression", "p2-regression")),
    Builtin(
        "diabetes",
        "scikit-learn's diabetes data, a regression split over agents in three ways",
        "diabetes features",
        {f"diabetes {split}": {"split": split} for split in _SPLITS},
        _of_patients,
    ),
)
BUILTINS: Mapping[str, Builtin] = MappingProxyType({family.name: family for family in _FAMILIES})
"""The built-in families by name."""


def family_of(name: str) -> Builtin | None:
    """The family that goes by this name, or has a variant that does; None if there is none."""
    found = (f for f in BUILTINS.values() if name == f.name or name in f.parameters)
    return next(found, None)
