"""Every experiment of the papers with neural nets: rows, recipes, and the parts that are run.

A row is a data set, a way to deal it, a network (or several, over which the row goes), a net, and
what the paper prints. A recipe says how it is trained. Both stand in `empirical/papers/rows.toml`.
A part is one run of one recipe with one seed: of the row's network, or of what it is compared with.

In what a part leaves on disk, short records (`peerbayes.experiments.short_records`) and those of
earlier versions have fewer keys: what they lack has a default. A network has two beliefs a round:
before its consensus, b, and after it, q. The papers predict with b (P2 4.2 and Remark 6); what they
print is compared with that. Learners alone and servers have one belief.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from empirical import papers
from peerbayes.documents import Document
from peerbayes.experiments.experiment import Made, RunSummary
from peerbayes.experiments.setting import KeptFile

Table = Mapping[str, Any]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Variant:
    """One network of a row.

    Attributes
    ----------
    dealing
        Who holds what: a name in `empirical.dealing.DEALINGS`.
    network
        The `network` table of a problem file, or ``rotating_star`` with its arguments, or
        ``server``: federated averaging, with the name of its recipe but for "paper, " or "best, ".
    name
        Such as ``a=0.5``; empty where the row has one network only.
    printed
        What the paper prints, by the name of a group of agents: accuracies in %, or words.
    """

    dealing: str
    network: Table
    name: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One experiment.

    Attributes
    ----------
    name, title, source
        As `peerbayes.experiments.Experiment` has them.
    dataset
        A name in `empirical.data.CHECKSUMS`.
    hidden
        Widths of the hidden layers.
    variants
        In order; the first of `main` is what baselines are compared with.
    groups
        Agents whose mean accuracies are lines: (name, agents); an empty tuple is all of them.
    main
        The name of the variant that baselines are run for.
    quick
        The names of the variants that a quick run has; empty: all.
    baselines
        Whether each agent is run alone too, and all data in one place.
    alone, central
        What is printed of these.
    averaging
        Whether averaging of nets at the same cost is run beside it.
    server
        Recipe of federated averaging on the row's own split; empty: it is not run.
    printed_server
        What is printed of that.
    confusion
        Whether confusion matrices are shown.
    order
        What theory orders by influence: ``v`` of agent 0 over the variants, or ``placement``.
    forecast
        Name of the partition in `peerbayes.problem.builtins.label_partitions.PARTITIONS`, or empty.
    apart, batchwise
        Whether the main network is also run with an own initialisation of each agent; with a
        consensus after every batch, or every few.
    least_sure
        What is said of confidences, by group of agents.
    recipes
        Values of ``paper`` and ``best`` that are not the same in all rows; none of a server.
    seeds
        How many, if not said otherwise.
    """

    name: str
    title: str
    source: str
    dataset: str
    hidden: tuple[int, ...]
    variants: tuple[Variant, ...]
    groups: tuple[tuple[str, tuple[int, ...]], ...]
    main: str = ""
    quick: tuple[str, ...] = ()
    baselines: bool = True
    alone: tuple[str, ...] = ()
    central: str = ""
    averaging: bool = True
    server: str = ""
    printed_server: str = ""
    confusion: bool = False
    order: str = ""
    forecast: str = ""
    apart: bool = False
    batchwise: bool = False
    least_sure: Mapping[str, str] = field(default_factory=dict)
    recipes: Mapping[str, Values] = field(default_factory=dict)
    seeds: int = 3

    @property
    def is_federated(self) -> bool:
        """Whether the row itself is federated averaging."""
        return "server" in self.variants[0].network

    def variant(self, name: str) -> Variant:
        """The variant of this name."""
        return next(one for one in self.variants if one.name == name)


_FILE = papers.tables("rows")

ROWS: Mapping[str, Row] = MappingProxyType(
    {one["name"]: papers.built(Row, one) for one in _FILE["rows"]}
)
"""The rows by name."""

RECIPE_TITLES: Mapping[str, str] = MappingProxyType(
    {name: one["title"] for name, one in _FILE["recipes"].items()}
)
RECIPE_NAMES = tuple(RECIPE_TITLES)

