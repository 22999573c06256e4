"""The effects of many changes of one graph, computed together and put in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from theory.bounds.accounting import CertifiedSampleSize, account
from theory.design.edges.edge_variants import (
    FASTEST,
    Variants,
    chosen_candidates,
    difference_note,
    variants_of,
)
from theory.design.edges.quick_chernoff import (
    LearningEffects,
    QuickChernoff,
    learning_effects,
    subdominant_moduli,
)
from theory.design.graph import DesignGraph
from theory.design.search import until_spent
from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail

# The effects of many changes of one graph, computed together and put in order --------------------


Order = Literal["samples", "rate", "exponent", "slem"]
ORDERS: tuple[Order, ...] = ("samples", "rate", "exponent", "slem")
# Entries of one stack of matrices: 2 million, 16 MiB.
_BLOCK = 1 << 21
# Evaluations of κ for all candidates together, at some 20 ns each, and how many to take anyway.
_MOST_EVALUATIONS = 4e8
_FEWEST_SAMPLES = 10
_CERTIFIED_SECONDS = 3.0


@dataclass(frozen=True)
class EdgeEffect(Shown):
    """What a network would do with one edge more or less.

    Attributes
    ----------
    edge
        (i, j), i < j; for directed graphs agent i listens to agent j. None for the graph as it is.
    rate, exponent
        K and E in nats per round, floating-point values; infinite if nothing is wrong.
    slem
        The subdominant modulus, a floating-point value; not to be trusted for directed graphs that
        are far from normal.
    samples
        Rounds that are enough, by Chernoff's inequality at three tilts: an upper bound. None where
        it was not computed, or is not finite.
    certified
        Both ends of n(δ), for the first few.
    binding
        The wrong hypothesis that binds the rate; None if there is none.
    reference
        The hypothesis that the network settles on.
    """

    edge: tuple[int, int] | None
    rate: float
    exponent: float
    slem: float
    samples: int | None
    certified: CertifiedSampleSize | None
    binding: int | None
    reference: int


@dataclass(frozen=True)
class RankedEdges(Shown):
    """Edges by what they would do.

    Attributes
    ----------
    base
        The network by the same rule as it is.
    ranked
        Best first. Where `samples` is the order, those without a number come last, by a guess from
        E and the spectral gap.
    rule, order, delta
        As asked for, or as found out.
    candidates_skipped
        Candidates that were not looked at.
    samples_skipped
        Candidates in `ranked` for which `samples` was not computed.
    bridges
        Edges that cannot be removed, because the network would fall apart.
    notes
        What else is to be known.
    """

    base: EdgeEffect
    ranked: tuple[EdgeEffect, ...]
    rule: str
    order: Order
    delta: float
    candidates_skipped: int
    samples_skipped: int
    bridges: tuple[tuple[int, int], ...]
    notes: tuple[str, ...]

    @property
    def best(self) -> EdgeEffect | None:
        """The first, None if there is no candidate."""
        return self.ranked[0] if self.ranked else None


@dataclass(frozen=True, eq=False)
class _Ranking:
    """Networks on variants of one graph, by what they would do; `notes` are for the result."""

    variants: Variants
    model: FiniteModel
    order: Order
    delta: float
    certify_best: int
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        network: Network | DesignGraph,
        model: FiniteModel,
        rule: str | None,
        *,
        directed: bool | None = None,
        order: Order,
        delta: float,
        certify_best: int,
    ) -> _Ranking:
        check_same_agents(network, model)
        variants = variants_of(network, rule, directed=directed, most_agents=_MOST_AGENTS)
        note = difference_note(network, variants) if isinstance(network, Network) else None
        notes = () if note is None else (note,)
        if not variants.directed and variants.rule != "uniform":
            notes = (*notes, f"{variants.rule} keeps v, so that no edge changes K or E")
        if order not in ORDERS:
            raise fail("order", f"one of {', '.join(ORDERS)}", repr(order), "choose one")
        best = as_integer("certify_best", certify_best, minimum=0)
        return cls(variants, model, order, as_probability("delta", delta), best, notes)

    def ranked(
        self,
        pairs: IntArray,
        limit: int | None,
        change: Callable[[int, int], IntArray],
        *,
        largest: bool,
        bridges: tuple[tuple[int, int], ...] = (),
    ) -> RankedEdges:
        """The effects of a `change` at some pairs, best first.

        Of more than `limit` pairs those across which the slowest mode differs most, or least.
        """
        kept = _preselected(self.variants, pairs, limit, largest=largest)
        skipped, pairs = len(pairs) - len(kept), pairs[kept]
        # The first is the graph as it is.
        graphs = [self.variants.graph.links, *(change(int(i), int(j)) for i, j in pairs)]
        effects, slem = self._effects(graphs)
        skipped, pairs = skipped + len(graphs) - len(slem), pairs[: len(slem) - 1]
        guess = self._guess(effects, slem)
        samples = self._samples(graphs, effects, self._affordable(effects, slem, guess))
        found = [
            EdgeEffect(
                edge=edge,
                rate=float(effects.rate[row]),
                exponent=float(effects.exponent[row]),
                slem=float(slem[row]),
                samples=samples.get(row),
                certified=None,
                binding=int(effects.binding[row]) if effects.binding[row] >= 0 else None,
                reference=int(effects.reference[row]),
            )
            for row, edge in enumerate([None, *((int(i), int(j)) for i, j in pairs)])
        ]
        keys = [self._key(effect, float(near)) for effect, near in zip(found, guess, strict=True)]
        first = sorted(range(1, len(found)), key=lambda row: keys[row])
        for row in until_spent([0, *first[: self.certify_best]] if self.certify_best else []):
            enclosed = self._certified(graphs[row], found[row].samples)
            found[row] = replace(found[row], certified=enclosed)
        missing, notes = len(found) - len(samples), self.notes
        if skipped:
            notes = (*notes, f"{skipped} candidates were not looked at: raise limit to see them")
        if missing:
            count = len(samples) - 1
            notes = (*notes, f"samples: computed for the {count} that E and the gap put first")
        if np.ptp(effects.reference):
            notes = (*notes, "some edges change the hypothesis that the network settles on")
        return RankedEdges(
            base=found[0],
            ranked=tuple(found[row] for row in first),
            rule=self.variants.rule,
            order=self.order,
            delta=self.delta,
            candidates_skipped=skipped,
            samples_skipped=missing,
            bridges=bridges,
            notes=notes,
        )

    def _effects(self, graphs: Sequence[IntArray]) -> tuple[LearningEffects, FloatArray]:
        """Those of the graphs, as far as there is time; of the first block anyway."""
        block = max(1, _BLOCK // self.variants.agents**2)
        influence, slem = [], []
        for start in until_spent(range(0, len(graphs), block), least=1):
            part = self.variants.networks(graphs[start : start + block])
            influence.append(part.influence)
            slem.append(subdominant_moduli(part.weights, reversible=self.variants.is_reversible))
        return learning_effects(self.model, np.concatenate(influence)), np.concatenate(slem)

    def _guess(self, effects: LearningEffects, slem: FloatArray) -> FloatArray:
        """About how many rounds: the union bound falling at rate E after one relaxation time."""
        events = self.variants.agents * np.maximum(effects.wrong.sum(axis=1), 1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(events / self.delta) / effects.exponent + 1 / (1 - slem))

    def _key(self, effect: EdgeEffect, guess: float) -> tuple[float, float]:
        if self.order == "samples":
            return (np.inf if effect.samples is None else effect.samples, guess)
        value = float(getattr(effect, self.order))
        return (value if self.order == "slem" else -value, guess)

    def _affordable(
        self, effects: LearningEffects, slem: FloatArray, guess: FloatArray
    ) -> IntArray:
        """The graph as it is and the first candidates, whose sample sizes can be had in time."""
        values = {
            "samples": guess,
            "slem": slem,
            "rate": -effects.rate,
            "exponent": -effects.exponent,
        }[self.order]
        order = np.append(0, 1 + np.lexsort((guess[1:], values[1:])))
        work = QuickChernoff.evaluations(guess[order], self.variants.agents, effects.wrong[order])
        affordable = int(np.searchsorted(np.cumsum(work), _MOST_EVALUATIONS))
        return order[: max(affordable, 1 + _FEWEST_SAMPLES)]

    def _samples(
        self, graphs: Sequence[IntArray], effects: LearningEffects, rows: IntArray
    ) -> dict[int, int | None]:
        """Rounds that are enough, None without such, for those `rows` that there is time for."""
        tilts = np.array([self._tilts(effects, int(row)) for row in rows])
        settled = np.column_stack([effects.reference, effects.wrong])[rows]
        cases, case_of = np.unique(settled, axis=0, return_inverse=True)
        known: dict[int, QuickChernoff] = {}
        found: dict[int, int | None] = {}
        for index in until_spent(range(len(rows)), least=1):
            row, case = int(rows[index]), int(case_of.ravel()[index])
            wrong = np.flatnonzero(cases[case, 1:])
            if not wrong.size:
                found[row] = None
                continue
            if case not in known:
                steepest = tilts[case_of.ravel() == case][:, wrong].max(axis=0)
                best, others = int(cases[case, 0]), tuple(wrong.tolist())
                known[case] = QuickChernoff(
                    self.model, reference=best, wrong=others, steepest=steepest
                )
            weights = self.variants.networks([graphs[row]]).weights[0]
            found[row] = known[case].rounds(weights, tilts[index, wrong], delta=self.delta)
        return found

    def _tilts(self, effects: LearningEffects, row: int) -> FloatArray:
        """The exponents' tilts; where they are infinite, as large as matters."""
        tilts = np.array(effects.tilts[row])
        for theta in np.flatnonzero(np.isinf(tilts)):
            laws = self.model.log_ratio_laws(int(effects.reference[row]), int(theta))
            means = [abs(law.mean) for law in laws]
            tilts[theta] = 64.0 * self.variants.agents / max(means)
        return tilts

    def _certified(self, links: IntArray, pilot: int | None) -> CertifiedSampleSize:
        weights = self.variants.networks([links]).weights[0]
        errors = account(Network(weights), self.model)
        return errors.sample_size(self.delta, pilot=pilot, seconds=_CERTIFIED_SECONDS)


