"""Replicates of a simulated regression, in units that may be spread over processes.

Replicates are cut into chunks that stay in cache, each with random streams of its own, and chunks
into units (:class:`exact.parallel.Work`): a function of the problem alone, so that the same
arguments give the same numbers, whoever runs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from exact.checkpoint import Arrays
from exact.parallel import Advanced
from exact.regression.beliefs import GaussianBeliefs
from exact.regression.cost import QUANTUM, Load, RegressionPlan, pooled_rounds
from exact.regression.observations import Observer, Samples
from exact.regression.results import RegressionTally, merge_regressions
from exact.regression.state import Carrier, Columns
from exact.regression.yardstick import Yardstick
from theory.regression import RegressionModel
from theory.validation import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class RegressionWork:
    """A simulation, ready to run and cut into units; see :class:`exact.parallel.Work`."""

    weights: FloatArray | csr_array | None
    distribution: FloatArray
    settled: int
    model: RegressionModel
    samples: Samples
    prior: GaussianBeliefs
    yardstick: Yardstick
    rounds: IntArray
    replicates: int
    seed: int
    shared: bool

    @cached_property
    def columns(self) -> Columns:
        """Where the entries of precisions are kept."""
        return Columns.of(self.model, self.prior)

    @cached_property
    def load(self) -> Load:
        """The sizes that decide the cost."""
        seen = np.diff(self.samples.start)
        links: int | None = 0
        pooled = 0
        if self.weights is not None:
            links = self.weights.nnz if isinstance(self.weights, csr_array) else None
            pooled = pooled_rounds(self.rounds, self.settled)
        return Load(
            learners=self.prior.agents,
            columns=len(self.columns.pairs),
            dimension=self.prior.dimension,
            samples=len(self.samples.owner),
            rows=self.samples.rows,
            terms=int((seen * (seen + 1) // 2 + 2 * seen).sum()),
            links=links,
            quantities=self.yardstick.quantities,
            pooled=pooled,
            drawn=int(self.rounds[-1]),
            times=self.rounds.size,
            shared=self.shared,
        )

    @cached_property
    def plan(self) -> RegressionPlan:
        """How the replicates are cut up."""
        return self.load.plan()

    @property
    def units(self) -> int:
        """How many units there are."""
        return -(-self.replicates // self.plan.unit)

    def amount(self, units: int) -> int:
        """Rounds times replicates of the first `units` units."""
        return int(self.rounds[-1]) * min(self.replicates, units * self.plan.unit)

    def empty(self) -> Arrays:
        """The sums of no unit."""
        return self._tally().arrays()

    def run(self, unit: int, advanced: Advanced) -> Arrays:
        """The sums of one unit."""
        tally = self._tally()
        carrier = Carrier(
            self.weights,
            self.distribution,
            self.settled,
            self.samples,
            self.columns,
            self.model.theta,
            self.prior,
        )
        end = min(self.replicates, (unit + 1) * self.plan.unit)
        for begin in range(unit * self.plan.unit, end, self.plan.together):
            size = min(self.plan.together, end - begin)
            # Whole cache lines, so that the linear algebra does the same for every chunk.
            room = min(self.plan.together, -(-size // QUANTUM) * QUANTUM)
            observer = Observer(
                self.model,
                self.samples,
                replicates=room,
                shared=self.shared,
                seed=self.seed,
                chunk=begin // self.plan.together,
            )
            index = before = 0
            run = carrier.run(observer, self.rounds, replicates=room, shared=self.shared)
            for now, snapshot in run:
                advanced((now - before) * size)
                before = now
                if snapshot is not None:
                    tally.add(index, snapshot, self.columns, replicates=size)
                    index += 1
        return tally.arrays()

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take in the sums of the next unit."""
        merge_regressions(total, part)

    def _tally(self) -> RegressionTally:
        return RegressionTally(self.yardstick, rounds=self.rounds.size, learners=self.prior.agents)
