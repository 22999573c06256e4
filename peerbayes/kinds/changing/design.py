"""A design for a network that changes: its weights, for a larger rate.

Where links fail and a lost message counts as one's own, E[W] takes the place of W, and the design
is that of a fixed network, certificate included. Otherwise a local search moves the weights
(`theory.design.changing_weights`), below a bound that holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from peerbayes.designs.advice import design_advice
from peerbayes.designs.documents import (
    ChangingDesignDocument,
    ChangingRow,
    LinksDocument,
)
from peerbayes.designs.outcome import DesignOutcome, place_text
from peerbayes.designs.recommend import recommend
from peerbayes.designs.request import named_hypothesis
from peerbayes.designs.shared import ROUNDS, certified
from peerbayes.documents import names_of, number, numbers
from peerbayes.kinds.changing.analyse import (
    ChangingAnalysis,
    analyse_changing,
)
from peerbayes.problem.problems import AnyProblem, ChangingProblem
from peerbayes.problem.writing import with_network
from peerbayes.quantities.learning import CHANGING_LEARNING
from peerbayes.quantities.result import short_facts
from peerbayes.settings.questions import Analyse, Design
from theory import Network, learning_rate
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
    ChangingWeights,
    Constraints,
    DesignFailed,
    DesignGraph,
    InfluenceSet,
    baselines,
    changing_weights,
    fastest_mixing,
    optimal_rate,
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
class ChangingDesign(DesignOutcome):
    """The design of a network that changes."""

    problem: ChangingProblem
    target: int
    certificate: Certificate
    method: str
    designed: ChangingAnalysis
    rows: dict[str, ChangingAnalysis]

    def _facts(self) -> Iterator[tuple[str, object]]:
        names, found = self.problem.model.hypotheses, self.designed
        yield "objective", "rate"
        yield "target", names[self.target]
        yield from design_advice(self.document())
        yield from self._remarked()
        for name, value in short_facts(CHANGING_LEARNING, found.learning):
            if name in ("settles on", "rate K", "exponent E"):
                yield name, value

    @property
    def failed(self) -> bool:
        """A search always ends with something."""
        return False

    @property
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        return [*self.remarks, f"certificate: {self.certificate.note}"]

    def document(self) -> ChangingDesignDocument:
        """What `design` prints for a network that changes."""
        own = _row(self.designed)
        network = self.designed.problem.network
        document = ChangingDesignDocument(
            names=names_of(self.problem.network.names),
            problem=self.problem.name,
            objective="rate",
            target=self.problem.model.hypotheses[self.target],
            influence=numbers(self.designed.influence.values),
            weights=[LinksDocument.of(weights) for weights in _matrices(network)],
            method=self.method,
            **dict(own),
            certificate=certified(self.certificate),
            baselines={name: _row(row) for name, row in self.rows.items()},
            failed=self.failed,
            stopped_by_time_budget=self.stopped,
            record=place_text(self.record_path),
            written=place_text(self.written_path),
            notes=self.notes,
        )
        best = recommend(document, delta=self.request.delta)
        return document.model_copy(update={"recommended": best})

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many rounds each statement asks for as designed; on `ax` or new axes."""
        return self.designed.plot(ax)

    def designed_problem(self) -> AnyProblem:
        """The problem with the designed weights."""
        return with_network(self.problem, self.designed.problem.network)

    def pictures(self) -> dict[str, Any]:
        """Nothing is drawn."""
        return {}


def design_changing(
    problem: ChangingProblem, request: Design, *, progress: Progress | None = None
) -> ChangingDesign:
    """Weights for a larger rate on a network that changes, beside the given ones.

    Raises
    ------
    ValueError
        If the objective is another than the rate, or the problem sets limits.
    """
    if request.objective != "rate" or request.exact:
        raise fail(
            "objective",
            "'rate', in floating point, for a network that changes",
            repr(request.objective) + " --exact" * request.exact,
            "choose it",
        )
    section = None if problem.specification is None else problem.specification.design
    if section is not None or request.changes:
        raise fail("design", "no limits for a network that changes", "some", "leave out [design]")
    network, model = problem.network, problem.model
    named = named_hypothesis(request.target, model)
    target = learning_rate(network, model).reference[0] if named is None else named
    remarks: tuple[str, ...] = ()
    if isinstance(network, RandomLinks) and network.on_loss == "own":
        found, certificate, method = _for_expected(problem, network, target)
        rivals = _rivals(network)
    else:
        slow = isinstance(network, RandomPresence) and network.mean_absence is not None
        searched: ChangingWeights = changing_weights(
            network,
            model,
            target=target,
            effort=_SLOW_EFFORT if slow else _EFFORT,
            progress=progress,
        )
        found, certificate, method = searched.network, searched.certificate, "local search"
        remarks = (
            "the weights are the best that a local search found, from those given; the bound "
            "holds for all weights on these links",
        )
        rivals = _rivals(network)

    asked = Analyse(delta=request.delta)

    def analysed(other: ChangingNetwork) -> ChangingAnalysis:
        return analyse_changing(replace(problem, network=other), asked)

    rows = {"as given": analyse_changing(problem, asked)}
    rows |= {name: analysed(rival) for name, rival in rivals.items()}
    designed, tie = analysed(found), ""
    if _ties(rows["as given"], designed, target):
        rest = {} if not isinstance(network, RandomLinks) else _same_influence(network)
        others = rows | {name: analysed(other) for name, other in rest.items()}
        tie, designed = _best_of_equals(others, designed, target)
    if tie:
        method = f"{method}; among equals {tie}"
        remarks += (
            "the weights as given have the same K as the best found: of the networks with this K "
            f"it is {tie}, for the larger exponent, then the faster mixing",
        )
    return ChangingDesign(
        problem=problem,
        request=request,
        target=target,
        certificate=certificate,
        method=method,
        designed=designed,
        rows=rows,
        remarks=remarks,
    )


