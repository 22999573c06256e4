"""Rate against mixing: what influence buys in the long run, it may cost at first.

The v with the best rate K or the best exponent E need not mix fast on the graph. For a sweep of
shares κ this looks for the v that keeps κ of the best K (or E) and whose fastest W is fastest: it
starts from the most even such v, and from the one found for the share before, and goes down along
the mixing bound's derivative (:mod:`theory.design.samples.mixing_descent`).

For one v the fastest mixing is a convex problem, and every point carries the bound that proves it.
Over v and W together it is not: every point of the curve is achieved, and none is proved to be the
best of its share (docs: mathematics/fewest-samples).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from theory.bounds import CertifiedSampleSize
from theory.design.constraints import Constraints
from theory.design.exponent.best_exponent import best_exponent
from theory.design.graph import DesignGraph
from theory.design.rate.optimal_rate import optimal_rate
from theory.design.samples.converse import FewestSamples
from theory.design.samples.mixing_descent import (
    FlooredInfluences,
    Kept,
    Mixed,
    Start,
    faster,
    fastest_for,
)
from theory.design.samples.sample_search import SampleSearch
from theory.design.search import DesignFailed, Search, until_spent
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.progress import Progress
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, as_positive, as_probability, fail

Objective = Literal["rate", "exponent"]
OBJECTIVES: tuple[Objective, ...] = ("rate", "exponent")

# Linear programs for each share, with an effort of up to one: fewer save little.
_STEPS = 12
# The largest share is all of the best but this: the best itself is a single v, found to rounding.
_ALL = 1e-6
# One point beats another if it is better in one respect, by more than rounding.
_ROUNDING = 1e-9
# The network has to settle on the target: some rate is left.
_NONE = 1e-3
# Influences that agree to this, relative to 1/N, are one point.
_SAME = 1e-6


@dataclass(frozen=True, eq=False)
class TradePoint(Shown):
    """A network on the curve.

    Attributes
    ----------
    share
        What it keeps of the best K or E, at most 1 up to rounding.
    network
        The weights to set.
    stationary_distribution
        v of E[W], shape (N,).
    rate, exponent, slem
        K and E in nats per round and the subdominant modulus, of E[W]; floating-point estimates.
    slem_bound
        No reversible W with this v mixes faster (no W at all, on a directed graph).
    certified, chernoff
        What the network needs: the enclosure of n(δ), and Chernoff's upper bound.
    is_pareto
        Whether no other point of the curve has as much of the objective and mixes as fast.
    """

    share: float
    network: Network
    stationary_distribution: FloatArray
    rate: float
    exponent: float
    slem: float
    slem_bound: float
    certified: CertifiedSampleSize
    chernoff: int | None
    is_pareto: bool

    @property
    def samples(self) -> int | None:
        """An upper bound on n(δ): the certified one, or else Chernoff's; None if there is none."""
        return self.chernoff if self.certified.upper is None else self.certified.upper


@dataclass(frozen=True, eq=False)
class TradeOff(Shown):
    """The curve, and the network to take.

    Attributes
    ----------
    objective
        "rate" or "exponent".
    best
        The largest K or E that any v has.
    points
        By share, the largest first.
    recommended
        The design of fewest certified samples that a search from all points found.
    note
        What is proved of the curve, and what is not.
    """

    objective: Objective
    best: float
    points: tuple[TradePoint, ...]
    recommended: FewestSamples
    note: str


