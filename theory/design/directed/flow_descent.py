"""Smooth stand-ins for mixing and for the probability of error, and ways down on them over W.

The stand-in for errors,

    F_n(W, t) = log Σ_{i,θ} exp(−t_iθ p_iθ + Σ_{k ≤ n} Σ_j κ_j(−t_iθ [W^k]_ij)),

is the logarithm of Chernoff's bound on P(some agent errs at round n), for any tilts t ≥ 0
(docs: mathematics/samples). It is smooth in W and t together, so that a search may move both; its
derivative in W comes backwards through the powers of W. κ is read off tables: what a search finds
here is judged elsewhere, by an account that is certified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp, softmax

from theory.design.directed.flow_weights import FlowWeights, Measured, Point, UnbalancedError
from theory.design.mixing.fastest import fastest_mixing
from theory.design.realisation.weights import realise
from theory.design.search import DesignFailed, descended, is_spent
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.learning.tilted import exponents, tabulate
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


# A smooth stand-in for the probability of error, with its gradient in W --------------------------


_NODES = 2048
# Tilts are kept within these multiples of the best one for the start's stationary distribution.
LEAST_TILT, MOST_TILT = 0.1, 4.0
# Powers of W beyond these are taken to be the last: W has settled, or nearly.
_MOST_POWERS = 400
# Where evidence never misleads, the larger the tilt the better; so many times the scale of z.
_CERTAIN = 64.0


@dataclass(frozen=True, eq=False)
class _Table:
    """κ(−x) on [0, reach] by cubics through equally spaced nodes, straight beyond."""

    reach: float
    value: FloatArray
    slope: FloatArray

    @classmethod
    def of(cls, law: LogRatioLaw, reach: float) -> _Table:
        nodes = np.linspace(0.0, reach, _NODES + 1)
        return cls(reach, law.cumulant(-nodes), -law.cumulant_slope(-nodes) * (reach / _NODES))

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """κ(−x) and its derivative in x."""
        unit = self.reach / _NODES
        place = np.minimum(x / unit, float(_NODES))
        left = np.minimum(place.astype(np.intp), _NODES - 1)
        s = place - left
        f0, f1 = self.value[left], self.value[left + 1]
        d0, d1 = self.slope[left], self.slope[left + 1]
        rise = f1 - f0
        c2, c3 = 3 * rise - 2 * d0 - d1, d0 + d1 - 2 * rise
        slope = (d0 + s * (2 * c2 + 3 * s * c3)) / unit
        value = f0 + s * (d0 + s * (c2 + s * c3))
        return value + (x - place * unit) * slope, slope


class SmoothErrors:
    """F_n for one model and horizon n.

    Parameters
    ----------
    model
        The model.
    best, wrong
        The hypothesis to settle on, and those to reject.
    v
        Shape (N,): the tilts' scale is that of the error exponent at v.
    rounds
        n.
    """

    def __init__(
        self, model: FiniteModel, *, best: int, wrong: Sequence[int], v: FloatArray, rounds: int
    ) -> None:
        self.rounds = rounds
        self.agents = model.agents
        members = [np.flatnonzero(model.assignment == k) for k in range(len(model.kinds))]
        self._priors: list[FloatArray] = []
        self._tables: list[list[tuple[np.ndarray, _Table]]] = []
        tilts = []
        table = tabulate(model, np.full(len(wrong), best), np.array(wrong, dtype=np.int64))
        found = exponents(table, np.arange(len(wrong)), v)
        for theta, value, tilt in zip(wrong, found.values, found.tilts, strict=True):
            laws = model.log_ratio_laws(best, theta)
            if value == np.inf or tilt == 0:
                # Never confused with the truth for long, or not yet told apart: nothing to tilt.
                scale = max(float(abs(law.mean)) for law in laws)
                tilt = _CERTAIN / max(scale, 1e-12)
            else:
                tilt = min(tilt, 1e6)
            reach = MOST_TILT * tilt
            self._tables.append(
                [
                    (who, _Table.of(laws[k], reach))
                    for k, who in enumerate(members)
                    if who.size and (laws[k].variance > 0 or laws[k].mean != 0)
                ]
            )
            odds = model.log_priors[:, best] - model.log_priors[:, theta]
            self._priors.append(odds[model.assignment])
            tilts.append(tilt)
        self.tilts = np.array(tilts)

    def best_tilts(self, weights: FloatArray) -> FloatArray:
        """Logs of the best tilts for one W, relative to the scale, (N, T), to a few percent."""
        steps = np.log(np.geomspace(LEAST_TILT, MOST_TILT, 25))
        powers, counts = self._powers(weights)
        every = np.ones((self.agents, self.tilts.size))
        values = [
            self._exponents(powers, counts, self.tilts * np.exp(step) * every)[0] for step in steps
        ]
        found: FloatArray = steps[np.array(values).argmin(axis=0)]
        return found

    def value(self, weights: FloatArray, logs: FloatArray) -> float:
        """F alone."""
        powers, counts = self._powers(weights)
        return float(logsumexp(self._exponents(powers, counts, self.tilts * np.exp(logs))[0]))

    def _exponents(
        self, powers: FloatArray, counts: FloatArray, t: FloatArray
    ) -> tuple[FloatArray, list[list[FloatArray]]]:
        """Logs of Chernoff's bounds, shape (N, T), and the slopes of κ by θ and kind."""
        values = np.empty_like(t)
        slopes: list[list[FloatArray]] = []
        for index, tables in enumerate(self._tables):
            own = t[:, index]
            total = -own * (powers[-1] @ self._priors[index])
            slopes.append([])
            for who, table in tables:
                value, slope = table(own[None, :, None] * powers[:, :, who])
                total = total + counts @ value.sum(axis=2)
                slopes[-1].append(slope)
            values[:, index] = total
        return values, slopes

    def derivatives(self, weights: FloatArray, v: FloatArray, logs: FloatArray) -> Measured:
        """F and its derivatives by W and by log t, of which `logs` has N·T; by v there is none."""
        powers, counts = self._powers(weights)
        t = self.tilts * np.exp(logs.reshape(self.agents, -1))
        exponents, slopes = self._exponents(powers, counts, t)
        top = float(logsumexp(exponents))
        share = np.exp(exponents - top)
        by_powers = np.zeros_like(powers)
        by_tilts = np.empty_like(t)
        for index, parts in enumerate(slopes):
            slope = np.zeros_like(powers)
            for (who, _), part in zip(self._tables[index], parts, strict=True):
                slope[:, :, who] = part
            pull = (share[:, index] * t[:, index])[None, :, None]
            by_powers += pull * slope
            prior = powers[-1] @ self._priors[index]
            with_t = counts @ (slope * powers).sum(axis=2) - prior
            by_tilts[:, index] = share[:, index] * t[:, index] * with_t
        by_powers *= counts[:, None, None]
        for index, prior in enumerate(self._priors):
            by_powers[-1] -= np.outer(share[:, index] * t[:, index], prior)
        by_weights = pulled_back(weights, powers, by_powers)
        return Measured(top, by_weights, np.zeros_like(v), by_tilts.ravel())

    def _powers(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """W, W², …, and how many rounds each stands for: the last one for all that are left."""
        most = min(self.rounds, _MOST_POWERS)
        powers = np.empty((most, *weights.shape))
        powers[0] = weights
        for k in range(1, most):
            powers[k] = powers[k - 1] @ weights
        counts = np.ones(most)
        counts[-1] += self.rounds - most
        return powers, counts


# Local descent on W for few samples, on a smooth stand-in for the probability of error -----------


def descend(
    errors: SmoothErrors, flows: FlowWeights, weights: FloatArray, v: FloatArray, *, iterations: int
) -> FloatArray:
    """The W to set, shape (N, N), that a way down from `weights` leads to, over W and tilts.

    Parameters
    ----------
    errors
        The stand-in.
    flows
        All W there are.
    weights, v
        A W that meets the limits, shape (N, N), and its v.
    iterations
        The most steps.
    """
    start = flows.of(weights, v)
    try:
        logs = errors.best_tilts(flows.expected(flows.at(start)))
        end = descended(
            flows.objective(errors.derivatives),
            np.append(start, logs.ravel()),
            bounds=[flows.bounds] * start.size
            + [(np.log(LEAST_TILT), np.log(MOST_TILT))] * logs.size,
            iterations=iterations,
            maxcor=20,
        )
        return flows.weights(flows.at(end[: start.size]))
    except UnbalancedError:
        return weights