# Which edge to add next, and which to do without -------------------------------------------------


_MOST_AGENTS = 2000
# Operations on matrices for all candidates together: some seconds on one core. Eigenvalues of a
# symmetric matrix take about N³ of a third of a nanosecond, of another one fifteen times as many.
_MOST_WORK = 1.5e10
_NOT_SYMMETRIC = 15
_FEWEST = 50
# Candidates for which flows are optimised, from a hundredth of a second to seconds each.
_MOST_OPTIMISED = 20


@typed
def rank_edges(
    network: Network | DesignGraph,
    model: FiniteModel,
    *,
    rule: str | None = None,
    delta: float = 0.05,
    candidates: Iterable[Sequence[int]] | None = None,
    order: Order = "samples",
    directed: bool | None = None,
    limit: int | None = None,
    certify_best: int = 0,
) -> RankedEdges:
    """The effect of each edge that could be added, best first.

    Parameters
    ----------
    network
        The network or its graph, at most 2000 agents.
    rule
        How a graph turns into weights: "uniform", "metropolis", "lazy-metropolis", "max-degree", or
        "fastest", the fastest reversible mixing that keeps v (uniform for a graph). By default
        "uniform" for a graph, and for a network the rule that its weights follow.
    delta
        The probability of error allowed, for `samples`.
    candidates
        Pairs to consider; by default all that are not joined. In a directed graph (i, j) is agent
        i listening to agent j.
    order
        What to rank by: fewest "samples", largest "rate" or "exponent", smallest "slem".
    directed
        Whether new edges lead one way; by default as the graph does.
    limit
        The most candidates to look at, those first across which the slowest mode differs most. By
        default as many as take some seconds, and at least 50; 20 for "fastest". Where the time of a
        budget is up, those that come later have no `samples`, or are skipped.
    certify_best
        For how many of the first to enclose the sample size from both sides.

    Raises
    ------
    ValueError
        If `rule`, `order` or a candidate is not one, the network follows no rule and none is given,
        or network and model do not fit.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[5])
    >>> path = Network.from_topology("path", agents=5)
    >>> found = rank_edges(path, model, order="slem")
    >>> found.best.edge, round(found.base.slem, 4), round(found.best.slem, 4)
    ((0, 4), 0.8333, 0.5393)
    """
    ranking = _Ranking.of(
        network, model, rule, directed=directed, order=order, delta=delta, certify_best=certify_best
    )
    variants = ranking.variants
    pairs = chosen_candidates(variants, candidates)
    return ranking.ranked(pairs, limit, variants.with_edge, largest=True)


