"""What is asked of a design, read once and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from pydantic import ValidationError

from peerbayes.messages import choose, shorten, translate
from peerbayes.problem.entries import placed
from peerbayes.problem.problems import AnyProblem, ChangingProblem, Problem, RegressionProblem
from peerbayes.problem.specification import DesignSection
from peerbayes.settings.questions import Design, Limits, Placement
from theory import Network, learning_rate
from theory.design import Constraints, DesignGraph, InfluenceSet, baselines
from theory.network import RULES
from theory.network.labels import Named, agent_numbers
from theory.numbers.rational import read_fraction
from theory.validation import (
    FloatArray,
    as_integer,
    fail,
    read_only,
)

Objective = Literal["rate", "exponent", "samples", "mixing", "trade-off", "bytes", "next-edge"]
# Left to itself, a simulation expects so many errors at the number of rounds it looks for.
_ERRORS_SEEN = 20
_USUAL_RUNS, _MOST_RUNS = 1000, 20_000
# Of a measured number of rounds, on either side: 95 % confidence.
_TAIL = 0.025
OBJECTIVES: tuple[str, ...] = get_args(Objective)


def checked_design(how: Design) -> Design:
    """The settings of a design once more, read and checked: all limits are in `limits.changes`.

    Raises
    ------
    ValueError
        If the objective is unknown, or a setting belongs to another objective or is out of range.
    """
    objective = objective_named(how.objective, OBJECTIVES)
    limits, variant = _limits(how.limits.given), how.variant
    given = {
        "stationary": (variant.stationary is not None, "mixing"),
        "rule": (variant.rule is not None, "next-edge"),
        "worst-case": (variant.worst_case, "exponent"),
        "exact": (variant.exact, "rate"),
    }
    for name, (present, home) in given.items():
        if present and objective != home:
            raise fail(name, f"the objective {home}", objective, "leave it out")
    ignored = [*limits] if how.target is None else ["target", *limits]
    if objective == "next-edge" and ignored:
        wanted = "neither target nor limits for the objective next-edge"
        raise fail(ignored[0].replace("_", "-"), wanted, "one", "leave it out")
    if variant.rule is not None:
        choose("rule", variant.rule, RULES)
    variant = replace(variant, stationary=shares("stationary", variant.stationary))
    return replace(how, objective=objective, variant=variant, limits=Limits(changes=limits))


def design_on(how: Design, network: Named) -> Design:
    """The settings with the numbers of the network's agents in place of what is fixed by name.

    Raises
    ------
    ValueError
        If there is no such agent.
    """
    changes = dict(how.limits.changes or {})
    if "fixed_agents" in changes:
        fixed = agent_numbers("fixed_agents", changes["fixed_agents"], network)
        changes["fixed_agents"] = fixed
    return replace(how, limits=Limits(changes=changes))


def runs_of(how: Design) -> int:
    """Simulated runs of each network: those asked for, or enough to see an error rate of δ."""
    if how.replicates is not None:
        return how.replicates
    needed = int(np.ceil(_ERRORS_SEEN / how.delta))
    return max(_USUAL_RUNS, needed) if needed <= _MOST_RUNS else 0


def check_runs(how: Design) -> None:
    """See that the simulated runs are enough, before anything takes long.

    Raises
    ------
    ValueError
        If they are so few that even without an error among them none could be excluded.
    """
    fewest = int(np.ceil(np.log(_TAIL) / np.log1p(-how.delta)))
    if 0 < runs_of(how) < fewest:
        raise fail(
            "replicates",
            f"0, or at least {fewest}, so that no error is significantly fewer than "
            f"δ = {how.delta:g}",
            runs_of(how),
            "run more of them, or none",
        )


def section_in(problem: AnyProblem) -> DesignSection | None:
    """The table of limits of a problem's file; None if it has none."""
    return None if problem.specification is None else problem.specification.design


def section_of(how: Design, problem: AnyProblem) -> DesignSection:
    """The problem's table of limits, with what the settings change."""
    section = section_in(problem) or DesignSection()
    return section.model_copy(update=dict(how.limits.changes or {}))


def objective_named(name: str, known: Sequence[str]) -> str:
    """The objective of this name; ``"trade_off"`` means ``"trade-off"``."""
    return choose("objective", name.replace("_", "-") if isinstance(name, str) else name, known)


