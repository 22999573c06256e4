"""Theory beside simulation: what verifications of every kind share, and those of social learning.

A verification holds what theory predicts, what was measured, and a verdict on every statement. Of
social learning two runs are made: one for the rates, whose exact means are known at every recorded
round, and one for the failures, counted at the sample sizes that theory names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from exact import Run, Simulation, simulate
from peerbayes.comparison import (
    Comparison,
    Mean,
    allowed_deviation,
    equal_in_mean,
    frequency,
    means_agree,
)
from peerbayes.documents import GraphDocument, Probability, Rounds, numbers
from peerbayes.kinds.shared.analyse import PROBLEM, TITLE, Recorded, form_of
from peerbayes.measured import (
    FailuresDocument,
    RateDocument,
    TrajectoryDocument,
    settled_shares,
)
from peerbayes.quantities.quantity import Quantity, Table, entries, entry
from theory import LogRatioSpread, SampleSize, expected_log_ratio, observation_reach
from theory.progress import Progress, part_of
from theory.showing import Value
from theory.validation import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from theory import FiniteModel, Network
    from theory.changing.delays import AnyNetwork


# Of every kind ----------------------------------------------------------------------------------


def verified(name: str, meaning: str, form: str | None, analysis: Table, **more: Quantity) -> Table:
    """The table of a verified problem as its record keeps it.

    Parameters
    ----------
    form
        What names the kind of problem; None for finitely many hypotheses.
    analysis
        The table of its predictions.
    more
        What this kind has besides.
    """
    return Table(
        name,
        meaning,
        entries(
            form=form_of(form),
            name=PROBLEM,
            title=TITLE,
            family=entry(
                str,
                "problems of one family differ in their parameters alone",
                get="problem.family",
            ),
            parameters=entry(
                dict[str, bool | int | float | str],
                get=lambda found: plain_parameters(found.problem.parameters),
            ),
            graph=entry(GraphDocument),
            comparisons=entry(list[Comparison]),
            analysis=entry(analysis.type, get=lambda found: found.predictions()),
            **more,
        ),
    )


@dataclass(frozen=True, eq=False)
class Verified(Recorded, Value):
    """Base of verifications: a problem, what theory predicts of it, and every verdict."""

    problem: Any
    analysis: Any
    comparisons: tuple[Comparison, ...]

    @property
    def graph(self) -> GraphDocument:
        """The network as the page draws it."""
        drawn: GraphDocument = self.problem._graph()
        return drawn

    def predictions(self) -> Any:
        """The document of the analysis, as the record keeps it."""
        return self.analysis.document()

    def _title(self) -> str:
        return f"{type(self).__name__} of {self.problem.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "network", self.problem.network
        yield from verdict_facts(self.comparisons)


def verdict_facts(comparisons: Sequence[Comparison]) -> Iterator[tuple[str, object]]:
    """How many statements hold, and which do not."""
    yield "statements", len(comparisons)
    yield "hold", sum(c.holds is True for c in comparisons)
    yield "broken", tuple(c.statement for c in comparisons if c.is_broken)
    refuted = tuple(c.statement for c in comparisons if c.holds is False and not c.is_broken)
    if refuted:
        yield "no theorems, fail", refuted
    unknown = sum(c.holds is None for c in comparisons)
    if unknown:
        yield "not run", unknown


def plain_parameters(parameters: Mapping[str, object]) -> dict[str, Any]:
    """Parameters as a record takes them: numbers as floats, all else as text."""
    return {
        key: float(value) if isinstance(value, int | float) else str(value)
        for key, value in parameters.items()
    }


# Of social learning -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was predicted and measured of one problem.

    Attributes
    ----------
    analysis
        The predictions.
    rates, failures
        The run for the rates, and the one for the failures; None where no size is within reach.
    expected
        Shape (T, N, M): the exact mean of rates.mean.
    spread
        The variances of the log belief ratios of `rates`: exact where a formula is known, measured
        where the network is random.
    """

    analysis: Any
    rates: Simulation
    failures: Simulation | None
    expected: FloatArray
    spread: LogRatioSpread

    @property
    def problem(self) -> Any:
        """What was run."""
        return self.analysis.problem

    @property
    def wrong(self) -> list[int]:
        """The hypotheses outside the reference set, slowest first."""
        rate = self.analysis.rate
        outside = [m for m in range(len(rate.rates)) if m not in rate.reference]
        return sorted(outside, key=lambda m: float(rate.rates[m]))

    @cached_property
    def network_expected(self) -> FloatArray:
        """The exact mean of rates.network_mean, shape (T, M)."""
        return np.asarray(self.expected.mean(axis=1))

    def rate(self, hypothesis: int) -> Mean:
        """The network's average of Λ/n at the last round, beside its exact mean."""
        run, spread, m = self.rates, self.spread, hypothesis
        allowed = allowed_deviation(spread.average[-1, m], spread.reach[m], run.replicates)
        sums = Mean(
            float(self.network_expected[-1, m]),
            float(run.network_mean[-1, m]),
            float(run.network_standard_error[-1, m]),
            float(allowed),
        )
        return sums.times(1 / float(run.rounds[-1]))


