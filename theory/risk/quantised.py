"""Linear regression over a network, quantised: a continuum of parameters replaced by a covering.

Agent j sees features x (few values, with probabilities) and a label y = xᵀθ* + N(0, α²). A model of
finitely many hypotheses θ_1, …, θ_M is made from any array of parameters. Labels may be observed
exactly, with likelihoods that have no bound, or as the *bin* they fall in: then likelihoods are
bounded, as P1's Assumption 3 asks. Binning loses information, never adds any: divergences can only
fall, so that an r-covering stays one.

The loss is r(y) = 1 if y exceeds a threshold τ, else 0, in [0, 1]: the expected loss of parameter θ
is E_x Φ((xᵀθ − τ)/α).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from flint import arb
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from theory.learning.finite_agent import Agent, FiniteAgent
from theory.learning.model import FiniteModel
from theory.learning.tables import GaussianAgent
from theory.numbers import as_ball
from theory.risk.risk import coin_divergence
from theory.showing import Shown, Value
from theory.validation import (
    FloatArray,
    as_distribution,
    as_float_array,
    as_integer,
    as_positive,
    fail,
    read_only,
)

# P1's Corollary 1 on networks of coins, in exact arithmetic --------------------------------------


@dataclass(frozen=True)
class CoinTrial(Shown):
    """A network of coins on which the corollary is tried.

    Parameters
    ----------
    truth
        P(heads) of each of N agents' coins, in (0, 1).
    hypotheses
        M rows of N probabilities in (0, 1).
    stationary
        v, N positive numbers that sum to one.

    Raises
    ------
    ValueError
        If the shapes disagree, or a number is out of range.
    """

    truth: tuple[Fraction, ...]
    hypotheses: tuple[tuple[Fraction, ...], ...]
    stationary: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        agents = len(self.truth)
        rows = (self.truth, *self.hypotheses, self.stationary)
        if not self.hypotheses or any(len(row) != agents for row in rows):
            raise fail(
                "hypotheses",
                f"one probability for each of {agents} agents",
                [len(row) for row in rows],
                "make truth, hypotheses and stationary equally long",
            )
        if not all(0 < p < 1 for row in rows[:-1] for p in row):
            raise fail("truth, hypotheses", "probabilities in (0, 1)", rows[:-1], "avoid 0 and 1")
        if min(self.stationary) <= 0 or sum(self.stationary) != 1:
            raise fail("stationary", "positive, of sum 1", self.stationary, "rescale")

    def divergences(self, agent: int) -> list[arb]:
        """D_j(m) = KL(truth_j ‖ hypotheses[m]_j), as balls."""
        return [coin_divergence(self.truth[agent], row[agent]) for row in self.hypotheses]

    def average_divergence(self, hypothesis: int, *, printed: bool = False) -> arb:
        """(1/N) Σ_j KL, of the truth from the hypothesis; the other way round if `printed`."""
        row = self.hypotheses[hypothesis]
        pairs = zip(row, self.truth, strict=True) if printed else zip(self.truth, row, strict=True)
        return sum((coin_divergence(p, q) for p, q in pairs), arb(0)) / len(self.truth)

    def radius(self, *, printed: bool = False) -> arb:
        """The smallest r for which Θ is an r-covering of Φ: of its one point outside, the truth.

        `printed` takes the direction of P1 eq. 5, KL(ℓ(θ) ‖ ℓ(ψ)).
        """
        values = [self.average_divergence(m, printed=printed) for m in range(len(self.hypotheses))]
        return values[_argmin(values)]

    @property
    def locally_optimal(self) -> tuple[int, ...]:
        """The hypothesis that each agent's own coin speaks for."""
        return tuple(_argmin(self.divergences(j)) for j in range(len(self.truth)))

    @property
    def is_globally_learnable(self) -> bool:
        """Whether Θ* is not empty: all agents' coins speak for the same hypothesis."""
        return len(set(self.locally_optimal)) == 1

    @property
    def learnt(self) -> int:
        """argmin_m Σ_j v_j D_j(m), what all agents settle on; the member of Θ* if there is one."""
        table = [self.divergences(j) for j in range(len(self.truth))]
        return _argmin(
            [
                sum(
                    (as_ball(v) * row[m] for v, row in zip(self.stationary, table, strict=True)),
                    arb(0),
                )
                for m in range(len(self.hypotheses))
            ]
        )

    @property
    def risk_difference(self) -> Fraction:
        """(1/N) Σ_j |R_j(θ*) − R_j(θ̂)| for the loss ±1: exact."""
        row = self.hypotheses[self.learnt]
        gaps = [abs(p - q) for p, q in zip(self.truth, row, strict=True)]
        return 2 * sum(gaps, Fraction(0)) / len(gaps)

    def printed_bound(self) -> arb:
        """B√r/2 with the printed r."""
        return self.radius(printed=True).sqrt() / 2

    def repaired_bound(self, *, printed_direction: bool = False) -> arb:
        """B√(2r), with r in the direction that the proof needs, or in the printed one."""
        return (2 * self.radius(printed=printed_direction)).sqrt()

    def compromise_bound(self) -> arb:
        """B√(2 r max v/min v): a theorem, whether Θ* is empty or not."""
        factor = as_ball(max(self.stationary) / min(self.stationary))
        return (2 * factor * self.radius()).sqrt()


