"""Workers, memory and resuming from the command line: notices, refusals, and the same record."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import peerbayes as pb
from exact.checkpoint import Checkpoint
from exact.cost import Cost
from peerbayes import cli
from peerbayes.front.simulate import announce
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.settings.questions import Resources, Simulate
from tests.peerbayes.commands import Capture, Patch

ROOT = Path(pb.__file__).parents[1]
RUN = ["simulate", "two-coins", "--rounds", "300", "--replicates", "20000", "--seed", "2"]
RECORD = "simulate-two-coins-n300-r20000-s2.json"
CHECKPOINT = RECORD.replace(".json", ".checkpoint")


@pytest.fixture(autouse=True)
def short_units(monkeypatch: Patch) -> None:
    """So that a run of a fraction of a second has several units."""
    monkeypatch.setattr("exact.cost.UNIT_SECONDS", 0.01)
    monkeypatch.setattr("exact.regression.cost.UNIT_SECONDS", 0.01)


def run(capsys: Capture, *arguments: str) -> tuple[int, list[str]]:
    """The exit code, and the lines on standard error."""
    code = cli.main(list(arguments))
    return code, capsys.readouterr().err.splitlines()


def test_the_record_does_not_depend_on_the_workers(tmp_path: Path, capsys: Capture) -> None:
    for folder, options in (
        ("a", []),
        ("b", ["--workers", "3", "--backend", "threading", "--memory", "20G"]),
    ):
        assert run(capsys, *RUN, *options, "--quiet", "--out", str(tmp_path / folder)) == (0, [])
        assert [path.name for path in (tmp_path / folder).iterdir()] == [RECORD]
    first, *others = [(tmp_path / folder / RECORD).read_bytes() for folder in "ab"]
    assert all(other == first for other in others)


KINDS = {
    "finite": "two-coins",
    "changing": "restless-ring links",
    "faulty": "liars-torus",
    "regression": "p1-regression",
}


@pytest.mark.parametrize("kind", ["changing", "faulty", "regression"])
def test_workers_change_no_byte_of_any_kind_of_record(
    kind: str, tmp_path: Path, capsys: Capture
) -> None:
    command = ["simulate", KINDS[kind], "--rounds", "30", "--replicates", "1500", "--quiet"]
    for folder, options in (("a", []), ("b", ["--workers", "2", "--backend", "threading"])):
        assert run(capsys, *command, *options, "--out", str(tmp_path / folder)) == (0, [])
    (first,) = (tmp_path / "a").iterdir()
    assert first.read_bytes() == (tmp_path / "b" / first.name).read_bytes()
    assert len(list((tmp_path / "b").iterdir())) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_kept_to_by_every_kind_of_problem(
    kind: str, tmp_path: Path, capsys: Capture
) -> None:
    command = ["simulate", KINDS[kind], "--rounds", "10", "--replicates", "2", "--memory", "1M"]
    code, lines = run(capsys, *command, "--quiet", "--out", str(tmp_path))
    assert code == 2
    assert len(lines) == 1
    assert lines[0].startswith("peerbayes: memory: expected ")
    assert "0.00093 GiB" in lines[0]
    assert list(tmp_path.iterdir()) == []


PROGRAM = """
import os, signal, sys
import exact.checkpoint, exact.cost, exact.parallel, exact.regression.cost
from peerbayes.cli import main

exact.cost.UNIT_SECONDS = exact.regression.cost.UNIT_SECONDS = 0.01
exact.parallel.EVERY_SECONDS = exact.checkpoint.EVERY_SECONDS = exact.checkpoint.SHARE = 0
save = exact.checkpoint.Checkpoint.save

def save_and_die(self, done, total):
    save(self, done, total)
    os.kill(os.getpid(), signal.SIGKILL)

