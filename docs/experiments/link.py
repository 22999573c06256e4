"""Tables and figures of the page on predicted rates and measured speeds, from the records here.

``rate-link.jsonl.gz`` has a line a row: of the first run its lines, of the others what the parts
found, shortened; their lines are computed when the page is built.

    python docs/experiments/link.py RECORD    # keeps what `peerbayes run` left, shortened
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from empirical.rank_correlation import rank_correlation
from peerbayes.experiments.link import LINKS
from peerbayes.experiments.link_rows import WIDE, LinkContent, rounds_reached
from peerbayes.experiments.link_runs import heard_again
from peerbayes.experiments.short_records import ENDING, put_record, read_lines
from peerbayes.records import read_record

HERE = Path(__file__).parent
PATH, KIND = HERE / f"rate-link{ENDING}", "short-run"
ROWS = {row.name: row for row in LINKS}
# Digits that are kept.
_DIGITS = 5
Line = Mapping[str, Any]


def lines_of(name: str) -> Sequence[Line]:
    """The lines of a row that is on record; none if it is not."""
    record = bodies().get(name, {"lines": ()})
    if "content" in record:
        return [line.as_json() for line in ROWS[name].conclude(record["content"])]
    lines: Sequence[Line] = record["lines"]
    return lines


def bodies() -> Mapping[str, Any]:
    """What is on record of every row."""
    return {name: record.body for name, record in read_lines(PATH).records.items()}


def table(*names: str) -> str:
    """The lines of some rows, without those of the networks one by one."""
    text = ["| | printed | measured | predicted | |", "|---|---|---:|---:|---|"]
    for name in names:
        text.append(f"| **`{name}`** | | | | |")
        text += [
            f"| {line['what']} | {line['printed']} | {_cell(line['measured'])} | "
            f"{_cell(line['predicted'])} | {line['remark'].replace('|', '/')} |"
            for line in lines_of(name)
            if not line["what"].startswith(("K, ", "rounds to test loss 1, ", "snapshots'"))
        ]
    return "\n".join(text)


def networks(*names: str) -> str:
    """K and v of each network, and the rounds that each row took to a test loss of 1."""
    first = {line["what"].removeprefix("K, "): line for line in lines_of(names[0])
             if line["what"].startswith("K, ")}  # fmt: skip
    found = {name: rounds_of(name) for name in names}
    text = ["| network | K | " + " | ".join(f"`{name}`" for name in names) + " |",
            "|---|---:|" + "---:|" * len(names)]  # fmt: skip
    for network, line in first.items():
        cells = [_with_error(found[name].get(network)) for name in names]
        text.append(f"| {network} | {line['predicted']:.4f} | " + " | ".join(cells) + " |")
    return "\n".join(text)


def orders(*names: str) -> str:
    """Spearman's rank correlation of rounds with what was known before, over two sets of networks.

    Runs that never came down to a loss count last. The sum is log(1/K) + 2 Z_cc; its weight was
    chosen by looking, and it is shown as a description, not as a prediction.
    """
    heads = ("1/K", "Z_cc", "the sum")
    text = [
        "| row, test loss | runs that never reached it | all: " + " | ".join(heads)
        + " | chosen on none: " + " | ".join(heads) + " |",
        "|---|---:|" + "---:|" * 6,
    ]  # fmt: skip
    for name in names:
        row = ROWS[name]
        content = LinkContent.of(bodies()[name]["content"])
        assert content.snapshots is not None
        logs = -np.log([content.snapshots.forecasts[one].rate for one in row.plan.networks])
        again = np.array([heard_again(one) for one in row.plan.networks])
        unseen = np.array([one in WIDE for one in row.plan.networks])
        trained = [content.trained[one] for one in row.plan.networks]
        for index, target in enumerate(row.plan.targets):
            rounds = rounds_reached(trained, index=index)
            cells = [
                _rank(values[chosen], rounds[chosen])
                for chosen in (np.ones_like(unseen), unseen)
                for values in (logs, again, logs + 2 * again)
            ]
            missed = f"{np.isinf(rounds).sum()} of {rounds.size}"
            text.append(f"| `{name}`, {target:g} | {missed} | {' | '.join(cells)} |")
    return "\n".join(text)


def _rank(known: NDArray[np.float64], rounds: NDArray[np.float64]) -> str:
    found = rank_correlation(known, rounds, seed=0)
    return f"{found.spearman:.2f} (p {found.p_value:.2g})"


def rounds_of(name: str, head: str = "rounds to test loss 1, ") -> dict[str, Line]:
    """The line of each network."""
    lines = (line for line in lines_of(name) if line["what"].startswith(head))
    return {line["what"].removeprefix(head): line for line in lines if " from " not in line["what"]}


def speeds(*names: str) -> Figure:
    """Measured rounds to a test loss of 1 beside c / K, a panel for each row."""
    figure = Figure(figsize=(4.2 * len(names), 3.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        lines = {k: line for k, line in rounds_of(name).items() if line["measured"]}
        for words, is_new, mark in (("of P2", False, "o"), ("others", True, "s")):
            own = [line for network, line in lines.items() if (network in WIDE) == is_new]
            if own:
                axes.errorbar(
                    [line["predicted"] for line in own], [line["measured"] for line in own],
                    yerr=[line["standard_error"] for line in own], marker=mark, ls="", label=words,
                )  # fmt: skip
        predicted = [line["predicted"] for line in lines.values()]
        ends = [min(predicted), max(predicted)] if lines else []
        axes.plot(ends, ends, color="grey", lw=1, label="in proportion")
        axes.set(
            xscale="log", yscale="log", xlabel="predicted rounds, c / K", ylabel="measured rounds",
            title=name,
        )  # fmt: skip
        axes.legend(fontsize="small")
    return figure


def keep(record: Path) -> Path:
    """Keep what a record found, shortened, beside this file."""
    body = read_record(record).body
    content = LinkContent.of(body["content"]).short()
    words = {name: body[name] for name in ("experiment", "title", "source", "seed", "replicates")}
    kept = {**words, "settings": body["settings"], "content": _rounded(content)}
    return put_record(PATH, kind=KIND, body=kept)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _with_error(line: Line | None) -> str:
    if line is None:
        return "not run"
    if line["measured"] is None:
        return "not reached"
    return f"{line['measured']:.1f} ± {line['standard_error']:.1f}"


if __name__ == "__main__":
    print(keep(Path(sys.argv[1])))
