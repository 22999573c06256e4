"""The families of built-in problems: names, titles, variants, and how to build them.

Each built-in is a family of variants, one of which is the default: ``p2-star`` stands for five
edge confidences. Most families are written as problem files and can be saved, changed and read
back; ``digits`` and ``fashion-mnist`` have classifiers trained on images as hypotheses
(`peerbayes.problem.builtins.images`) and live in memory. What reads problem files is imported when
a problem is built: listing names is quick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from peerbayes.problem.builtins.label_partitions import LabelBuiltin

if TYPE_CHECKING:
    from empirical import Images, RegressionTable
    from peerbayes.problem.problems import AnyProblem, Problem, RegressionProblem
    from theory.progress import Progress
    from theory.regression import RegressionModel


# P2's networks of digit readers, in small --------------------------------------------------------


DIGITS = range(10)
# Each wrong reading has probability 1/50; a true reading and its twin share 42/50.
_SLIP = Fraction(1, 50)
_SHARED = Fraction(42, 50)

_CONFUSIONS: dict[str, tuple[tuple[int, int], Fraction]] = {
    "confuses 4 and 9": ((4, 9), Fraction(16, 50)),
    "confuses 3 and 8": ((3, 8), Fraction(21, 50)),
    "confuses 0 and 1": ((0, 1), Fraction(21, 50)),
    "confuses 1 and 7": ((1, 7), Fraction(16, 50)),
}
TRUE_READER = "reads all digits"
READERS = (TRUE_READER, *_CONFUSIONS)

# The informative agent's number in the 3 x 3 grid, whose agents are counted row by row.
GRID_PLACES = {"centre": 4, "side": 1, "corner": 0}


def confusion_table(reader: str) -> list[list[str]]:
    """f(y | x) of one hypothesis: shape 10 by 10, exact numbers as strings, rows sum to one."""
    table = [[_SLIP] * len(DIGITS) for _ in DIGITS]
    for x in DIGITS:
        table[x][x] = _SHARED - _SLIP
    if reader in _CONFUSIONS:
        pair, share = _CONFUSIONS[reader]
        for x, twin in (pair, pair[::-1]):
            table[x][x], table[x][twin] = _SHARED - share, share
    return [[str(entry) for entry in row] for row in table]


def star_document(edge_confidence: str) -> dict[str, Any]:
    """The star of nine, the informative agent in its centre."""
    return {
        "name": f"p2-star a={float(Fraction(edge_confidence)):g}",
        "title": "P2's star of digit readers: only the centre sees the labels 2 to 9",
        "network": {"topology": "star", "agents": 9, "edge_confidence": edge_confidence},
        "model": _readers_model(informative=0),
    }


def grid_document(place: str) -> dict[str, Any]:
    """The 3 x 3 grid with uniform weights, the informative agent at one of `GRID_PLACES`."""
    return {
        "name": f"p2-grid {place}",
        "title": f"P2's grid of digit readers: only the agent at the {place} sees 2 to 9",
        "network": {"topology": "grid", "shape": [3, 3], "rule": "uniform"},
        "model": _readers_model(informative=GRID_PLACES[place]),
    }


def _readers_model(*, informative: int) -> dict[str, Any]:
    tables = [confusion_table(reader) for reader in READERS]

    def holders(count: int, labels: range) -> dict[str, Any]:
        share = str(Fraction(1, len(labels)))
        inputs = [share if x in labels else "0" for x in DIGITS]
        return {"count": count, "inputs": inputs, "truth": TRUE_READER, "likelihood": tables}

    others = range(2)
    entries = [
        holders(informative, others) if informative else None,
        holders(1, range(2, 10)),
        holders(8 - informative, others) if informative < 8 else None,
    ]
    return {"hypotheses": list(READERS), "agents": [entry for entry in entries if entry]}


# Built-in problems on networks that change, and with faulty agents, as problem files -------------


ChangingDocuments = dict[str, tuple[dict[str, Any], dict[str, float | int | str]]]

# (N, N_0) of P2's two experiments.
ROTATIONS = ((25, 5), (100, 10))

CHANGES: dict[str, dict[str, Any]] = {
    "links": {"kind": "links", "up": "1/2"},
    "links renormalise": {"kind": "links", "up": "1/2", "on_loss": "renormalise"},
    "links last": {"kind": "links", "up": "1/2", "on_loss": "last"},
    "presence": {"kind": "presence", "present": "3/4"},
    "absence": {"kind": "presence", "present": "3/4", "mean_absence": "5"},
    "delays": {"kind": "delays", "delay": 3},
    "gossip": {"kind": "gossip"},
    "clocks": {"kind": "clocks", "rates": ["1", "2", "1", "2", "1", "2", "1", "2"]},
    "walk": {"kind": "walk"},
}

# Spread so that no honest agent of the 5 x 5 torus hears two of them.
_LIARS = (12, 24, 5)
RULES: dict[str, dict[str, Any]] = {
    "average": {"rule": "average"},
    "trimmed-mean": {"rule": "trimmed-mean", "tolerate": 1},
    # Agents that talk seldom are promised a rate above zero.
    "trimmed-mean seldom": {"rule": "trimmed-mean", "tolerate": 1, "pool_every": 300},
    "median": {"rule": "median"},
    "median seldom": {"rule": "median", "pool_every": 300},
    "clip": {"rule": "clip", "radius": "1/2"},
}
_POOLING = {
    "average": "the others average",
    "trimmed-mean": "the others take trimmed means",
    "trimmed-mean seldom": "the others take trimmed means, every 300 rounds",
    "median": "the others take medians",
    "median seldom": "the others take medians, every 300 rounds",
    "clip": "the others clip what they hear",
}
_LYING = {0: "none of whom lies", 1: "one of whom lies", 3: "three of whom lie"}


def rotating_star_documents() -> ChangingDocuments:
    """P2's two networks of stars that take turns."""
    documents: ChangingDocuments = {}
    for agents, group in ROTATIONS:
        name = f"rotating-star {agents}"
        documents[name] = (
            {
                "name": name,
                "title": f"P2's {agents} agents that form a star of {group} at a time",
                "network": {
                    "topology": "star",
                    "agents": agents + 1,
                    "edge_confidence": "1/2",
                    "changes": {"kind": "rotation", "group_size": group},
                },
                "model": {
                    "hypotheses": list(READERS),
                    "agents": [_reader(agents + 1, DIGITS)],
                },
            },
            {"agents": agents, "group_size": group},
        )
    return documents


