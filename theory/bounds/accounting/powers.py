"""The rows of W, W², …, kept until they agree, and what is known of all later ones.

Rows of W^{k+l} = W^l W^k are averages of the rows of W^k. So once the rows of W^m agree to within
σ_j in column j, all later powers lie in the same interval: one more *settled* round with an error
σ_j stands for all of them. Entries are sums of products of non-negative numbers, so that rounding
and typing change them relatively, by at most `error` per factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.bounds.accounting.majorant import EPS
from theory.network import Network
from theory.validation import FloatArray, read_only

# Rows that agree to this (the sum over columns of the differences) are settled: over a million
# rounds it moves a sum of log-ratios by 1e-6 of the largest.
_SETTLED = 1e-12
_MOST_ROUNDS = 20_000
# Numbers kept: 160 MB.
_MOST_NUMBERS = 2e7


@dataclass(frozen=True, eq=False)
class Powers:
    """W^1 … W^m, as many as are needed for the rows to agree or the memory allows."""

    network: Network

    @cached_property
    def rows(self) -> FloatArray:
        """Shape (m, N, N), in floating point; an entry of W^k is right to k·`error`, relatively."""
        kept: list[FloatArray] = []
        most = int(min(_MOST_ROUNDS, max(1.0, _MOST_NUMBERS / self.network.agents**2)))
        for power in self.network.powers():
            kept.append(power)
            if len(kept) == most or float(np.ptp(power, axis=0).sum()) <= _SETTLED:
                break
        return read_only(np.array(kept))

    @property
    def count(self) -> int:
        """The number m of powers kept."""
        return len(self.rows)

    @cached_property
    def is_settled(self) -> bool:
        """Whether the rows of the last power agree to working accuracy."""
        return float(np.ptp(self.rows[-1], axis=0).sum()) <= _SETTLED

    @cached_property
    def error(self) -> float:
        """The relative error of an entry of W^k is at most this times k (while that is small).

        W with what its rows lack to one added to their largest entries: that is the matrix meant.
        """
        weights = self.network.weights
        lacking = 0.0
        for i in range(self.network.agents):
            row = np.asarray(weights[[i]].sum(axis=0)).ravel()
            lacking = max(lacking, abs(1.0 - math.fsum(row.tolist())) / float(row.max()))
        return 1.01 * (lacking + (self.network.agents + 3) * EPS)

    @cached_property
    def later(self) -> FloatArray:
        """Shape (N,): how far an entry of column j in any later power is from the last one kept."""
        last = self.rows[-1]
        allowed: FloatArray = np.ptp(last, axis=0) + 2.1 * self.count * self.error * last.max(
            axis=0
        )
        return allowed
