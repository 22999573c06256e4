"""What is asked of a design, read once and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from peerbayes.messages import nearest
from peerbayes.problem.design_section import DesignSection
from theory import FiniteModel, Network, learning_rate
from theory.design import Constraints, DesignGraph
from theory.network import RULES
from theory.validation import (
    FloatArray,
    as_distribution,
    as_integer,
    as_positive,
    as_probability,
    fail,
    read_only,
)

Objective = Literal["rate", "exponent", "samples", "mixing", "trade-off", "next-edge"]
# Left to itself, a simulation expects so many errors at the number of rounds it looks for.
_ERRORS_SEEN = 20
DEFAULT_SECONDS = 120.0
_USUAL_RUNS, _MOST_RUNS = 1000, 20_000
# Of a measured number of rounds, on either side: 95 % confidence.
_TAIL = 0.025
OBJECTIVES: tuple[str, ...] = get_args(Objective)


@dataclass(frozen=True, eq=False)
class DesignRequest:
    """The objective of a design and its settings.

    Parameters
    ----------
    objective
        ``"rate"``: the largest K; ``"exponent"``: the largest E; ``"samples"``: the fewest
        certified rounds; ``"mixing"``: the fastest W for the present v; ``"trade-off"``: rate
        against mixing; ``"next-edge"``: which edge to add.
    delta
        Probability of error that sample sizes allow.
    target
        The hypothesis the network shall settle on, by name; left out: what it settles on now.
    stationary
        The v that ``"mixing"`` keeps: ``"uniform"``, N numbers, or the present one if left out.
    rule
        For ``"next-edge"``: the rule that puts weights on the graph.
    worst_case
        For ``"exponent"``: whether every hypothesis may be the true one.
    exact
        For ``"rate"``: whether the optimum is to be verified in exact arithmetic.
    changes
        Keys of the problem's ``[design]`` table that are given another value.
    replicates
        Simulated runs of each network; 0 for none; as many as delta needs if left out.
    seed
        Of everything that is drawn.
    seconds
        What all searches may take together, by the clock; None for as long as they want. One that
        is stopped ends with the best that it has, so that the result depends on the machine.

    Raises
    ------
    ValueError
        If the objective is unknown, a setting belongs to another objective, or is out of range.
    """

    objective: str = "rate"
    delta: float = 0.05
    target: str | None = None
    stationary: str | Sequence[float] | None = None
    rule: str | None = None
    worst_case: bool = False
    exact: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    replicates: int | None = None
    seed: int = 0
    seconds: float | None = DEFAULT_SECONDS
    out: Path | None = None

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            guess = nearest(self.objective, OBJECTIVES)
            remedy = f"did you mean {guess!r}?" if guess else "choose one"
            raise fail("objective", f"one of {', '.join(OBJECTIVES)}", repr(self.objective), remedy)
        as_probability("delta", self.delta)
        if self.replicates is not None:
            as_integer("replicates", self.replicates, minimum=0)
        as_integer("seed", self.seed, minimum=0)
        if self.seconds is not None:
            as_positive("seconds", self.seconds)
        given = {
            "stationary": (self.stationary is not None, ("mixing",)),
            "rule": (self.rule is not None, ("next-edge",)),
            "worst_case": (self.worst_case, ("exponent",)),
            "exact": (self.exact, ("rate",)),
        }
        for name, (present, homes) in given.items():
            if present and self.objective not in homes:
                raise fail(
                    name.replace("_", "-"),
                    f"the objective {' or '.join(homes)}",
                    self.objective,
                    "leave it out",
                )
        if self.objective == "next-edge":
            ignored = [*(["target"] if self.target is not None else []), *self.changes]
            if ignored:
                raise fail(
                    ignored[0].replace("_", "-"),
                    "neither target nor limits for the objective next-edge",
                    "one",
                    "leave it out",
                )
        if self.rule is not None and self.rule not in RULES:
            raise fail("rule", f"one of {', '.join(RULES)}", repr(self.rule), "choose one")

    @property
    def runs(self) -> int:
        """Simulated runs of each network: those asked for, or enough to see an error rate of δ."""
        if self.replicates is not None:
            return self.replicates
        needed = int(np.ceil(_ERRORS_SEEN / self.delta))
        return max(_USUAL_RUNS, needed) if needed <= _MOST_RUNS else 0

    def check_runs(self) -> None:
        """See that the simulated runs are enough, before anything takes long.

        Raises
        ------
        ValueError
            If they are so few that even without an error among them none could be excluded.
        """
        fewest = int(np.ceil(np.log(_TAIL) / np.log1p(-self.delta)))
        if 0 < self.runs < fewest:
            raise fail(
                "replicates",
                f"0, or at least {fewest}, so that no error is significantly fewer than "
                f"δ = {self.delta:g}",
                self.runs,
                "run more of them, or none",
            )

    def section(self, given: DesignSection | None) -> DesignSection:
        """The problem's table of limits, with what the request changes."""
        section = DesignSection() if given is None else given
        return section.model_copy(update=self.changes) if self.changes else section


