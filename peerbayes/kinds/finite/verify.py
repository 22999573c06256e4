"""Theory beside simulation, on a network that stays as it is: two runs, and every statement.

One run is long in replicates, for the rates (standard errors of 1 % of the slowest), and one long
in rounds, in which failures are counted at every sample size that theory names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exact import Run
from exact.law import error_law
from peerbayes.comparison import Comparison, frequency, within_transient
from peerbayes.documents import numbers
from peerbayes.kinds.finite.analyse import ANALYSIS, Analysis, analyse
from peerbayes.kinds.finite.message_statements import message_statements
from peerbayes.kinds.shared.verify import (
    MEASURED,
    LearningVerification,
    Measurement,
    counted,
    mean_statements,
    measure,
    settling,
    size_statement,
    size_words,
    verified,
)
from peerbayes.measured import SlowestDocument, SweepDocument, SweepPoint, SweepSeries
from peerbayes.problem.problems import Problem
from peerbayes.settings.questions import Analyse
from theory import FiniteAgent, SampleSize, log_ratio_spread
from theory.progress import Progress
from theory.showing import Shown
from theory.validation import IntArray

# Theory beside simulation, on a network that stays as it is --------------------------------------


# Standard error of the slowest rate, as a share of it: below the 2 % that is promised.
_RELATIVE_ERROR = 0.015
_FEWEST_REPLICATES = 400
_FAILURE_REPLICATES = 1000
# Large networks have fewer, but enough for a standard error.
_LEAST_REPLICATES = 20
# Observations drawn at most: two to four seconds on one core.
_MOST_RATE_DRAWS = 1.2e8
_MOST_FAILURE_DRAWS = 6e7
_PATHS = 12
# Histories of a small problem that are gone through one by one: a second or so.
_MOST_HISTORIES = 1e5
_MOST_LAW_ROUNDS = 12
# A probability that is known more narrowly is told as one number, beside a wider one as a bound.
_ONE_NUMBER = 1e-6
# Numbers kept per record of all agents and hypotheses: a quarter of a gigabyte.
_MOST_KEPT = 3e7


class ProblemVerification(LearningVerification):
    """Everything `verify` knows of one problem: prediction, measurement and verdicts."""

    record = verified(
        "FiniteRecord",
        "One verified problem: what theory predicts, and what was measured.",
        None,
        ANALYSIS,
        **MEASURED,
    )

    def predictions(self) -> Any:
        """The document of the analysis, with a note of each sample size that no run reached."""
        found, failures = self.analysis.document(), self.measured.failures
        assert failures is not None
        reached = set(failures.rounds.tolist())
        notes = [
            f"{name}: {size.rounds} rounds were too many to simulate"
            for name, size in named_sizes(self.analysis)
            if size.rounds is not None and size.rounds not in reached
        ]
        return found.model_copy(update={"notes": [*found.notes, *notes]})

    def bounds(self, rounds: IntArray) -> list[float | None] | None:
        """The smallest rigorous bounds on the probability of error."""
        ladder = self.analysis.ladder
        return None if ladder is None else [ladder.probability(int(n)) for n in rounds]


def verify_problem(
    problem: Problem, *, seed: int, delta: float = 0.05, progress: Progress | None = None
) -> ProblemVerification:
    """Run the exact algorithm and compare it with the predictions.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    analysis = analyse(problem, Analyse(delta=delta))
    runs = _run_for_rates(analysis, seed), _run_for_failures(analysis, seed + 1)
    measured = measure(analysis, analysis.network, runs, spread=log_ratio_spread, progress=progress)
    return ProblemVerification(problem, analysis, statements(measured), measured)


# Runs -------------------------------------------------------------------------------------------


def named_sizes(analysis: Analysis) -> list[tuple[str, SampleSize]]:
    """Every sample size that theory names for the run, by its name."""
    samples = analysis.ladder
    if samples is None:
        return []
    if analysis.messages is not None:
        rounds = analysis.messages.certified_rounds[1]
        return [("certified", SampleSize(rounds, True, "of beliefs as they are compressed"))]
    return [
        ("printed", samples.printed),
        ("repaired", samples.repaired),
        ("chernoff", samples.chernoff),
        ("certified", SampleSize(samples.certified.upper, True, samples.certified.note)),
    ]


def last_proved_wrong(analysis: Analysis) -> int | None:
    """The last round at which the probability of error is proved to exceed δ."""
    messages = analysis.messages
    lower = analysis.samples.certified.lower if messages is None else messages.certified_rounds[0]
    return None if lower is None or lower < 2 else lower - 1


