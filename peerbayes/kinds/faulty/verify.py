"""Theory beside simulation, where agents are faulty: one run of the honest, and every statement.

Under plain averaging the exact means of the honest agents' log-odds stand beside the measured ones
at every recorded round. Robust rules promise a least rate; where they promise nothing the run is
shown for what it is, a measurement. Rates are in nats a round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from exact import Run, Simulation, simulate
from peerbayes.comparison import (
    Comparison,
    Mean,
    allowed_deviation,
    means_agree,
    within_bound,
    within_transient,
)
from peerbayes.documents import (
    Document,
    Number,
    Numbers,
    Probability,
    Rounds,
)
from peerbayes.kinds.faulty.analyse import FAULTY_ANALYSIS, FaultyAnalysis, rule_name
from peerbayes.kinds.shared.verify import Verified, verified
from peerbayes.problem.problems import FaultyProblem
from peerbayes.quantities.quantity import Part, Table, entries, entry
from theory import LogRatioLaw, observation_reach
from theory.progress import Progress
from theory.robustness import Average, StuckData, faulty_log_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from peerbayes.figures.chart import Plot

_ROUNDS = 600
_REPLICATES = 400
_LEAST_REPLICATES = 50
# Agents' updates at most, all rules included: a few seconds on one core.
_MOST_UPDATES = 2e7
_RECORDS = 25
_PATHS = 8
_HEIGHT = 3.0  # of its figure, in inches
# Rounds over which the exact mean is followed to see its slope.
_FAR = 4000
_SLOPE_TOLERANCE = 1e-3


# What is recorded -------------------------------------------------------------------------------


HONEST_TRAJECTORY = Table(
    "HonestTrajectory",
    "Mean log belief ratio of the honest agents over the rounds, against one hypothesis.",
    entries(
        lowest=entry(Numbers, "of the slowest agent, in nats", get=lambda m: m.min(axis=1)),
        mean=entry(Numbers, get=lambda m: m.mean(axis=1)),
        highest=entry(Numbers, get=lambda m: m.max(axis=1)),
    ),
)


class HonestRate(Document):
    """The rate of rejecting one hypothesis: predicted, promised and measured."""

    hypothesis: str
    faultless: float = Field(description="nobody faulty, all averaging")
    averaging: Number = Field(description="predicted, of the slowest honest agent")
    guaranteed: Number = Field(description="by the rule")
    lowest: float = Field(description="measured, of the slowest honest agent")
    mean: float = Field(description="measured, over the honest agents")
    standard_error: Number = Field(description="the largest of an honest agent")


@dataclass(frozen=True, eq=False)
class FaultyVerification(Verified):
    """Everything `verify` knows of one problem with faulty agents; `run` is of the honest."""

    run: Simulation

    record = verified(
        "FaultyRecord",
        "A verified problem with faulty agents, as its record keeps it.",
        "faulty",
        FAULTY_ANALYSIS,
        rule=entry(str, get=lambda found: rule_name(found.problem)),
        rounds=entry(list[Rounds], "recorded rounds", get="run.rounds"),
        trajectories=entry(HONEST_TRAJECTORY.by_name, "by hypothesis"),
        rates=entry(list[HonestRate]),
        settled=entry(Probability, "share of the honest at the truth, last round"),
        replicates=entry(Annotated[int, Field(ge=1)], get="run.replicates"),
        discarded=entry(
            Annotated[int, Field(ge=0)],
            "messages that were no beliefs, and were not pooled",
            get=lambda found: int(found.run.discarded.sum()),
        ),
    )

    @property
    def trajectories(self) -> dict[str, Part | None]:
        """The log belief ratios of the honest agents, by hypothesis."""
        names = self.problem.model.hypotheses
        return {names[m]: HONEST_TRAJECTORY(self.run.mean[:, :, m]) for m in self.analysis.wrong}

    @property
    def settled(self) -> float:
        """The share of the honest, in all replicates, that hold the truth at the last round."""
        right = sum(self.run.settled[-1, m] for m in self.analysis.reference)
        return float(right) / (self.run.replicates * self.run.watched.size)

    @property
    def rates(self) -> list[HonestRate]:
        """The rates of rejecting each wrong hypothesis at the last round."""
        run, guaranteed, averaging = self.run, self.analysis.guaranteed, self.analysis.averaging
        n = float(run.rounds[-1])
        return [
            HonestRate(
                hypothesis=self.problem.model.hypotheses[m],
                faultless=float(self.analysis.faultless.rates[m]),
                averaging=None if averaging is None else float(averaging.rates[:, m].min()),
                guaranteed=None if guaranteed is None else float(guaranteed[m]),
                lowest=float(run.mean[-1, :, m].min()) / n,
                mean=float(run.mean[-1, :, m].mean()) / n,
                standard_error=float(run.standard_error[-1, :, m].max()) / n,
            )
            for m in self.analysis.wrong
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Log belief ratio of the honest agents over the rounds.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes

        record = self.as_record()
        return on_axes(lambda axes: honest_plot(record, axes=axes), ax)


def honest_plot(record: Any, *, axes: Axes | None = None) -> Plot | None:
    """Mean log belief ratio of the honest agents, with the slowest and the fastest of them."""
    from peerbayes.figures.chart import COLOURS, DASHES, Chart, floats, linear_scale
    from peerbayes.figures.wording import number

    if not record.rates:
        return None
    slowest = min(record.rates, key=lambda rate: rate.mean)
    name = slowest.hypothesis
    trajectory = record.trajectories[name]
    rounds = floats([0, *record.rounds])
    low, mean, high = (
        floats([0.0, *part]) for part in (trajectory.lowest, trajectory.mean, trajectory.highest)
    )
    faultless = slowest.faultless * rounds
    x = linear_scale(rounds, zero=True)
    y = linear_scale(np.concatenate([low, high, faultless, [0.0]]))
    chart = Chart(x, y, height=_HEIGHT, axes=axes)
    chart.axes.axhline(0, color=COLOURS["muted"], linewidth=0.9, zorder=1)
    chart.line(rounds, faultless, "ink", "nobody faulty, averaging", width=1.2, dashes=DASHES)
    label = "mean of the honest agents"
    chart.marks(rounds, mean, "measured", label=label, size=3.2, joined=1.2, over=4)
    chart.band(rounds, low, high, "cloud")
    chart.name("line", "cloud", "slowest to fastest honest agent")
    return chart.plot(
        "Log belief ratio of the honest agents",
        f"How much more the truth is believed than “{name}”: {number(slowest.mean)} nats more "
        f"each round on average, {number(slowest.faultless)} if nobody were faulty and all "
        "averaged.",
        x="round",
        y=f"log belief ratio [{y.unit('nats')}]",
    )


def verify_faulty(
    problem: FaultyProblem, *, seed: int = 0, delta: float = 0.05, progress: Progress | None = None
) -> FaultyVerification:
    """Run the honest agents among the faulty ones, and compare them with the predictions.

    There are no sample sizes to which `delta` would go.
    """
    agents, every = problem.network.agents, problem.faults.pool_every
    rounds = -(-_ROUNDS // every) * every
    affordable = int(_MOST_UPDATES / (rounds * agents))
    record = {max(1, round(n / every)) * every for n in np.linspace(1, rounds, _RECORDS)}
    options = Run(
        rounds=rounds,
        replicates=int(np.clip(affordable, _LEAST_REPLICATES, _REPLICATES)),
        seed=seed,
        record=sorted(record),
        paths=_PATHS,
        progress=progress,
    )
    run = simulate(problem.network, problem.model, faults=problem.faults, run=options)
    analysis = FaultyAnalysis(problem)
    return FaultyVerification(problem, analysis, tuple(statements(analysis, run)), run)


# Statements -------------------------------------------------------------------------------------


def statements(analysis: FaultyAnalysis, run: Simulation) -> Iterator[Comparison]:
    """Everything that is said of a run of honest agents among faulty ones."""
    faults = analysis.problem.faults
    plain = isinstance(faults.rule, Average) and faults.pool_every == 1
    if plain and analysis.averaging is not None:
        yield from _averaging_statements(analysis, run)
    yield from _guarantee_statements(analysis, run)
    if not faults.behaviours and np.ptp(analysis.problem.model.log_priors) == 0:
        yield from _symmetric_statements(analysis, run)


def _averaging_statements(analysis: FaultyAnalysis, run: Simulation) -> Iterator[Comparison]:
    """Means and slopes under plain averaging, where theory has them."""
    problem, averaging = analysis.problem, analysis.averaging
    assert averaging is not None
    model, of = problem.model, (problem.network, problem.model, problem.faults.behaviours)
    exact = faulty_log_ratio(*of, run.rounds)
    reach = observation_reach(model, best=run.best)
    chance = allowed_deviation(exact.variance, reach, run.replicates, scores=exact.mean.size)
    yield means_agree(
        problem.name,
        measured=run.mean,
        expected=exact.mean,
        chance=chance,
        whose="every honest agent",
    )
    far = faulty_log_ratio(*of, [_FAR // 2, _FAR])
    slopes = (far.mean[1] - far.mean[0]) / (_FAR // 2)
    for m in analysis.wrong:
        agent = int(np.argmax(np.abs(slopes[:, m] - averaging.rates[:, m])))
        rate = float(averaging.rates[agent, m])
        # Where the rate is zero the scale is that of the evidence.
        scale = max(abs(rate), float(np.abs(model.information(averaging.best)[:, m]).max()))
        yield within_transient(
            problem.name,
            f"rate of rejecting {model.hypotheses[m]!r} by averaging: the exact mean of the honest "
            f"agent furthest from it rises by as much between rounds {_FAR // 2} and {_FAR}",
            Mean(rate, float(slopes[agent, m]), None),
            _SLOPE_TOLERANCE * scale,
            note="computed, not measured: the limit against the exact means, which the run "
            "confirms",
        )


def _is_symmetric(law: LogRatioLaw) -> bool:
    """Whether z is symmetric about its mean, to rounding."""
    order = np.argsort(law.means)
    gaps = law.means[order] - law.mean
    scale = max(1.0, float(np.abs(gaps).max()))
    return bool(
        np.allclose(gaps, -gaps[::-1], rtol=0, atol=1e-12 * scale)
        and np.allclose(law.probabilities[order], law.probabilities[order][::-1], rtol=1e-12)
        and np.allclose(law.variances[order], law.variances[order][::-1], rtol=1e-12)
    )


def _symmetric_statements(analysis: FaultyAnalysis, run: Simulation) -> Iterator[Comparison]:
    """Where nobody lies and evidence is symmetric, no rule costs anything: the mean is n·I.

    All rules commute with adding a constant and with changing all signs, so that every agent's
    Λ − n·I is as likely as its negative.
    """
    problem, model, best = analysis.problem, analysis.problem.model, run.best
    reach = observation_reach(model, best=best)
    for m in analysis.wrong:
        information = model.information(best)[:, m]
        alike = float(np.ptp(information)) <= 1e-12 * float(np.abs(information).max())
        if not alike or not all(map(_is_symmetric, model.log_ratio_laws(best, m))):
            continue
        measured = run.mean[..., m]
        variance = run.replicates * np.nan_to_num(run.standard_error[..., m]) ** 2
        yield means_agree(
            problem.name,
            measured=measured,
            expected=np.broadcast_to(run.rounds[:, None] * information[0], measured.shape),
            chance=allowed_deviation(variance, reach[m], run.replicates, scores=measured.size),
            whose=f"every agent against {model.hypotheses[m]!r}",
            note=f"symmetric evidence, nobody lies: the mean is n times {information[0]:.6g}",
        )


def _guarantee_statements(analysis: FaultyAnalysis, run: Simulation) -> Iterator[Comparison]:
    """What a robust rule promises, against what was measured."""
    problem, pooling, clipping = analysis.problem, analysis.pooling, analysis.clipping
    n = float(run.rounds[-1])
    rates, errors = run.mean[-1] / n, np.nan_to_num(run.standard_error[-1]) / n
    model, best = problem.model, run.best
    reach = observation_reach(model, best=best)
    prior = np.abs(model.log_priors[:, [best]] - model.log_priors).max(axis=0) / n
    spread = run.replicates * errors**2
    allowed = allowed_deviation(spread, reach / n, run.replicates, scores=errors.size)
    stuck = any(isinstance(fault, StuckData) for fault in problem.faults.behaviours.values())
    for m in analysis.wrong:
        name = model.hypotheses[m]
        if pooling is not None and pooling.rates[m] > 0:
            worst = int(np.argmin(rates[:, m] + allowed[:, m]))
            yield within_bound(
                problem.name,
                f"every honest agent rejects {name!r} at the guaranteed rate at least",
                Mean(
                    float(pooling.rates[m]),
                    float(rates[worst, m]),
                    float(errors[worst, m]),
                    float(allowed[worst, m] + prior[m]),
                ),
                side="lower",
                note="whatever the liars say; the slowest agent is shown",
            )
        if clipping is not None and not stuck:
            v = problem.network.stationary_distribution[run.watched]
            share = v / v.sum()
            measured, slack = float(share @ rates[:, m]), float(share @ allowed[:, m] + prior[m])
            low, high = float(clipping.lower[m]), float(clipping.upper[m])
            yield Comparison(
                problem=problem.name,
                statement=f"the honest agents' average rate of rejecting {name!r} by clipping "
                f"is between {low:.4g} and {high:.4g}",
                predicted=low,
                measured=measured,
                standard_error=float(share @ errors[:, m]),
                kind="bound",
                holds=low - slack <= measured <= high + slack,
                note="whatever the liars say",
                side="lower",
            )
