"""Make the goldens, or compare what the program says with them: see `python -m tests.frozen -h`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from tests.frozen.cases import GROUPS, Case, all_cases
from tests.frozen.comparing import differences
from tests.frozen.running import TERMINAL
from tests.frozen.store import Golden, read, write
from tests.frozen.workers import Said, run_all
from theory.validation import fail

OUTPUTS = Path(__file__).parent / "outputs"
DONE, DIFFERENT, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
MOST_SHOWN = 20


def file_of(folder: Path, group: str) -> Path:
    """Return the file that holds a group's goldens."""
    return folder / f"{group}.jsonl.gz"


def selected(pattern: str | None) -> list[Case]:
    """Return the cases whose names contain the pattern, or fit it.

    Raises
    ------
    ValueError
        If there are none.
    """
    cases = list(all_cases().values())
    if pattern is None:
        return cases
    found = [c for c in cases if pattern in c.name or fnmatch(c.name, pattern)]
    if not found:
        wanted = f"a part of the name of one of {len(cases)} cases"
        raise fail("--only", wanted, repr(pattern), "see 'python -m tests.frozen list'")
    return found


# A run of the cases ------------------------------------------------------------------------------


class Progress:
    """How far the cases are: a line on standard error that changes; off a terminal ten lines."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.seconds, self.began = 0.0, time.monotonic()
        self._live = sys.stderr.isatty()

    def add(self, said: Said) -> None:
        """Count a case."""
        self.done += 1
        self.seconds += said.seconds
        words = f"{self.done}/{self.total}  {self.seconds / 60:.1f} CPU min"
        if self._live:
            print(f"\r\x1b[K{words}  {said.case[:50]}", end="", file=sys.stderr, flush=True)
        elif self.done * 10 // self.total > (self.done - 1) * 10 // self.total:
            print(words, file=sys.stderr, flush=True)

    def __str__(self) -> str:
        minutes = (time.monotonic() - self.began) / 60
        return f"{self.done} cases, {self.seconds / 60:.1f} CPU minutes, {minutes:.1f} minutes"

    def end(self) -> None:
        """End the line."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def run_cases(cases: Sequence[Case], *, workers: int) -> tuple[list[Said], Progress]:
    """Run cases, with a progress line; return what each says."""
    progress, found = Progress(len(cases)), []
    try:
        for said in run_all(cases, workers=workers):
            progress.add(said)
            found.append(said)
    finally:
        progress.end()
    return found, progress


def left_out(found: Iterable[Said]) -> list[str]:
    """Return a line for each case that says nothing: faults first."""
    told = sorted(found, key=lambda said: (not said.fault, said.case))
    lines = [f"{said.case}: a fault\n{said.fault.rstrip()}" for said in told if said.fault]
    return lines + [f"{said.case}: left out: {said.missing}" for said in told if said.missing]


# What can be asked -------------------------------------------------------------------------------


def make(cases: Sequence[Case], *, folder: Path, workers: int) -> int:
    """Write the goldens of these cases; those of others stay, those of none are removed."""
    names, known = {case.name for case in cases}, all_cases()
    kept = {group: read(file_of(folder, group)) for group in GROUPS}
    found, progress = run_cases(cases, workers=workers)
    silent = {said.case for said in found if not said.goldens}
    for group in GROUPS:
        stay = [g for g in kept[group] if g.case in known and g.case not in names - silent]
        new = [g for said in found for g in said.goldens if known[said.case].group == group]
        if new or stay != kept[group]:
            write(file_of(folder, group), [*stay, *new])
    for line in left_out(found):
        print(line)
    print(f"{sum(len(said.goldens) for said in found)} goldens of {progress}")
    return DIFFERENT if any(said.fault for said in found) else DONE


def compare(cases: Sequence[Case], *, folder: Path, workers: int) -> int:
    """Say where these cases differ from their goldens, `MOST_SHOWN` places at most."""
    names, known = {case.name for case in cases}, all_cases()
    frozen = [g for group in GROUPS for g in read(file_of(folder, group))]
    if len(cases) < len(known):  # else goldens of cases that are gone are missed
        frozen = [g for g in frozen if g.case in names]
    if not frozen:
        raise fail(str(folder), "goldens of these cases", "none", "make them first")
    found, progress = run_cases(cases, workers=workers)
    silent = {said.case for said in found if said.missing}
    wrong = [f"{said.case}: a fault\n{said.fault.rstrip()}" for said in found if said.fault]
    silent |= {said.case for said in found if said.fault}
    wrong += compared(
        [g for g in frozen if g.case not in silent], [g for said in found for g in said.goldens]
    )
    for line in wrong[:MOST_SHOWN]:
        print(line)
    if len(wrong) > MOST_SHOWN:
        print(f"and {len(wrong) - MOST_SHOWN} differences more")
    for said in found:
        if said.missing:
            print(f"{said.case}: left out: {said.missing}")
    print(f"{len(wrong)} differences from {len(frozen)} goldens; {progress}")
    return DIFFERENT if wrong else DONE


def compared(frozen: Iterable[Golden], now: Iterable[Golden]) -> list[str]:
    """Return a line for each place in which goldens differ, in the order of their names."""
    old, new = ({golden.name: golden for golden in side} for side in (frozen, now))
    lines = []
    for name in sorted({*old, *new}):
        if name not in new:
            lines.append(f"{name}: expected what is frozen, got nothing")
        elif name not in old:
            lines.append(f"{name}: expected nothing, got an output that is not frozen")
        else:
            content, other = old[name].content, new[name].content
            lines += [f"{name} {place}" for place in differences(content, other)]
    return lines


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("task", choices=("make", "compare", "list", "ratios"))
    parser.add_argument("--only", metavar="PATTERN", help="cases whose names contain or fit this")
    parser.add_argument("--workers", type=int, default=2, metavar="K", help="processes (2)")
    parser.add_argument("--renew", action="store_true", help="of ratios: freeze those of today")
    parser.add_argument("--folder", type=Path, default=OUTPUTS, help="where the goldens are")
    asked = parser.parse_args(arguments)
    if asked.workers < 1:
        parser.error(f"--workers: expected at least 1, got {asked.workers}")
    return asked


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked; return the exit code."""
    asked = options(arguments)
    try:
        if asked.task == "ratios":
            os.environ.update(TERMINAL)
            from tests.frozen import ratios

            return ratios.report(asked.only, renew=asked.renew)
        cases = selected(asked.only)
        if asked.task == "list":
            print("\n".join(case.name for case in cases))
            return DONE
        task = make if asked.task == "make" else compare
        return task(cases, folder=asked.folder, workers=asked.workers)
    except ValueError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
