"""Theory beside simulation, where agents are faulty.

Under plain averaging the exact means of the honest agents' log-odds are laid beside the measured
ones at every recorded round. Robust rules promise a least rate; where they promise nothing the run
is shown for what it is, a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exact.faults import FaultySimulation, simulate_faulty
from peerbayes.comparison import (
    Comparison,
    allowed_deviation,
    means_agree,
    within_transient,
)
from peerbayes.kinds.faulty.analyse import FaultyAnalysis, rule_name
from peerbayes.problem.faulty import FaultyProblem
from theory import LogRatioLaw, observation_reach
from theory.progress import Progress
from theory.robustness import Average, StuckData, faulty_log_ratio
from theory.validation import FloatArray

_ROUNDS = 600
_REPLICATES = 400
_LEAST_REPLICATES = 50
# Agents' updates at most, all rules included: a few seconds on one core.
_MOST_UPDATES = 2e7
_RECORDS = 25
_PATHS = 8
# Rounds over which the exact mean is followed to see its slope.
_FAR = 4000
_SLOPE_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class FaultyVerification:
    """Everything `verify` knows of one problem with faulty agents."""

    problem: FaultyProblem
    analysis: FaultyAnalysis
    run: FaultySimulation
    comparisons: tuple[Comparison, ...]

    @property
    def binding(self) -> int | None:
        """The wrong hypothesis that the honest agents reject last, as measured."""
        if not self.analysis.wrong:
            return None
        means = self.run.simulation.network_mean[-1]
        return min(self.analysis.wrong, key=lambda m: float(means[m]))

    def as_record(self) -> dict[str, Any]:
        """What the report needs, in plain numbers."""
        problem, simulation = self.problem, self.run.simulation
        names, n = problem.model.hypotheses, float(simulation.rounds[-1])
        rates, errors = simulation.mean[-1] / n, simulation.standard_error[-1] / n
        guaranteed, averaging = self.analysis.guaranteed, self.analysis.averaging
        right = sum(simulation.settled[-1, m] for m in self.analysis.reference)
        network = problem.network
        edges = network.edges
        return {
            "form": "faulty",
            "name": problem.name,
            "title": problem.title,
            "family": problem.family,
            "parameters": {
                key: float(value) if isinstance(value, int | float) else str(value)
                for key, value in problem.parameters.items()
            },
            "analysis": self.analysis.as_json(),
            "graph": {
                "edges": edges.tolist(),
                "weights": np.asarray(network.weights[edges[:, 0], edges[:, 1]]).ravel().tolist(),
                "positions": None if network.layout is None else network.layout.tolist(),
                "stationary_distribution": network.stationary_distribution.tolist(),
                "marked": list(problem.faults),
            },
            "rule": rule_name(problem),
            "rounds": simulation.rounds.tolist(),
            "trajectories": {
                names[m]: {
                    "lowest": simulation.mean[:, :, m].min(axis=1).tolist(),
                    "mean": simulation.network_mean[:, m].tolist(),
                    "highest": simulation.mean[:, :, m].max(axis=1).tolist(),
                }
                for m in self.analysis.wrong
            },
            "rates": [
                {
                    "hypothesis": names[m],
                    "faultless": float(self.analysis.faultless.rates[m]),
                    "averaging": None if averaging is None else float(averaging.rates[:, m].min()),
                    "guaranteed": None if guaranteed is None else float(guaranteed[m]),
                    "lowest": float(rates[:, m].min()),
                    "mean": float(rates[:, m].mean()),
                    "standard_error": float(errors[:, m].max()),
                }
                for m in self.analysis.wrong
            ],
            "settled": float(right) / (simulation.replicates * self.run.honest.size),
            "replicates": simulation.replicates,
            "discarded": int(self.run.discarded.sum()),
            "comparisons": [comparison.as_json() for comparison in self.comparisons],
        }


def verify_faulty(
    problem: FaultyProblem, *, seed: int, progress: Progress | None = None
) -> FaultyVerification:
    """Run the honest agents among the faulty ones, and lay predictions beside it."""
    agents, every = problem.network.agents, problem.pool_every
    rounds = -(-_ROUNDS // every) * every
    affordable = int(_MOST_UPDATES / (rounds * agents))
    record = {max(1, round(n / every)) * every for n in np.linspace(1, rounds, _RECORDS)}
    run = simulate_faulty(
        problem.network,
        problem.model,
        problem.faults,
        problem.rule,
        rounds=rounds,
        replicates=int(np.clip(affordable, _LEAST_REPLICATES, _REPLICATES)),
        seed=seed,
        record=sorted(record),
        paths=_PATHS,
        progress=progress,
        pool_every=every,
        beyond_tolerance=problem.beyond_tolerance,
    )
    result = FaultyVerification(problem, FaultyAnalysis(problem), run, ())
    comparisons = [
        *_averaging_statements(result),
        *_guarantee_statements(result),
        *_symmetric_statements(result),
    ]
    return replace(result, comparisons=tuple(comparisons))


def _reach(result: FaultyVerification) -> FloatArray:
    return observation_reach(result.problem.model, best=result.run.simulation.best)


def _averaging_statements(result: FaultyVerification) -> list[Comparison]:
    """Means and slopes under plain averaging, where theory has them."""
    problem, simulation = result.problem, result.run.simulation
    averaging = result.analysis.averaging
    if averaging is None or not isinstance(problem.rule, Average) or problem.pool_every > 1:
        return []
    exact = faulty_log_ratio(problem.network, problem.model, problem.faults, simulation.rounds)
    chance = allowed_deviation(
        exact.variance, _reach(result), simulation.replicates, scores=exact.mean.size
    )
    statements = [
        means_agree(
            problem.name,
            measured=simulation.mean,
            expected=exact.mean,
            chance=chance,
            whose="every honest agent",
        )
    ]
    far = faulty_log_ratio(problem.network, problem.model, problem.faults, [_FAR // 2, _FAR])
    slopes = (far.mean[1] - far.mean[0]) / (_FAR // 2)
    for m in result.analysis.wrong:
        gap = np.abs(slopes[:, m] - averaging.rates[:, m])
        agent = int(np.argmax(gap))
        rate = float(averaging.rates[agent, m])
        name = problem.model.hypotheses[m]
        # Where the rate is zero the scale is that of the evidence.
        scale = max(abs(rate), float(np.abs(problem.model.information(averaging.best)[:, m]).max()))
        statements.append(
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
    return statements


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


def _symmetric_statements(result: FaultyVerification) -> list[Comparison]:
    """Where nobody lies and evidence is symmetric, no rule costs anything: the mean is n·I.

    All rules commute with adding a constant and with changing all signs, so that every agent's
    Λ − n·I is as likely as its negative.
    """
    problem, simulation = result.problem, result.run.simulation
    model, best = problem.model, simulation.best
    if problem.faults or np.ptp(model.log_priors) > 0:
        return []
    statements = []
    for m in result.analysis.wrong:
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
            _reach(result)[m],
            simulation.replicates,
            scores=measured.size,
        )
        statements.append(
            means_agree(
                problem.name,
                measured=measured,
                expected=expected,
                chance=chance,
                whose=f"every agent against {model.hypotheses[m]!r}",
                note=f"symmetric evidence, nobody lies: the mean is n times {information[0]:.6g}",
            )
        )
    return statements


def _guarantee_statements(result: FaultyVerification) -> list[Comparison]:
    """What a robust rule promises, against what was measured."""
    problem, analysis, simulation = result.problem, result.analysis, result.run.simulation
    n = float(simulation.rounds[-1])
    rates, errors = simulation.mean[-1] / n, np.nan_to_num(simulation.standard_error[-1]) / n
    model, best = problem.model, simulation.best
    prior = np.abs(model.log_priors[:, [best]] - model.log_priors).max(axis=0) / n
    spread = simulation.replicates * errors**2
    allowed = allowed_deviation(
        spread, _reach(result) / n, simulation.replicates, scores=errors.size
    )
    statements = []
    for m in analysis.wrong:
        name = model.hypotheses[m]
        if analysis.pooling is not None and analysis.pooling.rates[m] > 0:
            worst = int(np.argmin(rates[:, m] + allowed[:, m]))
            bound, slack = float(analysis.pooling.rates[m]), float(allowed[worst, m] + prior[m])
            measured = float(rates[worst, m])
            statements.append(
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
            isinstance(fault, StuckData) for fault in problem.faults.values()
        ):
            v = problem.network.stationary_distribution[result.run.honest]
            share = v / v.sum()
            measured, slack = float(share @ rates[:, m]), float(share @ allowed[:, m] + prior[m])
            low, high = float(analysis.clipping.lower[m]), float(analysis.clipping.upper[m])
            statements.append(
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
    return statements
