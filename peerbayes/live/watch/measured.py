r"""From reports to numbers: who was heard, how late, how fast beliefs move, and what was predicted.

Between two reports of agent i lie so many poolings, in which the belief of agent j got the mean
weight :math:`W_{ij}`, and the mean of weight times seconds was :math:`w_{ij}`: the age of j's
message when i made its own of that round, plus the time between it and j's message before. With
v = vW and :math:`I_j(\theta)` the mean evidence of one round of agent j, log-ratios grow by

.. math:: g(\theta) = \sum_j v_j I_j(\theta) \Big/ \sum_{ij} v_i w_{ij}

nats a second, as :mod:`theory.changing.rhythms` proves. An offset between the clocks of two
machines enters the sum as :math:`\sum_{ij} v_i W_{ij}(o_i - o_j) = 0`; where the times of reports
show one of more than .05 seconds, it is taken out of each wait all the same.

Given the rhythms, one observation of agent j counts :math:`v_j \tau_j / \sum v w` in the end,
:math:`\tau_j` being its mean seconds a round. So the variance of
:math:`\sum_i v_i \log(b_i(\theta^*)/b_i(\theta))` grows by
:math:`\sum_j v_j^2 \tau_j \mathrm{Var} z_j / (\sum v w)^2` a second: the standard error of a
measured rate. That of beliefs alone, without a model, is taken from disjoint blocks of time.

Every number is an estimate, from finitely many reports in floating point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from peerbayes.live.watch.quantities import binding_of
from peerbayes.live.watch.reports import Course
from theory import FiniteModel
from theory.changing import Rhythm, rhythm_rate
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only

# Weight that went to agents that are not there, as a share, from the moments around a change.
_LEFT_OVER = 0.02
# Blocks of time: fewer say too little of a variance, more are too short.
_FEWEST_BLOCKS, _MOST_BLOCKS = 5, 20
# Seconds. Clocks that differ by less are taken for the same: reports may take as long to come.
_SAME_TIME = 0.05


@dataclass(frozen=True, eq=False)
class Rate(Shown):
    """How fast agents reject one hypothesis, in nats a second.

    Attributes
    ----------
    hypothesis, name
        Its number, and what it is called.
    predicted
        From weights, waits and the model; None where theory says nothing.
    measured
        Slope of Σ v_i log(b_i(reference)/b_i(hypothesis)); None with too few reports.
    standard_error
        Of `measured`, from the model and the rhythms; from blocks of time where there is no model.
    blocks_error
        The standard error that the beliefs themselves show, from disjoint blocks of time.
    """

    hypothesis: int
    name: str
    predicted: float | None
    measured: float | None
    standard_error: float | None
    blocks_error: float | None


@dataclass(frozen=True, eq=False)
class Measured(Shown):
    """What a stretch of time says of N agents.

    Attributes
    ----------
    agents
        Their numbers, in order: those with poolings between two reports.
    seconds
        Length of the time that all their reports cover.
    rhythm
        Shape (N,): mean seconds between poolings; NaN for other agents.
    weights
        Shape (N, N): mean weight of agent j in the poolings of agent i; NaN in rows of others.
    waits
        Shape (N, N): mean of weight times (age + gap), in seconds.
    used
        Shape (N, N): share of agent i's poolings that used a message of agent j.
    late
        Shape (N, N): mean rounds late.
    influence
        Shape (N,): v = vW, 0 for agents that are not there; None where weights leave it open.
    slowness
        Shape (N,): the share of a round of the network that is spent in waiting for each agent,
        itself included; None without v.
    round_seconds
        Σ v_i w_ij, the seconds that a round of the network takes; None without v.
    reference
        The hypothesis with which others are compared; None if there are no beliefs over any.
    rates
        Hypothesis by hypothesis but for the reference.
    notes
        Why something is not known.
    """

    agents: IntArray
    seconds: float
    rhythm: FloatArray
    weights: FloatArray
    waits: FloatArray
    used: FloatArray
    late: FloatArray
    influence: FloatArray | None
    slowness: FloatArray | None
    round_seconds: float | None
    reference: int | None
    rates: tuple[Rate, ...]
    notes: tuple[str, ...]

    @property
    def binding(self) -> Rate | None:
        """The rate that decides: the smallest predicted one, or the smallest measured."""
        rate: Rate | None = binding_of(self.rates)
        return rate


def measure(
    names: Sequence[str],
    courses: Mapping[str, Course],
    model: FiniteModel | None = None,
    hypotheses: Sequence[str] = (),
) -> Measured:
    """Weights, waits, rhythms and rates of a stretch of time.

    Parameters
    ----------
    names
        All agents' names, in the order of their numbers.
    courses
        What those reported that are present; names that are not listed are left out.
    model
        What the agents' evidence is like, agent by agent; without it nothing is predicted, nor
        where agents are present that it does not describe.
    hypotheses
        What they are called; left out: as in the model, or by their numbers.
    """
    notes: list[str] = []
    known = [i for i, name in enumerate(names) if name in courses and courses[name].poolings > 0]
    tables = means(names, courses, known)
    silent = [name for name in courses if name in names and courses[name].poolings <= 0]
    if silent:
        notes.append(f"no poolings between two reports yet: {', '.join(silent[:6])}")
    window = _window([courses[names[i]] for i in known])
    pace = None if silent or not known else _pace(tables, known, notes)
    influence, slowness = _among(pace, known, len(names))
    round_seconds = None if pace is None else pace.seconds
    settings = _Known(names, courses, known, influence, round_seconds, tables["rhythm"], window)
    called = hypotheses or (() if model is None else model.hypotheses)
    if model is not None and known and known[-1] >= model.agents:
        notes.append("there are agents whose evidence the problem does not describe")
        model = None
    reference = _reference(settings, model)
    return Measured(
        agents=read_only(np.array(known, dtype=np.int64)),
        seconds=window[1] - window[0],
        influence=influence,
        slowness=slowness,
        round_seconds=round_seconds,
        reference=reference,
        rates=() if reference is None else _rates(settings, model, reference, called),
        notes=tuple(notes),
        **{name: read_only(table) for name, table in tables.items()},
    )


# Means over poolings ----------------------------------------------------------------------------


def means(
    names: Sequence[str], courses: Mapping[str, Course], known: Sequence[int]
) -> dict[str, FloatArray]:
    """Weights, waits, shares used and rounds late, by hearer and heard, and the rhythm of each.

    Shapes (N, N) and (N,), in seconds; NaN for agents that are not in `known`.
    """
    number = {name: i for i, name in enumerate(names)}
    size = len(names)
    sums = {"weights": "weight", "waits": "wait", "used": "used", "late": "rounds_late"}
    tables = {key: np.full((size, size), np.nan) for key in sums}
    rhythm = np.full(size, np.nan)
    for i in known:
        course = courses[names[i]]
        first, last, poolings = course.first, course.last, course.poolings
        rhythm[i] = (course.ended - course.began) / poolings
        for table in tables.values():
            table[i] = 0.0
        tables["weights"][i, i] = (last.own.weight - first.own.weight) / poolings
        tables["waits"][i, i] = (last.own.wait - first.own.wait) / poolings
        tables["used"][i, i] = 1.0
        for name, link in last.links.items():
            j, before = number.get(name), first.links.get(name)
            if j is None or j == i:
                continue
            for key, sum_of in sums.items():
                since = getattr(link, sum_of) - (getattr(before, sum_of) if before else 0)
                tables[key][i, j] = since / poolings
    _set_clocks(names, courses, known, tables)
    return {"rhythm": rhythm, **tables}


def _set_clocks(
    names: Sequence[str],
    courses: Mapping[str, Course],
    known: Sequence[int],
    tables: Mapping[str, FloatArray],
) -> None:
    """Take the difference of two clocks out of ages, where it is plainly there.

    It cancels in the rate, but not in what is said of single links and agents.
    """
    mine = [courses[names[i]] for i in known]
    ahead = np.array([(c.first.time - c.began + c.last.time - c.ended) / 2 for c in mine])
    for place, i in enumerate(known):
        apart = ahead[place] - ahead
        apart[abs(apart) < _SAME_TIME] = 0.0
        tables["waits"][i, known] -= tables["weights"][i, known] * apart


# Rates ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    """What rates are computed from."""

    names: Sequence[str]
    courses: Mapping[str, Course]
    agents: list[int]
    influence: FloatArray | None
    round_seconds: float | None
    rhythm: FloatArray
    window: tuple[float, float]


def _window(courses: Sequence[Course]) -> tuple[float, float]:
    """The time that the reports of all agents cover."""
    if not courses:
        return (0.0, 0.0)
    began = max(course.began for course in courses)
    return (began, max(began, min(course.ended for course in courses)))


def _pace(
    tables: Mapping[str, FloatArray], known: Sequence[int], notes: list[str]
) -> Rhythm | None:
    """What mean weights and waits of those that are there say; None, with a note, where open."""
    inside = np.ix_(known, known)
    rows = tables["weights"][inside]
    sums = rows.sum(axis=1)
    if (abs(sums - 1) > _LEFT_OVER).any():
        notes.append("weight went to agents that are not there: their evidence is not counted")
        return None
    waits = np.divide(tables["waits"][inside], rows, out=np.zeros_like(rows), where=rows > 0)
    try:
        return rhythm_rate(rows / sums[:, None], waits)
    except ValueError as error:
        notes.append(f"no common rate: {error}")
        return None


def _among(
    pace: Rhythm | None, known: Sequence[int], agents: int
) -> tuple[FloatArray | None, FloatArray | None]:
    """Influence and slowness of all agents: 0 for those that are not there."""
    if pace is None:
        return None, None
    influence, slowness = np.zeros(agents), np.zeros(agents)
    influence[known], slowness[known] = pace.stationary, pace.slowness
    return read_only(influence), read_only(slowness)


def _reference(known: _Known, model: FiniteModel | None) -> int | None:
    """What the network settles on: by the model, or by its beliefs now."""
    if not any(len(known.courses[known.names[i]].beliefs[0]) for i in known.agents):
        return None
    if model is not None:
        if known.influence is None:
            return model.optimal_hypotheses[0] if model.optimal_hypotheses else None
        return int(model.reference_hypotheses(known.influence[: model.agents])[0])
    last = [known.courses[known.names[i]].beliefs[1] for i in known.agents]
    shapes = {beliefs.shape[1:] for beliefs in last}
    if len(shapes) != 1:
        return None
    return int(np.argmax(sum(beliefs[-1] for beliefs in last)))


def _rates(
    known: _Known, model: FiniteModel | None, reference: int, called: Sequence[str]
) -> tuple[Rate, ...]:
    slopes, blocks = _slopes(known, reference)
    count = len(model.hypotheses) if model is not None else len(slopes)
    predicted, errors = _predicted(known, model, reference, count)
    nothing = np.full(count, np.nan)
    measured = slopes if len(slopes) == count else nothing
    of_blocks = blocks if len(blocks) == count else nothing
    errors = np.where(np.isfinite(errors), errors, of_blocks)
    numbers = np.stack([predicted, measured, errors, of_blocks], axis=1).tolist()
    return tuple(
        Rate(
            theta,
            called[theta] if theta < len(called) else str(theta),
            *(one if np.isfinite(one) else None for one in numbers[theta]),
        )
        for theta in range(count)
        if theta != reference
    )


def _predicted(
    known: _Known, model: FiniteModel | None, reference: int, count: int
) -> tuple[FloatArray, FloatArray]:
    """Nats a second, and the standard error of what is measured; NaN where nothing is known."""
    rates, errors = np.full(count, np.nan), np.full(count, np.nan)
    if model is None or known.influence is None or known.round_seconds is None:
        return rates, errors
    v, round_seconds = known.influence[: model.agents], known.round_seconds
    rates = v @ model.information(reference) / round_seconds
    seconds = known.window[1] - known.window[0]
    if seconds > 0:
        tau = np.nan_to_num(known.rhythm[: model.agents])
        for theta in range(count):
            laws = model.log_ratio_laws(reference, theta)
            variances = np.array([laws[kind].variance for kind in model.assignment])
            growth = float(v**2 * tau @ variances) / round_seconds**2
            errors[theta] = np.sqrt(growth / seconds)
    return rates, errors


def _slopes(known: _Known, reference: int) -> tuple[FloatArray, FloatArray]:
    """Nats a second by hypothesis, and their errors from blocks of time; empty where unknown."""
    nothing = np.zeros(0)
    courses = [known.courses[known.names[i]] for i in known.agents]
    began, ended = known.window
    fewest = min((course.reports for course in courses), default=0)
    if fewest < 2 or ended <= began:
        return nothing, nothing
    series = [course.beliefs for course in courses]
    if len({beliefs.shape[1:] for _, beliefs in series}) != 1 or not len(series[0][0]):
        return nothing, nothing
    shares = np.full(len(courses), 1 / len(courses))
    if known.influence is not None:
        shares = known.influence[known.agents]
    count = max(1, min(_MOST_BLOCKS, (min(len(times) for times, _ in series) - 1) // 2))
    grid = np.linspace(began, ended, count + 1)
    mean = np.zeros((count + 1, series[0][1].shape[1]))
    for share, (times, beliefs) in zip(shares, series, strict=True):
        ratios = beliefs[:, [reference]] - beliefs
        for theta in range(mean.shape[1]):
            mean[:, theta] += share * np.interp(grid, times, ratios[:, theta])
    steps = np.diff(mean, axis=0)
    errors = np.full(mean.shape[1], np.nan)
    if count >= _FEWEST_BLOCKS:
        errors = np.sqrt(count * steps.var(axis=0, ddof=1)) / (ended - began)
    return (mean[-1] - mean[0]) / (ended - began), errors