@typed
def rank_removals(
    network: Network | DesignGraph,
    model: FiniteModel,
    *,
    rule: str | None = None,
    delta: float = 0.05,
    order: Order = "samples",
    limit: int | None = None,
    certify_best: int = 0,
) -> RankedEdges:
    """The effect of leaving out each edge: the one least missed first, bridges named apart.

    Parameters as for :func:`rank_edges`; `limit` keeps the edges across which the slowest mode
    differs least.

    Raises
    ------
    ValueError
        As for :func:`rank_edges`.
    """
    ranking = _Ranking.of(network, model, rule, order=order, delta=delta, certify_best=certify_best)
    variants = ranking.variants
    edges, bridge = variants.edges, variants.is_bridge
    bridges = tuple((int(i), int(j)) for i, j in edges[bridge])
    return ranking.ranked(
        edges[~bridge], limit, variants.without_edge, largest=False, bridges=bridges
    )


def _preselected(
    variants: Variants, pairs: IntArray, limit: int | None, *, largest: bool
) -> IntArray:
    """Rows of `pairs` to look at, in their order, by how much the slowest mode differs there.

    To first order a flow f along {i, j} moves the slowest eigenvalue by −f (h_i − h_j)².
    """
    if limit is None:
        cost = variants.agents**3 * (1 if variants.is_reversible else _NOT_SYMMETRIC)
        affordable = max(_FEWEST, int(_MOST_WORK / cost))
        most = _MOST_OPTIMISED if variants.rule == FASTEST else affordable
    else:
        most = as_integer("limit", limit, minimum=1)
    if most >= len(pairs):
        return np.arange(len(pairs))
    base = variants.networks([variants.graph.links])
    h = variants.slow_mode(base.weights[0], base.influence[0])
    difference = np.abs(h[pairs[:, 0]] - h[pairs[:, 1]])
    order = np.argsort(-difference if largest else difference, kind="stable")
    return np.sort(order[:most])