RECIPES: Mapping[str, Values] = MappingProxyType(
    {name: MappingProxyType(one["values"]) for name, one in _FILE["recipes"].items()}
)
"""What recipes have in common in all rows; of ``once``, what it changes of ``best``."""

APART = tuple(name for name, row in ROWS.items() if row.apart)
BATCHWISE = tuple(name for name, row in ROWS.items() if row.batchwise)


def recipe_values(row: str, name: str) -> dict[str, Any]:
    """All numbers of a recipe that differ from a :class:`~empirical.train.recipe.Recipe`'s own.

    Examples
    --------
    >>> recipe_values("star-mnist-1", "paper")["local_steps"]
    155
    """
    own = "paper" if name == "paper" else "best"
    found = {**RECIPES[own], **ROWS[row].recipes[own]}
    return found if name == own else {**found, **RECIPES[name]}


def batchwise(values: Values, batches: int) -> dict[str, Any]:
    """As many steps with a consensus after every few, the rate falling as it did over all.

    `batches` divides the local steps of a round.

    Examples
    --------
    >>> batchwise({"rounds": 10, "local_steps": 4, "decay": 0.81}, 2)
    {'rounds': 20, 'local_steps': 2, 'decay': 0.9}
    """
    shorter = values["local_steps"] // batches
    decay = values["decay"] ** (1 / shorter)
    return {**values, "rounds": values["rounds"] * shorter, "local_steps": batches, "decay": decay}


