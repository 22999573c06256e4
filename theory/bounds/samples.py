"""How many rounds are enough: the ladder of sample sizes (docs: mathematics/samples).

``printed``
    P1 eq. 4 as it stands. Not a theorem: its proof puts C where C² belongs.
``printed_p2``
    P2 Theorem 1 as it stands, at the margin ε = K/2 at which P1 takes its own. Not a theorem
    either, by the same proof; it asks for twice as many rounds.
``repaired``
    Hoeffding with the exact mean: a theorem for bounded likelihoods.
``chernoff``
    Chernoff with the agents' own cumulants, or Hoeffding where that asks for less: a theorem,
    bounded or not.
``certified``
    Both ends of an interval around the smallest n from which on P(some agent's arg max is wrong)
    stays at most δ (docs: mathematics/certified-samples).

The others are the smallest n from which on a bound on this probability stays at most δ. Where the
network changes in a known way, in phases or with delays, `repaired` and `chernoff` are given. For
random networks a bound would have to hold on average over the network; none is offered, and the
answer says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from theory.bounds.accounting import CertifiedSampleSize, ErrorAccount
from theory.bounds.accounting.events import EventSet
from theory.bounds.tails.chernoff import chernoff_bounds, hoeffding_bounds
from theory.bounds.tails.events import ErrorBound, ErrorEvents
from theory.learning.model import FiniteModel
from theory.learning.rate import ErrorExponent, LearningRate, check_same_agents
from theory.network import Network
from theory.network.network import require_fixed
from theory.showing import Shown, Value
from theory.typed import typed
from theory.validation import as_integer, as_positive, as_probability, fail

if TYPE_CHECKING:
    import pandas as pd

    from theory.bounds.tails.phased_bound import PhasedBound
    from theory.changing.delays import ChangingNetwork

# The certified enclosure is left out where it takes longer, or the network is larger.
_MOST_SECONDS = 3.0
_MOST_AGENTS = 64
_OUT_OF_REACH = "no bound: the network is too large, or learns too slowly"
_CHANGES = "stated for networks that do not change"

Bound: TypeAlias = "ErrorBound | PhasedBound"


@dataclass(frozen=True)
class SampleSize(Shown):
    """A number of rounds, whether a proof stands behind it, and how it came about.

    `rounds` is None where the statement gives no number; `note` says why, or which form of the
    bound is behind it.
    """

    rounds: int | None
    is_theorem: bool
    note: str


@dataclass(frozen=True, eq=False)
class SampleSizes(Value):
    """The ladder for one confidence parameter `delta`, and the `bounds` that it was read off."""

    delta: float
    printed: SampleSize
    repaired: SampleSize
    chernoff: SampleSize
    certified: CertifiedSampleSize
    bounds: tuple[Bound, ...]
    printed_p2: SampleSize

    def to_frame(self) -> pd.DataFrame:
        """A table of the ladder: one row for each statement, rounds missing where it has none.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        from theory.frames import frame

        statements = {
            "printed": self.printed,
            "repaired": self.repaired,
            "chernoff": self.chernoff,
            "at least": SampleSize(self.certified.lower, True, self.certified.note),
            "certified": SampleSize(self.certified.upper, True, self.certified.note),
            "printed in P2": self.printed_p2,
        }
        rounds = [one.rounds for one in statements.values()]
        return frame(
            {
                "statement": list(statements),
                "rounds": [float("nan") if n is None else float(n) for n in rounds],
                "is_theorem": [one.is_theorem for one in statements.values()],
                "note": [one.note for one in statements.values()],
            }
        )

    def probability(self, rounds: int) -> float:
        """The smallest rigorous upper bound on P(some agent errs at round `rounds`)."""
        return _smallest_probability(self.bounds, rounds)