@typed
def trade_off(
    graph: DesignGraph | Network,
    model: FiniteModel,
    *,
    delta: float,
    objective: Objective = "rate",
    points: int = 9,
    target: int | str | None = None,
    constraints: Constraints | None = None,
    minimum_influence: float | None = None,
    seed: int = 0,
    effort: float = 1.0,
    progress: Progress | None = None,
) -> TradeOff:
    """The curve of K (or E) against the subdominant modulus, and the network of fewest samples.

    Parameters
    ----------
    graph
        Who may listen to whom; of a network, its links.
    model, delta, target, constraints, minimum_influence, seed
        As for :func:`theory.design.samples.sample_search`.
    objective
        "rate" or "exponent".
    points
        How many shares to try, at least 2: from the whole of the best to what the fastest network
        found keeps of it. Networks with the same influence are one point.
    effort
        Multiplies the steps for each share, and those of the search for fewest samples.
    progress
        Called as progress(done, total): shares first, then networks of the search.

    Raises
    ------
    ValueError
        If an argument is out of range, graph and model have different numbers of agents, the target
        is none, constraints clash, or errors become impossible (then E is infinite).

    Examples
    --------
    Two normal agents, the second sees more. All influence to it has the best rate, and mixes
    as well as any: in one round, once both copy the same mixture.

    >>> from theory import FiniteModel, GaussianAgent
    >>> first = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> second = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "other"], [first, second])
    >>> pair = DesignGraph.from_edges([[0, 1]], agents=2)
    >>> curve = trade_off(pair, model, delta=0.05, points=3)
    >>> [(round(p.share, 2), round(p.rate, 2), round(p.slem, 6)) for p in curve.points]
    [(1.0, 1.92, 0.0), (0.82, 1.59, 0.0), (0.65, 1.25, 0.0)]
    """
    if objective not in OBJECTIVES:
        raise fail("objective", " or ".join(OBJECTIVES), repr(objective), "choose one")
    count = as_integer("points", points, minimum=2)
    delta = as_probability("delta", delta)
    effort = as_positive("effort", effort)
    search = SampleSearch(graph, model, delta, target, constraints, minimum_influence)
    sweep = _Sweep.of(search, objective, steps=max(_STEPS, round(_STEPS * effort)), seed=seed)
    total = 2 * count

    def report(done: int) -> None:
        if progress is not None:
            progress(done, total)

    slowest = sweep.at(1.0, None)
    report(1)
    fastest = sweep.at(0.0, slowest)
    report(2)
    found = [slowest]
    for share in until_spent(np.linspace(1.0, sweep.share(fastest), count)[1:-1]):
        found.append(sweep.at(float(share), found[-1]))
        report(1 + len(found))
    curve = _points(sweep, [*found, fastest])
    recommended = search.run(
        graph if isinstance(graph, Network) else None,
        seed=seed,
        effort=effort,
        progress=lambda done, of: report(count + done * count // of),
        judged=tuple(search.row(start) for start, _ in curve),
    )
    kind = "reversible W" if search.graph.is_undirected else "W"
    note = (
        f"every point is achieved, and its slem is proved for its v among {kind}; "
        "over v and W together the problem is not convex: other v may do better"
    )
    return TradeOff(objective, sweep.best, tuple(point for _, point in curve), recommended, note)


@dataclass(frozen=True, eq=False)
class _Sweep:
    """Shares of the best K or E, which `v` has, and the networks found for them."""

    search: SampleSearch
    objective: Objective
    kept: Kept
    best: float
    v: FloatArray
    steps: int
    seed: int

    @classmethod
    def of(cls, search: SampleSearch, objective: Objective, *, steps: int, seed: int) -> _Sweep:
        model, aim, allowed = search.model, search.aim, search.allowed
        if objective == "rate":
            rate = optimal_rate(model, target=aim.target, influences=allowed)
            kept, best, v = search.rate, rate.rate, rate.stationary_distribution
        else:
            found = best_exponent(model, target=aim.target, influences=allowed)
            kept, best, v = search.exponent, found.exponent, found.stationary_distribution
        if not np.isfinite(best):
            raise fail(
                "objective",
                '"rate", where errors become impossible',
                repr(objective),
                'use objective="rate"',
            )
        return cls(search, objective, kept, best, v, steps, seed)

    def share(self, mixed: Mixed) -> float:
        """What a network keeps of the best."""
        return self.kept.value(mixed.v) / self.best

    def at(self, share: float, before: Mixed | None) -> Mixed:
        """The fastest network found that keeps `share` of the best; `before` keeps more.

        Raises
        ------
        DesignFailed
            If no fastest mixing can be found for any influence tried.
        """
        graph, limits = self.search.graph, self.search.limits
        least = float(np.clip(share, _NONE, 1 - _ALL)) * self.best
        allowed = FlooredInfluences(self.search.allowed, self.kept, least)
        even = allowed.evenest()
        tried = [self.v if even is None else even]
        tried += [] if before is None else [before.v]
        search = Search[Mixed]("minimise")
        for v in search.over(tried):
            start = fastest_for(graph, v, limits, seed=self.seed)
            if start is not None:
                found = faster(start, graph, allowed, limits, steps=self.steps)
                search.offer(found.slem, found)
        if search.best is None:
            raise DesignFailed(
                "no fastest mixing",
                tried=("fastest_mixing",),
                best=None,
                remedy="loosen the constraints, or ask for the rate alone",
            )
        return search.best


def _points(sweep: _Sweep, found: list[Mixed]) -> list[tuple[Start, TradePoint]]:
    """The curve by share, without those of the same influence as the one before."""
    different: list[Mixed] = []
    for one in sorted(found, key=sweep.share, reverse=True):
        last = different[-1].v if different else None
        if last is None or np.abs(one.v - last).max() * one.v.size > _SAME:
            different.append(one)
    shares = np.array([sweep.share(one) for one in different])
    slems = np.array([one.slem for one in different])
    points = []
    for one, share in zip(different, shares.tolist(), strict=True):
        start = Start(f"{sweep.objective}, share {share:.3g}", one.network, one.graph)
        row = sweep.search.row(start)
        more, faster_ones = shares > share + _ROUNDING, slems < one.slem - _ROUNDING
        beaten = (more & (slems <= one.slem + _ROUNDING)) | (
            faster_ones & (shares >= share - _ROUNDING)
        )
        point = TradePoint(
            share=share,
            network=one.network,
            stationary_distribution=one.v,
            rate=row.rate,
            exponent=row.exponent,
            slem=one.slem,
            slem_bound=one.bound,
            certified=row.samples,
            chernoff=row.chernoff,
            is_pareto=not bool(beaten.any()),
        )
        points.append((start, point))
    return points
