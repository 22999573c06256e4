"""Pooling Gaussians over a network: one product of W with natural parameters.

    1/σ_i² ← Σ_j W_ij / σ_j²,     μ_i/σ_i² ← Σ_j W_ij μ_j/σ_j²       (P1 eq. 3, P2 eq. 6)

An agent's own term is its belief in full; the others' are what it heard. All sums and the way back
to mean and variance are in float64. Precisions are positive, so nothing cancels in the first sum;
the second is a weighted average of means, whose error is small against the largest |μ_j| in it.

**Accuracy** with float32 beliefs and plain messages, u = 2⁻²⁴, while all numbers sent are normal:
a variance is right to a factor 1 ± 2u, a mean to ±4u times the same average of |μ_j|, up to terms
in u². From the numbers sent it is one rounding each: u times the variance, u times the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from theory.network.structure import as_weights
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray, fail, read_only

# What an agent sends where no codec writes it ----------------------------------------------------


# Kinds of devices whose memory the compiled kernels reach; torch serves the others.
HAS_KERNEL: tuple[str, ...] = ("cpu",)


@dataclass(frozen=True, eq=False)
class Natural:
    """Natural parameters of Gaussians with independent coordinates.

    Attributes
    ----------
    precision, shift
        1/σ² and μ/σ²; shape (d,), or (agents, d) of several.
    """

    precision: Tensor
    shift: Tensor

    @classmethod
    def from_moments(cls, mean: Tensor, variance: Tensor) -> Natural:
        """Those of given means and variances, rounded to their dtype.

        The shift is the mean times the rounded precision: their quotient, which is what counts,
        is the mean up to one rounding.

        Examples
        --------
        >>> one = Natural.from_moments(torch.tensor([3.0]), torch.tensor([0.5]))
        >>> one.precision.item(), one.shift.item()
        (2.0, 6.0)
        """
        precision = variance.reciprocal()
        return cls(precision, precision * mean)

    def of(self, agent: int) -> Natural:
        """Those of one of several, as views of shape (d,)."""
        return Natural(self.precision[agent], self.shift[agent])

    def check(self, *, agents: Sequence[int], round: int) -> None:
        """Refuse what is no Gaussian; `agents` says whose the rows are.

        Raises
        ------
        ValueError
            If a number is not finite or a precision not above 0; names agent, round and place.
        """
        precision, shift = (
            values.reshape(-1, values.shape[-1]) for values in (self.precision, self.shift)
        )
        row = _first_improper(precision, shift)
        if row < 0:
            return
        wrong = ~((precision[row] > 0) & torch.isfinite(precision[row]))
        name, values, wanted = "precision", precision[row], "finite numbers above 0"
        if not wrong.any():
            name, values, wanted = "shift", shift[row], "finite numbers"
            wrong = ~torch.isfinite(values)
        place = int(wrong.nonzero()[0, 0])
        raise fail(
            f"{name} of agent {agents[row]} in round {round}",
            wanted,
            f"{float(values[place]):g} at parameter {place}",
            "lower the learning rates, or go back to an earlier checkpoint",
        )


@dataclass(frozen=True, eq=False)
class Message:
    """One agent's belief as it is sent.

    Attributes
    ----------
    payload
        Named tensors: what the receiver gets, and all it gets.
    bytes
        What sending it once costs.
    """

    payload: Mapping[str, Tensor]
    bytes: int


def _first_improper(precision: Tensor, shift: Tensor) -> int:
    """The first row that is no Gaussian's; −1 if there is none."""
    if precision.device.type in HAS_KERNEL:
        from empirical.nets.pooling_kernel import first_improper

        return int(first_improper(precision.numpy(), shift.numpy()))
    # NaN is the least and the largest where it occurs.
    low, high = torch.aminmax(precision, dim=1)
    least, most = torch.aminmax(shift, dim=1)
    good = (low > 0) & torch.isfinite(high) & torch.isfinite(least) & torch.isfinite(most)
    bad = (~good).nonzero()
    return int(bad[0, 0]) if len(bad) else -1


# Pooling Gaussians over a network ----------------------------------------------------------------


