"""Weights and data of a network that changes, for a larger rate.

Where links fail and a lost message counts as one's own, E[W] takes the place of W, and the design
is that of a fixed network, certificate included. Otherwise a local search moves the weights
(`theory.design.rate.changing_weights`), below a bound that holds for all of them. Data are placed
by the influence of each agent.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from peerbayes.designs.outcome import DesignedWeights
from peerbayes.designs.placements import PlacementResult, search_options
from peerbayes.designs.quantities import CHANGING_DESIGN, DESIGNED
from peerbayes.designs.request import section_in, target_of
from peerbayes.kinds.changing.analyse import ChangingAnalysis, analyse_changing
from peerbayes.problem.problems import AnyProblem, ChangingProblem
from peerbayes.problem.writing import with_network
from peerbayes.settings.questions import Analyse, Design, Placement
from theory.changing import (
    ChangingNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
    influence,
    mean_slem,
)
from theory.design import (
    Certificate,
    Constraints,
    DesignFailed,
    DesignGraph,
    InfluenceSet,
    baselines,
    changing_weights,
    fastest_mixing,
    optimal_rate,
    place,
    realise,
)
from theory.network.structure import Weights
from theory.progress import Progress
from theory.validation import FloatArray, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Networks tried by the search; long absences are judged by all sets of agents at once, slowly.
_EFFORT, _SLOW_EFFORT = 3000, 150
# K, E and mixing that differ by less, relatively, are the same but for rounding.
_SAME = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangingDesign(DesignedWeights):
    """The design of a network that changes; its rows are analyses."""

    quantities = CHANGING_DESIGN

    problem: ChangingProblem
    target: int
    certificate: Certificate
    method: str

    @property
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        return [*self.remarks, f"certificate: {self.certificate.note}"]

    @property
    def matrices(self) -> list[Weights]:
        """W of each phase; one if only links change."""
        network = self.designed.problem.network
        if isinstance(network, PeriodicNetwork | MarkovNetwork):
            return [phase.weights for phase in network.phases]
        return [network.network.weights]

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many rounds each statement asks for as designed; on `ax` or new axes."""
        drawn: Axes = self.designed.plot(ax)
        return drawn

    def designed_problem(self) -> AnyProblem:
        """The problem with the designed weights."""
        return with_network(self.problem, self.designed.problem.network)


def design_changing(
    problem: ChangingProblem, request: Design, *, progress: Progress | None = None
) -> ChangingDesign:
    """Weights for a larger rate on a network that changes, beside the given ones.

    Raises
    ------
    ValueError
        If the objective is another than the rate, or the problem sets limits.
    """
    if request.objective != "rate" or request.variant.exact:
        raise fail(
            "objective",
            "'rate', in floating point, for a network that changes",
            repr(request.objective) + " --exact" * request.variant.exact,
            "choose it",
        )
    if section_in(problem) is not None or request.limits.changes:
        raise fail("design", "no limits for a network that changes", "some", "leave out [design]")
    network, model, target = problem.network, problem.model, target_of(request, problem)
    lossy = network if isinstance(network, RandomLinks) and network.on_loss == "own" else None
    remarks: tuple[str, ...] = ()
    found: ChangingNetwork
    if lossy is not None:
        graph, limits = _limits(lossy)
        influences = InfluenceSet(network.agents, constraints=limits, graph=graph)
        best = optimal_rate(model, target=target, influences=influences)
        found, how = _fastest(lossy, best.stationary_distribution)
        certificate, method = best.certificate, f"linear program{how}"
    else:
        slow = isinstance(network, RandomPresence) and network.mean_absence is not None
        effort = _SLOW_EFFORT if slow else _EFFORT
        searched = changing_weights(network, model, target=target, effort=effort, progress=progress)
        found, certificate, method = searched.network, searched.certificate, "local search"
        remarks = (
            "the weights are the best that a local search found, from those given; the bound "
            "holds for all weights on these links",
        )

    def analysed(other: ChangingNetwork) -> ChangingAnalysis:
        return analyse_changing(replace(problem, network=other), Analyse(delta=request.delta))

    rows = {"as given": analysed(network)}
    if not isinstance(network, PeriodicNetwork | MarkovNetwork):
        for rule in baselines(DesignGraph.from_network(network.network)):
            rows[rule.name] = analysed(replace(network, network=rule.network))
    designed = analysed(found)
    if _ties(rows["as given"], designed, target):
        equals = {"": designed, **rows}
        if lossy is not None:
            other, _ = _fastest(lossy, influence(lossy).values)
            equals["the fastest with the influence as given"] = analysed(other)
        name = _best_of_equals(equals, target)
        designed = equals[name]
        if name:
            method = f"{method}; among equals {name}"
            remarks += (
                "the weights as given have the same K as the best found: of the networks with this "
                f"K it is {name}, for the larger exponent, then the faster mixing",
            )
    return ChangingDesign(
        problem=problem,
        request=request,
        target=target,
        certificate=certificate,
        method=method,
        rows={DESIGNED: designed, **rows},
        remarks=remarks,
    )


