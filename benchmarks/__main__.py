"""Measure this machine: `python -m benchmarks [NAME ...] [--out PLACE] [--repeats K] [--quick]`.

Without a name: all that `make bench` measures. The table of benchmarks is `cases.toml`: how often
each is repeated, which packages it compares with, and what its columns say, which the page of the
documentation shows. Those that compare trainings for hours keep every trial beside their file and
may be stopped and taken up; so may whatever is added row by row to a file of lines, as `gpu` is.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.tables import CASES, Options, Unavailable, report, rows, usual


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, help="a JSON file; .jsonl: row by row; or a folder")
    parser.add_argument("--repeats", type=int, help="turns of each contender, or seeds")
    parser.add_argument("--quick", action="store_true", help="toy sizes, to see that it runs")
    parser.add_argument(
        "--only", action="append", help="cases or a part of one benchmark, by a pattern"
    )
    parser.add_argument("--finished", action="store_true", help="run nothing: what is on file")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="of `gpu`")
    parser.add_argument("--seconds", type=float, default=math.inf, help="add no line after so many")
    given, begin = parser.parse_args(), time.monotonic()
    for name in set(given.names) - set(CASES):
        print(f"benchmarks: expected one of {', '.join(CASES)}, got {name}", file=sys.stderr)
        return 2
    single, code = len(given.names) == 1, 0
    for name in given.names or usual():
        if not single:
            print(f"benchmarks/{name}", flush=True)
        out = given.out
        if out is not None and (out.is_dir() or not single):
            out /= f"{name}.json"
        repeats = given.repeats or CASES[name]["repeats"]
        how = Options(
            given.quick, repeats, out, given.only or ("*",), given.finished, given.device,
            begin + given.seconds,
        )  # fmt: skip
        code = max(code, _run(name, how))
    return code


def _run(name: str, how: Options) -> int:
    """Measure and report; 1 if a case failed; 2 if none was chosen: the record stays as it is."""
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
    if not found and how.only != ("*",):
        wanted = f"a pattern that fits a case of {name}"
        print(
            f"benchmarks: --only: expected {wanted}, got {', '.join(how.only)!r}", file=sys.stderr
        )
        return 2
    report(found, how=how, packages=packages, seconds=time.perf_counter() - begin)
    return int(bool(how.failed))


if __name__ == "__main__":
    sys.exit(main())
