"""Influences that keep a share of the best rate, or of the best exponent: cuts, and programs.

{v : K(v) ≥ c} is a polytope: Σ_j v_j (I_j(θ*, θ) − c) ≥ 0 for every wrong θ. {v : E(v) ≥ c} is
convex: E_θ(v) ≥ c says that no law Q of the data with Σ_j KL(Q_j ‖ P_j) < c has a mean
Σ_j v_j E_Q z_j ≤ 0. So it is cut out by the half-spaces Σ_j v_j E_Q z_j ≥ 0 of the laws that
cost c, and where E_θ(v) < c the law bent along v is one that v violates
(:mod:`theory.design.samples.bent_laws`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from theory.design.influences.influence_set import InfluenceSet
from theory.design.samples.bent_laws import Evidence
from theory.scientific import sparse
from theory.validation import FloatArray

# A cut that v misses by this part of its largest coefficient is met.
_MET = 1e-9
_MOST_CUTS = 200


class Floor(Protocol):
    """A convex set of influences, given by the cuts that a point violates."""

    @property
    def rows(self) -> FloatArray:
        """Cuts that are known, shape (C, N): row · v ≥ 0."""
        ...

    def cuts(self, v: FloatArray) -> FloatArray:
        """Cuts that v violates, shape (C, N); none if v is in the set, to 1e-9 or so."""
        ...


class RateFloor:
    """{v : Σ_j v_j I_j(θ*, θ) ≥ c for every wrong θ}; `information` has shape (N, wrong)."""

    def __init__(self, information: FloatArray, least: float) -> None:
        self.rows: FloatArray = information.T - least

    def cuts(self, v: FloatArray) -> FloatArray:
        """All cuts are known beforehand."""
        return np.zeros((0, v.size))


class ExponentFloor:
    """{v : E_θ(v) ≥ c for every wrong θ}."""

    def __init__(self, evidence: Sequence[Evidence], least: float) -> None:
        self.evidence, self.least = tuple(evidence), least
        self.rows: FloatArray = np.array(
            [e.means(np.zeros(e.assignment.size)) for e in self.evidence]
        )

    def cuts(self, v: FloatArray) -> FloatArray:
        """One for each hypothesis whose exponent at v is too small."""
        found = []
        for e in self.evidence:
            t = e.spending(v, self.least)
            if t is None:
                continue
            means = e.means(t * v)
            if float(v @ means) < -_MET * float(np.abs(means).max()):
                found.append(means)
        return np.array(found) if found else np.zeros((0, v.size))


class FlooredInfluences:
    """The influences of a set that are above a floor; cuts that were needed once are kept."""

    def __init__(self, influences: InfluenceSet, floor: Floor) -> None:
        self.influences, self.floor = influences, floor
        self._rows = floor.rows

    def evenest(self) -> FloatArray | None:
        """The v nearest the set's centre, by max_j |v_j / centre_j − 1|; None if there is none."""
        centre = self.influences.centre
        agents = centre.size
        rows = np.vstack(
            [
                np.hstack([np.eye(agents), -centre[:, None]]),
                np.hstack([-np.eye(agents), -centre[:, None]]),
            ]
        )
        return self._solve(np.array([1.0]), rows, np.append(centre, -centre), agents)

    def least(self, cost: FloatArray, around: FloatArray, reach: float) -> FloatArray | None:
        """A v of least cost · v with |v_j / around_j − 1| ≤ `reach`; None if there is none."""
        agents = around.size
        rows = np.vstack([np.eye(agents), -np.eye(agents)])
        right = np.append((1 + reach) * around, (reach - 1) * around)
        return self._solve(cost, rows, right, 0)

    def _solve(
        self, cost: FloatArray, rows: FloatArray, right: FloatArray, first: int
    ) -> FloatArray | None:
        """Minimise `cost`, which is for v or (if `first` is N) for one variable more."""
        known = self.influences.rows
        agents = known.agents
        extra = 1 if first else 0
        width = known.variables + extra
        objective = np.zeros(width)
        if extra:
            objective[-1] = -1.0
        else:
            objective[:agents] = -cost / max(float(np.abs(cost).max()), 1e-300)
        program = known.program(objective)
        wide = np.zeros((len(rows), width))
        wide[:, :agents] = rows[:, :agents]
        if extra:
            wide[:, -1] = rows[:, -1]
        program.add(sparse.csr_array(wide), -np.inf, right)
        program.add(self._wide(self._rows, width), 0.0, np.inf)
        for _ in range(_MOST_CUTS):
            solved = program.solve()
            if solved is None:
                return None
            v = np.maximum(solved.x[:agents], self.influences.lowest)
            v = v / v.sum()
            new = self.floor.cuts(v)
            if not len(new):
                return np.asarray(v)
            self._rows = np.vstack([self._rows, new])
            program.add(self._wide(new, width), 0.0, np.inf)
        return np.asarray(v)

    def _wide(self, rows: FloatArray, width: int) -> sparse.csr_array:
        # Scaled to one: HiGHS's tolerances are absolute.
        scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
        wide = np.zeros((len(rows), width))
        wide[:, : rows.shape[1]] = rows / scale
        return sparse.csr_array(wide)