def enumerable_rounds(problem: Problem) -> int:
    """The number of rounds whose histories are few enough to go through; 0 if none is."""
    finite = [kind for kind in problem.model.kinds if isinstance(kind, FiniteAgent)]
    if len(finite) < len(problem.model.kinds):
        return 0
    sizes = np.array([kind.probabilities.size for kind in finite], dtype=np.float64)
    histories = float(np.log(sizes[problem.model.assignment]).sum())
    return min(_MOST_LAW_ROUNDS, int(np.log(_MOST_HISTORIES) / max(histories, 1e-9)))


def _needed(analysis: Analysis) -> float:
    """The largest (variance per round)/(rate²): rounds times replicates for an error of 100 %."""
    network, model = analysis.problem.network, analysis.problem.model
    v = network.stationary_distribution
    reference = analysis.rate.reference
    needed = 0.0
    for theta in range(len(model.hypotheses)):
        rate = float(analysis.rate.rates[theta])
        if theta in reference or rate <= 0:
            continue
        variances = np.array([law.variance for law in model.log_ratio_laws(reference[0], theta)])
        needed = max(needed, float((v * v) @ variances[model.assignment]) / rate / rate)
    return min(needed, 1e15)


def _run_for_rates(analysis: Analysis, seed: int) -> Run:
    agents = analysis.problem.network.agents
    enough = (analysis.ladder or analysis.samples).chernoff.rounds or 200
    rounds = int(np.clip(enough, 60, 400))
    replicates = int(np.ceil(_needed(analysis) / _RELATIVE_ERROR**2 / rounds))
    affordable = max(_LEAST_REPLICATES, int(_MOST_RATE_DRAWS / (rounds * agents)))
    records = _records(analysis, 25)
    numbers = agents * len(analysis.problem.model.hypotheses) * records
    return Run(
        rounds=rounds,
        replicates=min(max(_FEWEST_REPLICATES, replicates), affordable),
        seed=seed,
        record=sorted({int(n) for n in np.linspace(1, rounds, records)}),
        paths=int(np.clip(_MOST_KEPT / numbers, 1, _PATHS)),
    )


def _run_for_failures(analysis: Analysis, seed: int) -> Run:
    agents = analysis.problem.network.agents
    affordable = int(_MOST_FAILURE_DRAWS / (agents * 100))
    replicates = int(np.clip(affordable, _LEAST_REPLICATES, _FAILURE_REPLICATES))
    most = max(100, int(_MOST_FAILURE_DRAWS / (agents * replicates)))
    named = [size.rounds for _, size in named_sizes(analysis) if size.rounds is not None]
    reachable = [n for n in named if n <= most]
    # If no size is within reach, as long a run as there is time for: it may still show when
    # failures become rare.
    rounds = max(reachable, default=most if named else min(most, 200))
    # Fine up to twice the smallest sufficient size, where the failures are; coarse beyond.
    dense = min(rounds, 2 * min(reachable, default=rounds))
    last = last_proved_wrong(analysis)
    record = (
        {round(n) for n in np.geomspace(1, dense, _records(analysis, 40))}
        | set(reachable)
        | ({last} if last is not None and last <= rounds else set())
        | {rounds, min(rounds, max(1, enumerable_rounds(analysis.problem)))}
    )
    return Run(rounds=rounds, replicates=replicates, seed=seed, record=sorted(record))


def _records(analysis: Analysis, most: int) -> int:
    """How many rounds to record: `most`, or fewer where each takes much memory."""
    problem = analysis.problem
    numbers = problem.network.agents * len(problem.model.hypotheses)
    return int(np.clip(_MOST_KEPT / numbers, 3, most))


# Statements -------------------------------------------------------------------------------------


def statements(result: Measurement) -> tuple[Comparison, ...]:
    """Every verdict on one problem."""
    failures = [
        *(_of_a_size(result, name, size) for name, size in named_sizes(result.analysis)),
        _of_the_lower_end(result),
    ]
    said = [statement for statement in failures if statement is not None]
    if result.analysis.messages is not None:
        return (*message_statements(result), *said)
    limit = _limit(result)
    return (*mean_statements(result), *limit, *said, *_law_statements(result))


