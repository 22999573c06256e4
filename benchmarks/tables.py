"""How measurements are kept, as JSON, and shown, as tables: in a terminal and in the documentation.

A record holds ``rows`` and the conditions of the run. A row is a dictionary; what its values are
follows from their keys:

===================  ============================================================================
``part``             the table to which the row belongs, where a record has several; not shown
``…_share``          a share, in per cent
a dictionary         one column an entry, its unit the key: ``{"milliseconds": {"copy": 1.5}}``;
                     None is what could not be measured
anything else        itself, numbers to three digits
===================  ============================================================================

A table of `cases.toml` names the function that measures it, ``run = "module:function"``, and what
it is given: one dictionary a row or some rows, its ``cases`` or, at toy size, its ``quick`` ones.
What a case holds goes to the function's parameter of that name, and into the row where the table
has such a column. A function without cases gives all rows, those of later tables by their parts.
Of contenders' times it gives what the table's columns ask for (:func:`benchmarks.contest.row_of`).

A file that ends in ``.jsonl`` has a line for each row and no conditions: lines are added one by
one, cases that it has are not measured again, and a case that fails does not stop the others.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import math
import platform
import re
import statistics
import sys
import time
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

Row = Mapping[str, Any]
CASES: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("cases.toml").read_text(encoding="utf-8")
)
"""Of each benchmark: repeats, packages, and its tables: who measures what; what the columns are."""


class Unavailable(Exception):  # noqa: N818 - it says why, and is no error
    """Raised where something is missing that a benchmark cannot do without."""


@dataclass(frozen=True, eq=False)
class Options:
    """How a benchmark is asked to run.

    Attributes
    ----------
    quick
        At toy size, to see that it runs.
    repeats
        Turns of each contender, or seeds.
    out
        Where the numbers go; None: to the terminal alone.
    only, finished
        Which cases, by patterns; none that is not on file.
    device, end
        Where a GPU is measured; the time of `time.monotonic` after which no line is begun.
    columns
        Those that the table explains which is measured.
    conditions
        What else the numbers hold for, such as a browser; added to by who measures.
    rows, failed
        What is on file as lines or was measured; the cases of lines that failed.
    """

    quick: bool
    repeats: int
    out: Path | None = None
    only: Sequence[str] = ("*",)
    finished: bool = False
    device: str = "cuda"
    end: float = math.inf
    columns: Collection[str] = ()
    conditions: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def lines(self) -> Path | None:
        """The file to which rows are added line by line, if it is one."""
        return self.out if self.out is not None and self.out.suffix == ".jsonl" else None

    def wants(self, *words: Any) -> bool:
        """Whether a case of these words is one of those that were asked for."""
        return any(fnmatch(" ".join(map(str, words)), pattern) for pattern in self.only)


def usual() -> list[str]:
    """The benchmarks that `make bench` runs."""
    return [name for name, case in CASES.items() if case.get("usual", True)]


def columns(table: Mapping[str, Any]) -> Set[str]:
    """The columns that a table of `CASES` explains, in its order."""
    return dict.fromkeys(re.findall(r"`([^`]+)`", " ".join(table["columns"]))).keys()


def on_file(lines: Path) -> list[Row]:
    """The rows of a file of lines, but for one that was cut off in its last."""
    text = lines.read_text(encoding="utf-8") if lines.is_file() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def rows(name: str, how: Options) -> Iterator[Row]:
    """Measure a benchmark, table by table and case by case.

    Raises
    ------
    ValueError
        If a case has what is neither a parameter of the function nor a column.
    """
    if how.lines is not None:
        how.rows.extend(on_file(how.lines))
        how.lines.write_text("".join(map(line_of, how.rows)), encoding="utf-8")
    for table in CASES[name]["tables"]:
        if "run" not in table:
            continue
        module, _, function = table["run"].partition(":")
        measure = getattr(import_module(f"benchmarks.{module}"), function)
        known, shown = inspect.signature(measure).parameters, columns(table)
        asked = replace(how, columns=shown)
        for case in table.get("quick" if how.quick else "cases", [{}]):
            unknown = [key for key in case if key not in known and key not in shown]
            if unknown:
                raise ValueError(f"{name}: expected parameters of {table['run']}, got {unknown}")
            labels = {key: value for key, value in case.items() if key in shown}
            part = {"part": table["part"]} if table["part"] else {}
            if labels and not how.wants(*labels.values()) and not how.wants(*part.values()):
                continue
            label = part | labels
            kept = [row for row in how.rows if how.lines and label.items() <= row.items()]
            if kept:
                yield from kept
                continue
            if time.monotonic() > how.end:
                return
            try:
                found = measure(asked, **{key: case[key] for key in case if key in known})
                found = [found] if isinstance(found, Mapping) else found
                yield from (added(how, {**label, **row}) for row in found)
            except Exception as error:
                if isinstance(error, Unavailable) or how.lines is None:
                    raise
                how.failed.append(" ".join(map(str, label.values())))
                print(f"{how.failed[-1]}: {error!r}", file=sys.stderr, flush=True)


def added(how: Options, row: Row) -> Row:
    """The row, which a file of lines has from now on."""
    how.rows.append(row)
    if how.lines is not None:
        with how.lines.open("a", encoding="utf-8") as file:
            file.write(line_of(row))
    return row


def line_of(row: Row) -> str:
    """A row as a line of a file."""
    return json.dumps(row) + "\n"


UNITS = {"milliseconds": "ms"}


def cells(row: Row) -> Iterator[tuple[str, str]]:
    """The columns of a row, and what stands in them."""
    for key, value in row.items():
        if isinstance(value, Mapping):
            unit = UNITS.get(key, key.replace("_", " "))
            for name, number in value.items():
                yield f"{name} ({unit})", "–" if number is None else f"{number:.3g}"
        elif key.endswith("_share"):
            yield f"{key.removesuffix('_share')} (share)", f"{value:.0%}"
        elif key != "part":
            yield key.replace("_", " "), f"{value:.3g}" if isinstance(value, float) else str(value)


def table(rows: Sequence[Row]) -> str:
    """Rows as aligned text that is Markdown as well; a cell that a row lacks is empty."""
    found = [dict(cells(row)) for row in rows]
    head = list(dict.fromkeys(name for row in found for name in row))
    body = [[row.get(name, "") for name in head] for row in found]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return "\n".join(
        "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |"
        for line in (head, ["-" * width for width in widths], *body)
    )


def shown(values: Sequence[float], digits: int) -> str:
    """Mean and standard error of runs; of a single one, itself."""
    if len(values) < 2:
        return "–" if not values else f"{values[0]:.{digits}f}"
    error = statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):.{digits}f} ± {error:.{digits}f}"


def parts(record: Mapping[str, Any]) -> dict[str, list[Row]]:
    """A record's rows, table by table; those of a record with a single one go by ''."""
    found: dict[str, list[Row]] = {}
    for row in record["rows"]:
        found.setdefault(row.get("part", ""), []).append(row)
    return found


