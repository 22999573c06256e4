"""What the parts of an experiment with neural nets say together: one line a printed number.

Accuracies are means over seeds, in per cent of the test images, by sampled prediction where there
are beliefs to sample from. Theory says nothing of accuracies; it orders them. What it orders is
laid beside what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import Any

from peerbayes.comparison import STANDARD_ERRORS
from peerbayes.experiments.experiment import Line
from peerbayes.experiments.net_rows import Row

Content = Mapping[str, Any]
Groups = Sequence[tuple[str, tuple[int, ...]]]


def net_lines(row: Row, parts: Mapping[str, Content]) -> tuple[Line, ...]:
    """All lines of a row, from the parts that are there."""
    runs = list(parts.values())
    lines: list[Line] = []
    for recipe in dict.fromkeys(run["recipe"] for run in runs):
        own = [run for run in runs if run["recipe"] == recipe]
        for variant in row.variants:
            together = _of(own, "cooperating", variant.name)
            if together:
                head = " ".join(word for word in (recipe, variant.name) if word)
                lines += _accuracies(head, together, row.groups, variant.printed)
        lines += _baselines(row, recipe, own)
        lines += _differences(row, recipe, own)
        if row.order == "v":
            lines += _order_over_influence(row, recipe, own)
        if row.order == "placement":
            lines += _order_of_placements(row, recipe, own)
        if row.forecast:
            lines += _least_sure(row, recipe, own)
    return tuple(lines)


def last_of(run: Content) -> Content:
    """A run's final measurements, by sampled prediction if there is one."""
    last: Content = run["curve"]["last"]
    found: Content = last.get("sampled") or last["mean"]
    return found


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean over seeds and its standard error; None for a single one.

    Examples
    --------
    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, sqrt(variance / n)


def _of(runs: Sequence[Content], role: str, variant: str) -> list[Content]:
    return [run for run in runs if run["role"] == role and run["variant"] == variant]


def _line(
    what: str,
    values: Sequence[float],
    *,
    printed: str = "",
    predicted: float | None = None,
    holds: bool | None = None,
    remark: str = "",
) -> Line:
    mean, error = mean_and_error(values)
    return Line(what, printed, mean, error, predicted, holds, remark)


def _accuracies(
    head: str, runs: Sequence[Content], groups: Groups, printed: Mapping[str, str]
) -> list[Line]:
    """One line a group of agents."""
    return [
        _line(
            f"accuracy [%], {head}, {name}",
            [_group_mean(last_of(run)["accuracy"], agents) for run in runs],
            printed=printed.get(name, ""),
            remark=_remark(runs, agents),
        )
        for name, agents in groups
    ]


def _group_mean(values: Sequence[float], agents: Sequence[int]) -> float:
    chosen = [values[agent] for agent in agents] if agents else list(values)
    return 100 * sum(chosen) / len(chosen)


def _remark(runs: Sequence[Content], agents: tuple[int, ...]) -> str:
    """The other ways to predict, and how good the probabilities are."""
    first = runs[0]["curve"]

    def over_runs(measure: Callable[[Content], float]) -> float:
        return mean_and_error([measure(run) for run in runs])[0]

    words = []
    if "sampled" in first["last"]:
        mean = over_runs(lambda run: _group_mean(run["curve"]["last"]["mean"]["accuracy"], agents))
        words.append(f"mean weights {mean:.2f}")
    for name, label in (("nll", "NLL"), ("calibration_error", "ECE")):
        found = over_runs(lambda run, name=name: _group_mean(last_of(run)[name], agents) / 100)  # type: ignore[misc]
        words.append(f"{label} {found:.3f}")
    # How well predictive entropy tells images of another kind, and labels an agent never had.
    for name, label in (
        ("other_data_auroc", "other data"),
        ("out_of_domain_auroc", "labels not its own"),
    ):
        if all(_has(last_of(run).get(name), agents) for run in runs):
            found = over_runs(lambda run, name=name: _group_mean(last_of(run)[name], agents) / 100)  # type: ignore[misc]
            words.append(f"AUROC of {label} {found:.3f}")
    shortened = runs[0]["settings"]["rounds_run"] < runs[0]["settings"]["rounds"]
    if shortened:
        settings = runs[0]["settings"]
        words.append(f"{settings['rounds_run']} of {settings['rounds']} rounds")
    return ", ".join(words)


def _has(values: Sequence[float | None] | None, agents: Sequence[int]) -> bool:
    """Whether there is a number for each of these agents."""
    if values is None:
        return False
    return all(values[agent] is not None for agent in agents or range(len(values)))


def _baselines(row: Row, recipe: str, runs: Sequence[Content]) -> list[Line]:
    """What the network is compared with."""
    lines: list[Line] = []
    alone = _of(runs, "alone", row.main)
    if alone:
        printed = dict(zip((name for name, _ in row.groups), row.alone or (), strict=False))
        lines += _accuracies(f"{recipe}, each alone", alone, row.groups, printed)
    central = _of(runs, "central", row.main)
    if central:
        everything = (("all data in one place", (0,)),)
        printed = {"all data in one place": row.central or ""}
        lines += _accuracies(recipe, central, everything, printed)
    averaging = _of(runs, "averaging", row.main)
    if averaging:
        lines += _accuracies(f"{recipe}, averaging of nets", averaging, row.groups[:1], {})
    server = _of(runs, "fedavg", row.main)
    if server:
        group = (("a server on the same split", (0,)),)
        lines += _accuracies(
            f"{recipe}, federated averaging", server, group, {group[0][0]: row.printed_server}
        )
    return lines


