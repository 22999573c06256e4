"""Documents of every command, frozen: for one problem of each kind, what is printed and recorded.

``python -m tests.peerbayes.golden`` writes those of today; `tests.peerbayes.test_golden` compares
them with what the code at hand makes. Keys may be added, never lost; numbers may move by rounding.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from peerbayes.cli import main

HOME = Path(__file__).parent / "golden"

PROBLEMS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("golden_problems.json").read_text(encoding="utf-8")
)
_SMALL = ["--rounds", "30", "--replicates", "40", "--seed", "3"]
_DRAWN = ["--replicates", "200", "--seed", "5"]
CASES: dict[str, list[str]] = {
    **{f"analyse {kind}": ["analyse", kind] for kind in (*PROBLEMS, "p1-regression")},
    "analyse finite exact": ["analyse", "finite", "--exact"],
    "analyse finite certify": ["analyse", "finite", "--certify"],
    "analyse finite rounds": ["analyse", "finite", "--rounds", "200", "--delta", "0.01"],
    "analyse p1-regression exact": ["analyse", "p1-regression", "--exact"],
    **{f"simulate {kind}": ["simulate", kind, *_SMALL] for kind in (*PROBLEMS, "p1-regression")},
    **{f"verify {kind}": ["verify", kind] for kind in (*PROBLEMS, "p1-regression")},
    **{
        f"design finite {objective}": ["design", "finite", "--objective", objective, *_DRAWN]
        for objective in ("rate", "exponent", "samples", "mixing", "trade-off", "next-edge")
    },
    "design changing": ["design", "changing", *_DRAWN],
    "design faulty": ["design", "faulty", *_DRAWN],
    "design p1-regression": ["design", "p1-regression", *_DRAWN],
    **{
        f"place finite {objective}": ["place", "finite", "--objective", objective, *_DRAWN]
        for objective in ("rate", "exponent", "samples")
    },
    "place faulty": ["place", "faulty", *_DRAWN],
    "place p1-regression": ["place", "p1-regression", *_DRAWN],
    "formula star": ["formula", "star", "--edge-confidence", "1/2"],
    "formula finite": ["formula", "finite.json"],
    "formula p1-regression": ["formula", "p1-regression"],
    "formula list": ["formula"],
    "list": ["list"],
    # What each kind of problem does not take, in one line and exit code 2.
    **{
        f"refused {' '.join(words)}": words
        for words in (
            ["analyse", "p1-regression", "--certify"],
            ["analyse", "p1-regression", "--rounds", "5"],
            ["analyse", "p1-regression", "--delta", "0.1"],
            ["analyse", "changing", "--exact"],
            ["analyse", "faulty", "--certify"],
            ["analyse", "faulty", "--delta", "0.1"],
            ["design", "changing", "--objective", "mixing"],
            ["design", "p1-regression", "--objective", "samples"],
            ["place", "changing"],
            ["formula", "changing.json"],
        )
    },
}
# Longer lists of numbers are kept as their length, ends and sums.
_LONGEST = 9
# Keys whose values are about this run or this machine.
_PASSING = {"seconds", "report", "elapsed", "created", "version", "written"}


def made(name: str) -> dict[str, Any]:
    """The documents of one case: exit code, standard output and the records left."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            for problem, document in PROBLEMS.items():
                Path(f"{problem}.json").write_text(json.dumps(document), encoding="utf-8")
            words = CASES[name]
            if words[1:2] and words[1] in PROBLEMS:
                words = [words[0], f"{words[1]}.json", *words[2:]]
            out, complaint = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaint):
                code = main([*words, "--quiet", "--json"])
            records = {
                path.name: json.loads(path.read_text(encoding="utf-8"))
                for path in sorted(Path("peerbayes-out").glob("*.json"))
                # Proofs leave a certificate where they take long.
                if not path.name.startswith("certificate")
            }
        finally:
            os.chdir(before)
    printed = json.loads(out.getvalue()) if out.getvalue() else None
    if words[0] == "analyse" and printed:
        printed.pop("record", None)
    for record in records.values():
        record.pop("sha256", None)
    found = {"code": code, "printed": printed, "records": records}
    if code == 2:
        found["complaint"] = complaint.getvalue()
    return {key: short(value) for key, value in found.items()}


def short(value: Any) -> Any:
    """The document without what passes, and with long lists of numbers shortened."""
    if isinstance(value, dict):
        return {key: short(entry) for key, entry in value.items() if key not in _PASSING}
    if isinstance(value, list):
        if len(value) > _LONGEST and all(isinstance(entry, int | float) for entry in value):
            return {"length": len(value), "ends": [value[0], value[-1]], "sum": sum(value)}
        if len(value) > _LONGEST:
            return {"length": len(value), "ends": [short(value[0]), short(value[-1])]}
        return [short(entry) for entry in value]
    return value


def path_of(name: str) -> Path:
    """The file that freezes a case."""
    return HOME / f"{name.replace(' ', '-').replace('--', '')}.json"


if __name__ == "__main__":
    HOME.mkdir(exist_ok=True)
    for case in CASES:
        if len(sys.argv) == 1 or case in sys.argv[1:]:
            text = json.dumps(made(case), ensure_ascii=False)
            path_of(case).write_text(text + "\n", encoding="utf-8")
            print(case)
