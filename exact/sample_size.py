"""The number of rounds that is enough, measured.

n(δ) is the smallest n from which on P(some agent's arg max is wrong) stays at most δ, as everywhere
(:mod:`theory.bounds.samples`). All replicates are looked at in every round, up to the one from
which on Chernoff's inequality keeps the probability at most δ: later ones need no measurement.

The interval around n(δ) comes from tests of single rounds, with p̂ₙ the errors of round n.

* *Upper end.* If n(δ) > 1 then P exceeds δ at round n(δ) − 1, which no chance decides. So the
  smallest n from which on all p̂ₙ are significantly below δ is smaller than n(δ) only if the test of
  that one round fails. Testing every round costs nothing.
* *Lower end.* P is at most δ at n(δ) and all later rounds. The first round whose p̂ₙ is not
  significantly above δ comes after n(δ) only if the test of the round n(δ) fails; the last round
  whose p̂ₙ is significantly above δ, at a level divided by the number of rounds, is no earlier than
  n(δ) only if one of as many tests fails. Each gets half of what may go wrong on this side. The
  second is there for probabilities that go up and down, as those of coins do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from exact.checkpoint import Arrays
from exact.learning import Replicates, chunks
from exact.parallel import run_units
from exact.statistics import Ties
from exact.task import every_round
from theory import FiniteModel, Network, SampleSizes, sample_sizes
from theory.progress import Progress
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail, read_only


@dataclass(frozen=True, eq=False)
class SimulatedSampleSize(Shown):
    """A measured n(δ), with its confidence interval.

    Attributes
    ----------
    delta
        δ.
    rounds
        The estimate: the smallest n from which on the measured frequency of errors is at most δ, up
        to the horizon. None if the last round simulated is still above, or there is nothing to
        reject.
    lower, upper
        `lower` ≤ n(δ) ≤ `upper` with probability at least `confidence`, whatever the problem is
        (up to the rounding of Chernoff's bound, which covers what was not simulated); None where
        nothing bounds it from above, or there is nothing to reject.
    confidence, replicates, seed
        As given.
    horizon
        Rounds 1 to this were simulated.
    errors
        Shape (horizon,): replicates in which some agent's arg max is wrong after each round.
    proved_from
        From this round on Chernoff's inequality keeps the probability at most δ; None if it says
        nothing.
    note
        Why an end is missing or wide, if it is.
    """

    delta: float
    rounds: int | None
    lower: int | None
    upper: int | None
    confidence: float
    replicates: int
    seed: int
    horizon: int
    errors: IntArray
    proved_from: int | None
    note: str

    @property
    def frequencies(self) -> FloatArray:
        """The measured probability of error after each round, shape (horizon,)."""
        return read_only(self.errors / self.replicates)


@typed
def simulated_sample_size(
    network: Network,
    model: FiniteModel,
    *,
    delta: float,
    seed: int,
    replicates: int = 20_000,
    most_rounds: int | None = None,
    confidence: float = 0.95,
    workers: int = 1,
    proved: SampleSizes | None = None,
    progress: Progress | None = None,
) -> SimulatedSampleSize:
    """Measure n(δ), the smallest n from which on some agent errs with probability at most δ.

    The same arguments give the same result, `workers` and `progress` aside; the errors counted are
    those of :func:`exact.simulate` with the same seed.

    Parameters
    ----------
    network, model
        N agents each.
    delta
        δ in (0, 1).
    seed
        A whole number of at least 0.
    replicates
        R: enough of them that no error at all would be significantly below δ.
    most_rounds
        Rounds to simulate at most. By default as many as Chernoff's inequality leaves open; fewer
        leave the upper end at what it proves.
    confidence
        Coverage of the interval, in (0, 1).
    workers
        Processes that share the replicates.
    proved
        What :func:`theory.sample_sizes` says of the same network, model and δ, if it is known
        already; else it is computed.
    progress
        Called as progress(done, total), in rounds times replicates.

    Raises
    ------
    ValueError
        If an argument is out of range, network and model have different numbers of agents, there
        are too few replicates, Chernoff's inequality says nothing and `most_rounds` is not given,
        or the run would take more memory or observations than :func:`exact.simulate` allows.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin])
    >>> found = simulated_sample_size(Network([[1.0]]), model, delta=0.05, seed=1)
    >>> found.lower <= 42 <= found.upper  # exact_sample_size says 42
    True
    """
    delta = as_probability("delta", delta)
    confidence = as_probability("confidence", confidence)
    replicates = as_integer("replicates", replicates, minimum=1)
    seed = as_integer("seed", seed, minimum=0)
    _check_replicates(replicates, delta, confidence)
    if proved is not None and proved.delta != delta:
        raise fail("proved", f"sample sizes for δ = {delta:g}", f"{proved.delta:g}", "leave it out")
    ladder = proved or sample_sizes(network, model, delta=delta, certify=False)
    enough = ladder.chernoff.rounds
    if not ladder.bounds and enough is None and _nothing_wrong(network, model):
        none = np.zeros(0, dtype=np.int64)
        note = "every hypothesis is optimal: there is nothing to reject"
        return SimulatedSampleSize(
            delta, None, None, None, confidence, replicates, seed, 0, none, None, note
        )
    horizon = _horizon(enough, most_rounds)
    errors = np.zeros(0, dtype=np.int64)
    if horizon:
        plan = every_round(network, model, rounds=horizon, replicates=replicates, seed=seed)
        errors = run_units(ErrorCounts(plan), workers=workers, progress=progress)["errors"]
    return _measured(errors, delta, confidence, replicates, seed, enough)


def _measured(
    errors: IntArray,
    delta: float,
    confidence: float,
    replicates: int,
    seed: int,
    proved: int | None,
) -> SimulatedSampleSize:
    horizon = errors.size
    side = (1.0 - confidence) / 2
    after = _last(errors > delta * replicates) + 2
    first = int(np.argmin(np.append(_above(errors, replicates, delta, side / 2), False))) + 1
    last = _last(_above(errors, replicates, delta, side / 2 / max(1, horizon))) + 2
    lower = max(first, last)
    upper = _last(~_below(errors, replicates, delta, side)) + 2
    note = ""
    if proved is None or horizon < proved - 1:
        note = f"nothing was measured beyond round {horizon}"
        note += "" if proved is None else f" and below {proved}"
        upper_end = proved
    else:
        upper_end = upper
    return SimulatedSampleSize(
        delta=delta,
        rounds=after if after <= horizon or (proved is not None and after >= proved) else None,
        lower=lower,
        upper=upper_end,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
        horizon=horizon,
        errors=read_only(errors),
        proved_from=proved,
        note=note,
    )


@dataclass(frozen=True, eq=False)
class ErrorCounts:
    """A simulation of which nothing is kept but the number of errors in each round.

    It is an :class:`exact.parallel.Work`.

    Attributes
    ----------
    plan
        The replicates, and the rounds to look at.
    """

    plan: Replicates

    @property
    def units(self) -> int:
        """Units of work."""
        return self.plan.units

    def amount(self, units: int) -> int:
        """Rounds times replicates of the first `units` units."""
        return self.plan.amount(units)

    def empty(self) -> Arrays:
        """No error in any round."""
        return {"errors": np.zeros(self.plan.recorded.size, dtype=np.int64)}

    def run(self, unit: int, advanced: Callable[[int], None]) -> Arrays:
        """The errors among one unit's replicates."""
        plan = self.plan
        counts = self.empty()
        ties = Ties(plan.recorded, plan.runner.scale, plan.reference)
        end = min(plan.replicates, (unit + 1) * plan.block * plan.largest)
        for chunk in chunks(end, largest=plan.largest, seed=plan.seed, first=unit * plan.block):

            def rounds(done: int, size: int = chunk.size) -> None:
                advanced(done * size)

            for index, log_ratios in enumerate(plan.runner.states(chunk, rounds)):
                wrong = ties.wrong(index, log_ratios).any(axis=0)
                counts["errors"][index] += int(wrong.sum())
        return counts

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take in the errors of the next unit."""
        total["errors"] += part["errors"]


def _nothing_wrong(network: Network, model: FiniteModel) -> bool:
    reference = model.reference_hypotheses(network.stationary_distribution)
    return len(reference) == len(model.hypotheses)


def _horizon(proved: int | None, most_rounds: int | None) -> int:
    if most_rounds is None:
        if proved is None:
            raise fail(
                "most_rounds",
                "a number of rounds, as Chernoff's inequality gives none for this network",
                None,
                "say how many rounds to simulate at most",
            )
        return proved - 1
    asked = as_integer("most_rounds", most_rounds, minimum=1)
    return asked if proved is None else min(asked, proved - 1)


def _check_replicates(replicates: int, delta: float, confidence: float) -> None:
    # With no error in R replicates, the upper limit is 1 − (tail)^{1/R}.
    needed = int(np.ceil(np.log((1 - confidence) / 2) / np.log1p(-delta)))
    if replicates < needed:
        raise fail(
            "replicates",
            f"at least {needed}, so that no error is significantly fewer than δ = {delta:g}",
            replicates,
            "run more of them",
        )


def _last(marks: np.ndarray) -> int:
    """The index of the last mark, −1 if there is none."""
    found = np.flatnonzero(marks)
    return int(found[-1]) if found.size else -1


def _above(errors: IntArray, replicates: int, delta: float, tail: float) -> np.ndarray:
    """Whether the Clopper–Pearson lower limit at level `tail` exceeds δ."""
    lower = betaincinv(np.maximum(errors, 1), replicates - errors + 1, tail)
    return (errors > 0) & (lower > delta)


def _below(errors: IntArray, replicates: int, delta: float, tail: float) -> np.ndarray:
    """Whether the Clopper–Pearson upper limit at level `tail` is at most δ."""
    upper = betaincinv(errors + 1, np.maximum(replicates - errors, 1), 1 - tail)
    return (errors < replicates) & (upper <= delta)