exact.checkpoint.Checkpoint.save = save_and_die
main(sys.argv[1:])
"""


class Dead(BaseException):
    """In place of a signal."""


@contextmanager
def ending_at_a_checkpoint(with_: type[BaseException]) -> Iterator[None]:
    """A run raises this as soon as it has written a checkpoint."""
    save = Checkpoint.save

    def save_and_end(self: Checkpoint, done: int, total: int) -> None:
        save(self, done, total)
        raise with_

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save_and_end)
        for name in ("parallel.EVERY_SECONDS", "checkpoint.EVERY_SECONDS", "checkpoint.SHARE"):
            patch.setattr(f"exact.{name}", 0)
        yield


def die_in_the_middle(out: Path, command: list[str]) -> None:
    """Run the command in this process until there is a checkpoint, and no more."""
    with ending_at_a_checkpoint(Dead), pytest.raises(Dead):
        cli.main([*command, "--out", str(out)])


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path, capsys: Capture) -> None:
    with ending_at_a_checkpoint(KeyboardInterrupt):
        code, lines = run(capsys, *RUN, "--out", str(tmp_path))
    assert (code, [path.name for path in tmp_path.iterdir()]) == (130, [CHECKPOINT])
    told = "kept; the same command with --resume goes on from there"
    assert f"{tmp_path / CHECKPOINT}: {told}" in lines


def kill_in_the_middle(out: Path, command: list[str]) -> None:
    """Run the command, and kill it with signal 9 as soon as there is a checkpoint."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command, "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