def restless_ring_documents() -> ChangingDocuments:
    """A ring of eight digit readers, under each kind of change."""
    pair = (4, 9)
    rest = tuple(x for x in DIGITS if x not in pair)
    documents: ChangingDocuments = {}
    for kind, changes in CHANGES.items():
        name = f"restless-ring {kind}"
        documents[name] = (
            {
                "name": name,
                "title": "eight digit readers on a ring that changes, none of whom sees all labels",
                "network": {
                    "topology": "ring",
                    "agents": 8,
                    "rule": "metropolis",
                    "changes": changes,
                },
                "model": {
                    "hypotheses": list(READERS),
                    "agents": [_reader(4, pair), _reader(4, rest)],
                },
            },
            {"changes": kind},
        )
    return documents


def liars_documents() -> ChangingDocuments:
    """The 5 x 5 torus with no, one or three liars, by each rule."""
    documents: ChangingDocuments = {}
    for rule, table in RULES.items():
        for liars in _LYING:
            name = f"liars-torus {rule} {liars}"
            faults: dict[str, Any] = dict(table)
            if liars:
                faults["agents"] = [
                    {
                        "agents": list(_LIARS[:liars]),
                        "behaviour": "push",
                        "hypothesis": "loaded",
                        "strength": "1",
                    }
                ]
            documents[name] = (
                {
                    "name": name,
                    "title": f"25 agents on a torus, {_LYING[liars]}; {_POOLING[rule]}",
                    "network": {"topology": "torus", "shape": [5, 5], "rule": "metropolis"},
                    "model": {
                        "hypotheses": ["fair", "loaded"],
                        "agents": [
                            {
                                "count": 25,
                                "truth": "fair",
                                "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]],
                            }
                        ],
                    },
                    "faults": faults,
                },
                {"rule": rule, "liars": liars},
            )
    return documents


