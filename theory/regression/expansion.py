"""What a belief tends to when its precision grows like n·A, and how fast; A may be singular.

A belief of precision n·A + P holds the estimate θ* + (n·A + P)⁻¹(p + noise), where p is what the
prior gets wrong and the noise has the covariance n·B. Where A is singular nobody sees the
directions of its null space; there the estimate follows the prior, correlations included, for ever
(docs: regression). In coordinates x = U a + Z b, with Z spanning the null space,

    estimate − θ* → Z (ZᵀPZ)⁻¹ Zᵀp,        n · covariance → T (UᵀAU)⁻¹ (UᵀBU) (UᵀAU)⁻¹ Tᵀ,

with T = U − Z (ZᵀPZ)⁻¹ ZᵀPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.regression.positive import Factor, rank_tolerance, scales
from theory.validation import FloatArray, fail


@dataclass(frozen=True, eq=False)
class Directions:
    """A basis of ℝᵈ split into what is seen, shape (d, r), and what is hidden, shape (d, d − r)."""

    seen: FloatArray
    hidden: FloatArray


def directions(moment: FloatArray) -> Directions:
    """Split ℝᵈ by a positive semidefinite moment, whose null space is what nobody sees.

    Raises
    ------
    ValueError
        If an eigenvalue is so small that rounding decides.
    """
    d = len(moment)
    scale = scales(moment)
    values, vectors = np.linalg.eigh(scale[:, None] * moment * scale)
    hidden = values <= rank_tolerance(d)
    if not hidden.any():
        return Directions(np.eye(d), np.zeros((d, 0)))
    basis = scale[:, None] * vectors
    return Directions(basis[:, ~hidden], basis[:, hidden])


@dataclass(frozen=True, eq=False)
class Expansion:
    """The limit of a belief and the coefficient of 1/n in what is left.

    Attributes
    ----------
    offset
        Shape (d,): the limit of estimate − θ*.
    covariance
        Shape (d, d): the limit of n times the estimate's covariance.
    drift
        Shape (d,): n times the rest of the prior's pull, in the limit.
    reported_limit, reported
        Shape (d, d): what the belief's covariance tends to, and n times the rest.
    is_identified
        Whether nothing is hidden.
    factor, noise
        UᵀAU, factored, and UᵀBU.
    split
        U and Z.
    """

    offset: FloatArray
    covariance: FloatArray
    drift: FloatArray
    reported_limit: FloatArray
    reported: FloatArray
    is_identified: bool
    factor: Factor
    noise: FloatArray
    split: Directions

    def error_limit(self, test: FloatArray) -> float:
        """The limit of the excess error under the second moment `test`."""
        return float(self.offset @ test @ self.offset)

    def error_constant(self, test: FloatArray) -> float:
        """The coefficient of 1/n in the excess error under `test`."""
        return float((test * self.covariance).sum() + 2 * self.offset @ test @ self.drift)

    def reported_constant(self, test: FloatArray) -> float:
        """The coefficient of 1/n in the error the belief reports under `test`."""
        return float((test * self.reported).sum())


def expand(
    split: Directions,
    information: FloatArray,
    noise: FloatArray,
    prior: FloatArray,
    prior_error: FloatArray,
    pull: FloatArray | None = None,
) -> Expansion:
    """The expansion for A = `information`, B = `noise`, P = `prior` and p = `prior_error`.

    `pull` of shape (d,) is the mean of the noise per round, zero if left out: where labels do not
    follow θ*, the estimate's limit is moved by it, and the expansion is about that limit.

    Raises
    ------
    ValueError
        If A is singular on a direction that is seen, for lack of digits.
    """
    U, Z = split.seen, split.hidden
    d = len(information)
    T, offset, reported_limit = U, np.zeros(d), np.zeros((d, d))
    if Z.shape[1]:
        block = Factor.of(Z.T @ prior @ Z)
        T = U - Z @ block.solve(Z.T @ prior @ U)
        offset = Z @ block.solve((Z.T @ prior_error)[:, None])[:, 0]
        half = block.half(Z.T)
        reported_limit = half.T @ half
    try:
        factor = Factor.of(U.T @ information @ U)
    except np.linalg.LinAlgError:
        raise fail(
            "network",
            "weights that leave the pooled second moment regular where agents see something",
            "one that is singular in floating point",
            "give the agents that see those directions more weight, or use rational_regression",
        ) from None
    if pull is not None:
        offset = offset + T @ factor.solve((U.T @ pull)[:, None])[:, 0]
    half = factor.half(T.T)
    core = U.T @ noise @ U
    return Expansion(
        offset,
        T @ factor.sandwich(core) @ T.T,
        T @ factor.solve((T.T @ prior_error)[:, None])[:, 0],
        reported_limit,
        half.T @ half,
        not Z.shape[1],
        factor,
        core,
        split,
    )