def _limit(result: Measurement) -> list[Comparison]:
    """K, where the transient is known, and what all settle on, where something is claimed."""
    if not result.wrong:
        return []
    problem, rate = result.problem, result.analysis.rate
    n = int(result.rates.rounds[-1])
    names, binding = problem.model.hypotheses, result.wrong[0]
    transient = settling(problem, problem.network, rate.reference[0], binding) / n
    chosen = " or ".join(repr(names[m]) for m in rate.reference)
    bound = result.analysis.samples.probability(n)
    limit = within_transient(
        problem.name,
        f"learning rate K, bound by {names[binding]!r}",
        replace(result.rate(binding), predicted=rate.rate),
        transient,
    )
    settles = frequency(
        problem.name,
        f"after {n} rounds some agent has not settled on {chosen}",
        "at most",
        bound,
        failures=int(result.rates.errors[-1]),
        trials=result.rates.replicates,
        note="the smallest rigorous bound at this round",
    )
    return [limit] * bool(np.isfinite(transient)) + [settles] * (bound < 1)


def _of_a_size(result: Measurement, name: str, size: SampleSize) -> Comparison | None:
    """The probability of error at a sample size; where a printed one is proved, without a run."""
    samples, problem = result.analysis.ladder, result.problem.name
    if size.rounds is None or samples is None:
        return None
    measured = size_statement(result, name, size)
    if measured is not None:
        return measured
    bound = samples.probability(size.rounds)
    if size.is_theorem or bound > samples.delta:
        return None
    words = f"{bound:.1e}" if bound > 0 else "below 1e-300"
    return Comparison(
        problem=problem,
        statement=size_words(name, size, samples.delta),
        predicted=samples.delta,
        measured=None,
        standard_error=None,
        kind="bound",
        holds=None,
        is_theorem=False,
        note=f"{size.note}; not run: a proved bound there is {words}",
    )


def _of_the_lower_end(result: Measurement) -> Comparison | None:
    """The probability of error is above δ before the certified lower end."""
    samples, last = result.analysis.samples, last_proved_wrong(result.analysis)
    seen = counted(result, last)
    if seen is None:
        return None
    return frequency(
        result.problem.name,
        f"failures before the certified lower end, {last} rounds, above {samples.delta:g}",
        "at least",
        samples.delta,
        **seen,
        note=samples.certified.note,
    )


def _law_statements(result: Measurement) -> list[Comparison]:
    """The exact probability of an error in the first rounds of a small problem."""
    problem, rounds = result.problem, enumerable_rounds(result.problem)
    seen = counted(result, rounds)
    if seen is None or not result.wrong:
        return []
    law = error_law(problem.network, problem.model, rounds)
    low, high = float(law.some_lower[-1]), float(law.some_upper[-1])
    words, gap = f"some agent is wrong after {rounds} rounds, by enumeration", high - low
    if gap <= _ONE_NUMBER:
        told, slack = "every history gone through; ties count as errors", gap / 2
        return [frequency(problem.name, words, "is", low + slack, **seen, slack=slack, note=told)]
    told = f"every history gone through; ties within rounding, up to {gap:.4g}, go either way"
    most = [frequency(problem.name, words, "at most", high, **seen, note=told)] if high < 1 else []
    return [frequency(problem.name, words, "at least", low, **seen, note=told), *most]


# What moves when one parameter of a problem moves ------------------------------------------------


PARAMETER = "edge_confidence"


