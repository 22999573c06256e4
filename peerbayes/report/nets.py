"""Experiments with neural nets: over the rounds, over bytes, label by label, and a table of runs.

A `Series` is the mean over seeds of runs that are alike, of all agents or some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from peerbayes.experiments.experiment import mean_and_error
from peerbayes.experiments.net_lines import WHEN, has_before, label_confidence, last_of
from peerbayes.experiments.net_rows import RECIPE_TITLES, NetPart, NetRun, NetSettings, Point, When
from peerbayes.figures.chart import Plot, linear_scale, log_scale
from peerbayes.figures.training import (
    Course,
    Widths,
    confusion_plot,
    courses_plot,
    label_plot,
    sigma_plot,
)
from peerbayes.figures.views import Fact, Section, Table
from peerbayes.figures.wording import count, number
from peerbayes.nets.documents import codec_words
from peerbayes.report.experiments import experiment, net_fact
from theory.validation import FloatArray

Kind = tuple[str, str, str]
ROUNDS, STEPS, SENT = "round", "steps of each learner", "MB sent"
# What curves are drawn over: of one recorded round, where so many nets are trained.
_ALONG: Mapping[str, Callable[[Point, int], float]] = {
    ROUNDS: lambda point, _: float(point.round),
    STEPS: lambda point, learners: point.local_steps / learners,
    SENT: lambda point, _: point.bytes / 1e6,
}


@dataclass(frozen=True, eq=False)
class Series:
    """Runs that differ in their seed alone, and which agents are meant; empty: all of them."""

    name: str
    runs: Sequence[NetPart]
    agents: tuple[int, ...] = ()

    def course(
        self,
        along: str,
        main: tuple[When, str],
        other: tuple[When, str] | None = None,
        *,
        factor: float = 1,
    ) -> Course:
        """Measures over the rounds, or what is counted in their place.

        Each goes by when it was measured, relative to consensus, and by its name.
        """
        learners = self.runs[0].learners
        counted = self._mean(lambda point: _ALONG[along](point, learners))
        unknown = np.full(counted.shape, np.nan)
        ends = [unknown if one is None else self._measured(*one) for one in (main, other)]
        return Course(self.name, counted, *(factor * end for end in ends))

    def widths(self) -> Widths | None:
        """Quantiles of σ, averaged over all agents; None where there are no beliefs."""
        rows = []
        for run in self.runs:
            spread = [point.sigma for point in run.curve.points if point.sigma]
            if len(spread) < len(run.curve.points):
                return None
            rows.append([np.mean(np.array(one), axis=0) for one in spread])
        return Widths(
            self.name, self._mean(lambda point: point.round), np.asarray(np.mean(rows, axis=0))
        )

    @property
    def has_samples(self) -> bool:
        """Whether all predictions are sampled."""
        return all(run.curve.last.sampled is not None for run in self.runs)

    def _measured(self, when: When, measure: str) -> FloatArray:
        def value(point: Point) -> float:
            beliefs = point.at(when)
            values = None if beliefs is None else getattr(beliefs.way, measure)
            if values is None:
                return np.nan
            agents = [k for k in self.agents or range(len(values)) if k < len(values)]
            known = [found for k in agents if (found := values[k]) is not None]
            return float(np.mean(known)) if known else np.nan

        return self._mean(value)

    def _mean(self, value: Callable[[Point], float]) -> FloatArray:
        """The mean over seeds of something of each recorded round."""
        rows = [[value(point) for point in run.curve.points] for run in self.runs]
        return np.asarray(np.mean(rows, axis=0), dtype=float)


# The page ----------------------------------------------------------------------------------------

COLUMNS = (
    "seeds", "accuracy [%]", "± s.e.", "by mean weights", "before consensus", "NLL [nats]",
    "NLL before", "ECE", "OOD AUROC", "median σ, end / start", "rounds", "steps an agent",
    "MB sent", "seconds", "mark",
)  # fmt: skip

_ROLES = {
    "alone": "each alone",
    "central": "all data in one place",
    "own initialisation": "without a shared initialisation",
    "a batch a round": "a consensus after every batch",
    "10 batches a round": "a consensus after every ten batches",
    "averaging": "averaging of nets",
    "fedavg": "federated averaging",
}


def net_run_view(run: NetRun, *, key: str) -> Section:
    """Everything the page says of one row."""
    settings = run.settings
    runs = [run.content[name] for name in run.parts]
    kinds: dict[Kind, list[NetPart]] = {}
    for one in runs:
        kinds.setdefault((one.recipe, one.role, one.variant), []).append(one)
    plots: list[Plot | None] = []
    for recipe in dict.fromkeys(one.recipe for one in runs):
        plots += _recipe_plots(recipe, kinds, settings)
    together = [(recipe, own) for (recipe, role, name), own in kinds.items()
                if role == "cooperating" and name == settings.main]  # fmt: skip
    widths = [Series(recipe, own).widths() for recipe, own in together]
    plots.append(sigma_plot([one for one in widths if one is not None]))
    if settings.confusion and together:
        plots += _confusions(*together[-1], settings.groups)
    first = runs[0].network
    low, high = count(min(first.sizes)), count(max(first.sizes))
    facts = [
        Fact("Data", settings.dataset, "a tenth of it" if settings.quick else ""),
        Fact("Agents", count(first.agents)),
        net_fact(settings.hidden),
        Fact("Parts", count(len(runs)), f"seed {run.seed}"),
        Fact("Images an agent", low if low == high else f"{low} to {high}"),
    ]
    if settings.codec is not None:
        facts.append(Fact("Codec", codec_words(settings.codec), "whole frames are counted"))
    rows = ((_kind_name(*kind), _cells(own)) for kind, own in kinds.items())
    table = Table.of(f"What was run: {run.experiment}", "run", COLUMNS, rows)
    table = replace(table, names="agent")
    return experiment(run, facts, plots, key=key, tables=(table,))


def _kind_name(recipe: str, role: str, variant: str) -> str:
    what = variant if role == "cooperating" else _ROLES.get(role, role)
    return f"{recipe}: {what}" if what else recipe


def _recipe_plots(
    recipe: str, kinds: Mapping[Kind, Sequence[NetPart]], settings: NetSettings
) -> list[Plot | None]:
    """Over rounds: the variants, or the groups of agents where there is one network only."""
    own = {(role, name): runs for (one, role, name), runs in kinds.items() if one == recipe}
    variants = {name: runs for (role, name), runs in own.items() if role == "cooperating"}
    main = variants.get(settings.main)
    plots: list[Plot | None] = []
    if len(variants) > 1:
        plots.append(_accuracies(recipe, [Series(name, runs) for name, runs in variants.items()]))
    elif main:
        lone = own.get(("alone", settings.main))
        each = [Series(name, main, agents) for name, agents in settings.groups]
        beside = bool(lone) and main[0].network.agents <= 2
        if lone and beside:
            each += [Series(f"{name} alone", lone, agents) for name, agents in settings.groups]
        plots.append(_accuracies(recipe, each, STEPS if beside else ROUNDS))
    if main:
        sides = [Series(name, main, agents) for name, agents in settings.groups if agents]
        shown = sides or [Series("all agents", main)]
        plots += [_confidences(shown, when) for when in WHEN]
        plots += [
            label_plot(
                {when: label_confidence(main[0], agents, when) for when in WHEN},
                main[0].classes,
                main[0].network.labels[agents[0]],
                name=f"{name}, {recipe}",
            )
            for name, agents in settings.groups
            if agents and has_before(main)
            if len(main[0].network.labels[agents[0]]) < len(main[0].classes)
        ]
    compared = [
        Series(_kind_name("", role, name).removeprefix(": ") or "cooperating", runs)
        for (role, name), runs in own.items()
        if role != "cooperating" or name == settings.main
    ]
    if len(compared) > 1:
        plots.append(_losses(compared))
    sending = [one for one in compared if all(run.curve.points[0].bytes for run in one.runs)]
    return [*plots, *_traffic(sending)] if sending else plots


def _traffic(series: Sequence[Series]) -> Iterator[Plot]:
    """Accuracy, log-likelihood and calibration against what was sent, as far as they are known."""
    measures = {
        "accuracy": "accuracy", "NLL [nats]": "nll", "calibration error": "calibration_error"
    }  # fmt: skip
    for quantity, measure in measures.items():
        courses = [one.course(SENT, ("after", measure)) for one in series]
        if all(np.isfinite(one.main).any() for one in courses):
            last = ", ".join(
                f"{one.name} {number(one.main[-1], 3)} after {number(one.along[-1], 3)} MB"
                for one in courses[:5]
            )
            yield courses_plot(
                courses,
                title=f"Against bytes: {quantity}",
                finding="After consensus, over all that was sent on all links. At the end: "
                f"{last}.",
                quantity=quantity,
                along=SENT,
            )


def _accuracies(recipe: str, series: Sequence[Series], along: str = ROUNDS) -> Plot:
    """Over the rounds, or over the steps of each learner: learners alone have no rounds."""
    ends: tuple[tuple[When, str], ...] = ("after", "accuracy"), ("before", "accuracy")
    courses = [one.course(along, *ends, factor=100) for one in series]
    sampled = ", by sampled prediction" * all(one.has_samples for one in series)
    return courses_plot(
        courses,
        title=f"Accuracy over the rounds: {RECIPE_TITLES[recipe]}",
        finding=f"At the end: {_last(courses[:5], 4)}. Means over {who(series)} and seeds, on a "
        f"sample of the test images{sampled}.",
        quantity="accuracy [%]",
        along=along,
    )


def _losses(series: Sequence[Series]) -> Plot:
    courses = [one.course(STEPS, ("after", "nll"), ("before", "nll")) for one in series]
    values = np.concatenate([part for one in courses for part in (one.main, one.other)])
    return courses_plot(
        courses,
        log_scale(values),
        title="Negative log-likelihood against work",
        finding="Of the test labels, averaged over agents; lower is better. At the end: "
        f"{_last(courses[:6], 3)}.",
        quantity="−log p [nats]",
        along=STEPS,
    )


def _last(courses: Sequence[Course], digits: int) -> str:
    return ", ".join(f"{one.name} {number(one.main[-1], digits)}" for one in courses)


def _confidences(series: Sequence[Series], when: When) -> Plot | None:
    """In labels of an agent's own data, and in labels that only others have; None without these."""
    own, others = ((when, f"{where}_confidence") for where in ("in_domain", "out_of_domain"))
    courses = [one.course(ROUNDS, own, others) for one in series]
    shown = [one for one in courses if np.isfinite(one.other).any()]
    if not shown:
        return None
    last = ", ".join(
        f"{one.name} {number(one.main[-1], 3)} and {number(one.other[-1], 3)}" for one in shown[:4]
    )
    return courses_plot(
        shown,
        linear_scale([0.0, 1.0], zero=True),
        title=f"Confidence in the true label, {when} consensus",
        finding="Mean probability given to it, for labels that agents hold themselves (lines) and "
        f"labels that they only hear of (dashes). At the last round: {last}.",
        quantity="confidence",
        dashes="in labels only others have",
    )