def _argmin(values: list[arb]) -> int:
    """The index of the smallest ball.

    Raises
    ------
    ValueError
        If two balls overlap: a tie, or a precision that does not decide.
    """
    best = min(range(len(values)), key=lambda m: float(values[m].mid()))
    for m, value in enumerate(values):
        if m != best and not values[best] < value:
            raise fail("hypotheses", "no ties", f"{values[best]} and {value}", "move one of them")
    return best


def _fractions(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(part) for part in text.split())


#: One agent: √(log 2/12) is printed where the difference is 2/3. (The second hypothesis is far
#: off; it is there for the sample size, which is about telling two apart.)
HALVED_PINSKER = CoinTrial(
    _fractions("1/3"), (_fractions("2/3"), _fractions("9/10")), _fractions("1")
)

#: One agent: 1/12 covers the truth 1/3 as printed, but 2/3 is what is learnt.
REVERSED_COVERING = CoinTrial(
    _fractions("1/3"), (_fractions("1/12"), _fractions("2/3")), _fractions("1")
)

#: Two agents that do not agree: the network's compromise is not the nearest hypothesis on average.
EMPTY_INTERSECTION = CoinTrial(
    _fractions("1/2 1/2"), (_fractions("1/2 1/3"), _fractions("2/5 1/2")), _fractions("3/4 1/4")
)