def measure(
    analysis: Any,
    network: AnyNetwork,
    runs: tuple[Run, Run | None],
    *,
    spread: Callable[..., LogRatioSpread] | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Run a problem for its rates and for its failures.

    Parameters
    ----------
    network
        The one whose beliefs are predicted.
    spread
        The exact variances of log belief ratios; left out: as they are measured.
    """
    problem = analysis.problem

    def run(index: int, how: Run) -> Simulation:
        how = replace(how, progress=part_of(progress, index, 2))
        return simulate(problem.network, problem.model, messages=problem.messages, run=how)

    rates = run(0, runs[0])
    failures = None if runs[1] is None else run(1, runs[1])
    of = problem.model, rates.rounds
    means = expected_log_ratio(network, *of, best=rates.best)
    known = spread(network, *of, best=rates.best) if spread else _as_measured(problem.model, rates)
    return Measurement(analysis, rates, failures, means.values, known)


def _as_measured(model: FiniteModel, run: Simulation) -> LogRatioSpread:
    """The measured variances; there is no formula where the network is random."""
    average, agents = (
        run.replicates * np.nan_to_num(error) ** 2
        for error in (run.network_standard_error, run.standard_error)
    )
    return LogRatioSpread(run.rounds, average, agents, observation_reach(model, best=run.best))


@dataclass(frozen=True, eq=False)
class LearningVerification(Verified):
    """Everything `verify` knows of one problem: prediction, measurement and verdicts.

    Attributes
    ----------
    measured
        The two runs.
    """

    measured: Measurement

    @property
    def rates(self) -> list[RateDocument]:
        """The rates of rejecting each wrong hypothesis, slowest first."""
        found, rates = self.measured, self.analysis.rate.rates
        means = {m: found.rate(m) for m in found.wrong}
        return [
            RateDocument(
                hypothesis=found.rates.hypotheses[m],
                limit=float(rates[m]),
                predicted=mean.predicted,
                measured=mean.measured,
                standard_error=mean.standard_error,
            )
            for m, mean in means.items()
        ]

    @property
    def trajectory(self) -> TrajectoryDocument | None:
        """The log belief ratio of the slowest hypothesis, with paths of at most three agents."""
        found, run = self.measured, self.measured.rates
        if not found.wrong:
            return None
        m, agents = found.wrong[0], self.followed(self.problem.network.agents)
        return TrajectoryDocument(
            hypothesis=run.hypotheses[m],
            reference=run.hypotheses[run.best],
            rounds=run.rounds.tolist(),
            rate=float(self.analysis.rate.rates[m]),
            expected=numbers(found.network_expected[:, m]),
            mean=numbers(run.network_mean[:, m]),
            standard_error=numbers(run.network_standard_error[:, m]),
            paths=[
                [float(f"{x:.5g}") for x in path[:, agent, m]]
                for path in run.paths
                for agent in agents
            ],
        )

    def followed(self, agents: int) -> list[int]:
        """The agents whose single paths are drawn: the first, one in the middle, the last."""
        return sorted({0, (agents - 1) // 2, agents - 1})

    @property
    def failures(self) -> FailuresDocument | None:
        """How often some agent was wrong, round by round; None where no size is within reach."""
        run = self.measured.failures
        if run is None:
            return None
        frequency = run.errors / run.replicates
        too_many = np.flatnonzero(frequency > self.analysis.samples.delta)
        first = int(too_many[-1]) + 1 if too_many.size else 0
        return FailuresDocument(
            rounds=run.rounds.tolist(),
            frequency=frequency.tolist(),
            bound=self.bounds(run.rounds),
            replicates=run.replicates,
            measured_rounds=int(run.rounds[first]) if first < len(run.errors) else None,
        )

    def bounds(self, rounds: IntArray) -> list[float | None] | None:
        """Bounds on the probability of error at some rounds; None where there are none."""
        return None

    def plot(self, ax: Axes | None = None) -> Axes:
        """Rates of rejection, predicted and measured, with error bars.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.curves import draw_rates

        return draw_rates(self.rates, ax, replicates=self.measured.rates.replicates)


MEASURED = {
    "trajectory": entry(TrajectoryDocument | None, "null: nothing to reject"),
    "rates": entry(list[RateDocument], "slowest first"),
    "replicates": entry(Rounds, get="measured.rates.replicates"),
    "settled": entry(
        dict[str, Probability],
        "share of agents and replicates at the last round",
        get=lambda found: settled_shares(found.measured.rates),
    ),
    "failures": entry(FailuresDocument | None, "null: no sample size is within reach"),
}
"""What records keep of both runs."""


def mean_statements(result: Measurement) -> list[Comparison]:
    """The rates at the last round, and all means of every agent at once."""
    run, name = result.rates, result.problem.name
    return [
        *(
            equal_in_mean(
                name,
                f"rate of rejecting {run.hypotheses[m]!r} after {run.rounds[-1]} rounds",
                result.rate(m),
                note="exact mean at this round; the limit is "
                f"{float(result.analysis.rate.rates[m]):.6g}",
            )
            for m in result.wrong
        ),
        every_agent(result),
    ]


def every_agent(result: Measurement, shift: FloatArray | float = 0.0, note: str = "") -> Comparison:
    """All recorded rounds, agents and hypotheses at once, in shares of what chance allows.

    `shift` is by how much else a mean may move, in nats.
    """
    spread, expected, run = result.spread, result.expected, result.rates
    chance = allowed_deviation(spread.agents, spread.reach, run.replicates, scores=expected.size)
    name = result.problem.name
    return means_agree(name, measured=run.mean, expected=expected, chance=chance + shift, note=note)


def counted(result: Measurement, rounds: int | None) -> dict[str, Any] | None:
    """In how many of how many trials some agent was wrong at a round; None where nobody looked."""
    run = result.failures
    if run is None or rounds not in run.rounds:
        return None
    failures = int(run.errors[np.flatnonzero(run.rounds == rounds)[0]])
    return {"failures": failures, "trials": run.replicates}


def size_words(name: str, size: SampleSize, delta: float) -> str:
    """What a sample size promises."""
    return f"failures at the {name} sample size, {size.rounds} rounds, at most {delta:g}"


def size_statement(result: Measurement, name: str, size: SampleSize) -> Comparison | None:
    """The probability of error is at most δ at a sample size; None where nobody looked there."""
    delta, seen = result.analysis.samples.delta, counted(result, size.rounds)
    if seen is None:
        return None
    words, is_theorem = size_words(name, size, delta), size.is_theorem
    name = result.problem.name
    return frequency(name, words, "at most", delta, **seen, is_theorem=is_theorem, note=size.note)


def settling(problem: Any, network: Network, best: int, hypothesis: int) -> float:
    """How far the mean of any agent's log belief ratio is ever from n times its rate, in nats.

    |E Λ_i − n Σ v_j I_j| ≤ D_i (max I − min I)/2 + max |prior log-odds|.
    """
    model = problem.model
    information = model.information(best)[:, hypothesis]
    prior = model.log_priors[:, best] - model.log_priors[:, hypothesis]
    deviation = float(network.deviation.upper.max())
    return deviation * float(np.ptp(information)) / 2 + float(np.abs(prior).max())
