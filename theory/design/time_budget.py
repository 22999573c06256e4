"""How long the searches of a design may take, in one place.

A caller opens a budget; every search below it asks, between two of its steps, whether the time is
up, and then ends with the best that it has. Searches that are called without a budget run to their
own ends. What is proved stays proved: a search that stops early has a worse value or bound, never
a wrong one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from theory.design.constraints import DesignGraph
from theory.network import Network
from theory.network.graphs import RULES, star_weights, weights_on_links
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_positive, as_probability, fail

# How long the searches of a design may take, in one place ----------------------------------------


class TimeBudget:
    """A span of time that has begun.

    Parameters
    ----------
    seconds
        Positive; infinite for no limit.
    clock
        Seconds since some moment.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        self.stopped = False
        """Whether a search has ended early."""

    @property
    def left(self) -> float:
        """Seconds until the end, at least 0."""
        return max(0.0, self._end - self._clock())

    def is_spent(self) -> bool:
        """Whether the time is up; a search that asks has more to do, and ends early."""
        self.stopped = self.stopped or not self.left > 0
        return self.stopped


_PRESENT: ContextVar[TimeBudget | None] = ContextVar("time_budget", default=None)


@contextmanager
def time_budget(
    seconds: float | None, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[TimeBudget]:
    """Give all searches inside so many seconds together; None for no limit.

    Raises
    ------
    ValueError
        If `seconds` is not positive.

    Examples
    --------
    >>> with time_budget(60.0) as budget:
    ...     is_spent()
    False
    >>> budget.stopped
    False
    """
    span = np.inf if seconds is None else as_positive("seconds", seconds)
    budget = TimeBudget(span, clock)
    token = _PRESENT.set(budget)
    try:
        yield budget
    finally:
        _PRESENT.reset(token)


def is_spent() -> bool:
    """Whether the present budget's time is up; False without one."""
    budget = _PRESENT.get()
    return budget is not None and budget.is_spent()


def seconds_left() -> float:
    """Seconds left of the present budget; infinite without one."""
    budget = _PRESENT.get()
    return np.inf if budget is None else budget.left


# A solver that did not reach the accuracy it was asked for, and the best it found ----------------


class DesignFailed(RuntimeError):  # noqa: N818 - reads as what happened
    """No design of the accuracy asked for was found.

    Attributes
    ----------
    status
        What went wrong, in a word or two, such as ``"stalled"``.
    tried
        The methods that were tried, in order.
    best
        The best feasible design found, with its certificate; None if there is none.

    Examples
    --------
    >>> failure = DesignFailed("stalled", tried=("barrier",), best=None, remedy="ask for less")
    >>> str(failure)
    'stalled: tried barrier; found no feasible design; ask for less'
    """

    def __init__(self, status: str, *, tried: tuple[str, ...], best: Any, remedy: str) -> None:
        certificate = getattr(best, "certificate", None)
        if certificate is not None:
            kept = f"kept a design of {certificate.value:.9g} in `best`, at most "
            kept += f"{certificate.gap:.1e} from optimal"
        else:
            kept = "found no feasible design" if best is None else "kept a design in `best`"
        super().__init__(f"{status}: tried {', '.join(tried)}; {kept}; {remedy}")
        self.status = status
        self.tried = tried
        self.best = best


# How far from the best a design can be -----------------------------------------------------------


Sense = Literal["maximise", "minimise"]
Kind = Literal["exact", "certified", "rounded", "local"]
KINDS: tuple[Kind, ...] = ("exact", "certified", "rounded", "local")


@dataclass(frozen=True)
class Certificate(Shown):
    """The value of a design beside a bound on the value of every design.

    Attributes
    ----------
    value
        What the design achieves.
    bound
        No design does better: an upper bound if the objective is maximised, a lower bound if it
        is minimised; infinite (with the sign of no information) if there is none.
    sense
        Whether the objective is maximised or minimised.
    kind
        ``"exact"``: proved in exact arithmetic; ``"certified"``: proved by intervals, rounding
        included; ``"rounded"``: proved but for the rounding of floating-point arithmetic;
        ``"local"``: the best that a search found, with whatever bound there is.
    note
        How the bound comes about, in a sentence.

    Raises
    ------
    ValueError
        If the value is not finite, or `bound` is on the wrong side of it by more than rounding.

    Examples
    --------
    >>> Certificate(0.4, 0.5, "maximise", "rounded").gap
    0.09999999999999998
    """

    value: float
    bound: float
    sense: Sense
    kind: Kind
    note: str = ""

    # A bound and the value it bounds are computed by different sums: they may cross by rounding.
    _CROSSING = 1e-9

    def __post_init__(self) -> None:
        if self.sense not in ("maximise", "minimise"):
            raise fail("sense", "maximise or minimise", repr(self.sense), "choose one")
        if self.kind not in KINDS:
            raise fail("kind", f"one of {', '.join(KINDS)}", repr(self.kind), "choose one")
        if not math.isfinite(self.value):
            raise fail("value", "a finite number", self.value, "report the case by itself")
        if math.isnan(self.bound):
            raise fail("bound", "a number", "nan", "give an infinite bound if there is none")
        slack = self._CROSSING * max(1.0, abs(self.value))
        if self._excess < -slack:
            side = "above" if self.sense == "maximise" else "below"
            raise fail("bound", f"a number {side} {self.value!r}", self.bound, "check the proof")

    @property
    def _excess(self) -> float:
        excess = self.bound - self.value
        return excess if self.sense == "maximise" else -excess

    @property
    def gap(self) -> float:
        """How much better than `value` any design could be; at least 0, infinite if unknown."""
        return max(self._excess, 0.0) + 0.0  # -0.0 is 0.0

    @property
    def is_proved(self) -> bool:
        """Whether there is a finite bound."""
        return math.isfinite(self.bound)


# What a design is compared with ------------------------------------------------------------------


EDGE_CONFIDENCES = (0.1, 0.2, 0.3, 0.5, 0.7)
"""The values of a for which P2 prints the centre's influence."""


@dataclass(frozen=True, eq=False)
class Baseline(Shown):
    """A network that somebody would have used without a design.

    Attributes
    ----------
    name
        A rule of `theory.network.graphs`, or ``"star a=0.1"`` and so on.
    network
        Its weights on the graph.
    edge_confidence
        a for P2's star, else None.
    """

    name: str
    network: Network
    edge_confidence: float | None = None


@typed
def baselines(graph: DesignGraph) -> tuple[Baseline, ...]:
    """All baselines that the graph admits: one on directed graphs, four or nine on others.

    Examples
    --------
    >>> star = DesignGraph.from_edges([[2, 0], [2, 1], [2, 3]], agents=4)
    >>> [baseline.name for baseline in baselines(star)][3:6]
    ['max-degree', 'star a=0.1', 'star a=0.2']
    """
    found = []
    for rule in RULES if graph.is_undirected else ("uniform",):
        weights = weights_on_links(graph.links, agents=graph.agents, rule=rule)
        found.append(Baseline(rule, graph.network(weights, name=rule)))
    if star_centre(graph) is not None:
        for a in EDGE_CONFIDENCES:
            network = star_network(graph, edge_confidence=a)
            found.append(Baseline(network.name, network, edge_confidence=a))
    return tuple(found)


@typed
def star_centre(graph: DesignGraph) -> int | None:
    """The agent that all others are joined to, and to nobody else; None if there is none.

    Two agents are no star: neither is its centre.
    """
    degrees = graph.degrees
    centre = int(np.argmax(degrees))
    others = np.delete(degrees, centre)
    is_star = graph.agents > 2 and degrees[centre] == len(others) and np.all(others == 1)
    return centre if is_star and graph.is_undirected else None


@typed
def star_network(graph: DesignGraph, *, edge_confidence: float) -> Network:
    """P2's weights on a star, whatever the number of its centre.

    Parameters
    ----------
    edge_confidence
        a in (0, 1].

    Raises
    ------
    ValueError
        If the graph is no star of three agents or more, or a is out of range.

    Examples
    --------
    >>> star = DesignGraph.from_edges([[2, 0], [2, 1], [2, 3]], agents=4)
    >>> star_network(star, edge_confidence=0.75).stationary_distribution.tolist()
    [0.16666666666666666, 0.16666666666666666, 0.5, 0.16666666666666666]
    """
    centre = require_star(graph)
    a = as_probability("edge_confidence", edge_confidence, open_interval=False)
    if a == 0:
        raise fail("edge_confidence", "a number in (0, 1]", 0, "let the others hear the centre")
    matrix = star_weights(graph.links, agents=graph.agents, edge_confidence=a, centre=centre)
    return graph.network(matrix, name=f"star a={a:.4g}")


def require_star(graph: DesignGraph) -> int:
    """The star's centre.

    Raises
    ------
    ValueError
        If the graph is no star of three agents or more.
    """
    centre = star_centre(graph)
    if centre is None:
        edges = f"{len(graph.edges)} edges" if graph.is_undirected else "one-way links"
        raise fail(
            "graph",
            "a star: three agents or more, one of them joined to each other one",
            f"{graph.agents} agents with {edges}",
            "an edge confidence belongs to a star; use realise with the v you want",
        )
    return centre