# Linear regression over a network, quantised -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class QuantisedRegression(Value):
    """What each agent of a network sees of one linear-Gaussian law.

    Parameters
    ----------
    features
        One array of shape (X_j, d) per agent: the values of x.
    inputs
        One array of shape (X_j,) per agent: their probabilities.
    truth
        θ*, shape (d,).
    noise_std
        α > 0.
    threshold
        τ of the loss.
    label_edges
        Increasing ends of the bins in which labels are observed; None for exact labels.

    Raises
    ------
    ValueError
        If shapes disagree, a law is no distribution, a number is not finite, or edges do not
        increase.
    """

    features: tuple[FloatArray, ...]
    inputs: tuple[FloatArray, ...]
    truth: FloatArray
    noise_std: float
    threshold: float = 0.0
    label_edges: FloatArray | None = None

    def __post_init__(self) -> None:
        truth = as_float_array("truth", self.truth, ndim=1)
        features = tuple(
            as_float_array(f"features[{j}]", x, ndim=2) for j, x in enumerate(self.features)
        )
        inputs = tuple(as_distribution(f"inputs[{j}]", p) for j, p in enumerate(self.inputs))
        if not features or len(features) != len(inputs):
            raise fail(
                "inputs", f"one law for each of {len(features)} agents", len(inputs), "match them"
            )
        for j, (x, p) in enumerate(zip(features, inputs, strict=True)):
            if x.shape != (p.size, truth.size):
                raise fail(
                    f"features[{j}]",
                    f"shape {(p.size, truth.size)}",
                    f"shape {x.shape}",
                    "give one row of features for each input",
                )
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "truth", truth)
        object.__setattr__(self, "noise_std", as_positive("noise_std", self.noise_std))
        threshold = as_float_array("threshold", self.threshold, ndim=0).item()
        object.__setattr__(self, "threshold", threshold)
        if self.label_edges is not None:
            edges = as_float_array("label_edges", self.label_edges, ndim=1)
            if edges.size == 0 or (np.diff(edges) <= 0).any():
                raise fail("label_edges", "increasing numbers", edges.tolist(), "sort them")
            object.__setattr__(self, "label_edges", edges)

    @property
    def agents(self) -> int:
        """N."""
        return len(self.features)

    @cached_property
    def second_moments(self) -> FloatArray:
        """S_j = E x_j x_jᵀ, shape (N, d, d)."""
        pairs = zip(self.features, self.inputs, strict=True)
        moments = np.array([x.T @ (p[:, None] * x) for x, p in pairs])
        return read_only((moments + moments.swapaxes(1, 2)) / 2)

    def second_moment(self, weights: ArrayLike) -> FloatArray:
        """Σ_j w_j S_j, shape (d, d), for one weight per agent.

        Raises
        ------
        ValueError
            Unless there are N finite weights.
        """
        w = as_float_array("weights", weights, ndim=1)
        if w.size != self.agents:
            raise fail("weights", f"one for each of {self.agents} agents", w.size, "match them")
        return np.asarray(np.tensordot(w, self.second_moments, axes=1))

    def model(self, points: ArrayLike) -> FiniteModel:
        """The finite model whose hypotheses are the rows of `points`, shape (M, d), M ≥ 2.

        Raises
        ------
        ValueError
            Unless `points` is a table with d columns and at least two rows.
        """
        thetas = as_float_array("points", points, ndim=2)
        if thetas.shape[1] != self.truth.size:
            raise fail("points", f"{self.truth.size} coordinates", thetas.shape[1], "match truth")
        moved = thetas - self.truth
        if self.label_edges is None:
            # Labels are taken relative to the truth's means: an offset of θ cancels in no ratio.
            agents: list[Agent] = [
                GaussianAgent(p, np.zeros(len(x)), self.noise_std, moved @ x.T, self.noise_std)
                for x, p in zip(self.features, self.inputs, strict=True)
            ]
        else:
            ends = self._beyond(self.label_edges.tolist())
            laws = zip(self.features, self.inputs, ends, strict=True)
            agents = [self._binned(p, to, moved @ x.T) for x, p, to in laws]
        return FiniteModel.from_agents([f"theta {m}" for m in range(len(thetas))], agents)

    def risks(self, points: ArrayLike) -> FloatArray:
        """R_j(θ) of each agent and parameter, shape (N, M), in units of the loss."""
        thetas = as_float_array("points", points, ndim=2)
        moved = thetas - self.truth
        laws = zip(self.features, self.inputs, self._beyond([self.threshold]), strict=True)
        return np.array([p @ ndtr((x @ moved.T - to) / self.noise_std) for x, p, to in laws])

    def risk_differences(self, points: ArrayLike) -> FloatArray:
        """|R_j(θ*) − R_j(θ)|, shape (N, M)."""
        return np.asarray(np.abs(self.risks(points) - self.risks(self.truth[None])))

    def _beyond(self, labels: Sequence[float]) -> list[FloatArray]:
        """Labels − xᵀθ*, rounded once, for each agent; shape (X_j, labels)."""
        truth, numbers = [list(map(Fraction, row)) for row in (self.truth.tolist(), labels)]
        return [
            np.array([[float(y - mean) for y in numbers] for mean in means])
            for means in (
                [sum(map(mul, map(Fraction, row), truth)) for row in x.tolist()]
                for x in self.features
            )
        ]

    def _binned(self, p: FloatArray, ends: FloatArray, means: FloatArray) -> FiniteAgent:
        """An agent that sees bins: their ends and labels' means, shape (M, X), from the truth's."""
        truth = np.exp(self._log_bins(ends[None]))[0]
        logs = self._log_bins(ends - means[..., None])
        joint = p[:, None] * truth / truth.sum(axis=-1, keepdims=True)
        entropy = -float((joint * np.log(np.where(truth > 0, truth, 1.0))).sum())
        return FiniteAgent(joint.ravel(), logs.reshape(len(means), -1), entropy)

    def _log_bins(self, beyond: FloatArray) -> FloatArray:
        """Logs of P(bin), one more than ends on the last axis, for ends − means of labels."""
        z = beyond / self.noise_std
        ends = np.full((*z.shape[:-1], 1), np.inf)
        low, high = np.concatenate([-ends, z], -1), np.concatenate([z, ends], -1)
        # In the upper half the complementary function keeps its digits.
        flip = low > 0
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        tail = log_ndtr(high)
        with np.errstate(divide="ignore"):
            return np.asarray(tail + np.log1p(-np.exp(log_ndtr(low) - tail)))


def two_node_regression(
    *, nodes: int = 4, threshold: float = 0.5, label_edges: Sequence[float] | None = None
) -> QuantisedRegression:
    """P1's two nodes (section 5.1): θ* = (−.3, .5, .8), α = .8; each sees the bias and one input.

    Node 1 sees [1, x1, 0], x1 uniform on [−1, 1]; node 2 sees [1, 0, x2], x2 uniform on
    [−1.5, 1.5]. The uniform laws are replaced by their Gauss–Legendre laws with `nodes` values,
    which have the same moments up to order 2·nodes − 1: S_j is exact for nodes ≥ 2.
    """
    count = as_integer("nodes", nodes, minimum=2)
    values, weights = np.polynomial.legendre.leggauss(count)
    ones, zeros = np.ones(count), np.zeros(count)
    probabilities = weights / weights.sum()
    return QuantisedRegression(
        features=(
            np.stack([ones, values, zeros], axis=1),
            np.stack([ones, zeros, 1.5 * values], axis=1),
        ),
        inputs=(probabilities, probabilities),
        truth=np.array([-0.3, 0.5, 0.8]),
        noise_std=0.8,
        threshold=threshold,
        label_edges=None if label_edges is None else np.asarray(label_edges, dtype=np.float64),
    )
