"""Smooth stand-ins for measures of mixing, and going down on them from one start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import softmax

from theory.design.directed.flow_weights import FlowWeights, Measured, Point, UnbalancedError
from theory.design.mixing import fastest_mixing
from theory.design.realisation import realise
from theory.design.search import DesignFailed, descended, is_spent
from theory.network import Network
from theory.network.graphs import weights_on_links
from theory.network.structure import as_dense
from theory.validation import FloatArray

# Smooth stand-ins for the subdominant modulus and the deviation, with their derivatives ----------


# Below this a power of B is zero, or rounding.
_TINY = 1e-280
# Rounds beyond that in which all agents are so near to v add next to nothing.
_SETTLED = 1e-5
# Rounds that are summed, and entries of the powers that are kept: 20 million, 160 MB.
_MOST_ROUNDS = 1000
_MOST_ENTRIES = 2e7


def squared(power: FloatArray, times: int) -> Iterator[tuple[FloatArray, float, float]]:
    """B, B², B⁴, … of norm one; the norm of the square of the one before; the log of ‖B^{2^p}‖_F.

    Ends early where a power is zero.
    """
    logarithm = 0.0
    for _ in range(times + 1):
        size = float(np.linalg.norm(power))
        if size < _TINY:
            return
        power, logarithm = power / size, 2 * logarithm + float(np.log(size))
        yield power, size, logarithm
        power = power @ power


def smoothed_modulus(weights: FloatArray, v: FloatArray, *, doublings: int) -> Measured:
    """‖(W − 1vᵀ)^k‖_F^{1/k}, k = 2^`doublings`: an upper bound on the subdominant modulus."""
    found = list(squared(weights - v, doublings))
    if len(found) <= doublings:
        return Measured(0.0, np.zeros_like(weights), np.zeros_like(v))
    value = float(np.exp(found[-1][2] / 2**doublings))
    # The derivative of log‖M_p‖ by M_p / n_p is M_p / n_p itself; each squaring pulls it back.
    adjoint = found[-1][0]
    for (below, _, _), (_, size, _) in zip(found[-2::-1], found[:0:-1], strict=True):
        adjoint = (below.T @ adjoint + adjoint @ below.T) / size
    gradient = adjoint * (value / found[0][1] / 2**doublings)
    return Measured(value, gradient, -gradient.sum(axis=0))


def modulus_bound(weights: FloatArray, v: FloatArray) -> float:
    """The least ‖(W − 1vᵀ)^k‖_F^{1/k}, k = 1, 2, 4, … 2^30: above the modulus, up to rounding."""
    found = [logarithm / 2**p for p, (_, _, logarithm) in enumerate(squared(weights - v, 30))]
    return float(np.exp(min(found))) if len(found) == 31 else 0.0


def smoothed_deviation(
    weights: FloatArray, v: FloatArray, *, sharpness: float, rounding: float
) -> Measured:
    """A soft maximum of D_i: log-sum-exp at `sharpness` per round; |x| as √(x² + ε²) − ε.

    ε is `rounding` times v_j. Rounds are summed until all agents are close to v.
    """
    agents = len(v)
    most = max(2, min(_MOST_ROUNDS, int(_MOST_ENTRIES / agents**2)))
    epsilon = rounding * v
    powers = [np.eye(agents)]
    signs: list[FloatArray] = []
    flats: list[FloatArray] = []
    totals = np.zeros(agents)
    while len(signs) < most:
        powers.append(powers[-1] @ weights)
        difference = powers[-1] - v
        root = np.sqrt(difference * difference + epsilon * epsilon)
        signs.append(difference / root)
        flats.append((epsilon / root - 1.0) * rounding)
        totals += (root - epsilon).sum(axis=1)
        if float(np.abs(difference).sum(axis=1).max()) <= _SETTLED:
            break
    top = float(totals.max())
    value = top + float(np.log(np.exp(sharpness * (totals - top)).sum())) / sharpness
    share = softmax(sharpness * totals)[:, None]
    pulls = [share * sign for sign in signs]
    # v moves the difference, and the width of the rounded corner.
    by_v = sum((share * flat - pull).sum(axis=0) for flat, pull in zip(flats, pulls, strict=True))
    return Measured(value, pulled_back(weights, powers[1:], pulls), np.asarray(by_v))


def pulled_back(
    weights: FloatArray,
    powers: Sequence[FloatArray] | FloatArray,
    by_powers: Sequence[FloatArray] | FloatArray,
) -> FloatArray:
    """The derivative by W from those by W, W², …, as if each were a variable of its own."""
    total, carried = np.zeros_like(weights), np.zeros_like(weights)
    for k in range(len(powers) - 1, 0, -1):
        carried = by_powers[k] + carried
        total += powers[k - 1].T @ carried
        carried = carried @ weights.T
    return np.asarray(total + by_powers[0] + carried)


# Going down from one start ------------------------------------------------------------------------


# Sharper and sharper: powers of two for the modulus; for the deviation how sharp the maximum is, in
# units of D, and how much of v_j the corners of |x| are rounded off.
_DOUBLINGS = (2, 5, 8)
_SHARPNESS = ((5.0, 0.3), (50.0, 0.02), (500.0, 0.001))
_ITERATIONS = 150
# The scale of random starts: weights on an agent's links differ by factors of about e².
_SCATTER = 2.0


@dataclass(frozen=True, eq=False)
class Start:
    """Where to start: θ of a W."""

    name: str
    theta: FloatArray


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a start led: the measure of the network before and after."""

    name: str
    before: float
    after: float
    point: Point