def _ties(one: ChangingAnalysis, best: ChangingAnalysis, target: int) -> bool:
    """Whether a network settles on the target with the best K, but for rounding."""
    return target in one.rate.reference and _as_large(one.rate.rate, best.rate.rate)


def _as_large(value: float, most: float) -> bool:
    return bool(value >= most - _SAME * abs(most))


def _best_of_equals(equals: dict[str, ChangingAnalysis], target: int) -> str:
    """Of the networks with the largest K the one with the largest E, then the fastest mixing.

    It is never worse than the network as given in either. The design's own name is empty.
    """
    exponents = {n: row.exponent.exponent if row.exponent else 0.0 for n, row in equals.items()}
    names = [
        name
        for name, row in equals.items()
        if _ties(row, equals[""], target) and _as_large(exponents[name], exponents["as given"])
    ]
    slems = {name: mean_slem(equals[name].problem.network) for name in names}
    names = [name for name in names if slems[name] <= slems["as given"] + _SAME]
    most = max(exponents[name] for name in names)
    names = [name for name in names if _as_large(exponents[name], most)]
    fastest = min(slems[name] for name in names)
    return next(name for name in names if slems[name] <= fastest + _SAME)


def _limits(network: RandomLinks) -> tuple[DesignGraph, Constraints]:
    """Who may listen to whom, and how often each link is up."""
    up = {
        (int(i), int(j)): float(p)
        for (i, j), p in zip(network.network.edges, network.link_up, strict=True)
        if p > 0
    }
    return DesignGraph.from_network(network.network), Constraints(availability=up)


def _fastest(network: RandomLinks, v: FloatArray) -> tuple[RandomLinks, str]:
    """The W whose E[W] has this v and mixes fastest, and how it was found."""
    graph, limits = _limits(network)
    if graph.is_undirected:
        with suppress(DesignFailed):
            weights = fastest_mixing(graph, v, constraints=limits).network
            return replace(network, network=weights), ", fastest E[W]"
    return replace(network, network=realise(graph, v, constraints=limits)), ""


# Placements of data -------------------------------------------------------------------------------


def place_changing(
    problem: ChangingProblem, request: Placement, progress: Progress | None = None
) -> PlacementResult:
    """The placement with the largest rate; the influence of each agent stands in for v.

    Raises
    ------
    ValueError
        If the objective is another than the rate, or an option is out of range.
    """
    if request.objective != "rate":
        got = repr(request.objective)
        raise fail("objective", "'rate' for a network that changes", got, "choose it")
    found = place(
        influence(problem.network).values,
        problem.model,
        target=target_of(request, problem),
        progress=progress,
        **search_options(request),
    )
    note = "the influence of each agent stands in for v"
    return PlacementResult(
        problem=problem, request=request, found=found, before=None, remarks=(note,)
    )
