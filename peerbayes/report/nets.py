"""What the page says of an experiment with neural nets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from peerbayes.experiments.net_measures import (
    WHEN,
    both_of,
    has_before,
    label_confidence,
    last_of,
    mean_and_error,
    way_of,
)
from peerbayes.experiments.net_recipes import RECIPE_TITLES
from peerbayes.figures.canvas import Plot
from peerbayes.figures.trained import (
    Run,
    Series,
    accuracy_plot,
    confidence_plot,
    confusion_plot,
    label_plot,
    loss_plot,
    sigma_plot,
)
from peerbayes.figures.views import Fact, picture
from peerbayes.figures.wording import DASH, count, number
from peerbayes.report.run_view import RunView, line_row

COLUMNS = (
    "seeds", "accuracy [%]", "± s.e.", "by mean weights", "before consensus", "NLL [nats]",
    "NLL before", "ECE", "OOD AUROC", "median σ, end / start", "rounds", "steps an agent",
    "MB sent", "seconds", "build",
)  # fmt: skip

_ROLES = {
    "alone": "each alone",
    "central": "all data in one place",
    "averaging": "averaging of nets",
    "fedavg": "federated averaging",
}


def net_run_view(body: Mapping[str, Any], *, key: str) -> RunView:
    """Everything the page says of one row."""
    settings = body["settings"]
    runs: list[Run] = [body["content"][name] for name in body["parts"]]
    kinds = _kinds(runs)
    groups = [(str(name), tuple(agents)) for name, agents in settings["groups"]]
    plots: list[Plot | None] = []
    for recipe in dict.fromkeys(run["recipe"] for run in runs):
        plots += _recipe_plots(recipe, kinds, groups, settings)
    together = [(recipe, own) for (recipe, role, name), own in kinds.items()
                if role == "cooperating" and name == settings["main"]]  # fmt: skip
    plots.append(sigma_plot([(recipe, own, ()) for recipe, own in together]))
    if settings["confusion"] and together:
        plots += _confusions(*together[-1], groups)
    first = runs[0]
    facts = [
        Fact("Source", body["source"]),
        Fact("Data", settings["dataset"], "a tenth of it" if settings["quick"] else ""),
        Fact("Agents", count(first["network"]["agents"])),
        Fact("Net", "–".join(map(str, settings["hidden"])), "units of the hidden layers"),
        Fact("Parts", count(len(runs)), f"seed {body['seed']}"),
        Fact("Images an agent", _range(first["network"]["sizes"])),
    ]
    return RunView(
        key=key,
        name=body["experiment"],
        title=body["title"],
        source=body["source"],
        facts=tuple(facts),
        lines=tuple(line_row(line) for line in body["lines"]),
        pictures=tuple(
            picture(plot, f"{key}-{index}") for index, plot in enumerate(plots) if plot is not None
        ),
        columns=COLUMNS,
        rows=tuple((_kind_name(*kind), _cells(own)) for kind, own in kinds.items()),
    )


Kind = tuple[str, str, str]


def _kinds(runs: Sequence[Run]) -> dict[Kind, list[Run]]:
    """Runs that differ in their seed alone."""
    kinds: dict[Kind, list[Run]] = {}
    for run in runs:
        kinds.setdefault((run["recipe"], run["role"], run["variant"]), []).append(run)
    return kinds


def _kind_name(recipe: str, role: str, variant: str) -> str:
    what = variant if role == "cooperating" else _ROLES.get(role, role)
    return f"{recipe}: {what}" if what else recipe


def _recipe_plots(
    recipe: str,
    kinds: Mapping[Kind, Sequence[Run]],
    groups: Sequence[tuple[str, tuple[int, ...]]],
    settings: Mapping[str, Any],
) -> list[Plot | None]:
    """Over rounds: the variants, or the groups of agents where there is one network only."""
    own = {(role, name): runs for (one, role, name), runs in kinds.items() if one == recipe}
    variants = {name: runs for (role, name), runs in own.items() if role == "cooperating"}
    main = variants.get(settings["main"])
    title = f"Accuracy over the rounds: {RECIPE_TITLES[recipe]}"
    plots: list[Plot | None] = []
    if len(variants) > 1:
        over: list[Series] = [(name, runs, ()) for name, runs in variants.items()]
        plots.append(accuracy_plot(over, title=title))
    elif main:
        lone = own.get(("alone", settings["main"]))
        each: list[Series] = [(name, main, agents) for name, agents in groups]
        beside = bool(lone) and main[0]["network"]["agents"] <= 2
        if lone and beside:
            each += [(f"{name} alone", lone, agents) for name, agents in groups]
        plots.append(accuracy_plot(each, title=title, by_steps=beside))
    if main:
        sides: list[Series] = [(name, main, agents) for name, agents in groups if agents]
        shown = sides or [("all agents", main, ())]
        plots += [confidence_plot(shown, when=when) for when in WHEN]
        plots += [
            label_plot(
                {when: label_confidence(main[0], agents, when) for when in WHEN},
                main[0]["classes"],
                main[0]["network"]["labels"][agents[0]],
                name=f"{name}, {recipe}",
            )
            for name, agents in groups
            if agents and has_before(main) and _lacks_labels(main[0], agents)
        ]
    compared: list[Series] = [
        (_kind_name("", role, name).removeprefix(": ") or "cooperating", runs, ())
        for (role, name), runs in own.items()
        if role != "cooperating" or name == settings["main"]
    ]
    if len(compared) > 1:
        plots.append(loss_plot(compared))
    return plots


def _lacks_labels(run: Run, agents: Sequence[int]) -> bool:
    return len(run["network"]["labels"][agents[0]]) < len(run["classes"])


def _confusions(
    recipe: str, runs: Sequence[Run], groups: Sequence[tuple[str, tuple[int, ...]]]
) -> list[Plot]:
    """Of the first seed's agents at the end."""
    run = runs[0]
    return [
        confusion_plot(
            last_of(run, when)["confusion"][agents[0]],
            run["classes"],
            run["network"]["labels"][agents[0]],
            name=f"{name}, {recipe}, {when} consensus",
        )
        for name, agents in groups
        for when in WHEN
        if agents and both_of(run, when) is not None
    ]


