"""The parts of `tuned` in a campaign: their order, and what each is expected to take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from peerbayes.experiments.net_problem import network_of
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.setting import Setting
from peerbayes.experiments.tuned import TunedExperiment, tuned_name
from peerbayes.experiments.tuned_plan import COURSES, TunedPart, search_of, tuned_parts
from theory.changing import PeriodicNetwork

_SEEDS = 3
# Seconds a step, weight and method on one core of 2025, batches of 50; and of judging, an agent.
_SECONDS_A_WEIGHT = {
    "sites": 1.2e-8, "natural-gradient": 1.2e-8, "backprop": 1.2e-8, "averaging": 6e-9,
    "backprop-sampled": 1.2e-8, "averaging-adam": 8e-9, "ensemble": 6e-9, "central": 6e-9,
    "fedavg": 6e-9,
}  # fmt: skip
_JUDGING = 1.0


@dataclass(frozen=True)
class TunedTask:
    """One part of a row's comparison."""

    row: str
    part: TunedPart

    @property
    def record(self) -> str:
        """The experiment whose records it goes to."""
        return tuned_name(self.row)

    @property
    def name(self) -> str:
        """Such as ``star-mnist-1-tuned: 50-steps-sites-seed-0``."""
        return f"{self.record}: {self.part.name}"

    @property
    def kind(self) -> str:
        """What takes as long in proportion to its steps: the method."""
        return f"tuned {self.part.method}"

    @property
    def needs(self) -> str | None:
        """The part that must be done before: the last of the trials that it builds upon."""
        search = search_of(is_quick=False)
        last = search.trials if self.part.purpose == "seed" else self.part.number - 1
        if self.part.purpose == "search" and last < 1:
            return None
        before = TunedPart(self.part.course, self.part.method, "search", last)
        return f"{self.record}: {before.name}"

    @property
    def seconds(self) -> float:
        """How long it is expected to take on one core; an estimate to a factor of two."""
        training = self.steps * self.weights * _SECONDS_A_WEIGHT[self.part.method]
        return training + _JUDGING * self.agents

    @property
    def weights(self) -> int:
        """Weights of one net."""
        widths = (784, *ROWS[self.row].hidden, 10)
        return sum((a + 1) * b for a, b in pairwise(widths))

    @property
    def steps(self) -> int:
        """Local steps of all agents together; a central one's count as theirs."""
        _, active = _agents_of(self.row)
        return round(self.part.rounds * self.part.course.local_steps * active)

    @property
    def dataset(self) -> str:
        """Whose images it learns from."""
        return ROWS[self.row].dataset

    @property
    def agents(self) -> int:
        """How many agents learn."""
        return _agents_of(self.row)[0]

    def experiment(self, setting: Setting) -> TunedExperiment:
        """The comparison, ready to run this part."""
        return TunedExperiment(ROWS[self.row], seeds=self.part.seed + 1, setting=setting)


@cache
def _agents_of(row: str) -> tuple[int, float]:
    """How many agents a row's network has, and how many train in a round, the mean."""
    network = network_of(ROWS[row].variant(ROWS[row].main).network)
    if isinstance(network, PeriodicNetwork):
        training = [int(phase.observes.sum()) for phase in network.phases]
        return network.agents, sum(training) / len(training)
    return network.agents, float(network.agents)


def tuned_tasks() -> Iterator[TunedTask]:
    """The first course of every row, row by row; then the second course of those that have one."""
    for place in range(max(map(len, COURSES.values()))):
        for name, courses in COURSES.items():
            parts = tuned_parts(ROWS[name], seeds=_SEEDS, is_quick=False)
            some = courses[place : place + 1]
            yield from (TunedTask(name, part) for part in parts if part.course in some)
