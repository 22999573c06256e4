"""How many rounds are enough: the ladder of sample sizes (docs: mathematics/samples).

``printed``
    P1 eq. 4 as it stands. Not a theorem: its proof puts C where C² belongs.
``repaired``
    Hoeffding with the exact mean: a theorem for bounded likelihoods.
``chernoff``
    Chernoff with the agents' own cumulants, or Hoeffding where that asks for less: a theorem,
    bounded or not.
``certified``
    Both ends of an interval around the smallest n from which on P(some agent's arg max is wrong)
    stays at most δ (docs: mathematics/certified-samples).

The others are the smallest n from which on a bound on this probability stays at most δ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from theory.bounds.accounting import CertifiedSampleSize, account
from theory.bounds.chernoff import chernoff_bounds
from theory.bounds.error_bound import ErrorBound
from theory.bounds.events import ErrorEvents
from theory.bounds.hoeffding import hoeffding_bounds
from theory.frames import frame
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_probability

if TYPE_CHECKING:
    import pandas as pd

# The certified enclosure is left out where it takes longer, or the network is larger.
_MOST_SECONDS = 3.0
_MOST_AGENTS = 64
_OUT_OF_REACH = "no bound: the network is too large, or learns too slowly"


@dataclass(frozen=True)
class SampleSize(Shown):
    """A number of rounds, whether a proof stands behind it, and how it came about.

    `rounds` is None where the statement gives no number; `note` says why, or which form of the
    bound is behind it.
    """

    rounds: int | None
    is_theorem: bool
    note: str


@dataclass(frozen=True)
class SampleSizes(Shown):
    """The ladder for one confidence parameter `delta`, and the `bounds` that it was read off."""

    delta: float
    printed: SampleSize
    repaired: SampleSize
    chernoff: SampleSize
    certified: CertifiedSampleSize
    bounds: tuple[ErrorBound, ...]

    def to_frame(self) -> pd.DataFrame:
        """A table of the ladder: one row for each statement, rounds missing where it has none.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        certified, theorem = self.certified, [False, False, False, True, True]
        statements = (self.printed, self.repaired, self.chernoff)
        rounds = [*(one.rounds for one in statements), certified.lower, certified.upper]
        theorem[:3] = [one.is_theorem for one in statements]
        return frame(
            {
                "statement": ["printed", "repaired", "chernoff", "at least", "certified"],
                "rounds": [float("nan") if n is None else float(n) for n in rounds],
                "is_theorem": theorem,
                "note": [*(one.note for one in statements), certified.note, certified.note],
            }
        )

    def probability(self, rounds: int) -> float:
        """The smallest rigorous upper bound on P(some agent errs at round `rounds`)."""
        return min((bound.probability(rounds) for bound in self.bounds), default=1.0)


@typed
def printed_rounds(network: Network, model: FiniteModel, *, delta: float) -> SampleSize:
    """P1 eq. 4: n ≥ 16 C log(NM/δ) / (K² (1 − λmax)), λmax the largest *signed* eigenvalue.

    Reported because it is printed; no bound of any kind is claimed.
    """
    events = ErrorEvents(network, model)
    return _printed(events, as_probability("delta", delta))


def _printed(events: ErrorEvents, delta: float) -> SampleSize:
    model, network = events.model, events.network
    bound = model.log_ratio_bound
    if not np.isfinite(bound):
        return SampleSize(None, False, "unbounded likelihoods: C = log(L/α) is infinite")
    if network.agents == 1:
        return SampleSize(None, False, "one agent has no second eigenvalue")
    gap = 1.0 - network.second_eigenvalue
    if not gap > 0:
        return SampleSize(None, False, "1 − λmax is too small for floating point")
    logarithm = np.log(network.agents * len(model.hypotheses) / delta)
    with np.errstate(over="ignore", divide="ignore"):
        value = np.float64(16 * bound * logarithm / gap) / events.rate.rate / events.rate.rate
    if not np.isfinite(value):
        return SampleSize(None, False, "the printed formula overflows")
    note = "as printed, not a theorem"
    if events.rate.is_compromise:
        note += "; its Assumption 1 fails too (no hypothesis is best for every agent)"
    return SampleSize(max(1, int(np.ceil(value))), False, note)


def _smallest(bounds: Sequence[ErrorBound], delta: float, *, reason: str) -> SampleSize:
    """The smallest of several rigorous sample sizes, with the name of the bound that gave it."""
    found = [
        (rounds, bound.name)
        for bound in bounds
        if (rounds := bound.smallest_rounds(delta)) is not None
    ]
    if not found:
        return SampleSize(None, True, reason)
    rounds, name = min(found)
    return SampleSize(rounds, True, name)


def _present(bounds: list[ErrorBound | None]) -> tuple[ErrorBound, ...]:
    return tuple(bound for bound in bounds if bound is not None)


def _certified(
    network: Network, model: FiniteModel, delta: float, *, pilot: int | None
) -> CertifiedSampleSize:
    """Both ends, where that is affordable."""
    if network.agents > _MOST_AGENTS:
        note = f"not computed for more than {_MOST_AGENTS} agents"
        return CertifiedSampleSize(delta, None, None, None, note)
    if pilot is None:
        return CertifiedSampleSize(delta, None, None, None, _OUT_OF_REACH)
    return account(network, model).sample_size(delta, pilot=pilot, seconds=_MOST_SECONDS)


@typed
def sample_sizes(
    network: Network, model: FiniteModel, *, delta: float, certify: bool = True
) -> SampleSizes:
    """The ladder: rounds after which every agent's arg max is right with probability 1 − δ.

    `repaired` and `chernoff` are upper bounds on the true number, rigorous up to rounding;
    `certified` encloses it, rounding included; `printed` is no bound. The enclosure is left out,
    with a note, where it takes more than about three seconds, or if not to `certify`. Where doubles
    do not decide which hypotheses are best, nothing but `printed` is given.

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
    events = ErrorEvents(network, model)
    if not events.wrong:
        nothing = "every hypothesis is optimal: there is nothing to reject"
        absent = SampleSize(None, True, nothing)
        certified = CertifiedSampleSize(delta, None, None, None, nothing)
        return SampleSizes(delta, SampleSize(None, False, nothing), absent, absent, certified, ())
    if events.doubt:
        absent = SampleSize(None, True, events.doubt)
        certified = CertifiedSampleSize(delta, None, None, None, events.doubt)
        return SampleSizes(delta, _printed(events, delta), absent, absent, certified, ())
    if events.is_bounded:
        reason = _OUT_OF_REACH
    else:
        reason = "unbounded likelihoods: Hoeffding's inequality does not apply"
    hoeffding = _present(hoeffding_bounds(events))
    # Hoeffding's inequality is Chernoff's with a coarser cumulant: where the grid of tilts is too
    # narrow, as for agents that hear little for long, it may still be the better bound.
    chernoff = _present(chernoff_bounds(events)) + hoeffding
    smallest = _smallest(chernoff, delta, reason=_OUT_OF_REACH)
    return SampleSizes(
        delta=delta,
        printed=_printed(events, delta),
        repaired=_smallest(hoeffding, delta, reason=reason),
        chernoff=smallest,
        certified=(
            _certified(network, model, delta, pilot=smallest.rounds)
            if certify
            else CertifiedSampleSize(delta, None, None, None, "not asked for")
        ),
        bounds=chernoff,
    )
