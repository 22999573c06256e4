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
"""

from __future__ import annotations

import json
import math
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

Row = Mapping[str, Any]

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


def page(file: Path, part: str = "") -> str:
    """One table of a JSON file and the conditions of its run, in Markdown."""
    if not file.is_file():
        return "*Not measured yet: run `make bench`.*"
    record = json.loads(file.read_text(encoding="utf-8"))
    words = "; ".join(
        f"{key}: {', '.join(value) if isinstance(value, list) else value}"
        for key, value in record.items()
        if key != "rows"
    )
    return f"{table(parts(record)[part])}\n\nMeasured with {words}."


def report(
    rows: Sequence[Row], *, repeats: int, out: Path | None, libraries: Sequence[str] = ()
) -> None:
    """Print what was measured; write it to a JSON file as well if there is one.

    `libraries` are those compared with, as far as the record should name them.
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
        "libraries": [*sorted(pools), *libraries],
        "repeats": repeats,
    }
    print("\n\n".join(table(part) for part in parts(record).values()))
    if out is not None:
        out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def processor() -> str:
    """The processor's family, as far as the system tells it."""
    name = platform.processor()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        lines = information.read_text(encoding="utf-8").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = models[0] if models else name
    return ", ".join(dict.fromkeys(filter(None, [name, platform.machine()])))