def test_stopped_and_resumed_leaves_the_same_record(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    check_resumed(die_in_the_middle, tmp_path, capsys, monkeypatch)


def check_resumed(
    stop: Callable[[Path, list[str]], None], tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    """That a run that was stopped goes on where it was, and only if it is the same run."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run(capsys, *RUN, "--quiet", "--out", str(whole))[0] == 0
    stop(killed, RUN)
    assert [path.name for path in killed.iterdir()] == [CHECKPOINT]
    capsys.readouterr()
    left = (killed / CHECKPOINT).read_bytes()

    # Another version of the program, or a damaged file: refused, and left as it is.
    with monkeypatch.context() as patch:
        patch.setattr("exact.checkpoint.version", lambda name: "99")
        code, lines = run(capsys, *RUN, "--resume", "--out", str(killed))
    assert (code, len(lines)) == (2, 1)
    assert "expected a checkpoint of this run: the same problem, arguments and versions" in lines[0]
    (killed / CHECKPOINT).write_bytes(left[:-1] + bytes([left[-1] ^ 1]))
    code, lines = run(capsys, *RUN, "--resume", "--out", str(killed))
    assert (code, len(lines)) == (2, 1)
    assert "damaged or truncated file" in lines[0]
    (killed / CHECKPOINT).write_bytes(left)

    # Only what was missing is run.
    units = []
    from exact.learning import Replicates

    original = Replicates.run

    def counted(self, unit, advanced):  # type: ignore[no-untyped-def]
        units.append(unit)
        return original(self, unit, advanced)

    monkeypatch.setattr(Replicates, "run", counted)
    code, lines = run(capsys, *RUN, "--resume", "--out", str(killed))
    assert code == 0
    assert [line for line in lines if "resume" in line] == []
    assert units[0] == 1
    assert units == list(range(1, units[-1] + 1))
    assert [path.name for path in killed.iterdir()] == [RECORD]
    assert (killed / RECORD).read_bytes() == (whole / RECORD).read_bytes()


@pytest.mark.parametrize("kind", ["faulty", "regression"])
def test_other_kinds_resume_too(kind: str, tmp_path: Path, capsys: Capture) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = ["simulate", KINDS[kind], "--rounds", "40", "--replicates", "3000", "--seed", "2"]
    assert run(capsys, *command, "--quiet", "--out", str(whole)) == (0, [])
    (record,) = whole.iterdir()
    die_in_the_middle(killed, command)
    capsys.readouterr()
    assert [path.name for path in killed.iterdir()] == [record.with_suffix(".checkpoint").name]
    code, lines = run(capsys, *command, "--resume", "--memory", "1GiB", "--out", str(killed))
    assert code == 0
    assert [line for line in lines if "resume" in line] == []
    assert [path.name for path in killed.iterdir()] == [record.name]
    assert (killed / record.name).read_bytes() == record.read_bytes()


def test_a_long_regression_is_announced_and_refused() -> None:
    said: list[str] = []
    options = {"rounds": 10**7, "replicates": 10**5, "seed": 0}
    with pytest.raises(ValueError, match=r"^memory: expected a run within"):
        pb.simulate(
            load_problem("p1-regression"),
            **options,
            resources=Resources(memory="1M", hours=1e9),
            notice=said.append,
        )
    assert len(said) == 1
    assert said[0].startswith("p1-regression: about ")


def test_without_resume_a_checkpoint_is_mentioned_and_a_run_starts_afresh(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / CHECKPOINT).write_bytes(b"left behind")
    code, lines = run(capsys, *RUN, "--out", str(tmp_path))
    assert code == 0
    assert "left by a killed run; starting afresh (--resume goes on)" in lines[0]
    assert [path.name for path in tmp_path.iterdir()] == [RECORD]
    (tmp_path / CHECKPOINT).write_bytes(b"left behind")
    assert run(capsys, *RUN, "--quiet", "--out", str(tmp_path)) == (0, [])


def test_nothing_to_resume_starts_from_the_beginning(tmp_path: Path, capsys: Capture) -> None:
    code, lines = run(capsys, *RUN, "--resume", "--out", str(tmp_path))
    assert code == 0
    assert lines[0] == "nothing to resume: starting from the beginning"


def test_long_and_large_runs_are_announced() -> None:
    said: list[str] = []
    resources = Simulate(notice=said.append)
    announce(resources, "a", Cost(5 << 20, 9.0, {}, 1, 0))
    assert said == []
    announce(resources, "b", Cost(3 << 29, 9.0, {}, 1, 0))
    announce(resources, "c", Cost(5 << 20, 7200.0, {}, 1, 0))
    assert said == [
        "b: about 9 s, up to 1.5 GiB of memory (estimates)",
        "c: about 2 h, up to 0.0049 GiB of memory (estimates)",
    ]
    announce(Simulate(), "d", Cost(3 << 29, 8e4, {}, 1, 0))


@pytest.mark.parametrize(
    "command",
    [
        ["simulate", "two-coins"],
        ["simulate", "restless-ring links"],
        ["simulate", "liars-torus"],
        ["simulate", "p1-regression"],
        ["place", "p2-grid"],
        ["design", "two-coins"],
        ["run", "regression-2"],
    ],
)
def test_a_run_of_days_is_refused(command: list[str], tmp_path: Path, capsys: Capture) -> None:
    """A thousand thousand million replicates were begun, for 36 days."""
    rounds = ["--rounds", "40"] if command[0] == "simulate" else []
    # Large enough for days, and fewer observations than are refused whatever they take.
    replicates = 10**10 if command[0] in ("place", "run") else 10**11
    size = ["--replicates", str(replicates), *rounds, "--quiet", "--out", str(tmp_path)]
    code, lines = run(capsys, *command, *size)
    assert code == 2
    assert len(lines) == 1
    assert "expected a run of at most about 24 h, got one of about" in lines[0]
    assert "days (an estimate); ask for fewer rounds or replicates" in lines[0]
    assert ("--hours" in lines[0]) == (command[0] == "simulate")


def test_a_long_run_may_be_asked_for() -> None:
    said: list[str] = []
    cost = Cost(5 << 20, 36 * 86400.0, {}, 1, 0)
    with pytest.raises(ValueError, match=r"got one of about 36 days .* allow it with --hours 870"):
        announce(Simulate(notice=said.append), "a", cost)
    assert said == []
    announce(Simulate(notice=said.append, resources=Resources(hours=870)), "a", cost)
    assert said == ["a: about 36 days, up to 0.0049 GiB of memory (estimates)"]


def test_a_long_run_is_announced_before_it_begins(monkeypatch: Patch) -> None:
    said: list[str] = []

    class StoppedError(Exception):
        """Raised in place of the run."""

    def stop(*arguments: object, **options: object) -> None:
        raise StoppedError

    monkeypatch.setattr("exact.task.Task.simulate", stop)
    with pytest.raises(StoppedError):
        pb.simulate(
            load_problem("two-coins"),
            rounds=10**6,
            replicates=10**6,
            seed=0,
            resources=Resources(hours=1e9),
            notice=said.append,
        )
    assert len(said) == 1
    assert said[0].startswith("two-coins: about ")
    assert "(estimates)" in said[0]
