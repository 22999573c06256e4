"""W, W², … in balls, until their rows agree.

Row i of W^k tells how agent i weighs what was observed k rounds ago. Rows of W^{k+l} = W^l W^k are
averages of the rows of W^k, so that each column of all later powers lies between the least and the
largest entry of that column in W^k. Once these *hulls* are narrow, the balls around them stand for
every later power at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import flint
from flint import arb

from theory.numbers import precision

SETTLED_BITS = 40
"""Rows have settled where each column's hull is a ball of this relative accuracy."""


@dataclass(eq=False)
class BallPowers:
    """Powers of a rational W in balls of `bits` bits, computed when they are first asked for.

    Attributes
    ----------
    most
        At most this many are computed; the hull of the last stands for later ones, however wide.
    settled
        The first k at which the rows agree; None as long as it has not been reached.
    """

    matrix: flint.fmpq_mat
    bits: int
    most: int
    settled: int | None = None
    _tables: list[list[list[arb]]] = field(default_factory=list)
    _last: flint.arb_mat | None = None

    @property
    def agents(self) -> int:
        """N."""
        return int(self.matrix.nrows())

    def reach(self, rounds: int) -> int:
        """Compute powers up to `rounds`, or until the rows agree; how many there are then."""
        wanted = min(rounds, self.most)
        with precision(self.bits):
            W = flint.arb_mat(self.matrix)
            while len(self._tables) < wanted and self.settled is None:
                self._last = W if self._last is None else self._last * W
                self._tables.append(self._last.table())
                if all(h.rel_accuracy_bits() >= SETTLED_BITS for h in self.hull(len(self._tables))):
                    self.settled = len(self._tables)
        return min(wanted, len(self._tables))

    def table(self, k: int) -> list[list[arb]]:
        """The entries of W^k, for a k that was reached."""
        return self._tables[k - 1]

    def hull(self, k: int) -> list[arb]:
        """One ball a column that contains that column of W^l in every row, for all l ≥ k."""
        with precision(self.bits):
            rows = self.table(k)
            hull = list(rows[0])
            for row in rows[1:]:
                hull = [a.union(b) for a, b in zip(hull, row, strict=True)]
            return hull