def record_of(name: str, home: Path) -> dict[str, Any] | None:
    """The record of a benchmark in a folder, or the rows of its lines; None if there is neither."""
    file = home / f"{name}.json"
    if file.is_file():
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return record
    found = on_file(file.with_suffix(".jsonl"))
    return {"rows": found} if found else None


def page(name: str, home: Path) -> str:
    """The tables of a benchmark with what they say, in Markdown.

    Parameters
    ----------
    name
        A key of `CASES`.
    home
        The folder of the records.
    """
    record, text = record_of(name, home), []
    for case in CASES[name]["tables"]:
        text += [case.get("before", "")]
        if record is None:
            text += ["*Not measured yet: run `make bench`.*"]
            continue
        columns = (f"| {column} | {meaning} |" for column, meaning in case["columns"].items())
        text += [table(parts(record)[case["part"]])]
        text += ["\n".join(["| column | what it is |", "|---|---|", *columns])]
        text += [case.get("after", "")]
    if record is not None and len(record) > 1:
        text += [f"Measured with {conditions_of(record)}."]
    return "\n\n".join(one.strip() for one in text if one)


def conditions_of(record: Mapping[str, Any]) -> str:
    """In which circumstances a record was made."""
    return "; ".join(
        f"{key}: {', '.join(value) if isinstance(value, list) else value}"
        for key, value in record.items()
        if key != "rows"
    )


def report(rows: Sequence[Row], *, how: Options, packages: Sequence[str], seconds: float) -> None:
    """Print what was measured; write it to a JSON file as well if there is one.

    `packages` are those compared with, whose versions the record names; `seconds` is how long all
    of it took by the clock.
    """
    pools = {
        f"{pool['internal_api']} {pool['version']} ({pool['architecture']} kernels)"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    record = {
        "rows": list(rows),
        "processor": processor(),
        "threads": 1,
        "python": platform.python_version(),
        "libraries": [*sorted(pools), *map(version_of, packages), *how.conditions],
        "repeats": how.repeats,
        "seconds": round(seconds),
    }
    print("\n\n".join(table(part) for part in parts(record).values()))
    if how.out is not None and how.lines is None:
        how.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def version_of(package: str) -> str:
    """Name and version of a package, or that it is missing."""
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"without {package}"


def processor() -> str:
    """The processor's family, as far as the system tells it."""
    name = platform.processor()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        lines = information.read_text(encoding="utf-8").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = models[0] if models else name
    return ", ".join(dict.fromkeys(filter(None, [name, platform.machine()])))
