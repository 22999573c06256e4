"""What the page says of an experiment with neural nets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from peerbayes.experiments.net_documents import NetPart, NetRun, NetSettings
from peerbayes.experiments.net_measures import (
    WHEN,
    has_before,
    label_confidence,
    last_of,
    mean_and_error,
)
from peerbayes.experiments.net_recipes import RECIPE_TITLES
from peerbayes.figures.canvas import Plot
from peerbayes.figures.trained import (
    accuracy_plot,
    confidence_plot,
    confusion_plot,
    label_plot,
    loss_plot,
    sigma_plot,
    traffic_plot,
)
from peerbayes.figures.views import Fact
from peerbayes.figures.wording import DASH, count, number
from peerbayes.nets.tables import codec_words
from peerbayes.report.net_courses import Measure, Series, who
from peerbayes.report.run_view import RunView

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


def net_run_view(run: NetRun, *, key: str) -> RunView:
    """Everything the page says of one row."""
    settings = run.settings
    runs = [run.content[name] for name in run.parts]
    kinds = _kinds(runs)
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
    facts = [
        Fact("Data", settings.dataset, "a tenth of it" if settings.quick else ""),
        Fact("Agents", count(first.agents)),
        Fact("Net", "–".join(map(str, settings.hidden)), "units of the hidden layers"),
        Fact("Parts", count(len(runs)), f"seed {run.seed}"),
        Fact("Images an agent", _range(first.sizes)),
    ]
    if settings.codec is not None:
        facts.append(Fact("Codec", codec_words(settings.codec), "whole frames are counted"))
    return RunView.of(
        run,
        facts,
        [plot for plot in plots if plot is not None],
        key=key,
        columns=COLUMNS,
        rows=tuple((_kind_name(*kind), _cells(own)) for kind, own in kinds.items()),
    )


Kind = tuple[str, str, str]


def _kinds(runs: Sequence[NetPart]) -> dict[Kind, list[NetPart]]:
    """Runs that differ in their seed alone."""
    kinds: dict[Kind, list[NetPart]] = {}
    for run in runs:
        kinds.setdefault((run.recipe, run.role, run.variant), []).append(run)
    return kinds


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
        plots += [confidence_plot([one.confidence(when) for one in shown], when=when)
                  for when in WHEN]  # fmt: skip
        plots += [
            label_plot(
                {when: label_confidence(main[0], agents, when) for when in WHEN},
                main[0].classes,
                main[0].network.labels[agents[0]],
                name=f"{name}, {recipe}",
            )
            for name, agents in settings.groups
            if agents and has_before(main) and _lacks_labels(main[0], agents)
        ]
    compared = [
        Series(_kind_name("", role, name).removeprefix(": ") or "cooperating", runs)
        for (role, name), runs in own.items()
        if role != "cooperating" or name == settings.main
    ]
    if len(compared) > 1:
        plots.append(loss_plot([one.loss() for one in compared]))
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
        if all(np.isfinite(one.after).any() for one in courses):
            yield traffic_plot(courses, quantity=quantity)


def _accuracies(recipe: str, series: Sequence[Series], *, by_steps: bool = False) -> Plot:
    return accuracy_plot(
        [one.accuracy(by_steps=by_steps) for one in series],
        title=f"Accuracy over the rounds: {RECIPE_TITLES[recipe]}",
        who=who(series),
        sampled=all(one.has_samples for one in series),
        by_steps=by_steps,
    )


def _lacks_labels(run: NetPart, agents: Sequence[int]) -> bool:
    return len(run.network.labels[agents[0]]) < len(run.classes)


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
    sigma = [
        _median(end.sigma) / run.settings["initial_std"]
        for run, end in zip(runs, ends, strict=True)
        if end.sigma
    ]
    return (
        count(len(runs)),
        number(accuracy, 4),
        number(error, 2),
        number(100 * _known(_over([None if one is None else one.accuracy for one in by_mean])), 4),
        _number(_over([one.accuracy for one in earlier]), 4, factor=100),
        number(_over([one.nll for one in last]), 3),
        _number(_over([one.nll for one in earlier]), 3),
        number(_over([one.calibration_error for one in last]), 2),
        number(_over([one.out_of_domain_auroc for one in last]), 3),
        number(sum(sigma) / len(sigma), 2) if sigma else DASH,
        count(runs[0].settings["rounds_run"]),
        count(ends[0].local_steps / runs[0].learners),
        number(_over([[end.bytes / 1e6] for end in ends]), 3),
        number(_over([[run.curve.seconds] for run in runs]), 3),
        ", ".join(sorted({run.code_mark for run in runs})),
    )


def _over(values: Sequence[Sequence[float | None] | None]) -> float | None:
    """The mean over agents and seeds, of what there is."""
    means = [_mean(found) for found in values if found is not None]
    return sum(means) / len(means) if means else None


def _number(value: float | None, digits: int, *, factor: float = 1.0) -> str:
    return DASH if value is None else number(factor * value, digits)


def _known(value: float | None) -> float:
    return float("nan") if value is None else value


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def _median(spread: Sequence[Sequence[float]]) -> float:
    middle = len(spread[0]) // 2
    return sum(row[middle] for row in spread) / len(spread)


def _range(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return count(low) if low == high else f"{count(low)} to {count(high)}"
