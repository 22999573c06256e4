"""Tables and figures of the page on experiments with neural nets, from the short records here.

``ROW.jsonl.gz`` has a row's parts as `peerbayes campaign` keeps them. ``earlier.jsonl.gz`` has
lines of runs before parts said which code made them and were measured before consensus; they are
shown until a part of the same row and recipe takes their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from peerbayes.experiments.campaign_plan import planned
from peerbayes.experiments.experiment import made_by
from peerbayes.experiments.net_lines import WHEN, accuracy_verdict, group_mean, net_lines, way_of
from peerbayes.experiments.net_rows import RECIPE_NAMES, ROWS, Part
from peerbayes.experiments.short_records import ENDING, ShortPart, read_lines, read_row
from peerbayes.sources.documents import Kept, Need
from peerbayes.sources.rules import accuracies

HERE = Path(__file__).parent
PARTS: Mapping[str, Mapping[str, ShortPart]] = {row: read_row(HERE, row).parts for row in ROWS}
EARLIER: Mapping[str, Any] = {
    row: record.body for row, record in read_lines(HERE / f"earlier{ENDING}").records.items()
}
KEPT = Kept(HERE)
_HEADS = ("| | printed | measured | ± s.e. | predicted | |", "|---|---|---:|---:|---:|---|")
Line = Mapping[str, Any]


def contents(row: str) -> dict[str, Mapping[str, Any]]:
    """The parts of a row that are on record, in the order of the plan."""
    order = [task.part.name for task in planned() if task.row == row]
    return {name: PARTS[row][name].content for name in order if name in PARTS[row]}


def recipe_of(line: Line) -> str:
    """The recipe that a line is about."""
    words = (word.partition(" ")[0] for word in line["what"].split(", "))
    return next(word for word in words if word in RECIPE_NAMES)


def lines_of(row: str) -> list[tuple[Line, bool]]:
    """Each line of a row, and whether it is an earlier run's."""
    parts = contents(row)
    own = [line.as_json() for line in net_lines(ROWS[row], parts)]
    present = {part["recipe"] for part in parts.values()}
    old = EARLIER.get(row, {}).get("lines", ())
    return [(line, False) for line in own] + [
        (line, True) for line in old if recipe_of(line) not in present
    ]


def cell(value: float | None, digits: int = 2) -> str:
    """A number in a table; nothing if there is none."""
    return "" if value is None else f"{value:.{digits}f}"


def escaped(entry: object) -> str:
    """Text in a cell of a table."""
    return str(entry).replace("|", "\\|")


def table(*rows: str) -> str:
    """All lines of some rows: printed, measured, predicted."""
    text = list(_HEADS)
    for row in rows:
        text.append(f"| **`{row}`** {ROWS[row].title} | | | | | {codes(row)} |")
        text += [_row(line, is_earlier) for line, is_earlier in lines_of(row)]
    return "\n".join(text)


def _row(line: Line, is_earlier: bool) -> str:
    remark = " ".join(word for word in (line["remark"], "[earlier]" * is_earlier) if word)
    cells = [
        line["what"], line["printed"], cell(line["measured"]), cell(line["standard_error"]),
        cell(line["predicted"]), remark,
    ]  # fmt: skip
    return "| " + " | ".join(map(escaped, cells)) + " |"


def codes(row: str) -> str:
    """Which code made the parts of a row, and how many of them."""
    found = [part.made_by for part in PARTS[row].values()]
    counts = {one: found.count(one) for one in found}
    return ", ".join(f"{one}: {n} part{'s' * (n != 1)}" for one, n in counts.items())


def progress() -> str:
    """How much of the plan is on record, in a sentence."""
    tasks = [task for task in planned() if isinstance(task.part, Part)]
    done = [task for task in tasks if task.part.name in PARTS[task.row]]
    paper = [task for task in tasks if task.part.recipe == "paper"]
    share = [task for task in done if task.part.recipe == "paper"]
    return (
        f"On record: {len(share)} of {len(paper)} parts of `paper`, each run to its last round, "
        f"and {len(done) - len(share)} of {len(tasks) - len(paper)} parts of `best` and `once`."
    )