@dataclass(frozen=True, eq=False)
class DesignTask:
    """A request on one network: who may listen to whom, and within which limits."""

    network: Network
    graph: DesignGraph
    constraints: Constraints
    minimum_influence: float
    stationary: FloatArray

    @classmethod
    def of(
        cls, request: DesignRequest, network: Network, section: DesignSection | None
    ) -> DesignTask:
        """The task of a request on a network.

        Raises
        ------
        ValueError
            If limits or the wanted v do not fit the network, in one line.
        """
        limits = request.section(section)
        graph = limits.graph(network)
        constraints = limits.constraints(network, graph)
        constraints.check(graph)
        _check_directed(graph, constraints)
        given = limits.minimum_influence
        floor = 1 / (10 * network.agents) if given is None else float(given)
        return cls(network, graph, constraints, floor, _stationary(request, network, constraints))


def _check_directed(graph: DesignGraph, constraints: Constraints) -> None:
    """See that no links have to be chosen on a directed graph, for which there is no method."""
    if graph.is_undirected:
        return
    used = (
        ("edge_budget", len(graph.links), constraints.edge_budget),
        ("degree_budget", int(graph.degrees.max()), constraints.degree_budget),
        ("cost_budget", float(constraints.costs_on(graph).sum()), constraints.cost_budget),
    )
    for name, everything, budget in used:
        if budget is not None and everything > budget * (1 + 1e-12):
            raise fail(
                name,
                f"at least {everything:g}, what all links of a directed graph take, as links are "
                "chosen on undirected ones alone",
                f"{budget:g}",
                "list fewer edges, or make them undirected",
            )


def _stationary(request: DesignRequest, network: Network, constraints: Constraints) -> FloatArray:
    agents = network.agents
    wanted = request.stationary
    if isinstance(wanted, str):
        if wanted != "uniform":
            raise fail("stationary", f"'uniform' or {agents} numbers", repr(wanted), "mend it")
        return read_only(np.full(agents, 1 / agents))
    if wanted is not None:
        v = as_distribution("stationary", np.asarray(wanted, dtype=np.float64))
        if v.size != agents:
            raise fail("stationary", f"{agents} numbers", v.size, "give one for each agent")
        if not (v > 0).all():
            zero = int(np.flatnonzero(v <= 0)[0])
            raise fail(
                "stationary",
                "numbers above 0, as every agent is heard by somebody",
                f"0 for agent {zero}",
                "give it a small share",
            )
        return v
    if constraints.forces_uniform:
        return read_only(np.full(agents, 1 / agents))
    return network.stationary_distribution


def target_of(request: DesignRequest, network: Network, model: FiniteModel) -> int:
    """The hypothesis that the network shall settle on.

    Raises
    ------
    ValueError
        If there is no such hypothesis.
    """
    names = model.hypotheses
    if request.target is None:
        return learning_rate(network, model).reference[0]
    if request.target not in names:
        guess = nearest(request.target, names)
        remedy = f"did you mean {guess!r}?" if guess else "name one of them"
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        raise fail("target", f"one of {shown}", repr(request.target), remedy)
    return names.index(request.target)
