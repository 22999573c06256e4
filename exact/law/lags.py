"""The weights of every lag, settled ones counted and not repeated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory import FiniteModel, Network
from theory.validation import FloatArray, IntArray, fail, read_only

# Rows of W^k that agree to this add less to a log-ratio than rounding does.
_SETTLED = 1e-15
# Entries of all powers together: 400 MB.
_MOST_ENTRIES = 50_000_000


@dataclass(frozen=True, eq=False)
class Lags:
    """W, W², …, Wⁿ, equal ones given once.

    Attributes
    ----------
    weights
        Shape (G, N, N).
    counts
        Shape (G,): how many lags have these weights; they sum to n.
    """

    weights: FloatArray
    counts: IntArray

    @property
    def last(self) -> FloatArray:
        """Wⁿ, shape (N, N)."""
        return np.asarray(self.weights[-1])


def lags(network: Network, rounds: int) -> Lags:
    """The lags of `rounds` rounds.

    Raises
    ------
    ValueError
        If they do not fit in memory.
    """
    size = network.agents
    most = max(1, _MOST_ENTRIES // (size * size))
    found: list[FloatArray] = []
    for k, power in enumerate(network.powers(), start=1):
        found.append(power)
        if k == rounds or float(np.ptp(power, axis=0).max()) <= _SETTLED * (size + k):
            break
        if k == most:
            raise fail(
                "rounds",
                f"at most {most}, as W has not settled by then and its powers fill memory",
                rounds,
                "ask for fewer rounds, or a smaller network",
            )
    counts = np.ones(len(found), dtype=np.int64)
    counts[-1] += rounds - len(found)
    return Lags(read_only(np.array(found)), read_only(counts))


@dataclass(frozen=True, eq=False)
class Atoms:
    """One kind's observations: z(best, θ) of atom o is offsets[o] + n·slopes[o], n normal.

    Attributes
    ----------
    probabilities
        Shape (O,).
    offsets, slopes
        Shape (O, M), zero in the column of `best`.
    """

    probabilities: FloatArray
    offsets: FloatArray
    slopes: FloatArray

    @property
    def is_normal(self) -> bool:
        """Whether any atom is a proper normal."""
        return bool(self.slopes.any())


def atoms(model: FiniteModel, best: int) -> tuple[Atoms, ...]:
    """The atoms of each kind of agent."""
    from exact.sampling import kind_rows

    found = []
    for index, (probabilities, offsets, each) in enumerate(kind_rows(model)):
        if each.shape[1] > 1:
            wanted = "one input, or batches of one observation, of Gaussian agents"
            got = f"{each.shape[1]} inputs and batches"
            raise fail(f"agents of kind {index}", wanted, got, "use exact.simulate")
        kept, slopes = probabilities > 0, each[:, 0]
        rows = (offsets[:, [best]] - offsets)[kept], (slopes[:, [best]] - slopes)[kept]
        found.append(Atoms(probabilities[kept], *rows))
    return tuple(found)