# Columns that torch pools at once: bounds the float64 copies.
COLUMNS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class WeightRows:
    """Some rows of W, agents `block`, the own weight apart from the others'.

    Attributes
    ----------
    agents
        N, the number of columns.
    block
        Whose rows these are.
    own
        W_ii, shape (rows,).
    start, entries, weights
        The other positive weights in CSR form: row i hears agents entries[start[i]:start[i+1]].
    """

    agents: int
    block: range
    own: FloatArray
    start: IntArray
    entries: IntArray
    weights: FloatArray

    @classmethod
    def from_weights(cls, weights: ArrayLike | Any, block: range | None = None) -> WeightRows:
        """The rows of a weight matrix, dense or sparse, of all agents or of a block of them.

        Raises
        ------
        ValueError
            If W is no row-stochastic matrix.

        Examples
        --------
        >>> rows = WeightRows.from_weights([[0.5, 0.5, 0], [0, 1, 0], [0.25, 0.25, 0.5]])
        >>> rows.own.tolist(), rows.heard_by(2)
        ([0.5, 1.0, 0.5], (0, 1))
        """
        matrix = sparse.csr_array(as_weights(weights))
        agents = int(matrix.shape[0])
        block = range(agents) if block is None else block
        own = np.asarray(matrix.diagonal(), dtype=np.float64)[block.start : block.stop]
        part = sparse.coo_array(matrix[block.start : block.stop])
        row, column = part.coords
        keep = (row + block.start != column) & (part.data > 0)
        rest = sparse.csr_array(
            (part.data[keep], (row[keep], column[keep])), shape=(len(block), agents)
        )
        rest.sort_indices()
        return cls(
            agents,
            block,
            read_only(own.copy()),
            read_only(rest.indptr.astype(np.int64)),
            read_only(rest.indices.astype(np.int64)),
            read_only(rest.data.astype(np.float64)),
        )

    def heard_by(self, agent: int) -> tuple[int, ...]:
        """Whom an agent of the block listens to, other than itself, in ascending order."""
        row = agent - self.block.start
        return tuple(int(j) for j in self.entries[self.start[row] : self.start[row + 1]])

    def of(self, agent: int) -> WeightRows:
        """The row of one agent."""
        row = agent - self.block.start
        some = slice(int(self.start[row]), int(self.start[row + 1]))
        return WeightRows(
            self.agents,
            range(agent, agent + 1),
            self.own[row : row + 1],
            np.array([0, some.stop - some.start]),
            self.entries[some],
            self.weights[some],
        )

    @cached_property
    def pools(self) -> NDArray[np.bool_]:
        """Which agents of the block hear anybody, shape (rows,); the others keep their beliefs."""
        return np.asarray(np.diff(self.start) > 0)

    @cached_property
    def heard(self) -> tuple[int, ...]:
        """Whom the block listens to, each agent's own voice left out, in ascending order."""
        return tuple(int(j) for j in np.unique(self.entries))

    @cached_property
    def places(self) -> IntArray:
        """Where in `heard` each of `entries` stands."""
        return np.searchsorted(np.array(self.heard, dtype=np.int64), self.entries)

    @cached_property
    def involved(self) -> NDArray[np.bool_]:
        """Who speaks or listens, shape (N,)."""
        mask = np.zeros(self.agents, dtype=np.bool_)
        mask[self.entries] = True
        mask[self.block.start : self.block.stop] |= self.pools
        return mask


def pool_all(
    rows: WeightRows,
    mean: Tensor,
    variance: Tensor,
    *,
    round: int,
    out: tuple[Tensor, Tensor],
) -> None:
    """Pool the beliefs of all agents, as if they had sent each other plain messages.

    Parameters
    ----------
    rows
        All of W.
    mean, variance
        Shape (N, d).
    round
        For error messages.
    out
        Mean and variance are written here; they may be `mean` and `variance` themselves.

    Raises
    ------
    ValueError
        If there are not N beliefs; if an agent that speaks or listens has numbers that are no
        Gaussian's (agent and round are named, and `out` is of no use).
    """
    check_beliefs(mean, variance, agents=rows.agents)
    if mean.device.type not in HAS_KERNEL:
        natural = Natural.from_moments(mean, variance)
        speak = np.flatnonzero(rows.involved).tolist()
        heard = Natural(natural.precision[speak], natural.shift[speak])
        heard.check(agents=speak, round=round)
        pool_by_torch(rows, mean, variance, natural, out=out)
        return
    from empirical.nets import pooling_kernel

    bad = pooling_kernel.pool_all(
        rows.own,
        rows.start,
        rows.entries,
        rows.weights,
        rows.involved,
        *(values.numpy() for values in (mean, variance, *out)),
    )
    if bad >= 0:
        Natural.from_moments(mean[bad], variance[bad]).check(agents=[bad], round=round)


