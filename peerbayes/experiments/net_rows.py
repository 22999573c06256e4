"""Every experiment of the papers with neural nets, as frozen configurations.

A row is a data set, a way to deal it, a network (or several, over which the row goes), a net, and
what the paper prints. How it is trained stands in `peerbayes.experiments.net_recipes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

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