def glance() -> str:
    """One line a row, network and group: what is printed, its verdict, accuracies by recipe."""
    text = [
        "| row | who | printed | verdict | `paper` before | after | `best` before | after "
        "| `once` after | alone | central | averaging |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in ROWS.values():
        found = {line["what"]: _marked(line, earlier) for line, earlier in lines_of(row.name)}
        for variant in row.variants:
            groups = row.groups if variant.name == row.main else row.groups[:1]
            for group, _ in groups:
                text.append(_glance_row(row.name, variant.name, group, found))
    return "\n".join(line for line in text if line)


def _marked(line: Line, is_earlier: bool) -> str:
    """A number with a dagger if it is an earlier run's."""
    return cell(line["measured"]) + "†" * is_earlier


def _glance_row(row: str, variant: str, group: str, found: Mapping[str, str]) -> str:
    def at(recipe: str, what: str, when: str = "") -> str:
        """The accuracy by this line; seeds of one mark are averaged in it, marks are not."""
        head = " ".join(word for word in (recipe, what) if word)
        for name in (f"accuracy [%], {head}, {group}{when}", f"accuracy [%], {head}, {group}"):
            if name in found and (when != ", before consensus" or name.endswith(when)):
                return found[name]
        return ""

    before, after = (f", {when} consensus" for when in WHEN)
    served = ROWS[row].is_federated or row == "fmnist-central"
    first = "" if served else before
    cells = [
        at("paper", variant, first), at("paper", variant, after),
        at("best", variant, first), at("best", variant, after), at("once", variant, after),
    ]  # fmt: skip
    if served:  # there is no consensus
        cells[0] = cells[2] = ""
    beside = ["", "", ""]
    if variant == ROWS[row].main:
        central = found.get("accuracy [%], best, all data in one place", "")
        averaging = at("best, averaging of nets", "", after)
        beside = [at("best, each alone", ""), central, averaging]
    if not any(cells):
        return ""
    printed = ROWS[row].variant(variant).printed.get(group, "")
    who = f"{group}, {variant}" if variant else group
    told = verdict(row, variant, group, printed)
    return f"| `{row}` | {who} | {printed} | {told} | {' | '.join([*cells, *beside])} |"


def verdict(row: str, variant: str, group: str, printed: str) -> str:
    """Whether a printed accuracy is reproduced by `paper`; nothing where none is printed."""
    if not printed:
        return ""
    served = ROWS[row].is_federated or row == "fmnist-central"
    key = f"accuracies {'after' if served else 'before'} consensus"
    runs = KEPT.runs(Need(row, variant, key))
    values = accuracies(runs, dict(ROWS[row].groups)[group])
    return accuracy_verdict("paper", printed, values) if values else "undecidable here"


def two_node_curves() -> Figure:
    """P1's rows over their rounds, by `paper`: dashed before consensus, full after it."""
    names = [name for name in ROWS if name.startswith("fmnist-2-") and _main(name)]
    figure = Figure(figsize=(7.2, 5.2), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, name in zip(panels, names, strict=False):
        runs = _main(name)
        for agent, (group, _) in enumerate(ROWS[name].groups):
            for when, style in zip(WHEN, ("--", "-"), strict=True):
                rounds, values = course(runs, (agent,), when)
                label = f"{group}, {when}"
                axes.plot(rounds, values, style, color=f"C{agent}", lw=1.2, label=label)
        axes.set_title(f"{name}, {len(runs)} seed{'s' * (len(runs) != 1)}", fontsize="small")
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    panels[0].legend(fontsize="x-small")
    figure.supxlabel("round")
    figure.supylabel("accuracy [%]")
    return figure


def star_curves(row: str, title: str) -> Figure:
    """A star's mean accuracy over the rounds for each weight on the centre, by `paper`."""
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    parts = contents(row)
    for index, variant in enumerate(ROWS[row].variants):
        runs = _variant(parts, variant.name)
        if not runs:
            continue
        for when, style in zip(WHEN, ("--", "-"), strict=True):
            rounds, values = course(runs, (), when)
            axes.plot(
                rounds, values, style, color=f"C{index}", lw=1.2, label=f"{variant.name}, {when}"
            )
    axes.set(xlabel="round", ylabel="mean accuracy [%]", title=title)
    if axes.lines:
        axes.legend(fontsize="x-small")
    else:
        axes.text(0.5, 0.5, "none on record yet", ha="center", transform=axes.transAxes)
    return figure


def course(
    runs: Sequence[Mapping[str, Any]], agents: tuple[int, ...], when: str
) -> tuple[list[int], list[float]]:
    """Rounds, and the mean accuracy of some agents over seeds, in per cent."""
    points = runs[0]["curve"]["points"]
    values = [
        sum(group_mean(way_of(run["curve"]["points"][k][when])["accuracy"], agents) for run in runs)
        / len(runs)
        for k in range(len(points))
    ]
    return [point["round"] for point in points], values


def _main(row: str) -> list[Mapping[str, Any]]:
    """The parts of a row's main network by `paper`, of the mark with most seeds."""
    return _variant(contents(row), ROWS[row].main)


def _variant(parts: Mapping[str, Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    own = [
        part
        for part in parts.values()
        if (part["recipe"], part["role"], part["variant"]) == ("paper", "cooperating", name)
    ]
    found = [made_by(part) for part in own]
    best = max(found, key=found.count, default="")
    return [part for part in own if made_by(part) == best]


def widths() -> str:
    """The quantiles of σ at the end, and what each run took."""
    text = [
        "| run | σ at 5 % | 25 % | 50 % | 75 % | 95 % | steps | MB sent | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in ROWS:
        text += [
            _widths_row(f"`{row}` {name}", part["curve"]["points"][-1]["sigma"][0], part)
            for name, part in contents(row).items()
            if part["curve"]["points"][-1]["sigma"]
        ]
    return "\n".join(text)


def _widths_row(name: str, sigma: Iterable[float], part: Mapping[str, Any]) -> str:
    end = part["curve"]["points"][-1]
    spread = " | ".join(f"{value:.4f}" for value in sigma)
    seconds = part["curve"]["seconds"]
    steps, sent = end["local_steps"], end["bytes"] / 1e6
    return f"| {name} | {spread} | {steps} | {sent:.0f} | {seconds:.0f} |"
