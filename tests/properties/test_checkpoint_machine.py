"""A run that is stopped anywhere, by any workers, any number of times, ends as if it never was."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from exact import Run, prepare
from exact import parallel as parallel_module
from exact.checkpoint import Arrays, Checkpoint
from exact.learning import Replicates
from exact.parallel import run_units
from tests.properties.support import often
from tests.strategies import Problem, problems, seeds
from theory.changing import RandomLinks
from theory.robustness import Faults, Median, Push

UNITS = 6


class StoppedError(Exception):
    """Ends a run."""


def work_of(problem: Problem, kind: str, seed: int) -> Replicates:
    """Eleven replicates, two to a unit, of a network that stays, loses links or has a liar."""
    network: Any = problem.network
    faults = None
    if kind == "links":
        network = RandomLinks(network, 0.7)
    if kind == "faults" and network.agents > 2:
        faults = Faults({0: Push(1, 1.0)}, Median(), beyond_tolerance=True)
    run = Run(rounds=5, replicates=11, seed=seed, record=[2, 5], paths=4)
    work = prepare(network, problem.model, faults=faults, run=run).work()
    work = getattr(work, "replicates", None) if not isinstance(work, Replicates) else work
    assert isinstance(work, Replicates)
    return replace(work, largest=2, block=1)


class Stops(RuleBasedStateMachine):
    """A run, its checkpoint, and how many of its units that holds."""

    @initialize(
        problem=problems(max_agents=4, finite=True),
        kind=st.sampled_from(["plain", "links", "faults"]),
        seed=seeds,
    )
    def begin(self, problem: Problem, kind: str, seed: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "sums"
        self.work = work_of(problem, kind, seed)
        assert self.work.units == UNITS
        self.whole = run_units(self.work)
        self.done = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def runs(self, until: int, every: int, *, workers: int, resume: bool, mark: str = "a") -> Any:
        """Run on; stopped once `until` units are merged; checkpoints after each `every` units."""
        merged = self.done if resume else 0
        machine = self

        @dataclass
        class Stopping:
            """The work, which ends after so many units; threads get copies of it."""

            work: Replicates

            @property
            def units(self) -> int:
                return self.work.units

            def amount(self, units: int) -> int:
                return self.work.amount(units)

            def empty(self) -> Arrays:
                return self.work.empty()

            def run(self, unit: int, advanced: Any) -> Arrays:
                return self.work.run(unit, advanced)

            def merge(self, total: Arrays, part: Arrays) -> None:
                nonlocal merged
                if merged == until:
                    raise StoppedError
                self.work.merge(total, part)
                merged += 1

        def due(clock: Any, now: float) -> bool:
            saved = merged % every == 0
            if saved and merged < UNITS:
                machine.done = merged
            return saved

        kept = Checkpoint(self.path, mark, resume=resume)
        backend = "threading" if workers > 1 else None
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            # joblib warns of units that were run and are not wanted any more.
            warnings.filterwarnings("ignore", message=".*tasks have been successfully executed")
            warnings.filterwarnings("ignore", message=".*tasks which were still being processed")
            patch.setattr(parallel_module.Clock, "due", due)
            return run_units(Stopping(self.work), workers=workers, backend=backend, checkpoint=kept)

    @rule(
        more=st.integers(0, 3),
        every=st.integers(1, 2),
        workers=st.sampled_from([1, 1, 1, 2]),
        resume=st.sampled_from([True, True, True, False]),
    )
    def is_stopped(self, more: int, every: int, workers: int, resume: bool) -> None:
        until = min((self.done if resume else 0) + more, UNITS - 1)
        with pytest.raises(StoppedError):
            self.runs(until, every, workers=workers, resume=resume)

    @rule(every=st.integers(1, 7), workers=st.sampled_from([1, 1, 2]))
    def ends(self, every: int, workers: int) -> None:
        found = self.runs(UNITS, every, workers=workers, resume=True)
        for name, values in self.whole.items():
            assert found[name].tobytes() == values.tobytes(), name
        assert not self.path.exists()
        self.done = 0

    @precondition(lambda self: getattr(self, "done", 0))
    @rule(place=st.integers(0, 10**6), what=st.sampled_from(["byte", "end", "more", "run"]))
    def a_file_that_is_not_its_own_is_refused(self, place: int, what: str) -> None:
        """One that was damaged anywhere, cut off or added to, or is that of another run."""
        good = self.path.read_bytes()
        place = place * 7919 % len(good)  # all over the file
        bad = bytearray(good)
        if what == "byte":
            bad[place] ^= 1 << (place % 8)
        elif what == "end":
            del bad[place:]
        elif what == "more":
            bad += b"\0"
        self.path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"sums: expected a (whole )?checkpoint") as error:
            self.runs(UNITS, 1, workers=1, resume=True, mark="b" if what == "run" else "a")
        assert "\n" not in str(error.value)
        assert self.path.read_bytes() == bytes(bad)
        self.path.write_bytes(good)

    @invariant()
    def the_file_says_how_far_it_is(self) -> None:
        if hasattr(self, "path"):
            assert Checkpoint(self.path, "a").done() == (self.done or None)
            assert np.isfinite(self.whole["each_mean"]).all()


TestStops = Stops.TestCase
TestStops.settings = settings(often(20), stateful_step_count=12)
