"""What is said of honest agents among faulty ones, each statement with its verdict.

Under plain averaging the exact means of the honest agents' log-odds are laid beside the measured
ones at every recorded round. Robust rules promise a least rate; where they promise nothing the run
is shown for what it is, a measurement.
"""

from __future__ import annotations

import numpy as np

from exact import Simulation
from peerbayes.comparison import Comparison, allowed_deviation, means_agree, within_transient
from peerbayes.kinds.faulty.analyse import FaultyAnalysis
from theory import LogRatioLaw, observation_reach
from theory.robustness import Average, StuckData, faulty_log_ratio

# Rounds over which the exact mean is followed to see its slope.
_FAR = 4000
_SLOPE_TOLERANCE = 1e-3


def statements(analysis: FaultyAnalysis, run: Simulation) -> list[Comparison]:
    """Everything that is said of a run of honest agents among faulty ones."""
    return [
        *_averaging_statements(analysis, run),
        *_guarantee_statements(analysis, run),
        *_symmetric_statements(analysis, run),
    ]


def _averaging_statements(analysis: FaultyAnalysis, simulation: Simulation) -> list[Comparison]:
    """Means and slopes under plain averaging, where theory has them."""
    problem, averaging = analysis.problem, analysis.averaging
    if (
        averaging is None
        or not isinstance(problem.faults.rule, Average)
        or problem.faults.pool_every > 1
    ):
        return []
    exact = faulty_log_ratio(
        problem.network, problem.model, problem.faults.behaviours, simulation.rounds
    )
    reach = observation_reach(problem.model, best=simulation.best)
    chance = allowed_deviation(exact.variance, reach, simulation.replicates, scores=exact.mean.size)
    comparisons = [
        means_agree(
            problem.name,
            measured=simulation.mean,
            expected=exact.mean,
            chance=chance,
            whose="every honest agent",
        )
    ]
    far = faulty_log_ratio(
        problem.network, problem.model, problem.faults.behaviours, [_FAR // 2, _FAR]
    )
    slopes = (far.mean[1] - far.mean[0]) / (_FAR // 2)
    for m in analysis.wrong:
        gap = np.abs(slopes[:, m] - averaging.rates[:, m])
        agent = int(np.argmax(gap))
        rate = float(averaging.rates[agent, m])
        name = problem.model.hypotheses[m]
        # Where the rate is zero the scale is that of the evidence.
        scale = max(abs(rate), float(np.abs(problem.model.information(averaging.best)[:, m]).max()))
        comparisons.append(
            within_transient(
                problem.name,
                f"rate of rejecting {name!r} by averaging: the exact mean of the honest agent "
                f"furthest from it rises by as much between rounds {_FAR // 2} and {_FAR}",
                predicted=rate,
                measured=float(slopes[agent, m]),
                standard_error=None,
                allowed=0.0,
                transient=_SLOPE_TOLERANCE * scale,
                note="computed, not measured: the limit against the exact means, which the run "
                "confirms",
            )
        )
    return comparisons


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


def _symmetric_statements(analysis: FaultyAnalysis, simulation: Simulation) -> list[Comparison]:
    """Where nobody lies and evidence is symmetric, no rule costs anything: the mean is n·I.

    All rules commute with adding a constant and with changing all signs, so that every agent's
    Λ − n·I is as likely as its negative.
    """
    problem, model, best = analysis.problem, analysis.problem.model, simulation.best
    if problem.faults.behaviours or np.ptp(model.log_priors) > 0:
        return []
    reach = observation_reach(model, best=best)
    comparisons = []
    for m in analysis.wrong:
        laws = model.log_ratio_laws(best, m)
        information = model.information(best)[:, m]
        alike = float(np.ptp(information)) <= 1e-12 * float(np.abs(information).max())
        if not alike or not all(_is_symmetric(law) for law in laws):
            continue
        measured = simulation.mean[..., m]
        expected = np.broadcast_to(simulation.rounds[:, None] * information[0], measured.shape)
        error = np.nan_to_num(simulation.standard_error[..., m])
        chance = allowed_deviation(
            simulation.replicates * error**2,
            reach[m],
            simulation.replicates,
            scores=measured.size,
        )
        comparisons.append(
            means_agree(
                problem.name,
                measured=measured,
                expected=expected,
                chance=chance,
                whose=f"every agent against {model.hypotheses[m]!r}",
                note=f"symmetric evidence, nobody lies: the mean is n times {information[0]:.6g}",
            )
        )
    return comparisons


def _guarantee_statements(analysis: FaultyAnalysis, run: Simulation) -> list[Comparison]:
    """What a robust rule promises, against what was measured."""
    problem, simulation = analysis.problem, run
    n = float(simulation.rounds[-1])
    rates, errors = simulation.mean[-1] / n, np.nan_to_num(simulation.standard_error[-1]) / n
    model, best = problem.model, simulation.best
    reach = observation_reach(model, best=best)
    prior = np.abs(model.log_priors[:, [best]] - model.log_priors).max(axis=0) / n
    spread = simulation.replicates * errors**2
    allowed = allowed_deviation(spread, reach / n, simulation.replicates, scores=errors.size)
    comparisons = []
    for m in analysis.wrong:
        name = model.hypotheses[m]
        if analysis.pooling is not None and analysis.pooling.rates[m] > 0:
            worst = int(np.argmin(rates[:, m] + allowed[:, m]))
            bound, slack = float(analysis.pooling.rates[m]), float(allowed[worst, m] + prior[m])
            measured = float(rates[worst, m])
            comparisons.append(
                Comparison(
                    problem=problem.name,
                    statement=f"every honest agent rejects {name!r} at the guaranteed rate at "
                    "least",
                    predicted=bound,
                    measured=measured,
                    standard_error=float(errors[worst, m]),
                    kind="bound",
                    holds=measured >= bound - slack,
                    note="whatever the liars say; the slowest agent is shown",
                    side="lower",
                )
            )
        if analysis.clipping is not None and not any(
            isinstance(fault, StuckData) for fault in problem.faults.behaviours.values()
        ):
            v = problem.network.stationary_distribution[run.watched]
            share = v / v.sum()
            measured, slack = float(share @ rates[:, m]), float(share @ allowed[:, m] + prior[m])
            low, high = float(analysis.clipping.lower[m]), float(analysis.clipping.upper[m])
            comparisons.append(
                Comparison(
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
            )
    return comparisons