@typed
def printed_rounds(
    network: Network,
    model: FiniteModel,
    *,
    delta: float,
    paper: str = "P1",
    margin: float | None = None,
) -> SampleSize:
    """What the papers print, λmax the largest *signed* eigenvalue; no bound of any kind is claimed.

    P1 eq. 4: n ≥ 16 C log(NM/δ) / (K² (1 − λmax)), for the arg max. P2 Theorem 1:
    n ≥ 8 C log(NM/δ) / (ε² (1 − λmax)), after which beliefs in wrong hypotheses are to be below
    e^{−n(K − ε)}; with the `margin` ε = K/2, which P1 takes in its own proof, twice P1's.

    Parameters
    ----------
    delta
        δ in (0, 1).
    paper
        "P1" or "P2".
    margin
        ε > 0 in nats a round, of P2; K/2 if left out.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), there is no such paper, a margin is not positive or given for
        P1, or network and model have different numbers of agents.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(truth=[[.5, .5]], likelihood=[[[.5, .5]], [[.75, .25]]])
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> network = Network([[0.9, 0.1], [0.6, 0.4]])
    >>> [printed_rounds(network, model, delta=0.01, paper=p).rounds for p in ("P1", "P2")]
    [7272, 14544]
    """
    if paper not in ("P1", "P2"):
        raise fail("paper", "P1 or P2", repr(paper), "choose one")
    if margin is not None:
        if paper == "P1":
            raise fail("margin", "none with P1, which takes K/2", f"{margin:g}", "leave it out")
        margin = as_positive("margin", margin)
    events = ErrorEvents(require_fixed(network), model)
    return _printed(events, as_probability("delta", delta), paper=paper, margin=margin)


def _printed(
    events: ErrorEvents, delta: float, *, paper: str = "P1", margin: float | None = None
) -> SampleSize:
    model, network = events.model, events.network
    if not isinstance(network, Network):
        return SampleSize(None, False, _CHANGES)
    bound = model.log_ratio_bound
    if not np.isfinite(bound):
        return SampleSize(None, False, "unbounded likelihoods: C = log(L/α) is infinite")
    if network.agents == 1:
        return SampleSize(None, False, "one agent has no second eigenvalue")
    gap = 1.0 - network.second_eigenvalue
    if np.isnan(gap):
        return SampleSize(None, False, network.spectrum.note)
    if not gap > 0:
        return SampleSize(None, False, "1 − λmax is too small for floating point")
    logarithm = np.log(network.agents * len(model.hypotheses) / delta)
    with np.errstate(over="ignore", divide="ignore"):
        if paper == "P1":
            value = np.float64(16 * bound * logarithm / gap) / events.rate.rate / events.rate.rate
        else:
            epsilon = np.float64(events.rate.rate / 2 if margin is None else margin)
            value = np.float64(8 * bound * logarithm / gap) / epsilon / epsilon
    if not np.isfinite(value):
        return SampleSize(None, False, "the printed formula overflows")
    note = "as printed, not a theorem"
    if paper == "P2":
        taken = "K/2" if margin is None else f"{margin:g}"
        note += f" (for beliefs below e^(-n(K - ε)) at ε = {taken})"
    if events.rate.is_compromise:
        note += "; its Assumption 1 fails too (no hypothesis is best for every agent)"
    return SampleSize(max(1, int(np.ceil(value))), False, note)


Sized = tuple[int | None, str]
"""The rounds that a bound asks for, None if there are none, and its name."""


def _smallest(sized: Sequence[Sized], *, reason: str) -> SampleSize:
    """The smallest of several rigorous sample sizes, with the name of the bound that gave it."""
    found = [(rounds, name) for rounds, name in sized if rounds is not None]
    if not found:
        return SampleSize(None, True, reason)
    rounds, name = min(found)
    return SampleSize(rounds, True, name)


def _smallest_probability(bounds: Sequence[Bound], rounds: int) -> float:
    return min((bound.probability(rounds) for bound in bounds), default=1.0)


@dataclass(frozen=True)
class _Bounds:
    """What is proved of the probability of error, or a note why nothing is."""

    hoeffding: tuple[Bound, ...] = ()
    chernoff: tuple[Bound, ...] = ()
    note: str = ""


def _bounds(events: ErrorEvents) -> _Bounds:
    network = events.network
    if not isinstance(network, Network):
        from theory.changing.delays import RandomNetwork

        if isinstance(network, RandomNetwork):
            return _Bounds(note="random networks: no bound on average over the network is offered")
    if not events.wrong:
        return _Bounds(note="every hypothesis is optimal: there is nothing to reject")
    if events.doubt:
        return _Bounds(note=events.doubt)
    if isinstance(network, Network):
        return _Bounds(_present(hoeffding_bounds(events)), _present(chernoff_bounds(events)))
    from theory.bounds.tails.phased_bound import phased_bounds

    found = phased_bounds(network, events)
    if isinstance(found, str):
        return _Bounds(note=found)
    return _Bounds(hoeffding=tuple(found[1:]), chernoff=tuple(found[:1]))


def _present(bounds: list[ErrorBound | None]) -> tuple[ErrorBound, ...]:
    return tuple(bound for bound in bounds if bound is not None)


