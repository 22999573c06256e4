"""Beliefs about coefficients and noise together: normal–inverse-gamma laws.

Agent i believes that σ² is inverse-gamma with shape a_i and scale b_i, and θ, given σ², normal with
mean μ_i and precision Λ_i/σ². The density is

    log p_i(θ, σ²) = const − (a + 1 + d/2) log σ² − [2b + (θ−μ)ᵀ Λ (θ−μ)]/(2σ²)
                   = const − (a + 1 + d/2) log σ² − [q − 2 hᵀθ + θᵀ Λ θ]/(2σ²),

with h = Λμ and q = 2b + μᵀΛμ: an exponential family whose natural parameters are Λ, h, q and a up
to constants and signs. A weighted geometric mean with weights that sum to one therefore averages
(Λ, h, q, a), which is again such a law. It is proper: Λ and a are averages of positive ones, and

    2b = q − hᵀ Λ⁻¹ h = min over θ of Σ_j W_ij [2b_j + (θ−μ_j)ᵀ Λ_j (θ−μ_j)] ≥ Σ_j W_ij 2b_j > 0.

The minimum is at the pooled mean. The same identity is how b is computed here: the difference
q − hᵀΛ⁻¹h would cancel. The pooled scale exceeds the average of the scales where means disagree:
disagreement counts as noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import gammaln, stdtrit

from exact.regression.batches import (
    Batches,
    Weights,
    as_batches,
    as_rows,
    finite,
    per_agent,
    pool,
    pooling_of,
)
from exact.regression.beliefs import GaussianBeliefs, stacked_beliefs
from theory import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_positive, as_probability, fail, read_only

# Beliefs about coefficients and noise together ---------------------------------------------------


@dataclass(frozen=True, eq=False)
class StudentPrediction(Shown):
    """Predictive Student laws, shape (..., N, m): location, scale, and degrees of freedom."""

    mean: FloatArray
    scale: FloatArray
    degrees_of_freedom: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Infinite where there are two degrees of freedom or fewer."""
        nu = self.degrees_of_freedom
        with np.errstate(divide="ignore"):
            factor = np.where(nu > 2, nu / np.maximum(nu - 2, 0), np.inf)
        return np.asarray(self.scale**2 * factor)

    def half_width(self, confidence: float = 0.95) -> FloatArray:
        """Half the width of the central interval that holds the label with this probability."""
        level = (1 + as_probability("confidence", confidence)) / 2
        return np.asarray(self.scale * stdtrit(self.degrees_of_freedom, level))


