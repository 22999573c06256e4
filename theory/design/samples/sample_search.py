"""A search over W for few certified samples: starts, descents, and certificates for the best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from theory.bounds import account, sample_sizes
from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph, baselines
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.rate_program import RateTarget, rate_target
from theory.design.samples.converse import (
    FewestSamples,
    Judged,
    SampleStart,
    every_design_bound,
    perfect_mixing,
)
from theory.design.samples.cover import Evidence
from theory.design.samples.mixing_descent import (
    Start,
    faster_starts,
    influences_to_try,
    starts_for,
)
from theory.design.samples.smooth_errors import SmoothErrors, descend
from theory.design.samples.weight_variables import (
    SAME,
    Steps,
    by_rounds,
    different,
    expected_network,
    fewest_rounds,
    strongest,
    strongest_of,
    weight_variables,
)
from theory.design.search import Certificate, is_spent
from theory.learning.model import FiniteModel
from theory.learning.rate import error_exponent, learning_rate
from theory.network import Network
from theory.network.structure import as_dense
from theory.progress import Progress
from theory.typed import typed
from theory.validation import FloatArray, as_integer, as_positive, as_probability, fail

# A search over W for few certified samples -------------------------------------------------------


# With an effort of one: starts certified, descents, steps of each, random restarts.
_CERTIFIED, _DESCENTS, _STEPS, _RESTARTS = 6, 3, 150, 2
# Of the logarithms of weights, in a random restart.
_KICK = 0.5
# Networks beyond this have no certified sample size, and descents that take minutes.
_MOST_AGENTS = 64
# The account of perfect mixing is a matter of milliseconds, except for large data sets.
_SECONDS = 10.0
# Mixtures of the best network with others, and in which shares.
_MIXTURES, _SHARES = 4, (0.3, 0.6)


class SampleSearch:
    """One problem, and how networks are judged in it."""

    def __init__(
        self,
        graph: DesignGraph,
        model: FiniteModel,
        delta: float,
        aim: RateTarget,
        limits: Constraints,
        minimum_influence: float | None,
    ) -> None:
        self.graph, self.model, self.delta, self.aim, self.limits = graph, model, delta, aim, limits
        self.allowed = InfluenceSet(graph.agents, minimum_influence, limits, graph)
        self._rows: dict[bytes, SampleStart] = {}
        self.evidence = tuple(Evidence.of(model, aim.target, int(m)) for m in aim.wrong)

    @classmethod
    def of(
        cls,
        graph: DesignGraph | Network,
        model: FiniteModel,
        delta: float,
        target: int | str | None,
        constraints: Constraints | None,
        minimum_influence: float | None,
    ) -> SampleSearch:
        """The search, its arguments checked.

        Raises
        ------
        ValueError
            As for :func:`theory.design.samples.fewest_samples`.
        """
        graph = DesignGraph.from_network(graph) if isinstance(graph, Network) else graph
        delta = as_probability("delta", delta)
        if graph.agents != model.agents:
            raise fail(
                "model",
                f"as many agents as the graph, {graph.agents}",
                model.agents,
                "change the agents' counts or the graph",
            )
        limits = Constraints() if constraints is None else constraints
        return cls(graph, model, delta, rate_target(model, target), limits, minimum_influence)

    def run(
        self,
        given: Network | None,
        *,
        seed: int,
        effort: float,
        progress: Progress | None,
        judged: tuple[Judged, ...] = (),
    ) -> FewestSamples:
        """Starts, certificates, descents and certificates again, in this order.

        `judged` are networks that have their certificates already.
        """
        v = None if given is None else given.stationary_distribution
        tried = influences_to_try(self.model, self.allowed, target=self.aim.target, given=v)
        rules = baselines(self.graph)
        certified = max(1, round(_CERTIFIED * effort))
        descents, restarts = max(1, round(_DESCENTS * effort)), round(_RESTARTS * effort)
        mixtures = round(_MIXTURES * effort)
        if self.graph.agents > _MOST_AGENTS:
            descents = restarts = mixtures = 0
        steps = Steps(
            progress, len(tried) + certified + descents + restarts + len(rules) + _MIXTURES + 1
        )

        starts: list[Start] = []
        if given is not None and self._fits(given):
            starts.append(Start("given", given, self.graph))
        for influence in tried:
            if (starts or judged) and is_spent():
                break
            starts += starts_for(self.graph, influence, self.limits, seed=seed)
            steps.done()
        best_v = strongest(self.model, tried)
        if not is_spent():
            starts += faster_starts(
                self.graph, best_v, self.evidence, self.allowed, self.limits, seed=seed
            )
        steps.done()
        starts = [start for start in different(starts) if self._settles(start)]
        if not starts and not judged:
            raise fail(
                "target",
                "a hypothesis that some design settles on",
                self.model.hypotheses[self.aim.target],
                "lower minimum_influence, or choose another target",
            )
        found = list(judged)
        compared = []
        for rule in rules:
            start = Start(rule.name, rule.network, self.graph)
            compared.append(self.row(start, plain=True))
            if self._fits(rule.network) and self._settles(start):
                found.append(Judged(start, self.row(start)))
            steps.done()
        ranked = [] if not starts or (found and is_spent()) else self._ranked(starts)
        for start in ranked[:certified]:
            if found and is_spent():
                break
            found.append(Judged(start, self.row(start)))
            steps.done()
        found.sort(key=by_rounds)
        # Networks that were judged before do not push out what the search would do without them.
        before = {id(one) for one in judged}
        own = [one for one in found if id(one) not in before][:descents]
        first = [one for one in found[:descents] if id(one) in before]
        for one in [*own, *first]:
            if is_spent():
                break
            found.append(self._descended(one.start, fewest_rounds(found), effort))
            steps.done()
        rng = np.random.default_rng(seed)
        for _ in range(restarts):
            if is_spent():
                break
            kicked = self._kicked(min(found, key=by_rounds).start, starts, rng)
            if kicked is not None:
                found.append(self._descended(kicked, fewest_rounds(found), effort))
            steps.done()
        for between in self._between(sorted(found, key=by_rounds), mixtures):
            if is_spent():
                break
            found.append(Judged(between, self.row(between)))
            steps.done()
        steps.finish()
        rows = tuple(one.row for one in sorted(found, key=by_rounds))
        return self._result(rows, tuple(compared), best_v)

    def row(self, start: Start, *, plain: bool = False) -> SampleStart:
        """One network judged; `plain` ignores that links fail."""
        network = start.network
        judged = (
            network
            if plain
            else expected_network(network, start.graph, self.limits.on(start.graph))
        )
        key = as_dense(judged.weights).tobytes()
        if key in self._rows:
            return replace(self._rows[key], name=start.name, network=network)
        sizes = sample_sizes(judged, self.model, delta=self.delta)
        self._rows[key] = SampleStart(
            name=start.name,
            network=network,
            samples=sizes.certified,
            chernoff=sizes.chernoff.rounds,
            rate=learning_rate(judged, self.model).rate,
            exponent=error_exponent(judged, self.model).exponent,
            slem=judged.slem,
        )
        return self._rows[key]

    def _fits(self, network: Network, *, on: DesignGraph | None = None) -> bool:
        """Whether the given weights meet the constraints, as far as these are simple."""
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
        return limits.fits(self.graph if on is None else on) and self.allowed.contains(
            expected.stationary_distribution, tolerance=1e-9
        )

    def _expected(self, start: Start) -> Network:
        """E[W], on edges that may be fewer than the limits speak of."""
        return expected_network(start.network, start.graph, self.limits.on(start.graph))

    def _settles(self, start: Start) -> bool:
        v = expected_network(
            start.network, start.graph, self.limits.on(start.graph)
        ).stationary_distribution
        return self.model.reference_hypotheses(v) == self.aim.reference

    def _perfect_rounds(self, v: FloatArray) -> int:
        """About n(δ), for the horizon of the stand-in."""
        network = perfect_mixing(v)
        found = account(network, self.model).sample_size(self.delta, seconds=_SECONDS)
        if found.upper is not None:
            return found.upper
        ladder = sample_sizes(network, self.model, delta=self.delta, certify=False)
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
        horizon = self._perfect_rounds(strongest_of(self.evidence, influences))
        values = []
        for network, v in zip(networks, influences, strict=True):
            errors = self._errors(v, horizon)
            weights = as_dense(network.weights)
            values.append(errors.value(weights, errors.best_tilts(weights)))
        return [starts[k] for k in np.argsort(values, kind="stable")]

    def _descended(self, start: Start, rounds: int, effort: float) -> Judged:
        """Where a descent ends, at the round that the best design so far needs."""
        weights = as_dense(start.network.weights)
        variables = weight_variables(start.graph, self.limits.on(start.graph))
        network = self._expected(start)
        found = descend(
            self._errors(network.stationary_distribution, rounds),
            variables,
            weights,
            floor=self.allowed.lowest,
            iterations=max(5, round(_STEPS * effort)),
        )
        name = f"descent from {start.name}"
        end = Start(name, start.graph.network(found, name=name), start.graph)
        end = end if self._settles(end) else start
        return Judged(end, self.row(end))

    def _between(self, found: list[Judged], most: int) -> list[Start]:
        """Mixtures of the best network and the next best others, where these meet all limits."""
        first, *others = found
        graph = first.start.graph
        mixtures = []
        for one in others:
            if not np.array_equal(one.start.graph.links, graph.links):
                continue
            ends = [as_dense(x.start.network.weights) for x in (first, one)]
            if np.abs(ends[0] - ends[1]).max() <= SAME:
                continue
            for share in _SHARES:
                name = f"{1 - share:g} {first.start.name} + {share:g} {one.start.name}"
                weights = (1 - share) * ends[0] + share * ends[1]
                start = Start(name, graph.network(weights, name=name), graph)
                if self._fits(start.network, on=graph) and self._settles(start):
                    mixtures.append(start)
            if len(mixtures) >= most:
                break
        return mixtures[:most]

    def _kicked(self, base: Start, starts: list[Start], rng: np.random.Generator) -> Start | None:
        """The best network changed at random: its free rows, or mixed with another start."""
        weights = as_dense(base.network.weights)
        if self.limits.forces_uniform:
            other = starts[int(rng.integers(len(starts)))] if starts else base
            if not np.array_equal(other.graph.links, base.graph.links):
                return None
            share = float(rng.uniform(0.2, 0.8))
            weights = share * weights + (1 - share) * as_dense(other.network.weights)
        else:
            variables = weight_variables(base.graph, self.limits.on(base.graph))
            x = variables.of(weights)
            weights = variables.weights(x + rng.normal(scale=_KICK, size=x.size))
        kicked = Start("a random restart", base.graph.network(weights), base.graph)
        v = expected_network(
            kicked.network, base.graph, self.limits.on(base.graph)
        ).stationary_distribution
        return kicked if v.min() >= self.allowed.lowest and self._settles(kicked) else None

    def _result(
        self, rows: tuple[SampleStart, ...], compared: tuple[SampleStart, ...], v: FloatArray
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
        return FewestSamples(
            network=best.network,
            delta=self.delta,
            target=self.aim.target,
            best=best,
            certificate=Certificate(
                float(best.rounds), float(bound.rounds), "minimise", "local", bound.note
            ),
            bound=bound,
            best_for_influence=self._best_for_influence(best),
            starts=rows,
            baselines=compared,
            note=self._note(best),
        )

    def _best_for_influence(self, best: SampleStart) -> int | None:
        v = expected_network(best.network, self.graph, self.limits).stationary_distribution
        return (
            account(perfect_mixing(v), self.model).sample_size(self.delta, seconds=_SECONDS).lower
        )

    def _note(self, best: SampleStart) -> str:
        notes = []
        if best.samples.upper is None:
            notes.append(f"Chernoff's bound, as there is no certified one: {best.samples.note}")
        if (self.limits.availability_on(self.graph) < 1).any():
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
        Decides the random restarts.
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
    search = SampleSearch.of(graph, model, delta, target, constraints, minimum_influence)
    return search.run(
        graph if isinstance(graph, Network) else None,
        seed=as_integer("seed", seed, minimum=0),
        effort=as_positive("effort", effort),
        progress=progress,
    )
