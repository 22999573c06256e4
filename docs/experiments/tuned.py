"""The comparison of methods that were tuned alike, from the short records here.

``ROW-tuned.jsonl.gz`` has the parts as `peerbayes campaign` keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from peerbayes.experiments.campaign_plan import Task, planned
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.short_records import ShortPart, read_row
from peerbayes.experiments.tuned import (
    MEASURES,
    Estimate,
    MethodResult,
    contenders,
    difference,
    method_results,
    tuned_name,
)
from peerbayes.experiments.tuned_search import COURSES, METHODS, TunedPart, methods_of

HERE = Path(__file__).parent
PARTS: Mapping[str, Mapping[str, ShortPart]] = {
    row: read_row(HERE, tuned_name(row)).parts for row in COURSES
}
_DIGITS = {"accuracy": 2, "nll": 3, "calibration_error": 3, "other_data_auroc": 3}


def contents(row: str) -> dict[str, Any]:
    """What the parts of a row found, in the order of the plan."""
    found = PARTS[row]
    order = [task.part.name for task in planned() if task.record == tuned_name(row)]
    return {name: found[name].content for name in order if name in found}


def progress() -> str:
    """How much of the plan is on record, in sentences."""
    tasks = [task for task in planned() if isinstance(task.part, TunedPart)]
    done = [task for task in tasks if task.part.name in PARTS[task.row]]
    missing = [task for task in tasks if task not in done]
    whole = sorted({(one.row, one.part.course.name) for one in tasks} - _places(missing))
    begun = sorted(_places(done) - set(whole))
    untouched = sorted(_places(missing) - _places(done))
    return (
        f"On record: {len(done)} of {len(tasks)} parts. Whole: {_named(whole)}. Begun: "
        f"{_named(begun)}. **Not yet run at all**: {_named(untouched)}."
    )


def _places(tasks: list[Task]) -> set[tuple[str, str]]:
    return {(task.row, task.part.course.name) for task in tasks}


def _named(places: list[tuple[str, str]]) -> str:
    words = (f"`{row}`, {course.removesuffix('-steps')} steps a round" for row, course in places)
    return "; ".join(words) or "none"


def methods() -> str:
    """Who learns how, and what is searched."""
    text = ["| method | what | grid |", "|---|---|---|"]
    for method in METHODS.values():
        words = [
            f"{name} {', '.join(dict.fromkeys(_word(one[name]) for one in method.grid))}"
            for name in method.grid[0]
        ]
        text.append(f"| `{method.name}` | {method.title} | {'; '.join(words)} |")
    return "\n".join(text)


def _word(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def table() -> str:
    """One line a row, course and method."""
    heads = [name.partition(" [")[0] for name in MEASURES.values()]
    text = [
        f"| row, steps a round | method | chosen | {' | '.join(heads)} | MB an agent | steps |",
        f"|---|---|---|{'---:|' * (len(heads) + 2)}",
    ]
    text += [_table_row(row, one) for row, one in _results()]
    return "\n".join(text)


def _table_row(row: str, one: MethodResult) -> str:
    who = f"`{row}`, {one.course.partition(' ')[0]} | `{one.method.name}`"
    if not one.tests:
        return f"| {who} | no test ended | {' | ' * (len(MEASURES) + 1)} |"
    cells = [_shown(one.estimate(measure), measure) for measure in MEASURES]
    ended = "" if len(one.tests) == one.begun else f" ({len(one.tests)} of {one.begun} ended)"
    last = f"{one.megabytes:.4g} | {one.steps:.0f}"
    return f"| {who} | {one.settings}{ended} | {' | '.join(cells)} | {last} |"


def gaps() -> str:
    """What the best with beliefs gains over the best that averages weights, row by row."""
    heads = [name.partition(" [")[0] for name in MEASURES.values()]
    text = [
        f"| row, steps a round | data of the largest agent | compared | {' | '.join(heads)} |",
        f"|---|---:|---|{'---:|' * len(heads)}",
    ]
    for row in COURSES:
        results = [one for name, one in _results() if name == row]
        for course in dict.fromkeys(one.course for one in results):
            pair = contenders([one for one in results if one.course == course])
            if pair is None:
                continue
            sizes = pair[0].tests[0].sizes
            cells = [_gap(*pair, measure) for measure in MEASURES]
            steps = course.partition(" ")[0]
            (length,) = (one for one in COURSES[row] if str(one.local_steps) == steps)
            own = {m for m in methods_of(ROWS[row], length) if METHODS[m].way == "network"}
            # Builds are never mixed in a mean, but every method on record is counted.
            found = {one.method.name for one in results if one.course.partition(" ")[0] == steps}
            found &= own
            so_far = "" if len(found) == len(own) else f" (so far, of {len(found)} methods)"
            text.append(
                f"| `{row}`, {course.partition(' ')[0]} | {100 * max(sizes) / sum(sizes):.0f} % "
                f"| `{pair[0].method.name}` − `{pair[1].method.name}`{so_far} "
                f"| {' | '.join(cells)} |"
            )
    return "\n".join(text)


def equal_bytes() -> str:
    """Averaging over thrice as many rounds, and what it has more than sites, seed by seed."""
    file = HERE.parent / "benchmarks/equal_bytes.json"
    runs = json.loads(file.read_text(encoding="utf-8"))["rows"]
    heads = [name.partition(" [")[0] for name in MEASURES.values()]
    text = [f"| row | | {' | '.join(heads)} |", f"|---|---|{'---:|' * len(heads)}"]
    for row in dict.fromkeys(run["row"] for run in runs):
        own = [run for run in runs if run["row"] == row]
        (sites,) = (
            one
            for name, one in _results()
            if (name, one.method.name, one.course.partition(" ")[0]) == (row, "sites", "50")
        )
        found = [_beside(own, sites, measure) for measure in MEASURES]
        for who, place in (("averaging", 0), ("− sites", 1)):
            cells = (
                _marked(one[place], m, sign="+" * place)
                for one, m in zip(found, MEASURES, strict=True)
            )
            text.append(f"| `{row}` | {who} | {' | '.join(cells)} |")
    return "\n".join(text)


def _beside(
    runs: list[dict[str, Any]], sites: MethodResult, measure: str
) -> tuple[Estimate, Estimate]:
    """A measure of runs, and what they have more than sites with the same seeds."""
    scale = 100 if measure == "accuracy" else 1
    values = {run["seed"]: scale * run[measure.replace("_", " ")] for run in runs}
    gaps = [values[seed] - value for seed, value in sites.by_seed(measure).items()]
    return Estimate.of(list(values.values())), Estimate.of(gaps)


def _marked(found: Estimate, measure: str, *, sign: str) -> str:
    """Bold where it is a gap whose 95 % interval leaves 0 out."""
    text = _shown(found, measure, sign=sign)
    return f"**{text}**" if sign and abs(found.mean) > found.margin else text


def _gap(one: MethodResult, other: MethodResult, measure: str) -> str:
    """Bold where the 95 % interval leaves 0 out."""
    gap = difference(one, other, measure)
    if gap is None:
        return ""
    return _marked(gap, measure, sign="+")


def _shown(found: Estimate | None, measure: str, *, sign: str = "") -> str:
    if found is None:
        return ""
    digits = _DIGITS[measure]
    error = "" if found.error is None else f" ± {found.error:.{digits}f}"
    return f"{found.mean:{sign}.{digits}f}{error}"


def _results() -> Iterator[tuple[str, MethodResult]]:
    for row in COURSES:
        for one in method_results(contents(row)):
            yield row, one