@dataclass(frozen=True, eq=False)
class NormalInverseGammaBeliefs(Shown):
    """What N agents believe of θ in ℝᵈ and of the noise's variance σ².

    Parameters
    ----------
    precision
        Λ, shape (..., N, d, d), positive definite: the precision of θ in units of 1/σ².
    information
        h = Λ μ, shape (..., N, d).
    shape, scale
        a > 0 and b > 0, shape (..., N): σ² is inverse-gamma, with mean b/(a − 1) if a > 1.

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, a precision is not positive definite, or a
        shape or scale is not positive; the message names the agent.

    Examples
    --------
    >>> prior = NormalInverseGammaBeliefs.from_moments(
    ...     np.zeros(1), np.eye(1), shape=2.0, scale=1.0, agents=2
    ... )
    >>> seen = prior.update([[[1.0], [1.0]], []], [[0.9, 1.1], []])
    >>> pooled = seen.consensus([[0.5, 0.5], [0.5, 0.5]])
    >>> pooled.mean.round(4).tolist(), pooled.shape.tolist(), pooled.scale.round(4).tolist()
    ([[0.5], [0.5]], [2.5, 2.5], [1.255, 1.255])
    """

    precision: FloatArray
    information: FloatArray
    shape: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        self._take(GaussianBeliefs(self.precision, self.information))

    def _take(self, unit: GaussianBeliefs) -> None:
        object.__setattr__(self, "_unit", unit)
        object.__setattr__(self, "precision", unit.precision)
        object.__setattr__(self, "information", unit.information)
        for name in ("shape", "scale"):
            values = finite(name, getattr(self, name), last=0)
            if values.shape != unit.information.shape[:-1]:
                expected = f"one number for each belief, shape {unit.information.shape[:-1]}"
                raise fail(name, expected, f"shape {values.shape}", "give one per agent")
            if not (values > 0).all():
                *before, agent = (int(i) for i in np.argwhere(~(values > 0))[0])
                got = f"{values[(*before, agent)]:g} for agent {agent}"
                raise fail(name, "a number above 0", got, "make it positive")
            object.__setattr__(self, name, read_only(values))

    @classmethod
    def of_unit(
        cls, unit: GaussianBeliefs, shape: FloatArray, scale: FloatArray
    ) -> NormalInverseGammaBeliefs:
        """Beliefs from what is believed of θ where σ² = 1, with all the digits that it has."""
        beliefs = object.__new__(cls)
        object.__setattr__(beliefs, "shape", shape)
        object.__setattr__(beliefs, "scale", scale)
        beliefs._take(unit)
        return beliefs

    @classmethod
    def from_moments(
        cls,
        mean: ArrayLike,
        unit_covariance: ArrayLike,
        *,
        shape: ArrayLike,
        scale: ArrayLike,
        agents: int | None = None,
    ) -> NormalInverseGammaBeliefs:
        """Beliefs from μ, Λ⁻¹ (the covariance of θ where σ² = 1), a and b.

        Raises
        ------
        ValueError
            As for the class.
        """
        unit = GaussianBeliefs.from_moments(mean, unit_covariance, agents=agents)
        rows = unit.information.shape[:-1]
        return cls.of_unit(
            unit,
            np.broadcast_to(np.asarray(shape, dtype=np.float64), rows),
            np.broadcast_to(np.asarray(scale, dtype=np.float64), rows),
        )

    @cached_property
    def unit(self) -> GaussianBeliefs:
        """The belief about θ if σ² were 1."""
        found: GaussianBeliefs = self.__dict__["_unit"]
        return found

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return self.unit.agents

    @property
    def dimension(self) -> int:
        """The number d of coefficients."""
        return self.unit.dimension

    @property
    def mean(self) -> FloatArray:
        """μ, shape (..., N, d)."""
        return self.unit.mean

    @property
    def covariance(self) -> FloatArray:
        """Covariance of θ, the noise averaged over: b/(a − 1) Λ⁻¹, infinite where a ≤ 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = np.where(self.shape > 1, self.scale / (self.shape - 1), np.inf)
        return np.asarray(noise[..., None, None] * self.unit.covariance)

    @property
    def noise_variance(self) -> FloatArray:
        """b/a, shape (..., N): the reciprocal of the mean of 1/σ²."""
        return np.asarray(self.scale / self.shape)

    def update(
        self, designs: Batches, targets: Batches, *, tempering: ArrayLike = 1.0
    ) -> NormalInverseGammaBeliefs:
        """The beliefs after every agent has observed a batch; as for `GaussianBeliefs.update`.

        Λ and h gain t XᵀX and t Xᵀy, a gains t M/2, and 2b gains
        t |y − Xμ'|² + (μ' − μ)ᵀ Λ (μ' − μ), with μ' the new mean.

        Raises
        ------
        ValueError
            If shapes disagree, a number is not finite, or the tempering is not positive.
        """
        size = {"agents": self.agents, "dimension": self.dimension}
        features, labels = as_batches(designs, targets, **size)
        power = per_agent("tempering", tempering, agents=self.agents)
        unit = self.unit.update(designs, targets, noise_std=1.0, tempering=power)
        after = unit.mean
        if isinstance(features, np.ndarray) and isinstance(labels, np.ndarray):
            gaps = labels - (features @ after[..., None])[..., 0]
            misfit, counts = (gaps**2).sum(axis=-1), np.full(self.agents, labels.shape[-1])
        else:
            pairs = list(zip(features, labels, strict=True))
            each = [
                ((y - after[..., i, :] @ x.T) ** 2).sum(axis=-1) for i, (x, y) in enumerate(pairs)
            ]
            misfit, counts = np.stack(each, axis=-1), np.array([len(y) for _, y in pairs])
        moved = after - self.mean
        pull = self.unit.squares(moved)
        return NormalInverseGammaBeliefs.of_unit(
            unit,
            np.broadcast_to(self.shape + power * counts / 2, misfit.shape),
            self.scale + (power * misfit + pull) / 2,
        )

    def consensus(self, weights: Weights) -> NormalInverseGammaBeliefs:
        """The beliefs after pooling with W, shape (N, N): rows that sum to one, dense or sparse."""
        matrix = pooling_of(weights, agents=self.agents)
        unit = self.unit.consensus(matrix)
        return NormalInverseGammaBeliefs.of_unit(
            unit,
            pool(matrix, self.shape, axis=-1),
            pool(matrix, self.scale, axis=-1) + self._disagreement(matrix, unit.mean) / 2,
        )

    def _disagreement(self, matrix: FloatArray | csr_array, pooled: FloatArray) -> FloatArray:
        """Σ_j W_ij (μ_i' − μ_j)ᵀ Λ_j (μ_i' − μ_j): agent by agent, to keep memory linear in N."""
        found = np.zeros(pooled.shape[:-1])
        for i in range(pooled.shape[-2]):
            row = matrix[[i]].toarray()[0] if isinstance(matrix, csr_array) else matrix[i]
            heard = np.flatnonzero(row)
            gaps = pooled[..., i, None, :] - self.mean[..., heard, :]
            found[..., i] = self.unit.squares(gaps, agents=heard) @ row[heard]
        return found

    def predict(self, inputs: ArrayLike) -> StudentPrediction:
        """The law of a label at each input, shape (m, d): Student with 2a degrees of freedom."""
        found = self.unit.predict(inputs)
        estimate = self.noise_variance[..., None]
        return StudentPrediction(
            found.mean,
            np.sqrt(estimate * (1 + found.variance)),
            np.broadcast_to(2 * self.shape[..., None], found.mean.shape),
        )

    def log_density(self, points: ArrayLike, noise_variances: ArrayLike) -> FloatArray:
        """Log densities at pairs (θ, σ²), shapes (m, d) and (m,): shape (..., N, m)."""
        rows = as_rows("points", points, dimension=self.dimension)
        noise = finite("noise_variances", noise_variances, last=0)
        if noise.shape != rows.shape[:1]:
            expected = f"one for each of {len(rows)} points"
            raise fail("noise_variances", expected, f"shape {noise.shape}", "match the points")
        for value in noise:
            as_positive("noise_variances", float(value))
        # Where σ² = 1 the belief about θ is the unit one; its precision is divided by σ².
        unit = self.unit.log_density(rows)
        peak = self.unit.log_determinant - self.dimension * np.log(2 * np.pi)
        distances = peak[..., None] - 2 * unit
        d = self.dimension
        a, b = self.shape[..., None], self.scale[..., None]
        normal = (peak[..., None] - d * np.log(noise) - distances / noise) / 2
        return np.asarray(normal + a * np.log(b) - gammaln(a) - (a + 1) * np.log(noise) - b / noise)


# Decentralised Bayesian linear regression as the papers write it, on given data ------------------


Belief = TypeVar("Belief", GaussianBeliefs, NormalInverseGammaBeliefs)


@dataclass(frozen=True, eq=False)
class RegressionBeliefs(Shown, Generic[Belief]):
    """What every agent believed after rounds 1 to T.

    Attributes
    ----------
    public, private
        Beliefs with a leading axis of T rounds: before and after pooling. Floating-point values.
    """

    public: Belief
    private: Belief


@typed
def learn_regression(
    network: Network,
    designs: ArrayLike | Sequence[Batches],
    targets: ArrayLike | Sequence[Batches],
    *,
    prior: Belief,
    noise_std: ArrayLike | None = None,
    tempering: ArrayLike = 1.0,
) -> RegressionBeliefs[Belief]:
    """Run the algorithm on given data, round by round.

    Parameters
    ----------
    network
        N agents.
    designs, targets
        For each of T ≥ 1 rounds the features and labels of the N agents: arrays of shape
        (T, N, M, d) and (T, N, M), or for each round N arrays of shapes (M_i, d) and (M_i,),
        where M_i may be 0.
    prior
        The agents' private beliefs before round 1. The kind of belief decides what is learnt: of
        coefficients alone, or of coefficients and noise.
    noise_std
        The standard deviation that agents ascribe to labels, one or one per agent; for
        `GaussianBeliefs`, which need it, and only for them.
    tempering
        The power to which likelihoods are raised: one, or one per agent.

    Returns
    -------
    RegressionBeliefs
        Public and private beliefs after each round.

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, the noise is missing, not wanted or not
        positive; the message names the agent where there is one.

    Examples
    --------
    >>> pair = Network([[0.5, 0.5], [0.5, 0.5]])
    >>> prior = GaussianBeliefs.from_moments([0.0], [[1.0]], agents=2)
    >>> run = learn_regression(
    ...     pair, [[[[1.0]], []], [[[1.0]], []]], [[[1.0], []], [[1.0], []]],
    ...     prior=prior, noise_std=1.0,
    ... )
    >>> run.private.mean[:, :, 0].round(4).tolist()
    [[0.3333, 0.3333], [0.5, 0.5]]
    """
    if prior.agents != network.agents:
        got = f"{prior.agents} of them"
        raise fail("prior", f"beliefs of {network.agents} agents", got, "give every agent one")
    rounds = len(designs)  # type: ignore[arg-type]
    if rounds == 0 or len(targets) != rounds:  # type: ignore[arg-type]
        got = f"{len(targets)} rounds of targets and {rounds} of designs"  # type: ignore[arg-type]
        raise fail("targets", "as many rounds as designs, at least one", got, "match them")
    known = isinstance(prior, GaussianBeliefs)
    if known != (noise_std is not None):
        expected = "the noise's standard deviation" if known else "none where it is learnt"
        raise fail("noise_std", expected, repr(noise_std), "match it to the kind of belief")
    options: dict[str, Any] = {"tempering": tempering}
    if known:
        options["noise_std"] = noise_std
    public, private = [], [prior]
    for features, labels in zip(designs, targets, strict=True):  # type: ignore[arg-type]
        public.append(private[-1].update(features, labels, **options))
        private.append(public[-1].consensus(network.weights))
    return RegressionBeliefs(public=stacked(public), private=stacked(private[1:]))


def stacked(beliefs: Sequence[Belief]) -> Belief:
    """Beliefs of equal shapes along a new first axis."""
    if isinstance(beliefs[0], GaussianBeliefs):
        return stacked_beliefs(beliefs)
    return NormalInverseGammaBeliefs.of_unit(
        stacked_beliefs([belief.unit for belief in beliefs]),
        *(np.stack([getattr(belief, name) for belief in beliefs]) for name in ("shape", "scale")),
    )
