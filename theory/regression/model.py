"""A linear-Gaussian problem: the truth, what every agent sees, its prior, and the test law.

Agents of the same kind share one entry, so that a thousand agents in fifty dimensions cost no more
memory than their kinds do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from theory.learning.batches import BatchedKinds, as_batches
from theory.network import Network
from theory.regression.agent import LARGEST, RegressionAgent, check_size
from theory.regression.positive import Factor, as_positive_definite, as_positive_semidefinite
from theory.showing import Value
from theory.validation import (
    FloatArray,
    IntArray,
    as_float_array,
    as_integer,
    as_positive,
    fail,
    read_only,
)


@dataclass(frozen=True, eq=False)
class RegressionModel(Value):
    """Agents, priors and the test law of a linear regression over a network.

    Parameters
    ----------
    theta
        θ*, shape (d,): the coefficients the labels follow, and against which errors are measured.
    kinds
        The K distinct agents, or one entry per agent; entries that are the same object are one
        kind.
    prior_covariance
        Shape (d, d) for all agents, or (N, d, d): positive definite.
    test_second_moment
        E x xᵀ of the test inputs, shape (d, d), positive semidefinite. The *excess error* of an
        estimate θ̂ is (θ̂ − θ*)ᵀ E x xᵀ (θ̂ − θ*): mean squared error less the test noise.
    prior_mean
        Shape (d,) for all agents, or (N, d); zero if left out.
    assignment
        Shape (N,): which kind each agent is; left out: one agent per entry of `kinds`.

    Raises
    ------
    ValueError
        If there are no agents, dimensions disagree, a kind does not exist, a number is not finite,
        a prior covariance is not positive definite, or the test second moment is not positive
        semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> one = RegressionAgent(ranges=[[1, 1], [-1, 1], [0, 0]], noise_std=0.8)
    >>> two = RegressionAgent(ranges=[[1, 1], [0, 0], [-1.5, 1.5]], noise_std=0.8)
    >>> model = RegressionModel(
    ...     [-0.3, 0.5, 0.8], [one, two], 0.5 * np.eye(3), np.diag([1, 1 / 3, 3 / 4])
    ... )
    >>> model.agents, model.dimension, model.second_moments.shape
    (2, 3, (2, 3, 3))
    """

    theta: FloatArray
    kinds: tuple[RegressionAgent, ...]
    prior_covariance: FloatArray
    test_second_moment: FloatArray
    prior_mean: FloatArray = None  # type: ignore[assignment]
    assignment: IntArray = None  # type: ignore[assignment]

    if TYPE_CHECKING:
        # What may be left out is filled in, so that the attributes above are never None.
        def __init__(
            self,
            theta: ArrayLike,
            kinds: Sequence[RegressionAgent],
            prior_covariance: ArrayLike,
            test_second_moment: ArrayLike,
            prior_mean: ArrayLike | None = None,
            assignment: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        theta = as_float_array("theta", self.theta, ndim=1)
        d = theta.size
        if d == 0:
            raise fail("theta", "at least one coefficient", "none", "give the coefficients")
        object.__setattr__(self, "theta", theta)
        self._take_agents(d)
        test = as_positive_semidefinite("test_second_moment", self.test_second_moment)
        _check_shape("test_second_moment", test.shape, (d, d))
        object.__setattr__(self, "test_second_moment", read_only(test))
        self._take_prior(d)
        for argument in ("theta", "prior_mean"):
            check_size(argument, getattr(self, argument), LARGEST)
        for argument in ("test_second_moment", "prior_covariance"):
            check_size(argument, getattr(self, argument), LARGEST**2)

    def _take_agents(self, d: int) -> None:
        given = tuple(self.kinds)
        if not given:
            raise fail("agents", "at least one agent", "none", "describe the agents")
        for index, kind in enumerate(given):
            if not isinstance(kind, RegressionAgent):
                raise fail(
                    f"agents[{index}]", "a RegressionAgent", type(kind).__name__, "build one"
                )
            if kind.dimension != d:
                raise fail(
                    f"agents[{index}]",
                    f"inputs of dimension {d}, as theta has",
                    f"dimension {kind.dimension}",
                    "give every agent all coordinates, zero where it sees nothing",
                )
        where = {id(kind): k for k, kind in reversed(list(enumerate(given)))}
        kinds = [kind for k, kind in enumerate(given) if where[id(kind)] == k]
        number = {id(kind): k for k, kind in enumerate(kinds)}
        rank = np.array([number[id(kind)] for kind in given], dtype=np.int64)
        chosen = np.arange(len(given)) if self.assignment is None else np.array(self.assignment)
        if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
            raise fail(
                "assignment", "one kind per agent", f"shape {chosen.shape}", "list whole numbers"
            )
        if chosen.min() < 0 or chosen.max() >= len(given):
            raise fail(
                "assignment",
                f"kinds from 0 to {len(given) - 1}",
                f"{chosen.min()} to {chosen.max()}",
                "name an existing kind",
            )
        object.__setattr__(self, "kinds", tuple(kinds))
        object.__setattr__(self, "assignment", read_only(rank[chosen]))

    def _take_prior(self, d: int) -> None:
        covariance = np.asarray(self.prior_covariance)
        if covariance.ndim == 3:
            _check_shape("prior_covariance", covariance.shape, (self.agents, d, d))
            rows = [
                as_positive_definite(f"prior_covariance[{i}]", row)
                for i, row in enumerate(covariance)
            ]
            covariance = np.array(rows)
        else:
            covariance = as_positive_definite("prior_covariance", self.prior_covariance)
            _check_shape("prior_covariance", covariance.shape, (d, d))
        object.__setattr__(self, "prior_covariance", read_only(covariance))
        given: ArrayLike = np.zeros(d) if self.prior_mean is None else self.prior_mean
        mean = as_float_array("prior_mean", given, ndim=max(1, min(2, np.ndim(given))))
        _check_shape("prior_mean", mean.shape, (d,) if mean.ndim == 1 else (self.agents, d))
        object.__setattr__(self, "prior_mean", mean)

    @classmethod
    def from_agents(
        cls,
        theta: ArrayLike,
        agents: Sequence[RegressionAgent],
        *,
        prior_covariance: ArrayLike,
        test_second_moment: ArrayLike,
        prior_mean: ArrayLike | None = None,
        counts: Sequence[int] | None = None,
    ) -> RegressionModel:
        """Agents in a row, each repeated `counts` times (once if left out).

        Raises
        ------
        ValueError
            As for the class, or if `counts` has another length than `agents`.
        """
        repeats = [1] * len(agents) if counts is None else list(counts)
        if len(repeats) != len(agents):
            raise fail(
                "counts", f"one per entry of agents, {len(agents)}", len(repeats), "match them"
            )
        repeats = [as_integer(f"counts[{k}]", c, minimum=1) for k, c in enumerate(repeats)]
        return cls(
            theta,
            tuple(agents),
            prior_covariance,
            test_second_moment,
            prior_mean,
            np.repeat(np.arange(len(agents)), repeats),
        )

    def tempered(self, tempering: ArrayLike) -> RegressionModel:
        """The same problem with agent j's likelihood raised to the power `tempering[j]`.

        `tempering` is a number, or has shape (N,); it replaces what the agents had.

        Raises
        ------
        ValueError
            If a power is not positive, or there is not one for each agent.
        """
        powers = np.broadcast_to(np.asarray(tempering, dtype=np.float64), (self.agents,))
        pairs = [
            (int(k), as_positive("tempering", t))
            for k, t in zip(self.assignment, powers, strict=True)
        ]
        distinct = sorted(set(pairs))
        number = {pair: index for index, pair in enumerate(distinct)}
        return replace(
            self,
            kinds=tuple(self.kinds[k].changed(tempering=t) for k, t in distinct),
            assignment=np.array([number[pair] for pair in pairs], dtype=np.int64),
        )

    def batched(self, batch: int | Sequence[int]) -> RegressionModel:
        """The same problem whose agents draw `batch` pairs a round; a number, or one an agent.

        Raises
        ------
        ValueError
            If a number is not whole and at least 1, or there is not one for each agent.
        """
        sizes = as_batches(batch, self.agents)
        found = BatchedKinds.of(self.assignment.tolist(), sizes, len(self.kinds))
        return replace(
            self,
            kinds=tuple(self.kinds[k].changed(batch=b) for k, b in found.pairs),
            assignment=np.array(found.assignment, dtype=np.int64),
        )

    def _title(self) -> str:
        return f"RegressionModel, {self.agents} agents, {self.dimension} coefficients"

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return int(self.assignment.size)

    @property
    def dimension(self) -> int:
        """The number d of coefficients."""
        return int(self.theta.size)

    def agent(self, index: int) -> RegressionAgent:
        """What agent `index` is."""
        return self.kinds[int(self.assignment[index])]

    @property
    def has_targets(self) -> bool:
        """Whether some agent's labels are those of a data set, not xᵀθ* plus noise."""
        return any(kind.targets is not None for kind in self.kinds)

    @property
    def batch(self) -> int:
        """The largest number of pairs any agent draws a round."""
        return max(kind.batch for kind in self.kinds)

    @property
    def noise_std(self) -> float | None:
        """The noise all agents have; None if they differ."""
        values = {self.kinds[k].noise_std for k in np.unique(self.assignment)}
        return values.pop() if len(values) == 1 else None

    @property
    def second_moments(self) -> FloatArray:
        """S_j = E x_j x_jᵀ of each agent, shape (N, d, d)."""
        return np.array([kind.second_moment for kind in self.kinds])[self.assignment]

    @property
    def prior_means(self) -> FloatArray:
        """m_j of each agent, shape (N, d), read-only."""
        return np.broadcast_to(self.prior_mean, (self.agents, self.dimension))

    @property
    def prior_covariances(self) -> FloatArray:
        """Prior covariance of each agent, shape (N, d, d), read-only."""
        return np.broadcast_to(self.prior_covariance, (self.agents, *self.theta.shape * 2))

    @cached_property
    def prior_precision(self) -> FloatArray:
        """Ω_j^0, of the shape of `prior_covariance`."""
        return read_only(Factor.of(self.prior_covariance).inverse())

    @property
    def prior_precisions(self) -> FloatArray:
        """Ω_j^0 of each agent, shape (N, d, d), read-only."""
        return np.broadcast_to(self.prior_precision, (self.agents, *self.theta.shape * 2))

    @cached_property
    def prior_errors(self) -> FloatArray:
        """Ω_j^0 (m_j − θ*), shape (N, d): what each prior gets wrong, in units of information."""
        gaps = self.prior_means - self.theta
        return read_only(np.asarray((self.prior_precision @ gaps[..., None])[..., 0]))

    def kind_weights(self, weights: ArrayLike) -> FloatArray:
        """Each kind's total of one number per agent: shape (K,) for (N,), or (..., K).

        Raises
        ------
        ValueError
            If the last axis does not have one number per agent.
        """
        values = np.asarray(weights, dtype=np.float64)
        if values.ndim == 0 or values.shape[-1] != self.agents:
            raise fail(
                "weights",
                f"one weight for each of {self.agents} agents",
                f"shape {values.shape}",
                "use a network with as many agents as the model",
            )
        totals = np.zeros((*values.shape[:-1], len(self.kinds)))
        for k in range(len(self.kinds)):
            totals[..., k] = values[..., self.assignment == k].sum(axis=-1)
        return totals


def check_fits(network: Network, model: RegressionModel) -> None:
    """Check that network and model have equally many agents.

    Raises
    ------
    ValueError
        If they do not.
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"as many agents as the network, {network.agents}",
            f"{model.agents}",
            "change the agents' counts or the network's size",
        )


def _check_shape(argument: str, got: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if got != wanted:
        raise fail(argument, f"shape {wanted}", f"shape {got}", "match theta and the agents")
