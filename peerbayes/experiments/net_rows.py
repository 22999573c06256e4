"""Every experiment of the papers with neural nets, as frozen configurations.

A row is a data set, a way to deal it, a network (or several, over which the row goes), a net, and
what the paper prints. How it is trained stands in `peerbayes.experiments.net_recipes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

# Every experiment of the papers with neural nets, as frozen configurations -----------------------


Table = Mapping[str, Any]


@dataclass(frozen=True)
class Variant:
    """One network of a row.

    Attributes
    ----------
    name
        Such as ``a=0.5``; empty where the row has one network only.
    dealing
        Who holds what: a name in `empirical.dealing.DEALINGS`.
    network
        The `network` table of a problem file, or ``rotating_star`` with its arguments, or
        ``server``: federated averaging, with the name of its recipe but for "paper, " or "best, ".
    printed
        What the paper prints, by the name of a group of agents: accuracies in %, or words.
    """

    name: str
    dealing: str
    network: Table
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
    alone
        What is printed of each agent alone; None: agents are not run alone.
    central
        What is printed of all data in one place; None: it is not run.
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
    alone: tuple[str, ...] | None = ()
    central: str | None = ""
    averaging: bool = True
    server: str = ""
    printed_server: str = ""
    confusion: bool = False
    order: str = ""
    forecast: str = ""
    seeds: int = 3

    @property
    def is_federated(self) -> bool:
        """Whether the row itself is federated averaging."""
        return "server" in self.variants[0].network

    def variant(self, name: str) -> Variant:
        """The variant of this name."""
        return next(one for one in self.variants if one.name == name)


_NODES = (("node 1", (0,)), ("node 2", (1,)))
_EVEN = {"weights": [[0.25, 0.75], [0.75, 0.25]]}


def _two(
    name: str,
    title: str,
    weights: Table,
    *,
    alone: tuple[str, str],
    together: tuple[str, str],
    **others: Any,
) -> Row:
    printed = dict(zip(("node 1", "node 2"), together, strict=True))
    return Row(
        name,
        f"two nodes, Fashion-MNIST: {title}",
        "P1 5.2",
        "fashion-mnist",
        (400,),
        (Variant("", name, weights, printed),),
        _NODES,
        alone=alone,
        **others,
    )


def _star(
    name: str,
    title: str,
    dataset: str,
    *,
    over: tuple[str, ...],
    main: str,
    printed: Mapping[str, Mapping[str, str]],
    server: str,
    printed_server: str = "",
) -> Row:
    star = {"topology": "star", "agents": 9}
    variants = tuple(
        Variant(f"a={a}", name, {**star, "edge_confidence": float(a)}, printed.get(a, {}))
        for a in over
    )
    return Row(
        name,
        f"star of 9, {title}",
        "P2 4.2, 1.4.1",
        dataset,
        (200, 200),
        variants,
        (("all agents", ()), ("centre", (0,)), ("edges", tuple(range(1, 9)))),
        main=f"a={main}",
        quick=tuple(f"a={a}" for a in sorted({over[0], main, over[-1]})),
        server=server,
        printed_server=printed_server,
        order="v",
        forecast=name,
    )


def _rotating(name: str, groups: int, size: int, *, everyone: str, centre: str) -> Row:
    agents = groups * size + 1
    star = {"groups": groups, "group_size": size, "edge_confidence": 0.5}
    return Row(
        name,
        f"{agents} agents, groups of {size} in turn a star with agent 0, MNIST",
        "P2 1.4.3",
        "mnist",
        (200, 200),
        (Variant("", name, {"rotating_star": star}, {"all agents": everyone, "centre": centre}),),
        (("all agents", ()), ("centre", (0,))),
    )


def _federated(name: str, title: str, *, one: str, five: str) -> Row:
    return Row(
        name,
        f"federated averaging, 100 clients, MNIST: {title}",
        "FedAvg slides",
        "mnist",
        (200, 200),
        (
            Variant("E=1", name, {"server": "E=1"}, {"server": one}),
            Variant("E=5", name, {"server": "E=5"}, {"server": five}),
        ),
        (("server", (0,)),),
        main="E=1",
        alone=None,
        central=None,
        averaging=False,
    )


_ALL = (
    Row(
        "fmnist-central",
        "one node with all of Fashion-MNIST",
        "P1 5.2",
        "fashion-mnist",
        (400,),
        (Variant("", "fmnist-central", {"weights": [[1.0]]}, {"central node": "88.28"}),),
        (("central node", (0,)),),
        alone=None,
        central=None,
    ),
    _two(
        "fmnist-2-iid",
        "halves",
        {"weights": [[0.5, 0.5], [0.5, 0.5]]},
        alone=("87.07", "87.43"),
        together=("87.43", "87.84"),
        central="88.28",
    ),
    _two(
        "fmnist-2-balanced-a",
        "labels 0–4 and 5–9",
        _EVEN,
        alone=("44.89", "48.22"),
        together=("83", "67"),
        central="88.28",
        confusion=True,
        forecast="fmnist-2-balanced-a",
    ),
    _two(
        "fmnist-2-balanced-b",
        "labels 0, 2, 3, 4, 6 and the others",
        _EVEN,
        alone=("40.4", "47.8"),
        together=("85.78", "85.86"),
        central="88.28",
        confusion=True,
        forecast="fmnist-2-balanced-b",
    ),
    _two(
        "fmnist-2-unbalanced",
        "labels 0–7 and 8, 9",
        {"weights": [[0.45, 0.55], [0.70, 0.30]]},
        alone=("69.44", "19.95"),
        together=("85.8", "85.2"),
        central="88.28",
        forecast="fmnist-2-unbalanced",
    ),
    _star(
        "star-mnist-1",
        "centre 2–9, edges share 0 and 1",
        "mnist",
        over=("0.1", "0.2", "0.3", "0.5", "0.7"),
        main="0.5",
        printed={"0.5": {"all agents": "97.55"}},
        server="star-mnist",
        printed_server="98",
    ),
    _star(
        "star-mnist-2",
        "centre 0–7, edges share 8 and 9",
        "mnist",
        over=("0.3", "0.5", "0.7"),
        main="0.5",
        printed={},
        server="star-mnist",
    ),
    _star(
        "star-mnist-3",
        "edges share 4 and 9, centre the rest",
        "mnist",
        over=("0.3", "0.5", "0.7"),
        main="0.5",
        printed={},
        server="star-mnist",
    ),
    _star(
        "star-fmnist-1",
        "centre {0, 2, 3, 4, 6, 8}, edges share {1, 5, 7, 9}",
        "fashion-mnist",
        over=("0.1", "0.3", "0.5", "0.7"),
        main="0.7",
        printed={"0.7": {"all agents": "84.21"}},
        server="star-fmnist",
        printed_server="87.33",
    ),
    _star(
        "star-fmnist-2",
        "centre {0, 1, 3, 4, 6, 8}, edges share {2, 5, 7, 9}",
        "fashion-mnist",
        over=("0.3", "0.5", "0.7"),
        main="0.7",
        printed={"0.5": {"all agents": "69.7"}},
        server="star-fmnist",
    ),
    Row(
        "grid-mnist",
        "3 × 3 grid, labels 2–9 at the centre or in a corner, MNIST",
        "P2 4.2.2, 1.4.2",
        "mnist",
        (200, 200),
        (
            Variant("centre", "grid-mnist-centre", {"topology": "grid", "shape": [3, 3]}),
            Variant("corner", "grid-mnist-corner", {"topology": "grid", "shape": [3, 3]}),
        ),
        (("all agents", ()),),
        main="centre",
        order="placement",
    ),
    _rotating("timevarying-25", 5, 5, everyone="95.6 (text: 96.5)", centre="95.1"),
    _rotating("timevarying-100", 10, 10, everyone="92.3", centre="93.1"),
    _federated("fedavg-iid", "600 random images each", one="97.72", five="97.97"),
    _federated("fedavg-shards", "two of 200 shards of one label each", one="95.82", five="95.31"),
)

ROWS: Mapping[str, Row] = MappingProxyType({row.name: row for row in _ALL})
"""The rows by name."""


# How each experiment with neural nets is trained -------------------------------------------------


Values = Mapping[str, Any]

RECIPE_NAMES = ("paper", "best", "once")
RECIPE_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "paper": "settings as printed",
        "best": "this program's settings",
        "once": "each datum counted once",
    }
)


def _paper(*, batch: int, local_steps: int, rounds: int, decay: float = 0.99) -> Values:
    return MappingProxyType(
        {
            "rounds": rounds,
            "local_steps": local_steps,
            "batch": batch,
            "estimator": "weights",
            "initial_std": 0.05,
            "mean_rate": 1e-3,
            "scale_rate": 1e-3,
            "schedule": "geometric",
            "decay": decay,
        }
    )


def _best(*, rounds: int, local_steps: int, batch: int = 100, **others: Any) -> Values:
    return MappingProxyType(
        {
            "rounds": rounds,
            "local_steps": local_steps,
            "batch": batch,
            "estimator": "local",
            "initial_std": 0.03,
            "mean_rate": 1e-2,
            "scale_rate": 1e-2,
            "mean_epsilon": 1e-2,
            "scale_epsilon": 1e-8,
            "schedule": "cosine",
            **others,
        }
    )


_TWO = _paper(batch=50, local_steps=600, rounds=100)
_STAR = _paper(batch=50, local_steps=155, rounds=800)

PAPER: Mapping[str, Values] = MappingProxyType(
    {
        "fmnist-central": _paper(batch=50, local_steps=1200, rounds=100),
        "fmnist-2-iid": _TWO,
        "fmnist-2-balanced-a": _TWO,
        "fmnist-2-balanced-b": _TWO,
        "fmnist-2-unbalanced": _TWO,
        "star-mnist-1": _STAR,
        "star-mnist-2": _paper(batch=50, local_steps=145, rounds=800),
        "star-mnist-3": _paper(batch=50, local_steps=145, rounds=800),
        "star-fmnist-1": _paper(batch=100, local_steps=150, rounds=800),
        "star-fmnist-2": _paper(batch=100, local_steps=150, rounds=800),
        "grid-mnist": _paper(batch=50, local_steps=155, rounds=1200),
        "timevarying-25": _paper(batch=50, local_steps=47, rounds=1000),
        "timevarying-100": _paper(batch=10, local_steps=120, rounds=1000, decay=0.998),
    }
)

_TWO_BEST = _best(rounds=6000, local_steps=1)
_STAR_BEST = _best(
    rounds=500,
    local_steps=5,
    batch=48,
    batches="proportional",
    mean_rate=3e-2,
    scale_rate=2e-2,
)

BEST: Mapping[str, Values] = MappingProxyType(
    {
        "fmnist-central": _best(rounds=12_000, local_steps=1),
        "fmnist-2-iid": _TWO_BEST,
        "fmnist-2-balanced-a": _TWO_BEST,
        "fmnist-2-balanced-b": _TWO_BEST,
        "fmnist-2-unbalanced": _TWO_BEST,
        "star-mnist-1": _STAR_BEST,
        "star-mnist-2": _STAR_BEST,
        "star-mnist-3": _STAR_BEST,
        "star-fmnist-1": _STAR_BEST,
        "star-fmnist-2": _STAR_BEST,
        "grid-mnist": _STAR_BEST,
        "timevarying-25": _best(rounds=1000, local_steps=10, batch=50, mean_rate=2e-2),
        "timevarying-100": _best(rounds=1000, local_steps=20, batch=25, mean_rate=2e-2),
    }
)

ONCE: Values = MappingProxyType({"prior": "fixed", "prior_std": 0.1, "divergence": 1.0})
"""What ``once`` changes of ``best``."""


def recipe_values(row: str, name: str) -> dict[str, Any]:
    """All numbers of a recipe that differ from a :class:`~empirical.nets.recipe.Recipe`'s own.

    Examples
    --------
    >>> recipe_values("star-mnist-1", "paper")["local_steps"]
    155
    """
    if name == "paper":
        return dict(PAPER[row])
    return {**BEST[row], **(ONCE if name == "once" else {})}


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


# The parts of an experiment with neural nets, and everything that each depends on ----------------


Role = Literal[
    "cooperating", "own initialisation", "a batch a round", "10 batches a round",
    "alone", "central", "averaging", "fedavg",
]  # fmt: skip

# Rows whose main network is also run with an own initialisation of each agent.
APART = ("fmnist-2-iid", "fmnist-2-balanced-a", "star-mnist-1")
# And with a consensus after every batch, or every few.
BATCHWISE = ("fmnist-2-balanced-a", "fmnist-2-balanced-b", "fmnist-2-unbalanced")
BATCHES: Mapping[Role, int] = MappingProxyType({"a batch a round": 1, "10 batches a round": 10})
# What is run of a row where it is asked for alone, and the words that ask for it.
ASIDE: Mapping[Role, str] = MappingProxyType(
    {"own initialisation": "own", **{role: role for role in BATCHES}}
)
# What a source prints a number of beside its network: of `paper`, run where it is asked for.
BESIDE: tuple[Role, ...] = ("alone", "central", "fedavg")
# Of a quick run: images to learn from, rounds' worth of looking.
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
    parts: list[Part] = []
    variants = [one.name for one in row.variants if not is_quick or _in_quick(row, one.name)]
    for recipe in RECIPE_NAMES:
        if row.is_federated and recipe == "once":
            continue
        for seed in range(seeds):
            parts += [Part(recipe, "cooperating", name, seed) for name in variants]
            if recipe == "best":
                roles: list[tuple[Role, bool]] = [
                    ("alone", row.alone is not None),
                    ("central", row.central is not None),
                    ("averaging", row.averaging),
                    ("fedavg", bool(row.server)),
                ]
                parts += [Part(recipe, role, row.main, seed) for role, on in roles if on]
    return tuple(parts)


def parts_aside(row: Row, *, seeds: int) -> tuple[Part, ...]:
    """Those that try what the papers say or leave open: run where they are asked for.

    Every agent begins from an initialisation of its own; rounds are a batch long, or a few; nodes
    alone, all data in one place and federated averaging, where a source prints a number of them.
    """
    roles: dict[Role, bool] = {
        "own initialisation": row.name in APART,
        **dict.fromkeys(BATCHES, row.name in BATCHWISE),
        "alone": any(row.alone or ()),
        "central": bool(row.central),
        "fedavg": bool(row.printed_server),
    }
    return tuple(
        Part("paper", role, row.main, seed)
        for role, is_run in roles.items()
        if is_run
        for seed in range(seeds)
    )


def _in_quick(row: Row, variant: str) -> bool:
    return not row.quick or variant in row.quick


def part_values(row: Row, part: Part, *, is_quick: bool) -> dict[str, Any]:
    """The numbers of a part's recipe, and ``rounds_run``, how many of its rounds are run."""
    if is_served(row, part):
        return _server_values(row, part, is_quick=is_quick)
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