def quick(values: Values, *, active: int) -> dict[str, Any]:
    """A recipe for a look of seconds: a few hundred steps of `active` agents together.

    Ten rounds at least, so that a rotating star goes round once.

    Examples
    --------
    >>> quick({"rounds": 1000, "local_steps": 20}, active=11)
    {'rounds': 13, 'local_steps': 2}
    """
    local_steps = min(values["local_steps"], 10, max(1, 30 // active))
    rounds = max(10, 300 // (active * local_steps))
    return {**values, "local_steps": local_steps, "rounds": min(rounds, values["rounds"])}


# Parts --------------------------------------------------------------------------------------------

Role = Literal[
    "cooperating", "own initialisation", "a batch a round", "10 batches a round",
    "alone", "central", "averaging", "fedavg",
]  # fmt: skip
BATCHES: Mapping[Role, int] = MappingProxyType({"a batch a round": 1, "10 batches a round": 10})
# What is run of a row where it is asked for alone, and the words that ask for it.
ASIDE: Mapping[Role, str] = MappingProxyType(
    {"own initialisation": "own", **{role: role for role in BATCHES}}
)
# What a source prints a number of beside its network: of `paper`, run where it is asked for.
BESIDE: tuple[Role, ...] = ("alone", "central", "fedavg")
# Of a quick run: images to learn from.
QUICK_IMAGES = 6000


@dataclass(frozen=True)
class Part:
    """One run: a recipe, who learns how with whom, and a seed.

    Attributes
    ----------
    recipe
        Its name.
    role
        The row's network ``cooperating``; the same with an ``own initialisation`` of each agent
        in place of the shared one (P2 Remark 7); the same with ``a batch a round`` or with
        ``10 batches a round``, as many steps and a consensus after each of them (P1 Algorithm 1)
        or after ten; each agent ``alone``; all data in one place, ``central``; ``averaging`` of
        nets at the same cost; ``fedavg``, a server on the same split.
    variant
        The name of the row's variant.
    seed
        Its number, from 0.
    """

    recipe: str
    role: Role
    variant: str
    seed: int

    @property
    def name(self) -> str:
        """Such as ``best a=0.5 seed 1``, or ``best alone seed 0``."""
        what = self.variant if self.role == "cooperating" else self.role
        return " ".join(word for word in (self.recipe, what, f"seed {self.seed}") if word)

    @property
    def asked_for(self) -> str:
        """The word without which it is not run; empty for parts of every run."""
        is_beside = self.recipe == "paper" and self.role in BESIDE
        return self.role if is_beside else ASIDE.get(self.role, "")


def parts_of(row: Row, *, seeds: int, is_quick: bool) -> tuple[Part, ...]:
    """All parts of a row, recipe by recipe."""
    shown = row.quick if is_quick else ()
    variants = [one.name for one in row.variants if not shown or one.name in shown]
    beside: dict[Role, bool] = {
        "alone": row.baselines,
        "central": row.baselines,
        "averaging": row.averaging,
        "fedavg": bool(row.server),
    }
    parts: list[Part] = []
    for recipe in RECIPE_NAMES:
        if row.is_federated and recipe == "once":
            continue
        roles = [role for role, is_run in beside.items() if is_run and recipe == "best"]
        for seed in range(seeds):
            parts += [Part(recipe, "cooperating", name, seed) for name in variants]
            parts += [Part(recipe, role, row.main, seed) for role in roles]
    return tuple(parts)


def parts_aside(row: Row, *, seeds: int) -> tuple[Part, ...]:
    """Those that try what the papers say or leave open: run where they are asked for.

    Every agent begins from an initialisation of its own; rounds are a batch long, or a few; nodes
    alone, all data in one place and federated averaging, where a source prints a number of them.
    """
    roles: dict[Role, bool] = {
        "own initialisation": row.apart,
        **dict.fromkeys(BATCHES, row.batchwise),
        "alone": bool(row.alone),
        "central": bool(row.central),
        "fedavg": bool(row.printed_server),
    }
    return tuple(
        Part("paper", role, row.main, seed)
        for role, is_run in roles.items()
        if is_run
        for seed in range(seeds)
    )


def part_values(row: Row, part: Part, *, is_quick: bool) -> dict[str, Any]:
    """The numbers of a part's recipe, and ``rounds_run``, how many of its rounds are run.

    Federated averaging's are those of `empirical.train.recipe`, by name.
    """
    if is_served(row, part):
        server = row.variant(part.variant).network.get("server")
        name = row.server if part.role == "fedavg" else f"{part.recipe}, {server}"
        return {"server": name, **({"rounds": 10, "rounds_run": 10} if is_quick else {})}
    values = recipe_values(row.name, part.recipe)
    if part.role == "averaging":
        values["estimator"] = "point"
    if is_quick:
        values = quick(values, active=active(row, part))
    if part.role in BATCHES:
        values = batchwise(values, BATCHES[part.role])
    if part.role == "central":  # as many examples a step as the network takes together
        values["batch"] *= active(row, replace(part, role="cooperating"))
    return {**values, "rounds_run": values["rounds"]}


def is_served(row: Row, part: Part) -> bool:
    """Whether a server averages plain nets in this part: it has no beliefs."""
    return part.role == "fedavg" or "server" in row.variant(part.variant).network


def active(row: Row, part: Part) -> int:
    """How many agents train in a round."""
    network = row.variant(part.variant).network
    if "rotating_star" in network:
        rotating = network["rotating_star"]
        size = int(rotating["group_size"]) + 1
        # Alone all train, in every round.
        return size if part.role != "alone" else int(rotating["groups"]) * (size - 1) + 1
    if part.role == "central":
        return 1
    return len(network["weights"]) if "weights" in network else 9


def schedule_values(row: Row, *, is_quick: bool) -> dict[str, int]:
    """When and how closely is looked: `empirical.train.curve.Schedule`'s numbers."""
    looks = _FILE["schedule"]
    if is_quick:
        return dict(looks["quick"])
    rotates = "rotating_star" in row.variants[0].network
    return {**looks["full"], **(looks["rotating"] if rotates else {})}


# What a part leaves on disk -----------------------------------------------------------------------

Known = list[float | None]
"""A number for each agent; null where it has no such images."""
When = Literal["before", "after"]


class Measured(Document):
    """What agents know by one way to predict, each of them (:mod:`empirical.train.evaluation`)."""

    left_out: ClassVar[frozenset[str]] = frozenset(
        f"{where}_{what}"
        for where in ("in_domain", "out_of_domain")
        for what in ("accuracy", "confidence", "entropy")
    ) | {
        "images", "draws", "calibration_error", "entropy", "confidence", "confusion",
        "out_of_domain_auroc", "never_seen_auroc", "other_data_auroc",
    }  # fmt: skip

    images: int | None = None
    draws: int | None = None  # samples of the belief; 0: its mean weights
    accuracy: list[float]  # shares of images
    nll: list[float]  # mean −log p of the true label, nats
    calibration_error: list[float] | None = None
    entropy: list[float] | None = None  # nats
    confidence: list[Known] | None = None  # mean probability of the true label, by agent and label
    in_domain_accuracy: Known | None = None
    out_of_domain_accuracy: Known | None = None
    in_domain_confidence: Known | None = None
    out_of_domain_confidence: Known | None = None
    in_domain_entropy: Known | None = None
    out_of_domain_entropy: Known | None = None
    out_of_domain_auroc: Known | None = None
    never_seen_auroc: Known | None = None
    other_data_auroc: Known | None = None
    confusion: list[list[list[int]]] | None = None  # images by agent, true and predicted label


class Beliefs(Document):
    """The measurements by sampled prediction, if there are any, and by mean weights."""

    left_out: ClassVar[frozenset[str]] = frozenset({"mean", "sampled"})

    mean: Measured | None = None
    sampled: Measured | None = None

    @property
    def way(self) -> Measured:
        """By sampled prediction, if there is any; else by the mean weights."""
        found = self.sampled or self.mean
        if found is None:
            raise LookupError("neither 'sampled' nor 'mean'")
        return found


class Point(Document):
    """One recorded round."""

    left_out: ClassVar[frozenset[str]] = frozenset({"seconds"})

    round: int
    local_steps: int  # of all agents together, so far
    bytes: int  # sent so far
    seconds: float | None = None  # of training, so far
    loss: Known | None = None  # nats
    divergence: Known | None = None  # nats
    sigma: list[list[float]] | None = None  # quantiles of each agent's σ
    before: Beliefs | None  # before consensus; null where there is none
    after: Beliefs

    def at(self, when: When) -> Beliefs | None:
        """The beliefs before or after consensus; None where there are none."""
        return self.after if when == "after" else self.before


class Curve(Document):
    """What was seen of a run over its rounds, and of everyone at the end."""

    spread: list[float]  # shares of the weights of the quantiles of σ
    agents: list[int]  # which agents the points are of
    points: list[Point]
    last: Beliefs
    last_before: Beliefs | None = None
    seconds: float  # of training, without the looking


class Facts(Document):
    """The agents of a part: their data, and how much each decides."""

    agents: int
    sizes: list[int]  # images of each agent
    labels: list[list[int]]  # that each agent has
    informative: int | None = None
    influence: list[float] | None = None


class NetPart(Made):
    """One run of one recipe with one seed."""

    left_out: ClassVar[frozenset[str]] = Made.left_out | {"codec"}

    recipe: str
    role: Role
    variant: str
    seed: int
    settings: dict[str, Any]
    network: Facts
    classes: list[str]
    data: dict[str, Any]
    curve: Curve
    posterior: KeptFile | None = None
    codec: dict[str, Any] | None = None  # what wrote the messages

    @property
    def name(self) -> str:
        """The part's name."""
        return Part(self.recipe, self.role, self.variant, self.seed).name

    @property
    def learners(self) -> int:
        """How many nets are trained."""
        return 1 if self.role == "central" else self.network.agents

    def last(self, when: When = "after") -> Beliefs | None:
        """The beliefs at the end; None before consensus where there is none."""
        return self.curve.last if when == "after" else self.curve.last_before


class NetSettings(Document):
    """What all parts of a record have in common."""

    dataset: str
    hidden: list[int]
    main: str
    confusion: bool
    groups: list[tuple[str, tuple[int, ...]]]
    quick: bool
    codec: dict[str, Any] | None = None


class NetRun(RunSummary):
    """A record of an experiment with neural nets."""

    settings: NetSettings
    content: dict[str, NetPart]
