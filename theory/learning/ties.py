"""How one hypothesis compares with the others, and where doubles cannot say.

I(best, θ) = D(θ) − D(best) is a sum over outcomes of what the two hypotheses claim *differently*.
What is wrong with its value comes from these terms alone: rounding of the sum, and the last places
of the numbers that went in (a third is not a double, a logarithm is rounded). So each pair of
hypotheses has its own error bound, its *doubt*, and no third hypothesis, however far off, has a say
in whether two of them tie (docs: mathematics/rate).

* |value| > doubt: which of the two is better is decided.
* value = doubt = 0: they are equally good, exactly, for the numbers given.
* else nothing is decided. Such a pair counts as a tie wherever numbers are computed in doubles, and
  what is called a theorem or certified is not said where it would rest on that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory.showing import Shown
from theory.validation import FloatArray, read_only

EPS = float(np.finfo(np.float64).eps)
# Inputs may be wrong by 16 units in the last place, being fractions and their products, rounded;
# four more are for the logarithms, differences and products taken of them.
UNITS = 20


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """I(best, θ) with error bounds, in nats; any shape that ends with the M hypotheses.

    Attributes
    ----------
    values
        In floating point, zero for `best` itself.
    doubt
        At least 0: the sign of a value that exceeds it in size is the true one. Zero together with
        a value of zero says that the tie is exact.
    """

    values: FloatArray
    doubt: FloatArray

    @property
    def signs(self) -> NDArray[np.int8]:
        """+1 where θ is worse than `best`, −1 where it is better, 0 where that is not decided."""
        settled = np.abs(self.values) > self.doubt
        return np.where(settled, np.sign(self.values), 0).astype(np.int8)

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Where doubles tell neither a difference nor an exact tie."""
        return (np.abs(self.values) <= self.doubt) & (self.doubt > 0)

    def times(self, factor: int) -> Comparison:
        """The same of so many independent observations at once."""
        return Comparison(read_only(factor * self.values), read_only(factor * self.doubt))

    @property
    def settled(self) -> FloatArray:
        """The values, with zero where the sign is not decided."""
        return np.where(self.signs == 0, 0.0, self.values)

    def weighed(self, weights: FloatArray, *, relative: float) -> Comparison:
        """Σ_k w_k I_k over the first axis, for weights right to a `relative` error."""
        sizes = weights @ np.abs(self.values)
        rounding = (relative + (len(weights) + 2) * EPS) * sizes
        doubt = (weights @ self.doubt + rounding) * (1 + (len(weights) + 8) * EPS)
        values = weights @ self.values
        # Kinds that are all for one side, or all tied, need no look at the weights.
        heard = weights > 0
        signs = self.signs[heard]
        agree = (signs >= 0).all(axis=0) | (signs <= 0).all(axis=0)
        agree &= ~self.undecided[heard].any(axis=0)
        return Comparison(values, np.where(agree, 0.0, doubt))


def rearranged(first: FloatArray, second: FloatArray) -> bool:
    """Whether two tables, one row an outcome, hold the same rows in some order, to the last bit."""
    if np.array_equal(first, second):
        return True
    one, other = (table[np.lexsort(table.T)] for table in (first, second))
    return bool(np.array_equal(one, other))


def exact_difference(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First − second as a double and the rest that rounding took from it (Knuth's TwoSum)."""
    difference = first - second
    part = difference - first
    return difference, (first - (difference - part)) - (second + part)
