"""The parts of an experiment with neural nets, and everything that each depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from peerbayes.experiments.net_recipes import RECIPE_NAMES, batchwise, quick, recipe_values
from peerbayes.experiments.net_rows import Row, Table

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
