"""The best edge confidence of a star, which is P2's one knob.

With a the weight that the others give to the centre, v depends on a through one number alone,
x = v_centre = N a / (N a + N − 1), the others sharing 1 − x equally (docs: mathematics/star). So

- the rate K(x) = min_θ [x I_centre(θ) + (1 − x) · mean I_others(θ)] is the lower envelope of lines,
  concave, and largest at an end or where two lines cross: closed form;
- the exponent E(x) = min_θ max_t −Σ_j κ_j(−t v_j) is quasi-concave, with no flat part below its
  maximum but where it is 0. At any x the slope of the binding θ says on which side no x does
  better, so that bisection ends with an interval outside of which none does
  (docs: mathematics/realising).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from theory.design.graph import DesignGraph, require_star, star_network
from theory.learning.model import FiniteModel
from theory.learning.tilted import TiltedTable, exponents, shared_slots, tabulate
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_position, as_positive, fail

Objective = Literal["rate", "exponent"]

# Rates are sums of N products: lines that pass this close to the envelope bind too.
_TIE = 1e-12
# Relative width of the final interval of x; the maximum is smooth or a kink there, so the value is
# right to as much at least.
_WIDTH = 1e-9
# Tilts are right to 1e-9, and slopes in units of the largest mean to about as much.
_SLOPE = 1e-8
# Maxima that extend over a larger share of x are flat: others are sharp to rounding.
_FLAT = 1e-6


@dataclass(frozen=True, eq=False)
class BestEdgeConfidence(Shown):
    """The best a on a star, by the rate or by the exponent; floating point.

    Attributes
    ----------
    edge_confidence
        a in (0, 1].
    centre_influence
        x = N a / (N a + N − 1).
    value
        K or E there, in nats per round.
    objective
        "rate" or "exponent".
    binding
        The wrong hypotheses whose rate or exponent is `value`, up to rounding.
    lowest, highest
        No a outside of these does better; both are a, up to rounding, for the rate.
    limit
        "lower" if the smallest influence allowed to the centre is best, "upper" if a = 1 is, else
        None.
    network
        The star with this a.
    """

    edge_confidence: float
    centre_influence: float
    value: float
    objective: Objective
    binding: tuple[int, ...]
    lowest: float
    highest: float
    limit: Literal["lower", "upper"] | None
    network: Network


@typed
def best_edge_confidence(
    graph: DesignGraph,
    model: FiniteModel,
    *,
    objective: Objective = "rate",
    target: int | str | None = None,
    minimum_influence: float | None = None,
) -> BestEdgeConfidence:
    """The a in (0, 1] that makes K or E largest on a star.

    Where many values of a are equally good, one of them is returned: if only the centre can tell, E
    is the same for all.

    Parameters
    ----------
    target
        The hypothesis the network shall settle on; by default the model's optimal one.
    minimum_influence
        The least influence of the centre, in (0, N/(2N − 1)); 1/(10 N) by default. Without one, an
        optimum at a = 0 is not attained.

    Raises
    ------
    ValueError
        If the graph is no star, the model has other agents, no hypothesis is optimal for all and no
        target is given, or no a makes the objective positive (naming the hypothesis in the way).

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> def coin(bias):
    ...     tables = [[[0.5, 0.5]], [[bias, 1 - bias]]]
    ...     return FiniteAgent.from_tables(inputs=[1.0], truth=[[0.5, 0.5]], likelihood=tables)
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin(0.7), coin(0.6)], counts=[1, 4])
    >>> star = DesignGraph.from_edges([[0, 1], [0, 2], [0, 3], [0, 4]], agents=5)
    >>> best_edge_confidence(star, model).edge_confidence
    1.0
    >>> round(best_edge_confidence(star, model, objective="exponent").edge_confidence, 3)
    0.198
    """
    if objective not in ("rate", "exponent"):
        raise fail("objective", "rate or exponent", repr(objective), "choose one")
    search = _Star.of(graph, model, target=target, minimum_influence=minimum_influence)
    found = _best_rate(search)
    if found.value <= 0:
        names = model.hypotheses
        raise fail(
            "model",
            "hypotheses that some star tells from the target",
            f"{names[found.binding[0]]!r}, rejected at rate {found.value:.3g} at best, "
            f"beside {names[search.target]!r}",
            "give some agent data that tell these two apart",
        )
    if objective == "exponent":
        found = _best_exponent(search)
    return search.result(found, objective)


@dataclass(frozen=True, eq=False)
class _Star:
    """The problem in terms of x = v_centre.

    `centre` and `others` are the rates at which the centre, and the mean of the others, reject each
    wrong hypothesis; shape (number of `wrong`,).
    """

    graph: DesignGraph
    model: FiniteModel
    hub: int
    target: int
    wrong: tuple[int, ...]
    centre: FloatArray
    others: FloatArray
    least: float
    most: float

    @classmethod
    def of(
        cls,
        graph: DesignGraph,
        model: FiniteModel,
        *,
        target: int | str | None,
        minimum_influence: float | None,
    ) -> _Star:
        hub = require_star(graph)
        agents = graph.agents
        if model.agents != agents:
            raise fail(
                "model",
                f"as many agents as the graph, {agents}",
                model.agents,
                "change the agents' counts or the graph",
            )
        optimal = model.optimal_hypotheses
        if target is None and not optimal:
            raise fail(
                "target",
                "the hypothesis to settle on, since none is best for all agents",
                "none",
                "name one, such as the compromise of the present network",
            )
        aim = optimal[0] if target is None else as_position("target", target, model.hypotheses)
        alike = optimal if aim in optimal else (aim,)
        wrong = tuple(m for m in range(len(model.hypotheses)) if m not in alike)
        if not wrong:
            raise fail("model", "a wrong hypothesis", "none", "every a is as good: choose any")
        information = model.information(aim)[:, list(wrong)]
        most = agents / (2.0 * agents - 1.0)
        least = 1.0 / (10.0 * agents)
        if minimum_influence is not None:
            least = as_positive("minimum_influence", minimum_influence)
            if least >= most:
                raise fail(
                    "minimum_influence",
                    f"less than a centre can have, N/(2N − 1) = {most:.4g}",
                    f"{least:g}",
                    "ask for less",
                )
        others = (information.sum(axis=0) - information[hub]) / (agents - 1)
        return cls(graph, model, hub, aim, wrong, information[hub], others, least, most)

    def confidence(self, x: float) -> float:
        """The a of an influence x: x (N − 1) / (N (1 − x))."""
        agents = self.graph.agents
        return 1.0 if x >= self.most else x * (agents - 1) / (agents * (1.0 - x))

    @cached_property
    def table(self) -> TiltedTable:
        """The laws of the target against the wrong hypotheses; the centre has a slot of its own."""
        centre = np.arange(self.graph.agents) == self.hub
        slots = shared_slots(self.model.assignment, centre.astype(np.float64))
        first = np.full(len(self.wrong), self.target)
        return tabulate(self.model, first, np.array(self.wrong), slots=slots)

    def weights(self, x: float) -> FloatArray:
        """V by slot, shape (S,)."""
        v = np.full(self.table.counts.size, (1.0 - x) / (self.graph.agents - 1))
        v[self.table.slots[self.hub]] = x
        return v

    def result(self, found: _Optimum, objective: Objective) -> BestEdgeConfidence:
        a = self.confidence(found.x)
        limit: Literal["lower", "upper"] | None = None
        if found.lowest >= self.most:
            limit = "upper"
        elif found.highest <= self.least:
            limit = "lower"
        return BestEdgeConfidence(
            edge_confidence=a,
            centre_influence=found.x,
            value=found.value,
            objective=objective,
            binding=found.binding,
            lowest=self.confidence(found.lowest),
            highest=self.confidence(found.highest),
            limit=limit,
            network=star_network(self.graph, edge_confidence=a),
        )


@dataclass(frozen=True)
class _Optimum:
    x: float
    value: float
    binding: tuple[int, ...]
    lowest: float
    highest: float


def _best_rate(star: _Star) -> _Optimum:
    """The highest point of the lower envelope of the lines, walking along it from the left."""
    slope = star.centre - star.others
    x = star.least
    while x < star.most:
        heights = star.others + slope * x
        lowest = np.flatnonzero(heights <= heights.min() + _TIE * np.abs(heights).max())
        line = int(lowest[np.argmin(slope[lowest])])
        if slope[line] <= 0:
            break
        # The first line with a smaller slope that this one meets; rounding must not lead back.
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = (star.others - star.others[line]) / (slope[line] - slope)
        meets = np.where((slope < slope[line]) & (meets > x), meets, np.inf)
        x = min(float(meets.min()), star.most)
    heights = star.others + slope * x
    value, slack = float(heights.min()), _TIE * float(np.abs(heights).max())
    # Where K is flat, uniform influence is the least committal of the best.
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = (value - slack - star.others) / slope
    low = float(np.max(ends[slope > 0], initial=star.least))
    high = float(np.min(ends[slope < 0], initial=star.most))
    if high - low > _FLAT * x:
        x = min(max(1.0 / star.graph.agents, low), high)
    else:
        low = high = x
    heights = star.others + slope * x
    binding = np.flatnonzero(heights <= float(heights.min()) + slack)
    return _Optimum(x, float(heights.min()), tuple(star.wrong[k] for k in binding), low, high)


def _best_exponent(star: _Star) -> _Optimum:
    """Bisection, first over the hypothesis that binds, then over all that turn out to matter."""
    active = [star.wrong.index(_best_rate(star).binding[0])]
    while True:
        found = _bisect(star, np.array(active))
        values = exponents(star.table, np.arange(len(star.wrong)), star.weights(found.x)).values
        worst = int(values.argmin())
        if worst in active:
            value = float(values[worst])
            # At a kink the two exponents agree to the width of the interval, times their slopes.
            slack = 1e3 * _WIDTH * value if np.isfinite(value) else 0.0
            binding = tuple(star.wrong[row] for row in np.flatnonzero(values <= value + slack))
            return _Optimum(found.x, value, binding, found.lowest, found.highest)
        active.append(worst)


def _bisect(star: _Star, rows: IntArray) -> _Optimum:
    """The best x for some hypotheses, and where it may be instead."""
    low, high = star.least, star.most
    # Uniform influence first: it is often the best, and always one of the best if all are equal.
    x = min(max(1.0 / star.graph.agents, low), high)
    tilts = np.zeros(rows.size)
    value, slope = _exponent(star, rows, x, tilts)
    for end, outwards in ((low, -1), (high, 1)):
        if slope * outwards > 0:
            value_there, there = _exponent(star, rows, end, tilts.copy())
            if there * outwards >= 0:
                return _Optimum(end, value_there, (), end, end)
    while slope != 0 and high - low > _WIDTH * low:
        low, high = (x, high) if slope > 0 else (low, x)
        x = (low + high) / 2
        value, slope = _exponent(star, rows, x, tilts)
    return _Optimum(x, value, (), x if slope == 0 else low, x if slope == 0 else high)


def _exponent(star: _Star, rows: IntArray, x: float, tilts: FloatArray) -> tuple[float, float]:
    """The smallest E of some hypotheses at x, and a number of the sign of its dE/dx.

    By the envelope theorem dE/dx = t Σ_j κ_j'(−t v_j) dv_j/dx at the best t; the factor t is left
    out. Where E = 0 the mean Σ_j v_j I_j has to rise, where t is infinite the least Σ_j v_j z_j.
    Starts from `tilts`, where they are positive, and leaves the best ones there.
    """
    table, v = star.table, star.weights(x)
    found = exponents(table, rows, v, guess=tilts)
    tilts[:] = found.tilts
    place = int(found.values.argmin())
    row, value, tilt = rows[place], float(found.values[place]), float(found.tilts[place])
    if np.isinf(value):
        return value, 0.0
    if tilt == 0:
        each = table.facts.information[row]
    elif np.isinf(tilt):
        each = table.facts.minima[row]
    else:
        each = table.tilted(rows[[place]], tilt * v[None]).means[0]
    # The centre's value less the others' mean; 0 if that is rounding.
    centre = float(each[table.slots[star.hub]])
    slope = centre - (float(table.counts @ each) - centre) / (star.graph.agents - 1)
    size = float(np.abs(table.facts.information[row]).max())
    return value, slope if abs(slope) > _SLOPE * size else 0.0
