"""The exact probability of error, round by round, and the exact number of rounds that is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from exact.law.belief_law import LIMIT
from exact.law.keys import TooManyStatesError
from exact.law.law_problem import Model, Problem, in_doubles, problem
from exact.law.terms import BoolArray, Enumeration, State, prepare
from theory import Network, sample_sizes
from theory.rational import RationalNetwork
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail, read_only

# Rounds that are tried first where it is not known how far the limit on states will let one go.
_FIRST = 8


@dataclass(frozen=True, eq=False)
class ErrorLaw(Shown):
    """Exact probabilities of error after rounds 1 to T.

    Attributes
    ----------
    rounds
        Shape (T,).
    agents
        The agents, length A.
    some_agent
        Shape (T,): P(the arg max of some of `agents` is wrong), ties included.
    each_agent
        Shape (T, A).
    some_lower, some_upper, each_lower, each_upper
        Ends of intervals around the true probabilities, rounding included; the upper ends differ
        from the values by rounding alone.
    fractions
        `some_agent` as fractions; None unless asked for.
    """

    rounds: IntArray
    agents: tuple[int, ...]
    some_agent: FloatArray
    each_agent: FloatArray
    some_lower: FloatArray
    some_upper: FloatArray
    each_lower: FloatArray
    each_upper: FloatArray
    fractions: tuple[Fraction, ...] | None


@dataclass(frozen=True, eq=False)
class ExactSampleSize(Shown):
    """n(δ): the smallest number of rounds from which on P(some agent is wrong) stays at most δ.

    Attributes
    ----------
    delta
        δ.
    lower, upper
        n(δ) is between them, both included; `upper` is None where nothing bounds it.
    horizon
        Rounds up to this were enumerated.
    proved_from
        From this round on Chernoff's inequality keeps the probability at most δ (rigorous up to
        rounding); None where it says nothing.
    note
        Why `lower` and `upper` differ, if they do.
    """

    delta: float
    lower: int
    upper: int | None
    horizon: int
    proved_from: int | None
    note: str

    @property
    def exact_rounds(self) -> int | None:
        """The number n(δ); None where it is not known exactly."""
        return self.lower if self.lower == self.upper else None


@typed
def error_law(
    network: Network | RationalNetwork,
    model: Model,
    rounds: int,
    *,
    agents: Sequence[int] | None = None,
    exact: bool = False,
    reference: Sequence[int] | None = None,
    merge_within: float = 1e-9,
    limit: int = LIMIT,
) -> ErrorLaw:
    """The exact probability of error at every round from 1 to `rounds`.

    The arguments are those of :func:`exact.belief_law`; the network does not change.

    Raises
    ------
    ValueError
        As there.

    Examples
    --------
    >>> from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    ... )
    >>> model = RationalModel.from_agents(["fair", "loaded"], [coin])
    >>> [str(p) for p in error_law(RationalNetwork([["1"]]), model, 4, exact=True).fractions]
    ['1/2', '1/4', '1/2', '5/16']
    """
    rounds = as_integer("rounds", rounds, minimum=1)
    found = _static(network, model, agents=agents, reference=reference)
    enumeration = prepare(found, rounds, exact=exact, merge_within=merge_within, limit=limit)
    points = [_point(enumeration, state) for state in enumeration.states()]
    return _joined(found, points)


@typed
def exact_sample_size(
    network: Network | RationalNetwork,
    model: Model,
    delta: float,
    *,
    horizon: int | None = None,
    reference: Sequence[int] | None = None,
    merge_within: float = 1e-9,
    limit: int = LIMIT,
) -> ExactSampleSize:
    """The smallest n from which on P(some agent is wrong) ≤ δ, by enumeration of all rounds.

    Rounds are enumerated up to where Chernoff's inequality takes over, or `horizon`, or as far as
    `limit` lets it go. In the last two cases nothing is known of some rounds, and n(δ) is enclosed.

    Parameters
    ----------
    delta
        In (0, 1).
    horizon
        The last round to enumerate, if not the one before Chernoff's bound takes over.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), or as :func:`exact.belief_law`, but for too
        many states.

    Examples
    --------
    >>> from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    ... )
    >>> model = RationalModel.from_agents(["fair", "loaded"], [coin])
    >>> found = exact_sample_size(RationalNetwork([["1"]]), model, 0.05)
    >>> found.exact_rounds, found.proved_from
    (42, 87)
    """
    delta = as_probability("delta", delta)
    found = _static(network, model, agents=None, reference=reference)
    doubles = network.as_network() if isinstance(network, RationalNetwork) else network
    proved: int | None = None
    if reference is None:
        proved = sample_sizes(
            doubles, in_doubles(model), delta=delta, certify=False
        ).chernoff.rounds
    last = None if proved is None else proved - 1
    if horizon is not None:
        asked = as_integer("horizon", horizon, minimum=1)
        last = asked if last is None else min(asked, last)
    points = _as_far_as_possible(found, last, merge_within=merge_within, limit=limit)
    lowers = np.array([point.lower[-1] for point in points])
    uppers = np.array([point.upper[-1] for point in points])
    above = np.flatnonzero(lowers > delta)
    lower = int(above[-1]) + 2 if above.size else 1
    if proved is None or len(points) < proved - 1:
        note = f"nothing is known of rounds beyond {len(points)}"
        note += "" if proved is None else f" and below {proved}"
        return ExactSampleSize(delta, lower, proved, len(points), proved, note)
    unsafe = np.flatnonzero(~(uppers <= delta))
    upper = int(unsafe[-1]) + 2 if unsafe.size else 1
    note = "" if lower == upper else "merging leaves it open at which round the last error falls"
    return ExactSampleSize(delta, lower, upper, len(points), proved, note)


@dataclass(frozen=True, eq=False)
class _Point:
    """Bounds at one round: each agent, and last some agent."""

    lower: FloatArray
    value: FloatArray
    upper: FloatArray
    fraction: Fraction | None


def _point(enumeration: Enumeration, state: State) -> _Point:
    verdict = enumeration.decoder.verdict(state.masses.keys, state.zero)
    weights, below = state.masses.weights, state.masses.denominator
    events = _with_union(verdict.wrong)
    fraction: Fraction | None = None
    if enumeration.exact:
        counts = [sum(weights[event].tolist()) for event in events.T]
        fraction = Fraction(counts[-1], below)
        value = np.array([float(Fraction(count, below)) for count in counts])
        return _Point(value, value, value, fraction)
    value = _sums(weights, events)
    slack = enumeration.rounding(state.rounds) + (weights.size + 2) * 2.0**-53
    lower = _sums(weights, _with_union(verdict.surely)) * (1 - slack)
    upper = np.minimum(1.0, value * (1 + slack) + 1e-300)
    return _Point(lower, np.minimum(value, 1.0), upper, fraction)


def _sums(weights: NDArray[np.float64], events: BoolArray) -> FloatArray:
    return np.array([float(weights[event].sum()) for event in events.T])


def _with_union(table: BoolArray) -> BoolArray:
    return np.concatenate([table, table.any(axis=1, keepdims=True)], axis=1)


def _joined(found: Problem, points: list[_Point]) -> ErrorLaw:
    lower, value, upper = (
        np.array([getattr(point, name) for point in points]) for name in ("lower", "value", "upper")
    )
    fractions = tuple(point.fraction for point in points if point.fraction is not None)
    return ErrorLaw(
        rounds=read_only(np.arange(1, len(points) + 1, dtype=np.int64)),
        agents=found.agents,
        some_agent=read_only(value[:, -1].copy()),
        each_agent=read_only(value[:, :-1].copy()),
        some_lower=read_only(lower[:, -1].copy()),
        some_upper=read_only(upper[:, -1].copy()),
        each_lower=read_only(lower[:, :-1].copy()),
        each_upper=read_only(upper[:, :-1].copy()),
        fractions=fractions or None,
    )


def _static(
    network: Network | RationalNetwork,
    model: Model,
    *,
    agents: Sequence[int] | None,
    reference: Sequence[int] | None,
) -> Problem:
    if not isinstance(network, Network | RationalNetwork):
        raise fail(
            "network",
            "a Network or a RationalNetwork",
            type(network).__name__,
            "use belief_law for weights that change from round to round",
        )
    return problem(network, model, agents=agents, reference=reference)


def _as_far_as_possible(
    found: Problem, last: int | None, *, merge_within: float, limit: int
) -> list[_Point]:
    """The rounds up to `last`, or fewer where there would be too many states."""
    points: list[_Point] = []
    rounds = _FIRST
    while last is None or len(points) < last:
        rounds = rounds if last is None else min(rounds, last)
        enumeration = prepare(found, rounds, exact=False, merge_within=merge_within, limit=limit)
        fresh: list[_Point] = []
        try:
            for state in enumeration.states():
                # Rounds that were done before are only passed through, at the finer grid.
                known = state.rounds <= len(points)
                fresh.append(points[state.rounds - 1] if known else _point(enumeration, state))
        except TooManyStatesError:
            return fresh if len(fresh) > len(points) else points
        points = fresh
        rounds *= 2
    return points