@dataclass(frozen=True, eq=False)
class Sweep(Shown):
    """Verifications of one problem that differ in the star's edge confidence alone."""

    name: str
    members: tuple[ProblemVerification, ...]  # by increasing edge confidence

    @property
    def confidences(self) -> list[float]:
        """The edge confidences a, increasing."""
        return [float(member.problem.parameters[PARAMETER]) for member in self.members]

    @property
    def centre_weights(self) -> list[float]:
        """v_1 of each member, as computed from its W."""
        return [float(m.problem.network.stationary_distribution[0]) for m in self.members]

    def comparisons(self) -> list[Comparison]:
        """The closed form of v_1, and the direction of every rate."""
        return [self._closed_form(), *self._directions()]

    def _closed_form(self) -> Comparison:
        size = self.members[0].problem.network.agents
        formula = np.array([size * a / (size * a + size - 1) for a in self.confidences])
        error = float(np.max(np.abs(np.array(self.centre_weights) / formula - 1)))
        return Comparison(
            problem=self.name,
            statement=f"v₁ = {size}a/({size}a + {size - 1}) for a in {_listed(self.confidences)}",
            predicted=0.0,
            measured=error,
            standard_error=None,
            kind="exact",
            # v is right to a few units in the last place per agent (GTH elimination).
            holds=error <= 4 * size * float(np.finfo(float).eps),
            note="largest relative difference of the computed v₁",
        )

    def _directions(self) -> list[Comparison]:
        """One statement per reference hypothesis, where the network settles on it twice or more."""
        names = self.members[0].problem.model.hypotheses
        groups: dict[tuple[int, ...], list[ProblemVerification]] = {}
        for member in self.members:
            groups.setdefault(member.measured.rates.reference, []).append(member)
        several = {reference: group for reference, group in groups.items() if len(group) > 1}
        statements = []
        for reference, group in several.items():
            where = f" while the network settles on {names[reference[0]]!r}"
            for m in sorted(group[0].measured.wrong):
                statement = self._direction(group, m, names[m], where if len(groups) > 1 else "")
                if statement is not None:
                    statements.append(statement)
        return statements

    def _direction(
        self, group: Sequence[ProblemVerification], m: int, name: str, where: str
    ) -> Comparison | None:
        limits = np.array([float(member.analysis.rate.rates[m]) for member in group])
        means = [member.measured.rate(m) for member in group]
        measured, errors, allowed = (
            np.array([getattr(mean, name) for mean in means])
            for name in ("measured", "standard_error", "allowed")
        )
        steps, measured_steps = np.diff(limits), np.diff(measured)
        step_errors = np.hypot(errors[1:], errors[:-1])
        if np.abs(steps).max() <= 1e-12 * np.abs(limits).max():
            return None  # does not depend on v_1, to rounding
        sign = 1.0 if steps.sum() > 0 else -1.0
        worst = int(np.argmin(sign * measured_steps / np.maximum(step_errors, 1e-300)))
        holds = (sign * steps > 0).all() and (
            sign * measured_steps > -(allowed[1:] + allowed[:-1])
        ).all()
        moves = "rises" if sign > 0 else "falls"
        return Comparison(
            problem=self.name,
            statement=f"rate of rejecting {name!r} {moves} with v₁{where}",
            predicted=float(steps[worst]),
            measured=float(measured_steps[worst]),
            standard_error=float(step_errors[worst]),
            kind="exact",
            holds=bool(holds),
            note=f"the least clear of {len(steps)} steps between neighbouring a",
        )

    def as_record(self) -> SweepDocument:
        """What the report needs."""
        names = self.members[0].problem.model.hypotheses
        return SweepDocument(
            name=self.name,
            edge_confidence=self.confidences,
            centre_weight=self.centre_weights,
            settled=[[names[m] for m in member.analysis.rate.reference] for member in self.members],
            exponent=numbers([member.analysis.exponent.exponent for member in self.members]),
            slowest=[_slowest(member) for member in self.members],
            rates=[self._series(name) for name in names],
            comparisons=self.comparisons(),
        )

    def _series(self, name: str) -> SweepSeries:
        """The rates of rejecting one hypothesis, where it is wrong."""
        points = [
            SweepPoint(
                edge_confidence=a, centre_weight=v, **rate.model_dump(exclude={"hypothesis"})
            )
            for a, v, member in zip(
                self.confidences, self.centre_weights, self.members, strict=True
            )
            for rate in member.rates
            if rate.hypothesis == name
        ]
        return SweepSeries(hypothesis=name, points=points)


def _slowest(member: ProblemVerification) -> SlowestDocument | None:
    """The binding hypothesis: its exact mean at the last round, and its measured rate."""
    slowest = member.rates[:1]
    return SlowestDocument(**slowest[0].model_dump(exclude={"limit"})) if slowest else None


def find_sweeps(verifications: Sequence[ProblemVerification]) -> list[Sweep]:
    """Group by family and all parameters but the edge confidence; groups of one are no sweep."""
    groups: dict[str, list[ProblemVerification]] = {}
    for verification in verifications:
        parameters = dict(verification.problem.parameters)
        if PARAMETER not in parameters:
            continue
        del parameters[PARAMETER]
        others = ", ".join(
            f"{key.replace('_', ' ')} {value}" for key, value in sorted(parameters.items())
        )
        name = f"{verification.problem.family} over a" + (f" ({others})" if others else "")
        groups.setdefault(name, []).append(verification)
    return [
        Sweep(name, tuple(sorted(group, key=lambda m: float(m.problem.parameters[PARAMETER]))))
        for name, group in groups.items()
        if len(group) > 1
    ]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
