"""Gaussian beliefs about regression coefficients, in information form.

Agent i's belief about θ in ℝᵈ is the normal law with precision Ω_i and information vector
h_i = Ω_i μ_i. A batch of inputs X (rows) and targets y with noise of standard deviation α adds

    Ω_i ← Ω_i + (t/α²) XᵀX,     h_i ← h_i + (t/α²) Xᵀy,

where t is the power to which the likelihood is raised (1 is Bayes' rule), and pooling is linear:
the normalised geometric mean of normal densities with weights W_ij that sum to one is normal, with

    Ω_i ← Σ_j W_ij Ω_j,         h_i ← Σ_j W_ij h_j           (P1 eq. 3, P2 eq. 6).

Nothing is subtracted, so a belief that is proper stays proper: along a coordinate which an agent
never sees, and of which nobody tells it, its precision is that of its prior.

**Accuracy.** Means and variances are those of the stored Ω and h, to the last digits
(:mod:`exact.regression.factors`). Storing them in doubles rounds: relative errors of ε = 10⁻¹⁶ move
the mean along the least known direction by about ε/λ · √(Σ Ω_kk μ_k²) posterior standard
deviations, with λ the smallest eigenvalue of Ω scaled to a unit diagonal. Where that is more than
10⁻⁶, as where a column of inputs lies far from zero, updates and pooling keep what doubles leave
out in a second double, and solve with hundreds of bits; what is refused says how many digits are
left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import flint
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from exact.regression.batches import (
    Batches,
    Weights,
    as_batches,
    as_rows,
    finite,
    moments,
    per_agent,
    pool,
    pooling_of,
    sums,
)
from exact.regression.factors import (
    BITS,
    Factors,
    Pair,
    as_pair,
    as_symmetric,
    factor,
    in_balls,
    inverse_pair,
    log_densities,
    named,
    squares,
)
from theory.numbers import precision as bits_of_balls
from theory.regression.expansion import cholesky_of, double_of, doubles_of, inverse_of
from theory.regression.positive import SHIFT
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, as_positive, fail, read_only

# Posterior standard deviations that rounding may move a mean by.
_NEGLIGIBLE = 1e-6
# Bits that two doubles have, less two.
_STORED = 104


@dataclass(frozen=True, eq=False)
class Prediction(Shown):
    """Predictive means and variances, shape (..., N, m), of m inputs by every agent."""

    mean: FloatArray
    variance: FloatArray

    @property
    def std(self) -> FloatArray:
        """Standard deviations, the same shape."""
        return np.sqrt(self.variance)


@dataclass(frozen=True, eq=False)
class GaussianBeliefs(Shown):
    """What N agents believe of θ in ℝᵈ; leading axes are replicates or rounds.

    Parameters
    ----------
    precision
        Ω, shape (..., N, d, d), positive definite.
    information
        h = Ω μ, shape (..., N, d).

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, or a precision is not symmetric and positive
        definite; the message names the agent.

    Examples
    --------
    >>> prior = GaussianBeliefs.from_moments(np.zeros(2), 0.5 * np.eye(2), agents=2)
    >>> seen = prior.update([[[1, 2]], [[1, 0]]], [[1.0], [0.5]], noise_std=0.8)
    >>> pooled = seen.consensus([[0.5, 0.5], [0.5, 0.5]])
    >>> pooled.mean.round(4).tolist()
    [[0.2254, 0.2362], [0.2254, 0.2362]]
    """

    precision: FloatArray
    information: FloatArray
    # What doubles leave out of the two; None where that is nothing to speak of.
    _rest: ClassVar[Pair | None] = None

    def __post_init__(self) -> None:
        precision = as_symmetric("precision", finite("precision", self.precision, last=2))
        information = finite("information", self.information, last=1)
        if precision.ndim < 3 or information.shape != precision.shape[:-1]:
            raise fail(
                "information",
                f"shape (..., agents, {precision.shape[-1]}), as the precision's {precision.shape}",
                f"shape {information.shape}",
                "give every agent one precision matrix and one information vector",
            )
        object.__setattr__(self, "precision", read_only(precision))
        object.__setattr__(self, "information", read_only(information))
        self._factors  # noqa: B018  # not a number is believed in unless it is a belief

    @classmethod
    def _of_pairs(cls, precision: Pair, information: Pair) -> GaussianBeliefs:
        """Beliefs of two doubles a number."""
        beliefs = object.__new__(cls)
        for name, (high, _) in (("precision", precision), ("information", information)):
            object.__setattr__(beliefs, name, read_only(high))
        object.__setattr__(beliefs, "_rest", (precision[1], information[1]))
        for place in np.ndindex(information[0].shape[:-1]):
            with bits_of_balls(BITS):
                matrix = in_balls(precision[0][place], precision[1][place])
                try:
                    root = cholesky_of(matrix)
                    pivots = [root[k, k] ** 2 / matrix[k, k] for k in range(root.nrows())]
                except ZeroDivisionError:
                    pivots = [flint.arb(0)]
            smallest = min(double_of(pivot) for pivot in pivots) * 2.0**_STORED
            if not smallest > 1e3:
                raise _refused(named(list(place)), float(np.log10(max(smallest, 1.0))))
        return beliefs

    @classmethod
    def _of(
        cls,
        precision: FloatArray,
        information: FloatArray,
        pairs: Callable[[], tuple[Pair, Pair]],
        *,
        exactly: bool,
    ) -> GaussianBeliefs:
        """Beliefs of doubles where these have the digits, else of the pairs that `pairs` makes."""
        if not exactly:
            try:
                found = cls(precision, information)
            except ValueError:
                pass
            else:
                if found._rounding <= _NEGLIGIBLE:
                    return found
        return cls._of_pairs(*pairs())

    @property
    def _rounding(self) -> float:
        """How far the rounding of Ω and h may move a mean, in posterior standard deviations."""
        factors = self._factors
        share = float((np.finfo(float).eps / factors.smallest).max()) * self.dimension
        whole = factors.scale * self.information
        if share * float(np.abs(whole).max()) <= _NEGLIGIBLE * float(factors.smallest.min()):
            return share
        mean = factors.solve_once(self.information[..., None])[..., 0]
        return share * max(1.0, float(np.linalg.norm(mean / factors.scale, axis=-1).max()))

    @property
    def _pairs(self) -> tuple[Pair, Pair]:
        """Ω and h with what doubles leave out."""
        rest = self._rest
        if rest is None:
            rest = np.zeros_like(self.precision), np.zeros_like(self.information)
        return (self.precision, rest[0]), (self.information, rest[1])

    def _solved(
        self, shape: tuple[int, ...], solve: Callable[[flint.arb_mat, flint.arb_mat], FloatArray]
    ) -> FloatArray:
        """`solve` of every belief's Ω and h (d by 1), in balls; shape (..., N, *shape)."""
        (high, low), (known, rest) = self._pairs
        result = np.empty((*high.shape[:-2], *shape))
        for place in np.ndindex(high.shape[:-2]):
            with bits_of_balls(BITS):
                vector = in_balls(known[place][:, None], rest[place][:, None])
                result[place] = solve(in_balls(high[place], low[place]), vector)
        return result

    @classmethod
    def from_moments(
        cls, mean: ArrayLike, covariance: ArrayLike, *, agents: int | None = None
    ) -> GaussianBeliefs:
        """Beliefs with given means and covariances.

        Parameters
        ----------
        mean
            Shape (d,) for all agents, or (..., N, d).
        covariance
            Shape (d, d) for all agents, or (..., N, d, d): positive definite.
        agents
            N, needed only where neither says it.

        Raises
        ------
        ValueError
            If shapes disagree, or a covariance is not positive definite.
        """
        centre, spread = moments(mean, covariance, agents=agents)
        factors = factor("covariance", spread, "make every variance positive, correlations below 1")
        identity = np.broadcast_to(np.eye(spread.shape[-1]), spread.shape)

        def pairs() -> tuple[Pair, Pair]:
            rows = [
                inverse_pair(spread[place], centre[place])
                for place in np.ndindex(centre.shape[:-1])
            ]
            return tuple(  # type: ignore[return-value]
                tuple(np.reshape([row[k][j] for row in rows], like.shape) for j in range(2))
                for k, like in enumerate((spread, centre))
            )

        return cls._of(
            factors.solve(identity),
            factors.solve(centre[..., None])[..., 0],
            pairs,
            exactly=False,
        )

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return int(self.precision.shape[-3])

    @property
    def dimension(self) -> int:
        """The number d of coefficients."""
        return int(self.precision.shape[-1])

    @cached_property
    def _factors(self) -> Factors:
        return factor("precision", self.precision, "give every agent a proper prior")

    @cached_property
    def mean(self) -> FloatArray:
        """μ = Ω⁻¹ h, shape (..., N, d)."""
        if self._rest is not None:
            d = self.dimension
            return read_only(self._solved((d,), lambda P, h: doubles_of(P.solve(h))[:, 0]))
        return read_only(self._factors.solve(self.information[..., None])[..., 0])

    @cached_property
    def covariance(self) -> FloatArray:
        """Ω⁻¹, shape (..., N, d, d)."""
        if self._rest is not None:
            size = self.precision.shape[-2:]
            return read_only(self._solved(size, lambda P, h: doubles_of(inverse_of(P))))
        identity = np.broadcast_to(np.eye(self.dimension), self.precision.shape)
        found = self._factors.solve(identity)
        return read_only((found + found.swapaxes(-1, -2)) / 2)

    @property
    def log_determinant(self) -> FloatArray:
        """Log det Ω, shape (..., N)."""
        if self._rest is not None:
            return self._solved((), lambda P, h: np.array(double_of(P.det().log())))
        return self._factors.log_determinant

    def variance(self, directions: ArrayLike) -> FloatArray:
        """uᵀ Ω⁻¹ u for directions u, shape (P, d): shape (..., N, P)."""
        rows = as_rows("directions", directions, dimension=self.dimension)
        if self._rest is not None:
            u = in_balls(rows)
            return self._solved(
                (len(rows),), lambda P, h: np.diag(doubles_of(u * inverse_of(P) * u.transpose()))
            )
        right = np.broadcast_to(rows.T, (*self.precision.shape[:-1], len(rows)))
        return np.asarray((rows.T * self._factors.solve(right)).sum(axis=-2))

    def predict(self, inputs: ArrayLike, *, noise_std: float | None = None) -> Prediction:
        """The law of a label at each input, or of xᵀθ if no noise is given.

        Parameters
        ----------
        inputs
            Features x, shape (m, d).
        noise_std
            α, the standard deviation of a label around xᵀθ.
        """
        rows = as_rows("inputs", inputs, dimension=self.dimension)
        noise = 0.0 if noise_std is None else as_positive("noise_std", noise_std) ** 2
        if self._rest is None:
            mean = self.mean @ rows.T
        else:
            u = in_balls(rows)
            mean = self._solved((len(rows),), lambda P, h: doubles_of(u * P.solve(h))[:, 0])
        return Prediction(mean, self.variance(rows) + noise)

    def log_density(self, points: ArrayLike) -> FloatArray:
        """Log densities at points θ, shape (m, d): shape (..., N, m)."""
        rows = as_rows("points", points, dimension=self.dimension)
        if self._rest is not None:
            return self._solved((len(rows),), lambda P, h: log_densities(rows, P, h))
        gaps = rows - self.mean[..., None, :]
        constant = self.log_determinant - self.dimension * np.log(2 * np.pi)
        found = squares(self.precision, gaps.swapaxes(-1, -2))
        return np.asarray((constant[..., None] - found) / 2)

    def squares(self, gaps: FloatArray, *, agents: IntArray | None = None) -> FloatArray:
        """gᵀ Ω g of a vector for each belief, shape (..., N, d), or for those of some agents."""
        chosen = np.arange(self.agents) if agents is None else agents
        matrix = self.precision[..., chosen, :, :]
        found = squares(matrix, gaps[..., None])[..., 0]
        if self._rest is not None:
            found = found + squares(self._rest[0][..., chosen, :, :], gaps[..., None])[..., 0]
        return np.asarray(found)

    def update(
        self,
        designs: Batches,
        targets: Batches,
        *,
        noise_std: ArrayLike,
        tempering: ArrayLike = 1.0,
    ) -> GaussianBeliefs:
        """The beliefs after every agent has observed a batch.

        Parameters
        ----------
        designs
            Features, shape (..., N, M, d); or N arrays of shape (M_i, d), where M_i may be 0.
        targets
            Labels, shape (..., N, M); or N arrays of shape (M_i,).
        noise_std
            The standard deviation α > 0 that agents ascribe to labels: one, or one per agent.
        tempering
            The power t > 0 to which likelihoods are raised: one, or one per agent.

        Raises
        ------
        ValueError
            If shapes disagree, a number is not finite, or noise or tempering is not positive; the
            message names the agent.
        """
        gained, products = sums(designs, targets, agents=self.agents, dimension=self.dimension)
        noise = per_agent("noise_std", noise_std, agents=self.agents)
        weight = per_agent("tempering", tempering, agents=self.agents) / noise**2
        return GaussianBeliefs._of(
            self.precision + weight[:, None, None] * gained,
            self.information + weight[:, None] * products,
            lambda: self._updated(designs, targets, weight),
            exactly=self._rest is not None,
        )

    def _updated(self, designs: Batches, targets: Batches, weight: FloatArray) -> tuple[Pair, Pair]:
        """The pairs after a batch whose squares count `weight` each."""
        features, labels = as_batches(
            designs, targets, agents=self.agents, dimension=self.dimension
        )
        d = self.dimension
        lead = self.information.shape[:-2]
        if isinstance(features, np.ndarray):
            lead = np.broadcast_shapes(lead, features.shape[:-3])
        shape = (*lead, self.agents, d)
        (high, low), (known, rest) = self._pairs
        matrices = [np.broadcast_to(a, (*shape, d)) for a in (high, low)]
        vectors = [np.broadcast_to(a, shape) for a in (known, rest)]
        if isinstance(features, np.ndarray) and isinstance(labels, np.ndarray):
            features = np.broadcast_to(features, (*lead, *features.shape[-3:]))
            labels = np.broadcast_to(labels, (*lead, *labels.shape[-2:]))
        totals = [np.empty((*shape, d)) for _ in range(2)], [np.empty(shape) for _ in range(2)]
        for place in np.ndindex(shape[:-1]):
            where = place if isinstance(features, np.ndarray) else place[-1]
            with bits_of_balls(BITS):
                matrix, vector = (
                    in_balls(*(a[place].reshape(d, -1) for a in pair))
                    for pair in (matrices, vectors)
                )
                x, y = features[where], labels[where]  # type: ignore[index]
                if len(y):
                    X, power = in_balls(x), flint.arb(float(weight[place[-1]]))
                    matrix += X.transpose() * X * power
                    vector += X.transpose() * in_balls(y[:, None]) * power
                for total, found in zip(totals, (matrix, vector), strict=True):
                    for part, values in zip(total, as_pair(found), strict=True):
                        part[place] = values.reshape(part[place].shape)
        return tuple(totals[0]), tuple(totals[1])  # type: ignore[return-value]

    def consensus(self, weights: Weights) -> GaussianBeliefs:
        """The beliefs after pooling with W, shape (N, N): rows that sum to one, dense or sparse."""
        matrix = pooling_of(weights, agents=self.agents)
        return GaussianBeliefs._of(
            pool(matrix, self.precision, axis=-3),
            pool(matrix, self.information, axis=-2),
            lambda: self._pooled(matrix),
            exactly=self._rest is not None,
        )

    def _pooled(self, matrix: FloatArray | csr_array) -> tuple[Pair, Pair]:
        """The pairs after pooling."""
        dense = matrix.toarray() if isinstance(matrix, csr_array) else matrix
        found = []
        for (high, low), axis in zip(self._pairs, (-3, -2), strict=True):
            rows, rest = (np.moveaxis(a, axis, 0) for a in (high, low))
            flat = (len(rows), rows[0].size)
            with bits_of_balls(BITS):
                pooled = as_pair(in_balls(dense) * in_balls(rows.reshape(flat), rest.reshape(flat)))
            size = (len(dense), *rows.shape[1:])
            found.append(tuple(np.moveaxis(part.reshape(size), 0, axis) for part in pooled))
        return tuple(found)  # type: ignore[return-value]


def stacked_beliefs(beliefs: Sequence[GaussianBeliefs]) -> GaussianBeliefs:
    """Beliefs of equal shapes along a new first axis."""
    if all(belief._rest is None for belief in beliefs):
        return GaussianBeliefs(
            np.stack([belief.precision for belief in beliefs]),
            np.stack([belief.information for belief in beliefs]),
        )
    pairs = [belief._pairs for belief in beliefs]
    return GaussianBeliefs._of_pairs(
        *((np.stack([p[k][0] for p in pairs]), np.stack([p[k][1] for p in pairs])) for k in (0, 1))
    )


def _refused(place: str, digits: float) -> ValueError:
    return fail(
        "precision" + place,
        "a positive definite matrix whose rounding leaves digits",
        f"{digits:.1f} digits left of its smallest eigenvalue",
        SHIFT,
    )
