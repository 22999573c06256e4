"""Experiments with neural nets: over the rounds, over bytes, label by label, and a table of runs.

A `Series` is the mean over seeds of runs that are alike, of all agents or some.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from peerbayes.experiments.experiment import mean_and_error
from peerbayes.experiments.net_documents import (
    WHEN,
    NetPart,
    NetRun,
    NetSettings,
    When,
    has_before,
    label_confidence,
    last_of,
)
from peerbayes.experiments.net_rows import RECIPE_TITLES
from peerbayes.figures.canvas import Plot
from peerbayes.figures.chart import linear_scale, log_scale
from peerbayes.figures.training import (
    Course,
    confusion_plot,
    courses_plot,
    label_plot,
    sigma_plot,
)
from peerbayes.figures.views import Fact, Section, Table
from peerbayes.figures.wording import count, number
from peerbayes.nets.tables import codec_words
from peerbayes.report.experiments import experiment, net_fact
from peerbayes.report.series import Kind, Measure, Series

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
        plots.append(_accuracies(recipe, each, by_steps=beside))
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
        plots.append(_losses([one.loss() for one in compared]))
    sending = [one for one in compared if all(run.curve.points[0].bytes for run in one.runs)]
    return [*plots, *_traffic(sending)] if sending else plots


def _traffic(series: Sequence[Series]) -> Iterator[Plot]:
    """Accuracy, log-likelihood and calibration against what was sent, as far as they are known."""
    measures: dict[str, Measure] = {
        "accuracy": lambda one: one.accuracy,
        "NLL [nats]": lambda one: one.nll,
        "calibration error": lambda one: one.calibration_error,
    }
    for quantity, measure in measures.items():
        courses = [one.against_bytes(measure) for one in series]
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
                along="MB sent",
            )


def _accuracies(recipe: str, series: Sequence[Series], *, by_steps: bool = False) -> Plot:
    """Over the rounds, or over the steps of each learner: learners alone have no rounds."""
    courses = [one.accuracy(by_steps=by_steps) for one in series]
    last = ", ".join(f"{one.name} {number(one.main[-1], 4)}" for one in courses[:5])
    sampled = ", by sampled prediction" * all(one.has_samples for one in series)
    return courses_plot(
        courses,
        title=f"Accuracy over the rounds: {RECIPE_TITLES[recipe]}",
        finding=f"At the end: {last}. Means over {who(series)} and seeds, on a sample of the test "
        f"images{sampled}.",
        quantity="accuracy [%]",
        along="steps of each learner" if by_steps else "round",
    )


def _losses(courses: Sequence[Course]) -> Plot:
    last = ", ".join(f"{one.name} {number(one.main[-1], 3)}" for one in courses[:6])
    values = np.concatenate([part for one in courses for part in (one.main, one.other)])
    return courses_plot(
        courses,
        log_scale(values),
        title="Negative log-likelihood against work",
        finding=f"Of the test labels, averaged over agents; lower is better. At the end: {last}.",
        quantity="−log p [nats]",
        along="steps of each learner",
    )


def _confidences(series: Sequence[Series], when: When) -> Plot | None:
    """In labels of an agent's own data, and in labels that only others have; None without these."""
    shown = [c for c in (one.confidence(when) for one in series) if np.isfinite(c.other).any()]
    last = ", ".join(
        f"{one.name} {number(one.main[-1], 3)} and {number(one.other[-1], 3)}" for one in shown[:4]
    )
    if not shown:
        return None
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