class FlowDescent:
    """Minimises "modulus" or "deviation" over `weights`."""

    def __init__(self, weights: FlowWeights, measure: str) -> None:
        self.weights = weights
        self.measure = measure

    def starts(self, restarts: int, generator: np.random.Generator) -> Iterator[Start]:
        """Natural starts, then random flows."""
        graph, limits = self.weights.graph, self.weights.limits
        given = self.weights.given
        middle = np.full(graph.agents, 1 / graph.agents) if given is None else given

        def at(name: str, network: Network, v: FloatArray) -> Start:
            return Start(name, self.weights.of(as_dense(network.weights), v))

        with suppress(ValueError, DesignFailed):
            yield at("realisation", realise(graph, middle, constraints=limits), middle)
        if given is None and not limits.fixed_rows:
            uniform = weights_on_links(graph.links, agents=graph.agents, sparse_result=False)
            network = graph.network(as_dense(uniform))
            yield at("uniform rule", network, network.stationary_distribution)
        if graph.is_undirected:
            with suppress(ValueError, DesignFailed):
                fastest = fastest_mixing(graph, middle, constraints=limits, tolerance=1e-4)
                yield at("fastest reversible", fastest.network, middle)
        yield Start("even flows", np.zeros(self.weights.size))
        for number in range(1, restarts + 1):
            theta = _SCATTER * generator.standard_normal(self.weights.size)
            yield Start(f"random flows {number}", theta)

    def minimised(self, start: Start) -> Descent | None:
        """Where a start leads; None if it is not feasible."""
        theta, point = start.theta, self._at(start.theta)
        if point is None:
            return None
        before = self.measured(point)
        best = Descent(start.name, before, before, point)
        # Where rows and v are given there is nothing to move.
        for stage in range(len(_DOUBLINGS) if len(theta) else 0):
            if stage and is_spent():
                break
            smoothed = partial(self.smoothed, stage=stage, scale=max(best.after, 1e-3))
            theta = descended(
                self.weights.objective(smoothed),
                theta,
                bounds=[self.weights.bounds] * len(theta),
                iterations=_ITERATIONS,
            )
            point = self._at(theta)
            if point is None:
                break
            after = self.measured(point)
            if after < best.after:
                best = Descent(start.name, before, after, point)
        return best

    def measured(self, point: Point) -> float:
        """The measure itself: max_i D_i from above, or the floating-point subdominant modulus."""
        network = Network(np.maximum(self.weights.expected(point), 0.0))
        if self.measure == "deviation":
            return float(network.deviation.upper.max())
        return network.slem

    def smoothed(
        self, weights: FloatArray, v: FloatArray, _: FloatArray, *, stage: int, scale: float
    ) -> Measured:
        """The stand-in of a stage, for a measure of about `scale`."""
        if self.measure == "deviation":
            sharpness, rounding = _SHARPNESS[stage]
            return smoothed_deviation(weights, v, sharpness=sharpness / scale, rounding=rounding)
        return smoothed_modulus(weights, v, doublings=_DOUBLINGS[stage])

    def _at(self, theta: FloatArray) -> Point | None:
        try:
            return self.weights.at(theta)
        except UnbalancedError:
            return None