def agent_list(argument: str, agents: str | int | Sequence[int | str]) -> tuple[int | str, ...]:
    """Agents by name or number: a sequence of them, one, or a text; who is meant says the network.

    >>> agent_list("fixed", [0, "roof"]), agent_list("fixed", "0, roof"), agent_list("fixed", 2)
    ((0, 'roof'), ('0, roof',), (2,))
    """
    listed = [agents] if isinstance(agents, str | int | np.integer) else agents
    return tuple(
        agent if isinstance(agent, str) else as_integer(argument, agent, minimum=0)
        for agent in listed
    )


def shares(argument: str, given: Any) -> Any:
    """The numbers of a v, a sequence or text with commas between; 'uniform' and None as they are.

    >>> shares("stationary", "1/2, 1/4, 1/4")
    (0.5, 0.25, 0.25)
    """
    if given is None or (isinstance(given, str) and given == "uniform"):
        return given
    parts = given.split(",") if isinstance(given, str) else list(given)
    try:
        return tuple(float(read_fraction(p.strip()) if isinstance(p, str) else p) for p in parts)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        wanted = "'uniform', or numbers below 1e308 between commas, such as 1/2,1/4,1/4"
        raise fail(argument, wanted, shorten(repr(given)), "correct it") from None


def _limits(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of [design] with their values, checked as those of a file are."""
    named = {name.replace("-", "_"): value for name, value in changes.items()}
    if "fixed" in named:  # as the option is called
        named["fixed_agents"] = named.pop("fixed")
    if "fixed_agents" in named:
        named["fixed_agents"] = agent_list("fixed_agents", named["fixed_agents"])
    try:
        section = DesignSection.model_validate(named)
    except ValidationError as error:
        raise translate(error, source="", sections={"": DesignSection}) from None
    return {name: getattr(section, name) for name in named}


@dataclass(frozen=True, eq=False)
class DesignTask:
    """A request for the network of a problem: who may listen to whom, and within which limits."""

    request: Design
    problem: Any
    graph: DesignGraph
    constraints: Constraints
    minimum_influence: float
    stationary: FloatArray

    @classmethod
    def of(cls, request: Design, problem: Problem | RegressionProblem) -> DesignTask:
        """The task of a request on the network of a problem.

        Raises
        ------
        ValueError
            If limits or the wanted v do not fit the network, in one line.
        """
        network, limits = problem.network, section_of(request, problem)
        with placed(problem.name, "design", limits):
            graph = limits.graph(network)
            constraints = limits.constraints(network, graph)
            constraints.check(graph)
            if not graph.is_undirected:
                constraints.check_fits(graph)
            given = limits.minimum_influence
            floor = 1 / (10 * network.agents) if given is None else float(given)
            v = _stationary(request, network, graph, constraints)
        return cls(request, problem, graph, constraints, floor, v)

    @property
    def network(self) -> Network:
        """The network as it is."""
        network: Network = self.problem.network
        return network

    @cached_property
    def target(self) -> int:
        """The hypothesis that the network shall settle on."""
        return target_of(self.request, self.problem)

    @cached_property
    def influences(self) -> InfluenceSet:
        """Every v that the limits allow."""
        return InfluenceSet(
            self.network.agents,
            self.minimum_influence,
            constraints=self.constraints,
            graph=self.graph,
        )

    @property
    def search(self) -> dict[str, Any]:
        """Settings of a search for weights."""
        return {
            "delta": self.request.delta,
            "target": self.target,
            "constraints": self.constraints,
            "minimum_influence": self.minimum_influence,
            "seed": self.request.seed,
        }

    @property
    def usual(self) -> dict[str, Network]:
        """The network as given, and those of the usual rules, by name."""
        rules = {entry.name: entry.network for entry in baselines(self.graph)}
        return {"as given": self.network, **rules}


def _stationary(
    request: Design, network: Network, graph: DesignGraph, constraints: Constraints
) -> FloatArray:
    wanted = request.variant.stationary
    if isinstance(wanted, str) or (wanted is None and constraints.forces_uniform):
        return read_only(np.full(network.agents, 1 / network.agents))
    if wanted is None:
        return network.stationary_distribution
    return constraints.influence_on(graph, [float(x) for x in wanted], argument="stationary")


def target_of(how: Design | Placement, problem: Problem | ChangingProblem) -> int:
    """The hypothesis that the network shall settle on: what it settles on now, if none is named.

    Raises
    ------
    ValueError
        If there is no such hypothesis.
    """
    target, names = how.target, problem.model.hypotheses
    if target is None:
        return learning_rate(problem.network, problem.model).reference[0]
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return names.index(choose("target", target, names, wanted=f"one of {shown}"))