def _reader(count: int, labels: range | tuple[int, ...]) -> dict[str, Any]:
    share = str(Fraction(1, len(labels)))
    return {
        "count": count,
        "inputs": [share if x in labels else "0" for x in DIGITS],
        "truth": TRUE_READER,
        "likelihood": [confusion_table(reader) for reader in READERS],
    }


# The papers' linear regressions as problem files, all numbers exact, and variants of them --------


_UNSEEN = ["0", "0"]
_BIAS = ["1", "1"]


def _ranges(half_widths: Sequence[str], seen: Sequence[int]) -> list[list[str]]:
    """The bias, and of the coordinates with these half-widths those that are seen."""
    return [
        _BIAS,
        *([f"-{w}", w] if k in seen else list(_UNSEEN) for k, w in enumerate(half_widths)),
    ]


def _document(
    name: str,
    title: str,
    *,
    weights: Sequence[Sequence[str]],
    theta: Sequence[str],
    half_widths: Sequence[str],
) -> dict[str, Any]:
    coordinates = range(len(half_widths))
    return {
        "name": name,
        "title": title,
        "network": {"weights": [list(row) for row in weights]},
        "regression": {
            "theta": list(theta),
            "noise_std": "4/5",
            "prior_variance": "1/2",
            "agents": [{"ranges": _ranges(half_widths, [k])} for k in coordinates],
            "test_ranges": _ranges(half_widths, list(coordinates)),
        },
    }


def _tempered(document: dict[str, Any], name: str, powers: Sequence[str]) -> dict[str, Any]:
    result = deepcopy(document)
    result["name"] = name
    result["title"] += ", likelihoods to the power 1/v"
    for agent, power in zip(result["regression"]["agents"], powers, strict=True):
        agent["tempering"] = power
    return result


def _reweighted(document: dict[str, Any], name: str, network: dict[str, Any]) -> dict[str, Any]:
    result = deepcopy(document)
    result["name"] = name
    result["title"] += ", symmetric weights"
    result["network"] = network
    return result


P1_REGRESSION = _document(
    "p1-regression",
    "P1's two nodes, each with one of two coordinates",
    weights=[["9/10", "1/10"], ["3/5", "2/5"]],
    theta=["-3/10", "1/2", "4/5"],
    half_widths=["1", "3/2"],
)
P2_REGRESSION = _document(
    "p2-regression",
    "P2's four nodes, each with one of four coordinates",
    weights=[
        ["1/2", "1/2", "0", "0"],
        ["3/10", "1/10", "3/10", "3/10"],
        ["0", "1/2", "1/2", "0"],
        ["0", "1/2", "0", "1/2"],
    ],
    theta=["-3/10", "1/2", "1/2", "1/10", "1/5"],
    half_widths=["1", "3/2", "5/4", "3/4"],
)

Documents = dict[str, tuple[dict[str, Any], dict[str, float | int | str]]]


def p1_documents() -> Documents:
    """P1's two nodes, with their own weights, with symmetric ones, and tempered."""
    name = "p1-regression"
    symmetric = {"weights": [["9/10", "1/10"], ["1/10", "9/10"]]}
    uniform, tempered = f"{name} uniform v", f"{name} tempered"
    return {
        name: (P1_REGRESSION, {"variant": "as printed"}),
        uniform: (_reweighted(P1_REGRESSION, uniform, symmetric), {"variant": "uniform v"}),
        # v = (6/7, 1/7).
        tempered: (_tempered(P1_REGRESSION, tempered, ["7/6", "7"]), {"variant": "tempered"}),
    }


