"""Tables of benchmarks, folded: `{benchmark} NAME` is a drop-down of what was measured.

Its contents, and what its columns are, come from `benchmarks/cases.toml` and from the record
`docs/benchmarks/NAME.json`, or the lines of `NAME.jsonl`. Other pages refer to it as `bench-NAME`.
`{headlines}` is the table at the top of the page, a number or two of each record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from benchmarks.tables import CASES, page

HOME = Path(__file__).parent / "benchmarks"


def titles(name: str) -> str:
    """What a drop-down is called: the titles of its tables."""
    return "; ".join(dict.fromkeys(case["title"] for case in CASES[name]["tables"]))


def rows_of(name: str, part: str = "") -> list[dict[str, Any]]:
    """The rows of one table of a record; none if it was not measured."""
    file = HOME / f"{name}.json"
    found = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.is_file() else []
    return [row for row in found if row.get("part", "") == part]


def between(values: Iterator[float], digits: int = 2) -> str:
    """The least and the largest of some values."""
    found = sorted(values)
    low, high = (f"{float(f'{value:.{digits}g}'):g}" for value in (found[0], found[-1]))
    return low if low == high else f"{low}–{high}"


def quotients(
    name: str, over: str, under: str, *, part: str = "", key: str = "milliseconds"
) -> str:
    """One column over another, its least and its largest value."""
    pairs = [row["milliseconds"] for row in rows_of(name, part)]
    return between(p[over] / p[under] for p in pairs if p.get(over) and p.get(under))


def column(name: str, key: str, *inner: str, part: str = "") -> str:
    """A column's least and largest value."""
    found = [row.get(key, row.get(key.replace(" ", "_"))) for row in rows_of(name, part)]
    values = (v for one in found for v in ([one[k] for k in inner] if inner else [one]))
    return between(v for v in values if v is not None)


HEADLINES: tuple[tuple[str, str, str, Callable[[], str]], ...] = (
    ("consensus", "a simulated round", "the papers' form, vectorised",
     lambda: quotients("consensus", "papers", "simulated")),
    ("consensus", "the same", "a loop over agents",
     lambda: quotients("consensus", "loop", "simulated")),
    ("changing", "a round of a network that changes", "the papers' form",
     lambda: column("changing", "papers_over_simulated")),
    ("regression", "a round of a regression", "a loop over agents",
     lambda: column("regression", "loop_over_simulated")),
    ("numbers", "v by elimination", "quantecon, compiled",
     lambda: quotients("numbers", "v, quantecon", "v, ours", part="peers")),
    ("design_rate", "the best rate", "HiGHS, one whole program",
     lambda: column("design_rate", "times ours", "HiGHS, whole")),
    ("design_exponent", "the best exponent", "Clarabel",
     lambda: column("design_exponent", "times ours", "Clarabel")),
    ("nets", "a step of Bayesian nets", "torch, agent after agent",
     lambda: column("nets", "times engine", "loop")),
    ("fedavg", "clients of federated averaging", "torch, client after client",
     lambda: column("fedavg", "times stacked", "loop")),
)  # fmt: skip


def headlines() -> Iterator[str]:
    """Yield the lines of the table at the top."""
    yield "| ours | beside | times as long as ours |"
    yield "|---|---|--:|"
    for name, ours, beside, value in HEADLINES:
        if rows_of(name) or rows_of(name, "peers"):
            yield f"| {{ref}}`{ours} <bench-{name}>` | {beside} | {value()} |"


class Benchmark(SphinxDirective):
    """The directives."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the drop-down of a benchmark, or the table at the top."""
        if self.arguments:
            (name,) = self.arguments
            text = page(name, HOME)
            lines = [f"(bench-{name})=", f":::::{{dropdown}} {titles(name)}", text, ":::::"]
        else:
            lines = list(headlines())
        self.env.note_dependency(str(HOME.parents[1] / "benchmarks/cases.toml"))
        holder = nodes.container()
        source, line = self.get_source_info()
        every = StringList("\n".join(lines).split("\n"), source=f"{source}:{line}")
        self.state.nested_parse(every, self.content_offset, holder)
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the directives."""
    for name in ("benchmark", "headlines"):
        app.add_directive(name, Benchmark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