def _cells(runs: Sequence[Run]) -> tuple[str, ...]:
    """One row of the table of runs."""
    curve = runs[0]["curve"]
    end = curve["points"][-1]
    accuracy, error = mean_and_error([100 * _mean(last_of(run)["accuracy"]) for run in runs])
    settings = runs[0]["settings"]
    learners = 1 if runs[0]["role"] == "central" else runs[0]["network"]["agents"]

    def over(name: str) -> float | None:
        return _over(runs, lambda run: last_of(run).get(name))

    before = [both_of(run, "before") for run in runs]
    # Records of earlier versions were not measured there at the end: then the last look counts.
    earlier = (
        [
            way_of(m or run["curve"]["points"][-1]["before"])
            for m, run in zip(before, runs, strict=True)
        ]
        if end["before"]
        else None
    )
    sigma = [
        _median(run["curve"]["points"][-1]["sigma"]) / run["settings"]["initial_std"]
        for run in runs
        if run["curve"]["points"][-1]["sigma"]
    ]
    return (
        count(len(runs)),
        number(accuracy, 4),
        number(error, 2),
        number(100 * _known(_over(runs, lambda run: run["curve"]["last"]["mean"]["accuracy"])), 4),
        DASH if earlier is None else number(
            100 * mean_and_error([_mean(one["accuracy"]) for one in earlier])[0], 4
        ),
        number(over("nll"), 3),
        DASH if earlier is None else number(
            mean_and_error([_mean(one["nll"]) for one in earlier])[0], 3
        ),
        number(over("calibration_error"), 2),
        number(over("out_of_domain_auroc"), 3),
        number(sum(sigma) / len(sigma), 2) if sigma else DASH,
        count(settings["rounds_run"]),
        count(end["local_steps"] / learners),
        number(_over(runs, lambda run: [run["curve"]["points"][-1]["bytes"] / 1e6]), 3),
        number(_over(runs, lambda run: [run["curve"]["seconds"]]), 3),
        ", ".join(sorted({run.get("build", "unknown") for run in runs})),
    )  # fmt: skip


def _over(runs: Sequence[Run], values: Callable[[Run], Any]) -> float | None:
    """The mean over agents and seeds, of what there is."""
    means = [_mean(found) for found in map(values, runs) if found is not None]
    return sum(means) / len(means) if means else None


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