def pool_heard(
    rows: WeightRows,
    mean: Tensor,
    variance: Tensor,
    heard: Natural,
    *,
    round: int,
    out: tuple[Tensor, Tensor],
) -> None:
    """Pool the beliefs of some agents with what they heard.

    Parameters
    ----------
    rows
        Rows of W, one for each belief.
    mean, variance
        Shape (rows, d): the agents' own.
    heard
        Shape (senders, d): one row for each agent of `rows.heard`, in that order.
    round, out
        As for :func:`pool_all`.

    Raises
    ------
    ValueError
        As :func:`pool_all`.
    """
    check_beliefs(mean, variance, agents=len(rows.block))
    heard.check(agents=rows.heard, round=round)
    if mean.device.type not in HAS_KERNEL:
        pools = np.flatnonzero(rows.pools).tolist()
        own = Natural.from_moments(mean[pools], variance[pools])
        own.check(agents=[rows.block[row] for row in pools], round=round)
        pool_by_torch(rows, mean, variance, heard, out=out)
        return
    from empirical.nets import pooling_kernel

    bad = pooling_kernel.pool_heard(
        rows.own,
        rows.start,
        rows.places,
        rows.weights,
        *(values.numpy() for values in (heard.precision, heard.shift, mean, variance, *out)),
    )
    if bad >= 0:
        own = Natural.from_moments(mean[bad].double(), variance[bad].double())
        own.check(agents=[rows.block[bad]], round=round)


def pool_by_torch(
    rows: WeightRows,
    mean: Tensor,
    variance: Tensor,
    heard: Natural,
    *,
    out: tuple[Tensor, Tensor],
) -> None:
    """The same by torch's products in float64, on any device.

    `heard` has one row for each agent of `rows.heard`, or one for each of N agents.
    """
    everybody = heard.precision.shape[0] == rows.agents
    own, weights, pools = _tables(rows, everybody, mean.device)
    for first in range(0, mean.shape[1], COLUMNS_AT_ONCE):
        some = slice(first, first + COLUMNS_AT_ONCE)
        m, v = mean[:, some].double(), variance[:, some].double()
        precision = own / v + weights @ heard.precision[:, some].double()
        shift = own * (m / v) + weights @ heard.shift[:, some].double()
        out[0][:, some] = torch.where(pools, (shift / precision).to(mean.dtype), mean[:, some])
        out[1][:, some] = torch.where(
            pools, precision.reciprocal().to(mean.dtype), variance[:, some]
        )


@lru_cache(maxsize=256)
def _tables(
    rows: WeightRows, everybody: bool, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Own weights, a table of the others' with a column for each row heard, and who pools."""
    table = np.zeros((len(rows.block), rows.agents if everybody else len(rows.heard)))
    listener = np.repeat(np.arange(len(rows.block)), np.diff(rows.start))
    table[listener, rows.entries if everybody else rows.places] = rows.weights
    own, pools = rows.own[:, None].copy(), rows.pools[:, None].copy()
    return tuple(torch.from_numpy(array).to(device) for array in (own, table, pools))  # type: ignore[return-value]


def check_beliefs(mean: Tensor, variance: Tensor, *, agents: int) -> None:
    """Refuse tensors that are not one belief for each agent.

    Raises
    ------
    ValueError
        If a shape is not (agents, d).
    """
    for name, values in (("mean", mean), ("variance", variance)):
        if values.ndim != 2 or values.shape[0] != agents or values.shape != mean.shape:
            raise fail(
                name,
                f"beliefs of the {agents} agents that W has rows for, shape ({agents}, d)",
                f"shape {tuple(values.shape)}",
                "use a network of as many agents",
            )