def _ties(one: ChangingAnalysis, best: ChangingAnalysis, target: int) -> bool:
    """Whether a network settles on the target with the best K, but for rounding."""
    rate, most = float(one.rate.rate), float(best.rate.rate)
    return target in one.rate.reference and rate >= most - _SAME * abs(most)


def _best_of_equals(
    rows: dict[str, ChangingAnalysis], designed: ChangingAnalysis, target: int
) -> tuple[str, ChangingAnalysis]:
    """Of the networks with the largest K the one with the largest E, then the fastest mixing.

    It is never worse than the network as given in either. Its name is empty if it is the design.
    """
    given, every = rows["as given"], {"": designed, **rows}
    measures = {
        name: (_exponent(row), mean_slem(row.problem.network))
        for name, row in every.items()
        if _ties(row, designed, target)
    }
    least, slowest = measures["as given"]
    fair = {
        name: (exponent, slem)
        for name, (exponent, slem) in measures.items()
        if exponent >= least - _SAME * abs(least) and slem <= slowest + _SAME
    }
    most = max(exponent for exponent, _ in fair.values())
    close = {n: slem for n, (e, slem) in fair.items() if e >= most - _SAME * abs(most)}
    fastest = min(close.values())
    name = next(n for n, slem in close.items() if slem <= fastest + _SAME)
    return name, every.get(name, given)


def _exponent(row: ChangingAnalysis) -> float:
    return 0.0 if row.exponent is None else float(row.exponent.exponent)


def _same_influence(network: RandomLinks) -> dict[str, ChangingNetwork]:
    """The fastest E[W] in which everybody counts as now."""
    if network.on_loss != "own":
        return {}
    graph = DesignGraph.from_network(network.network)
    weights, _ = _fastest(graph, influence(network).values, _availability(network))
    return {"the fastest with the influence as given": replace(network, network=weights)}


def _rivals(network: ChangingNetwork) -> dict[str, ChangingNetwork]:
    """The usual rules under the same changes; none for networks given phase by phase."""
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        return {}
    return {
        entry.name: replace(network, network=entry.network)
        for entry in baselines(DesignGraph.from_network(network.network))
    }


def _for_expected(
    problem: ChangingProblem, network: RandomLinks, target: int
) -> tuple[ChangingNetwork, Certificate, str]:
    """The rate's best v for E[W], and the W whose E[W] has it and mixes fastest."""
    graph = DesignGraph.from_network(network.network)
    constraints = _availability(network)
    influences = InfluenceSet(network.agents, constraints=constraints, graph=graph)
    best = optimal_rate(problem.model, target=target, influences=influences)
    weights, method = _fastest(graph, best.stationary_distribution, constraints)
    return replace(network, network=weights), best.certificate, f"linear program{method}"


def _availability(network: RandomLinks) -> Constraints:
    up = {
        (int(i), int(j)): float(p)
        for (i, j), p in zip(network.network.edges, network.link_up, strict=True)
        if p > 0
    }
    return Constraints(availability=up)


def _fastest(graph: DesignGraph, v: FloatArray, constraints: Constraints) -> tuple[Network, str]:
    """The W whose E[W] has this v and mixes fastest, and how it was found."""
    if graph.is_undirected:
        with suppress(DesignFailed):
            return fastest_mixing(graph, v, constraints=constraints).network, ", fastest E[W]"
    return realise(graph, v, constraints=constraints), ""


def _row(analysis: ChangingAnalysis) -> ChangingRow:
    exponent, names = analysis.exponent, analysis.problem.model.hypotheses
    return ChangingRow(
        rate=number(analysis.rate.rate),
        settles_on=", ".join(names[m] for m in analysis.rate.reference),
        total_influence=number(analysis.influence.total),
        error_exponent=None if exponent is None else number(exponent.exponent),
        mean_slem=mean_slem(analysis.problem.network),
        samples=ROUNDS.document(analysis.sizes),
    )


def _matrices(network: ChangingNetwork) -> list[Weights]:
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        return [phase.weights for phase in network.phases]
    return [network.network.weights]