def _server_values(row: Row, part: Part, *, is_quick: bool) -> dict[str, Any]:
    """Federated averaging's, by name: they are `empirical.nets.recipe`'s."""
    if part.role == "fedavg":
        name = row.server
    else:
        name = f"{part.recipe}, {row.variant(part.variant).network['server']}"
    return {"server": name, **({"rounds": 10, "rounds_run": 10} if is_quick else {})}


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
    """When and how closely is looked: `empirical.nets.curve.Schedule`'s numbers."""
    if is_quick:
        return {
            "records": 6,
            "images": 500,
            "draws": 2,
            "last_images": 500,
            "last_draws": 2,
            "agents": 9,
        }
    last = 5 if "rotating_star" in row.variants[0].network else 10
    return {
        "records": 20,
        "images": 2000,
        "draws": 3,
        "last_images": 10_000,
        "last_draws": last,
        "agents": 12,
    }


def net_recipe(row: Row, part: Part) -> str:
    """The recipe of a part of a row: its name, who learns with whom, on which kind of network.

    Examples
    --------
    >>> from peerbayes.experiments.net_rows import ROWS
    >>> net_recipe(ROWS["star-mnist-1"], Part("best", "averaging", "a=0.5", 0))
    'best: averaging, star or grid'
    """
    return f"{part.recipe}: {part.role}, {_kind(row.variant(part.variant).network)}"


def _kind(network: Table) -> str:
    """The kind of a row's network."""
    if "server" in network:
        return f"server {network['server']}"
    if "weights" in network:
        nodes = len(network["weights"])
        return f"{nodes} node{'s' * (nodes != 1)}"
    return "rotating star" if "rotating_star" in network else "star or grid"
