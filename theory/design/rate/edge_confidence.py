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
from theory.design.influences.flow_rows import simplex
from theory.design.rate.rate_program import LeastProgram, RateTarget, rate_target
from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.learning.tilted import TiltedTable, exponents, shared_slots, tabulate
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_positive, fail

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
        If the graph is no star, the model has other agents, the target is none (see
        `rate_target`), or no a makes the objective positive (naming the hypothesis in the way).

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
    star = _Star.of(graph, model, target=target, minimum_influence=minimum_influence)
    found = star.best_rate()
    if found.value <= 0:
        names, aim = model.hypotheses, star.aim
        raise fail(
            "model",
            "hypotheses that some star tells from the target",
            f"{names[found.binding[0]]!r}, rejected at rate {found.value:.3g} at best, "
            f"beside {names[aim.target]!r}",
            "give some agent data that tell these two apart",
        )
    if objective == "exponent":
        found = star.best_exponent()
    a = star.confidence(found.x)
    limit: Literal["lower", "upper"] | None = None
    if found.lowest >= star.most:
        limit = "upper"
    elif found.highest <= star.least:
        limit = "lower"
    return BestEdgeConfidence(
        edge_confidence=a,
        centre_influence=found.x,
        value=found.value,
        objective=objective,
        binding=found.binding,
        lowest=star.confidence(found.lowest),
        highest=star.confidence(found.highest),
        limit=limit,
        network=star_network(graph, edge_confidence=a),
    )


@dataclass(frozen=True)
class _Optimum:
    """The best x, K or E there, the wrong hypotheses that bind, and where x may be as good."""

    x: float
    value: float
    binding: tuple[int, ...]
    lowest: float
    highest: float


@dataclass(frozen=True, eq=False)
class _Slope:
    """Exponents and best tilts of the wrong hypotheses, and a number of the sign of dE/dx."""

    values: FloatArray
    tilts: FloatArray
    slope: float


@dataclass(frozen=True, eq=False)
class _Star:
    """The problem in terms of x = v_centre, between `least` and `most`."""

    agents: int
    model: FiniteModel
    hub: int
    aim: RateTarget
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
        hub, agents = require_star(graph), graph.agents
        check_same_agents(graph, model)
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
        return cls(agents, model, hub, rate_target(model, target), least, most)

    def confidence(self, x: float) -> float:
        """The a of an influence x: x (N − 1) / (N (1 − x))."""
        return 1.0 if x >= self.most else x * (self.agents - 1) / (self.agents * (1.0 - x))

    @cached_property
    def table(self) -> TiltedTable:
        """The laws of the target against the wrong hypotheses; the centre has a slot of its own."""
        centre = np.arange(self.agents) == self.hub
        slots = shared_slots(self.model.assignment, centre.astype(np.float64))
        first = np.full(self.aim.wrong.size, self.aim.target)
        return tabulate(self.model, first, self.aim.wrong, slots=slots)

    def weights(self, x: float) -> FloatArray:
        """V by slot, shape (S,)."""
        v = np.full(self.table.counts.size, (1.0 - x) / (self.agents - 1))
        v[self.table.slots[self.hub]] = x
        return v

    def best_rate(self) -> _Optimum:
        """The highest point of the lower envelope of the lines, by linear programming."""
        information = self.model.information(self.aim.target)[:, self.aim.wrong]
        centre = information[self.hub]
        others = (information.sum(axis=0) - centre) / (self.agents - 1)
        ends = simplex(np.array([self.least, 1.0 - self.most]))
        program = LeastProgram(ends, np.array([centre, others]), start=np.array([0.5, 0.5]))
        x = float(program.solve().point[0])
        for end in (self.least, self.most):  # of which 1 − v of the others may be a rounding off
            x = end if abs(x - end) <= _TIE else x
        slope = centre - others
        heights = others + slope * x
        value, slack = float(heights.min()), _TIE * float(np.abs(heights).max())
        # Where K is flat, uniform influence is the least committal of the best.
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = (value - slack - others) / slope
        low = float(np.max(meets[slope > 0], initial=self.least))
        high = float(np.min(meets[slope < 0], initial=self.most))
        if high - low > _FLAT * x:
            x = min(max(1.0 / self.agents, low), high)
        else:
            low = high = x
        heights = others + slope * x
        binding = self.aim.wrong[heights <= float(heights.min()) + slack]
        return _Optimum(x, float(heights.min()), tuple(binding.tolist()), low, high)

    def best_exponent(self) -> _Optimum:
        """Bisection on the side on which the hypothesis that binds does better."""
        low, high = self.least, self.most
        # Uniform influence first: often the best, and always one of the best if all are equal.
        x = min(max(1.0 / self.agents, low), high)
        here = self.exponents(x, None)
        for end, outwards in ((low, -1), (high, 1)):
            if here.slope * outwards > 0:
                there = self.exponents(end, here.tilts)
                if there.slope * outwards >= 0:
                    low, high, x, here = end, end, end, there
        while here.slope != 0 and high - low > _WIDTH * low:
            low, high = (x, high) if here.slope > 0 else (low, x)
            x = (low + high) / 2
            here = self.exponents(x, here.tilts)
        if here.slope == 0:
            low = high = x
        values, value = here.values, float(here.values.min())
        # At a kink the two exponents agree to the width of the interval, times their slopes.
        slack = 1e3 * _WIDTH * value if np.isfinite(value) else 0.0
        binding = self.aim.wrong[values <= value + slack]
        return _Optimum(x, value, tuple(binding.tolist()), low, high)

    def exponents(self, x: float, near: FloatArray | None) -> _Slope:
        """The exponents at x, from tilts that are the best nearby, and which way E rises.

        By the envelope theorem dE/dx = t Σ_j κ_j'(−t v_j) dv_j/dx at the best t; the factor t is
        left out. Where E = 0 the mean Σ_j v_j I_j has to rise, where t is infinite the least
        Σ_j v_j z_j.
        """
        table, v = self.table, self.weights(x)
        found = exponents(table, np.arange(table.rows), v, guess=near)
        row = np.array([int(found.values.argmin())])
        tilt = float(found.tilts[row[0]])
        if np.isinf(found.values[row[0]]):
            return _Slope(found.values, found.tilts, 0.0)
        if tilt == 0:
            each = table.facts.information[row]
        elif np.isinf(tilt):
            each = table.facts.minima[row]
        else:
            each = table.tilted(row, tilt * v[None]).means
        # The centre's value less the others' mean.
        centre = float(each[0, table.slots[self.hub]])
        slope = centre - (float(table.counts @ each[0]) - centre) / (self.agents - 1)
        # Zero if that is rounding.
        size = float(np.abs(table.facts.information[row]).max())
        return _Slope(found.values, found.tilts, slope if abs(slope) > _SLOPE * size else 0.0)
