"""A search over W for few certified samples: starts, descents, and certificates for the best."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

import numpy as np

from theory.bounds import sample_sizes
from theory.design.constraints import Constraints, expected_network
from theory.design.directed.flow_descent import SmoothErrors, descend
from theory.design.directed.flow_weights import FlowWeights
from theory.design.graph import DesignGraph, baselines
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.rate_program import rate_target
from theory.design.samples.converse import (
    FewestSamples,
    SampleStart,
    every_design_bound,
    perfect_mixing,
    perfect_size,
)
from theory.design.samples.cover import evidence_table
from theory.design.samples.mixing_descent import (
    Kept,
    Start,
    faster_starts,
    influences_to_try,
    starts_for,
)
from theory.design.search import Search, is_spent, until_spent
from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents, error_exponent, learning_rate
from theory.network import Network
from theory.network.structure import as_dense
from theory.progress import Progress
from theory.typed import typed
from theory.validation import FloatArray, as_integer, as_positive, as_probability, fail

# A search over W for few certified samples -------------------------------------------------------


# With an effort of one: starts certified, descents, steps of each.
_CERTIFIED, _DESCENTS, _STEPS = 6, 3, 150
# Networks beyond this have no certified sample size, and descents that take minutes.
_MOST_AGENTS = 64
# Weights that agree to this are one start.
_SAME = 1e-6
# A horizon for descents where no design has a bound yet.
_UNKNOWN = 1000

_ORDER = attrgetter("order")


class SampleSearch:
    """One problem, its arguments checked as `fewest_samples` says, and how networks are judged."""

    def __init__(
        self,
        graph: DesignGraph | Network,
        model: FiniteModel,
        delta: float,
        target: int | str | None,
        constraints: Constraints | None,
        minimum_influence: float | None,
    ) -> None:
        graph = DesignGraph.from_network(graph) if isinstance(graph, Network) else graph
        self.graph, self.model = graph, model
        self.delta = as_probability("delta", delta)
        check_same_agents(graph, model)
        self.limits = Constraints() if constraints is None else constraints
        self.aim = rate_target(model, target)
        self.allowed = InfluenceSet(graph.agents, minimum_influence, self.limits, graph)
        self._rows: dict[bytes, SampleStart] = {}
        table = evidence_table(model, self.aim.target, self.aim.wrong)
        self.rate, self.exponent = Kept(table, "rate"), Kept(table, "exponent")

    def run(
        self,
        given: Network | None,
        *,
        seed: int,
        effort: float,
        progress: Progress | None,
        judged: tuple[SampleStart, ...] = (),
    ) -> FewestSamples:
        """Starts, certificates, descents and certificates again, in this order.

        `judged` are networks that have their certificates already.
        """
        v = None if given is None else given.stationary_distribution
        tried = influences_to_try(self.model, self.allowed, target=self.aim.target, given=v)
        rules = baselines(self.graph)
        certified = max(1, round(_CERTIFIED * effort))
        descents = max(1, round(_DESCENTS * effort))
        if self.graph.agents > _MOST_AGENTS:
            descents = 0
        search = Search[SampleStart](
            "minimise", progress=progress, total=len(tried) + certified + descents + len(rules) + 1
        )
        found: list[SampleStart] = []

        def take(row: SampleStart) -> None:
            found.append(row)
            search.offer(row.order[0], row)

        for row in judged:
            take(row)
        starts = self._starts(given, tried, search, seed=seed)
        if not starts and not judged:
            raise fail(
                "target",
                "a hypothesis that some design settles on",
                self.model.hypotheses[self.aim.target],
                "lower minimum_influence, or choose another target",
            )
        compared = []
        for rule in rules:
            start = Start(rule.name, rule.network, self.graph)
            compared.append(self.row(start, plain=True))
            if self._fits(rule.network, self.graph) and self._settles(start):
                take(self.row(start))
            search.step()
        ranked = [] if not starts or search.is_over else self._ranked(starts)
        for start in search.over(ranked[:certified]):
            take(self.row(start))
        found.sort(key=_ORDER)
        # Networks that were judged before do not push out what the search would do without them.
        before = {id(one) for one in judged}
        own = [one for one in found if id(one) not in before][:descents]
        first = [one for one in found[:descents] if id(one) in before]
        for one in search.over([*own, *first]):
            take(self._descended(one, min(found, key=_ORDER), effort))
        fewer = self._sparser(min(found, key=_ORDER))
        if fewer is not None:  # first among equals
            found.insert(0, fewer)
            search.offer(fewer.order[0], fewer)
        search.finish()
        strong = max(tried.values(), key=self.exponent.value)
        return self._result(tuple(sorted(found, key=_ORDER)), tuple(compared), strong, search)

    def _starts(
        self,
        given: Network | None,
        tried: dict[str, FloatArray],
        search: Search[SampleStart],
        *,
        seed: int,
    ) -> list[Start]:
        """Networks worth judging, that settle on the target, none of them twice."""
        starts: list[Start] = []
        if given is not None and self._fits(given, self.graph):
            starts.append(Start("given", given, self.graph))
        some = bool(starts) or search.best is not None
        for name, v in until_spent(tried.items(), least=0 if some else 1):
            starts += starts_for(self.graph, v, self.limits, name=name, seed=seed)
            search.step()
        if not is_spent():
            strong = max(tried.values(), key=self.exponent.value)
            starts += faster_starts(
                self.graph, strong, self.exponent, self.allowed, self.limits, seed=seed
            )
        search.step()
        kept: list[Start] = []
        for start in starts:
            weights = as_dense(start.network.weights)
            if all(np.abs(weights - as_dense(one.network.weights)).max() > _SAME for one in kept):
                kept.append(start)
        return [start for start in kept if self._settles(start)]

    def row(self, start: Start, *, plain: bool = False) -> SampleStart:
        """One network judged; `plain` ignores that links fail."""
        judged = start.network if plain else self._expected(start)
        key = as_dense(judged.weights).tobytes()
        if key in self._rows:
            known = self._rows[key]
            return replace(known, name=start.name, network=start.network, graph=start.graph)
        sizes = sample_sizes(judged, self.model, delta=self.delta)
        self._rows[key] = SampleStart(
            name=start.name,
            network=start.network,
            graph=start.graph,
            samples=sizes.certified,
            chernoff=sizes.chernoff.rounds,
            rate=learning_rate(judged, self.model).rate,
            exponent=error_exponent(judged, self.model).exponent,
            slem=judged.slem,
        )
        return self._rows[key]

    def _fits(self, network: Network, on: DesignGraph) -> bool:
        """Whether weights on a graph meet the constraints, as far as these are simple."""
        limits = self.limits
        weights = as_dense(network.weights)
        free = [i for i in range(len(weights)) if i not in limits.fixed_rows]
        if (np.diag(weights)[free] < limits.minimum_self_weight).any():
            return False
        if any(np.abs(weights[i] - row).max() > 1e-12 for i, row in limits.fixed_rows.items()):
            return False
        expected = expected_network(network, self.graph, limits)
        if (
            limits.symmetric
            and np.abs(as_dense(expected.weights) - as_dense(expected.weights).T).max() > 1e-12
        ):
            return False
        return limits.fits(on) and self.allowed.contains(
            expected.stationary_distribution, tolerance=1e-9
        )

    def _expected(self, start: Start | SampleStart) -> Network:
        """E[W], on edges that may be fewer than the limits speak of."""
        return expected_network(start.network, start.graph, self.limits.on(start.graph))

    def _settles(self, start: Start) -> bool:
        v = self._expected(start).stationary_distribution
        return self.model.reference_hypotheses(v) == self.aim.reference

    def _flows(self, graph: DesignGraph) -> FlowWeights:
        """All W on a graph within the limits."""
        uniform = np.full(graph.agents, 1 / graph.agents)
        given = uniform if self.limits.forces_uniform else None
        return FlowWeights(graph, self.limits.on(graph), given, self.allowed.lowest)

    def _perfect_rounds(self, v: FloatArray) -> int:
        """About n(δ), for the horizon of the stand-in."""
        found = perfect_size(v, self.model, self.delta)
        if found.upper is not None:
            return found.upper
        ladder = sample_sizes(perfect_mixing(v), self.model, delta=self.delta, certify=False)
        if ladder.chernoff.rounds is None:
            raise fail(
                "delta",
                "an error probability that some design reaches",
                f"{self.delta:g}",
                "ask for the rate instead: the model learns too slowly for a sample size",
            )
        return ladder.chernoff.rounds

    def _errors(self, v: FloatArray, rounds: int) -> SmoothErrors:
        return SmoothErrors(
            self.model,
            best=self.aim.target,
            wrong=self.aim.wrong.tolist(),
            v=v,
            rounds=max(1, rounds),
        )

    def _ranked(self, starts: list[Start]) -> list[Start]:
        """By the stand-in, at a round where good designs are near δ."""
        networks = [self._expected(one) for one in starts]
        influences = [network.stationary_distribution for network in networks]
        horizon = self._perfect_rounds(max(influences, key=self.exponent.value))
        values = []
        for network, v in zip(networks, influences, strict=True):
            errors = self._errors(v, horizon)
            weights = as_dense(network.weights)
            values.append(errors.value(weights, errors.best_tilts(weights)))
        return [starts[k] for k in np.argsort(values, kind="stable")]

    def _descended(
        self, start: Start | SampleStart, best: SampleStart, effort: float
    ) -> SampleStart:
        """Where a descent ends, at the round that the best design so far needs."""
        v, graph = self._expected(start).stationary_distribution, start.graph
        weights = descend(
            self._errors(v, best.rounds or _UNKNOWN),
            self._flows(graph),
            as_dense(start.network.weights),
            v,
            iterations=max(5, round(_STEPS * effort)),
        )
        name = f"descent from {start.name}"
        end = Start(name, graph.network(weights, name=name), graph)
        return self.row(end if self._settles(end) else Start(start.name, start.network, graph))

    def _sparser(self, best: SampleStart) -> SampleStart | None:
        """The best network without weights that are hardly there, if it is as good."""
        if best.graph.agents > _MOST_AGENTS:
            return None
        flows, v = self._flows(best.graph), self._expected(best).stationary_distribution
        fewer = flows.sparser(as_dense(best.network.weights), v)
        if fewer is None:
            return None
        name = f"{best.name}, without weights below 1e-6"
        network = fewer[0].network(fewer[1], name=name)
        start = Start(name, network, fewer[0].graph)
        row = self.row(start)
        return row if self._settles(start) and row.order <= best.order else None

    def _result(
        self,
        rows: tuple[SampleStart, ...],
        compared: tuple[SampleStart, ...],
        v: FloatArray,
        search: Search[SampleStart],
    ) -> FewestSamples:
        best = rows[0]
        if best.rounds is None:
            raise fail(
                "graph",
                "a design with a sample size that can be bounded",
                best.samples.note,
                "use a smaller graph, or ask for the rate or the exponent",
            )
        bound = every_design_bound(
            self.model,
            delta=self.delta,
            influences=self.allowed,
            v=v,
            most_rounds=best.rounds,
            target=self.aim.target,
        )
        search.raise_bound(float(bound.rounds), bound.note)
        v_of_best = self._expected(best).stationary_distribution
        return FewestSamples(
            network=best.network,
            delta=self.delta,
            target=self.aim.target,
            best=best,
            certificate=search.certificate("local"),
            bound=bound,
            best_for_influence=perfect_size(v_of_best, self.model, self.delta).lower,
            starts=rows,
            baselines=compared,
            note=self._note(best),
        )

    def _note(self, best: SampleStart) -> str:
        notes = []
        if best.samples.upper is None:
            notes.append(f"Chernoff's bound, as there is no certified one: {best.samples.note}")
        if not self.limits.never_fails:
            notes.append("samples are those of E[W], not of links that fail at random")
        return "; ".join(notes)


# Fewest samples ----------------------------------------------------------------------------------


@typed
def fewest_samples(
    graph: DesignGraph | Network,
    model: FiniteModel,
    *,
    delta: float,
    target: int | str | None = None,
    constraints: Constraints | None = None,
    minimum_influence: float | None = None,
    seed: int = 0,
    effort: float = 1.0,
    progress: Progress | None = None,
) -> FewestSamples:
    """Search for the W on a graph that needs the fewest certified samples.

    Parameters
    ----------
    graph
        Who may listen to whom; of a network, its links, and its weights are one more start.
    model
        As many agents as the graph.
    delta
        δ in (0, 1).
    target
        The hypothesis to settle on; may be left out if one is best for every agent.
    constraints
        Limits on W. Where links fail, samples are those of E[W].
    minimum_influence
        v_min; 1/(10N) if left out.
    seed
        Decides random starts of the fastest mixing on directed graphs, and of choosing edges.
    effort
        Multiplies the number of descents, steps and networks certified.
    progress
        Called as progress(done, total), in networks looked at.

    Raises
    ------
    ValueError
        If an argument is out of range, graph and model have different numbers of agents, the target
        is none, constraints clash, or no start settles on the target with a sample size that can
        be bounded.

    Examples
    --------
    >>> from theory import FiniteModel, GaussianAgent
    >>> agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[2])
    >>> pair = DesignGraph.from_edges([[0, 1]], agents=2)
    >>> found = fewest_samples(pair, model, delta=0.05)
    >>> found.certificate.value, found.certificate.bound  # both average: Φ(−√(n/2)) ≤ .05
    (6.0, 6.0)
    """
    search = SampleSearch(graph, model, delta, target, constraints, minimum_influence)
    return search.run(
        graph if isinstance(graph, Network) else None,
        seed=as_integer("seed", seed, minimum=0),
        effort=as_positive("effort", effort),
        progress=progress,
    )
