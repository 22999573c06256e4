"""Measure this machine: `python -m benchmarks [NAME ...] [--out PLACE] [--repeats K] [--quick]`.

Without a name: all that `make bench` measures. The table of benchmarks is `cases.toml`: how often
each is repeated, which packages it compares with, and what its columns say, which the page of the
documentation shows. Those that compare trainings for hours keep every trial beside their file and
may be stopped and taken up.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.tables import CASES, Options, Unavailable, report, rows, usual


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, help="a JSON file; a folder, for several benchmarks")
    parser.add_argument("--repeats", type=int, help="turns of each contender, or seeds")
    parser.add_argument("--quick", action="store_true", help="toy sizes, to see that it runs")
    parser.add_argument("--only", default="*", help="cases of one benchmark, by a pattern")
    parser.add_argument("--finished", action="store_true", help="run nothing: what is on file")
    given = parser.parse_args()
    for name in given.names:
        if name not in CASES:
            print(f"benchmarks: expected one of {', '.join(CASES)}, got {name}", file=sys.stderr)
            return 2
    single, code = len(given.names) == 1, 0
    for name in given.names or usual():
        if not single:
            print(f"benchmarks/{name}", flush=True)
        out = given.out if single or given.out is None else given.out / f"{name}.json"
        repeats = given.repeats or CASES[name]["repeats"]
        how = Options(given.quick, repeats, out, given.only, finished=given.finished)
        code = max(code, _run(name, how))
    return code


def _run(name: str, how: Options) -> int:
    """Measure and report; 2 if no case was chosen, which leaves a record as it is."""
    packages, begin = CASES[name].get("packages", ()), time.perf_counter()
    if "torch" in packages:
        import torch

        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            found = list(rows(name, how))
    except Unavailable as reason:
        print(f"{reason}: nothing is measured")
        return 0
    if not found:
        wanted = f"a pattern that fits a case of {name}"
        print(f"benchmarks: --only: expected {wanted}, got {how.only!r}", file=sys.stderr)
        return 2
    report(found, how=how, packages=packages, seconds=time.perf_counter() - begin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