def p2_documents() -> Documents:
    """P2's four nodes, with their own weights, with symmetric ones, and tempered."""
    name = "p2-regression"
    symmetric = {"edges": [[0, 1], [1, 2], [1, 3]], "agents": 4, "rule": "metropolis"}
    uniform, tempered = f"{name} uniform v", f"{name} tempered"
    # v = (3, 5, 3, 3)/14.
    powers = ["14/3", "14/5", "14/3", "14/3"]
    return {
        name: (P2_REGRESSION, {"variant": "as printed"}),
        uniform: (_reweighted(P2_REGRESSION, uniform, symmetric), {"variant": "uniform v"}),
        tempered: (_tempered(P2_REGRESSION, tempered, powers), {"variant": "tempered"}),
    }


# Problems whose hypotheses are classifiers trained on images (docs -------------------------------


# Of the classifiers' training samples and of the deal of images: part of the problems' definition.
# Chosen from twelve: with it no two hypotheses nearly tie at any of the edge confidences,
# so that every rate can be measured to 2 % in seconds.
IMAGE_SEED = 5


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
    from peerbayes.problem.problems import Problem
    from theory.network import Network

    images = _images(dataset, data)
    table = likelihood_table(images, seed=IMAGE_SEED, progress=progress)
    problems = []
    for variant in variants:
        split = LABEL_SPLITS[f"star-fmnist-{variant.label_split}"]
        partition = star_partition(
            images.labels, centre_labels=split.centre, edge_labels=split.edges, seed=IMAGE_SEED
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


# Regressions on scikit-learn's diabetes data, its features or its patients split over agents -----


# Of the split into training and test patients, and of the deal: part of the problems' definition.
SEED = 0
_SHARES = (0.5, 0.25, 0.25)
_TITLES = {
    "features": "three agents with a group of features each, on all patients",
    "components": "three agents with a group of principal components each, on all patients",
    "rows": "three agents with all features, of patients of their own",
}


@dataclass(frozen=True)
class DiabetesBuiltin:
    """Three ways to split the data over a path of three agents."""

    name: str
    title: str
    default: str
    needs_data: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants' names, in order."""
        return tuple(f"{self.name} {split}" for split in _TITLES)

    def build(
        self, names: tuple[str, ...], *, data: Path | None, progress: Progress | None
    ) -> tuple[RegressionProblem, ...]:
        """The problems of some of the variants."""
        return tuple(
            _problem(self.name, split) for split in _TITLES if f"{self.name} {split}" in names
        )


def _problem(family: str, split: str) -> RegressionProblem:
    from empirical import load_diabetes
    from peerbayes.problem.problems import RegressionProblem
    from theory.network import Network
    from theory.regression import RegressionAgent

    table = load_diabetes(seed=SEED)
    if split == "components":
        table = table.principal_components()
    return RegressionProblem(
        name=f"{family} {split}",
        title=f"scikit-learn's diabetes data, {_TITLES[split]}",
        network=Network.from_topology("path", agents=3),
        regression=_model(table, split),
        family=family,
        parameters={"split": split},
        node=RegressionAgent(inputs=table.inputs, targets=table.targets, noise_std=table.noise_std),
    )


def _model(table: RegressionTable, split: str) -> RegressionModel:
    from empirical import split_features, split_rows

    if split == "rows":
        return split_rows(table, _SHARES, seed=SEED)
    if split == "features":
        return split_features(table)
    names = table.features[1:]
    groups = {"first": names[:4], "second": names[4:7], "third": names[7:]}
    return split_features(table, groups)


# The families of built-in problems ---------------------------------------------------------------


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