def _differences(row: Row, recipe: str, runs: Sequence[Content]) -> list[Line]:
    """Two nodes: theory lets both learn the same."""
    together = _of(runs, "cooperating", row.main)
    if len(row.groups) != 2 or row.groups[0][0] != "node 1" or not together:
        return []
    printed = [row.variant(row.main).printed[name] for name, _ in row.groups]
    gap = [100 * (a - b) for a, b in (last_of(run)["accuracy"] for run in together)]
    return [
        _line(
            f"accuracy of node 1 less that of node 2 [%], {recipe}",
            gap,
            printed=f"{float(printed[0]) - float(printed[1]):.4g}",
            predicted=0.0,
            remark="both learn what the whole network learns",
        )
    ]


def mean_over_rounds(run: Content, agents: Sequence[int] = ()) -> float:
    """The mean accuracy over the recorded rounds, in per cent: the higher, the faster.

    Runs that are compared have the same recorded rounds.
    """
    way = "sampled" if "sampled" in run["curve"]["last"] else "mean"
    points = run["curve"]["points"]
    values = [_group_mean(point["after"][way]["accuracy"], agents) for point in points]
    return sum(values) / len(values)


def _order_over_influence(row: Row, recipe: str, runs: Sequence[Content]) -> list[Line]:
    """Whether a larger influence of the informative agent makes the network faster."""
    found = []
    for variant in row.variants:
        together = _of(runs, "cooperating", variant.name)
        if together:
            v = together[0]["network"]["influence"][together[0]["network"]["informative"]]
            speeds = {run["seed"]: mean_over_rounds(run) for run in together}
            found.append((float(v), variant.name, speeds))
    if len(found) < 2:
        return []
    seeds = set.intersection(*(set(speeds) for _, _, speeds in found))
    if not seeds:
        return []
    taus = [_tau([(v, speeds[seed]) for v, _, speeds in found]) for seed in sorted(seeds)]
    parts = [
        f"{name}: v₁ = {v:.2f}, {mean_and_error(list(s.values()))[0]:.2f}" for v, name, s in found
    ]
    return [
        _line(
            f"order of mean accuracy over the rounds against v₁ (Kendall's τ), {recipe}",
            taus,
            printed="accuracy and speed rise with a" if row.name == "star-mnist-1" else "",
            predicted=1.0,
            remark="; ".join(parts),
        )
    ]


def _tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Kendall's τ of pairs without ties."""
    signs = [
        1.0 if (a - c) * (b - d) > 0 else -1.0 if (a - c) * (b - d) < 0 else 0.0
        for (a, b), (c, d) in combinations(pairs, 2)
    ]
    return sum(signs) / len(signs)


def _order_of_placements(row: Row, recipe: str, runs: Sequence[Content]) -> list[Line]:
    """Whether the placement with the larger influence learns faster."""
    first, second = (_of(runs, "cooperating", variant.name) for variant in row.variants[:2])
    speeds = [{run["seed"]: mean_over_rounds(run) for run in own} for own in (first, second)]
    seeds = sorted(set(speeds[0]) & set(speeds[1]))
    if not seeds:
        return []
    gaps = [speeds[0][seed] - speeds[1][seed] for seed in seeds]
    v = [
        own[0]["network"]["influence"][own[0]["network"]["informative"]] for own in (first, second)
    ]
    mean, error = mean_and_error(gaps)
    names = [variant.name for variant in row.variants[:2]]
    return [
        _line(
            f"mean accuracy over the rounds, {names[0]} less {names[1]} [%], {recipe}",
            gaps,
            printed=f"{names[0]} learns faster",
            holds=None if error is None else mean > -STANDARD_ERRORS * error,
            remark=f"above 0 by theory: v = {v[0]:.3f} there, {v[1]:.3f} in the {names[1]}",
        )
    ]


def _least_sure(row: Row, recipe: str, runs: Sequence[Content]) -> list[Line]:
    """Of which label a side is least sure, over the rounds, among those it does not hold."""
    from peerbayes.label_forecast import label_forecast

    together = _of(runs, "cooperating", row.main)
    if not together:
        return []
    forecast = label_forecast(row.forecast)
    lines = []
    held = together[0]["network"]["labels"]
    pair = forecast.least_separated
    for name, agents in row.groups:
        if not agents:
            continue
        own = set(held[agents[0]])
        outside = [label for label in range(10) if label not in own]
        # The pair says something of a side that holds one of the two.
        expected = [label for label in pair if label not in own]
        least = [_least_label(run, agents, outside) for run in together]
        counts = {label: least.count(label) for label in least}
        label = max(counts, key=lambda one: counts[one])
        share = f"{counts[label]} of {len(least)} seeds"
        lines.append(
            Line(
                f"label of least confidence over the rounds, {name}, {recipe}",
                _printed_label(row.name, name),
                float(label),
                None,
                float(expected[0]) if len(expected) == 1 else None,
                None,
                f"{share}; the pair that is told apart last: {pair[0]} and {pair[1]}",
            )
        )
    return lines


def _least_label(run: Content, agents: Sequence[int], outside: Sequence[int]) -> int:
    way = "sampled" if "sampled" in run["curve"]["last"] else "mean"
    seen = [agent for agent in run["curve"]["agents"] if agent in agents]
    total = dict.fromkeys(outside, 0.0)
    for point in run["curve"]["points"]:
        for agent in seen:
            row = point["after"][way]["confidence"][run["curve"]["agents"].index(agent)]
            for label in outside:
                total[label] += row[label] or 0.0
    return min(total, key=lambda label: total[label])


def _printed_label(row: str, group: str) -> str:
    printed = {
        ("star-mnist-2", "centre"): "low confidence on 9",
        ("star-mnist-2", "edges"): "low confidence on 4",
        ("star-mnist-3", "centre"): "confidence recovers",
        ("star-fmnist-2", "edges"): "low confidence on coat (4)",
    }
    return printed.get((row, group), "")