def _certified(
    events: ErrorEvents, delta: float, bounds: Sequence[Bound], *, pilot: int | None
) -> CertifiedSampleSize:
    """Both ends, where that is affordable; `bounds` are Chernoff's."""
    network, note = events.network, ""
    if not isinstance(network, Network):
        note = _CHANGES
    elif network.agents > _MOST_AGENTS:
        note = f"not computed for more than {_MOST_AGENTS} agents"
    elif pilot is None:
        note = _OUT_OF_REACH
    else:
        certified = ErrorAccount(EventSet(network, events.model, events))
        rough = next((b.rough for b in bounds if isinstance(b, ErrorBound) and b.rough), None)
        logs = None if rough is None else rough.logs(pilot)
        return certified.sample_size(delta, pilot=pilot, logs=logs, seconds=_MOST_SECONDS)
    return CertifiedSampleSize(delta, None, None, None, note)


@typed
def sample_sizes(
    network: Network | ChangingNetwork,
    model: FiniteModel,
    *,
    delta: float,
    certify: bool = True,
    rate: LearningRate | None = None,
    exponent: ErrorExponent | None = None,
) -> SampleSizes:
    """The ladder: rounds after which every agent's arg max is right with probability 1 − δ.

    `repaired` and `chernoff` are upper bounds on the true number, rigorous up to rounding;
    `certified` encloses it, rounding included; `printed` is no bound. The enclosure is left out,
    with a note, where it takes more than about three seconds, or if not to `certify`. Where doubles
    do not decide which hypotheses are best, nothing but `printed` is given.

    Where the network changes, only `repaired` and `chernoff` are given, and for random networks
    nothing. From the round given on the probability of error stays at most δ in every round,
    whatever its phase.

    Parameters
    ----------
    delta
        δ in (0, 1).
    certify
        Whether to enclose the true number too.
    rate, exponent
        Those of this network and model, where they have been computed.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), or network and model have different numbers of agents.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network, sample_sizes
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> ladder = sample_sizes(Network([[0.9, 0.1], [0.6, 0.4]]), model, delta=0.05)
    >>> ladder.chernoff.rounds < ladder.repaired.rounds < ladder.printed.rounds
    True
    """
    delta = as_probability("delta", delta)
    check_same_agents(network, model)
    if not isinstance(network, Network):
        from theory.changing.delays import as_fixed

        network = as_fixed(network)
    events = ErrorEvents.knowing(network, model, rate=rate, exponent=exponent)
    bounds = _bounds(events)
    if bounds.note:
        absent = SampleSize(None, True, bounds.note)
        decided = isinstance(events.network, Network) and events.wrong
        printed = _printed(events, delta) if decided else SampleSize(None, False, bounds.note)
        certified = CertifiedSampleSize(delta, None, None, None, bounds.note)
        again = _printed(events, delta, paper="P2") if decided else printed
        return SampleSizes(delta, printed, absent, absent, certified, (), again)
    if events.is_bounded:
        reason = _OUT_OF_REACH
    else:
        reason = "unbounded likelihoods: Hoeffding's inequality does not apply"
    # Hoeffding's inequality is Chernoff's with a coarser cumulant: where the grid of tilts is too
    # narrow, as for agents that hear little for long, it may still be the better bound.
    both = bounds.chernoff + bounds.hoeffding
    sized: list[Sized] = [(bound.smallest_rounds(delta), bound.name) for bound in both]
    smallest = _smallest(sized, reason=_OUT_OF_REACH)
    return SampleSizes(
        delta=delta,
        printed=_printed(events, delta),
        repaired=_smallest(sized[len(bounds.chernoff) :], reason=reason),
        chernoff=smallest,
        certified=(
            _certified(events, delta, bounds.chernoff, pilot=smallest.rounds)
            if certify
            else CertifiedSampleSize(delta, None, None, None, "not asked for")
        ),
        bounds=both,
        printed_p2=_printed(events, delta, paper="P2"),
    )


@typed
def error_bound(network: Network | ChangingNetwork, model: FiniteModel, rounds: int) -> float:
    """An upper bound on P(some agent errs at round n), rigorous up to rounding; at most one.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, `rounds` is below 1, or the network
        is random: no bound on average over the network is offered.
    """
    from theory.changing.delays import RandomNetwork, as_fixed

    n = as_integer("rounds", rounds, minimum=1)
    check_same_agents(network, model)
    if isinstance(network, RandomNetwork):
        raise fail(
            "network",
            "periodic phases or delays",
            type(network).__name__,
            "estimate the error by simulation",
        )
    bounds = _bounds(ErrorEvents(as_fixed(network), model))
    return _smallest_probability(bounds.chernoff + bounds.hoeffding, n)