def _confusions(
    recipe: str, runs: Sequence[NetPart], groups: Sequence[tuple[str, tuple[int, ...]]]
) -> list[Plot]:
    """Tables of confusion of the first seed's agents at the end."""
    run = runs[0]
    return [
        confusion_plot(
            confusion[agents[0]],
            run.classes,
            run.network.labels[agents[0]],
            name=f"{name}, {recipe}, {when} consensus",
        )
        for name, agents in groups
        for when in WHEN
        if agents and run.last(when) is not None
        if (confusion := last_of(run, when).confusion) is not None
    ]


def _cells(runs: Sequence[NetPart]) -> tuple[str, ...]:
    """One row of the table of runs."""
    ends = [run.curve.points[-1] for run in runs]
    last = [last_of(run) for run in runs]
    accuracy, error = mean_and_error([100 * _mean(one.accuracy) for one in last])
    by_mean = [run.curve.last.mean for run in runs]
    # Records of earlier versions were not measured there at the end: then the last look counts.
    seen = [run.curve.last_before or end.before for run, end in zip(runs, ends, strict=True)]
    earlier = [one.way for one in seen if one is not None]
    middle = [
        [row[len(row) // 2] / run.settings["initial_std"] for row in end.sigma]
        for run, end in zip(runs, ends, strict=True)
        if end.sigma
    ]
    return (
        count(len(runs)),
        number(accuracy, 4),
        number(error, 2),
        _over([None if one is None else one.accuracy for one in by_mean], 4, factor=100),
        _over([one.accuracy for one in earlier], 4, factor=100),
        _over([one.nll for one in last], 3),
        _over([one.nll for one in earlier], 3),
        _over([one.calibration_error for one in last], 2),
        _over([one.out_of_domain_auroc for one in last], 3),
        _over(middle, 2),
        count(runs[0].settings["rounds_run"]),
        count(ends[0].local_steps / runs[0].learners),
        _over([[end.bytes / 1e6] for end in ends], 3),
        _over([[run.curve.seconds] for run in runs], 3),
        ", ".join(sorted({run.code_mark for run in runs})),
    )


def _over(
    values: Sequence[Sequence[float | None] | None], digits: int, *, factor: float = 1
) -> str:
    """The mean over agents and seeds, of what there is."""
    means = [_mean(found) for found in values if found is not None]
    return number(factor * sum(means) / len(means) if means else None, digits)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def who(series: Sequence[Series]) -> str:
    """Whom the curves are of: over the rounds not everybody is looked at."""
    curves = [run.curve for one in series for run in one.runs]
    seen = min(len(curve.agents) for curve in curves)
    known = max(len(curve.last.way.accuracy) for curve in curves)
    return "agents" if seen == known else f"the first {seen} of {known} agents"
