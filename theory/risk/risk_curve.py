"""The trade-off of P1's Corollary 1: a finer covering has less risk and needs more rounds.

At each radius r an r-covering Θ_r of Φ is built, and with it M(r), the rate K(Θ_r) and the error
exponent E, the ladder of sample sizes, and the risk that is guaranteed after that many rounds.
What is guaranteed, and for which average (docs: mathematics/risk):

``guarantee``
    For **every agent i**: Σ_j v_j |R_j(θ*) − R_j(θ̂_i)|, its estimate judged on what the whole
    network sees.
``own_guarantee``
    P1's left side, (1/N) Σ_i |R_i(θ*) − R_i(θ̂_i)|: every estimate judged on its agent's own data,
    all agents alike. It costs a factor where the network does not weigh agents alike.

K(Θ_r) is erratic in r: it is tiny wherever θ* happens to lie half-way between two points. `slack`
repairs that: with slack c > 0 every hypothesis of divergence at most (1 + c)·r is as good as the
best, and only the others must be rejected, at a rate of at least c·r whatever θ* is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.bounds.samples import SampleSizes, sample_sizes
from theory.learning.rate import error_exponent, learning_rate
from theory.network import Network
from theory.risk.covering import Covering, cover, standardised
from theory.risk.domains import Domain
from theory.risk.quantised import QuantisedRegression
from theory.risk.risk import RiskBound, risk_bound
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_probability, fail

_WEIGHTS = ("stationary", "uniform")


@dataclass(frozen=True, eq=False)
class RiskPoint(Shown):
    """One radius of a :class:`RiskCurve`.

    Attributes
    ----------
    covering
        Θ_r: `covering.size` is an upper, `covering.lower_bound` a lower bound on M(r).
    acceptable
        Indices of the hypotheses an agent may hold: Θ* (or the network compromise), and with slack
        all those near enough.
    is_globally_learnable
        Whether Θ* is not empty on this covering (P1 Assumption 1).
    rate, exponent
        K and E over the hypotheses that are not acceptable, in nats per round; infinite if there
        are none.
    samples
        The ladder of sample sizes without its certified rung, which would take seconds a radius;
        None if there is nothing to reject. With slack it is that of the
        best hypothesis against those that are not acceptable.
    guarantee, own_guarantee
        Bounds on the risk, as in the module's introduction.
    """

    covering: Covering
    acceptable: tuple[int, ...]
    is_globally_learnable: bool
    rate: float
    exponent: float
    samples: SampleSizes | None
    guarantee: RiskBound
    own_guarantee: RiskBound

    @property
    def radius(self) -> float:
        """The radius r in nats."""
        return self.covering.radius

    @property
    def rounds(self) -> int | None:
        """Rounds after which the guarantees hold: 0 if nothing is to be learnt, None if unknown."""
        return 0 if self.samples is None else self.samples.chernoff.rounds


@dataclass(frozen=True, eq=False)
class RiskCurve(Shown):
    """Radius, covering, rate, exponent, rounds and risk, one point for each radius.

    Attributes
    ----------
    points
        In the order of the radii asked for.
    delta, slack
        The guarantees hold with probability 1 − δ; c as in the module's introduction.
    """

    points: tuple[RiskPoint, ...]
    delta: float
    slack: float

    @property
    def radii(self) -> FloatArray:
        """Shape (P,), in nats."""
        return np.array([point.radius for point in self.points])

    @property
    def sizes(self) -> IntArray:
        """Hypotheses in each covering, shape (P,)."""
        return np.array([point.covering.size for point in self.points], dtype=np.int64)

    def best_within(self, rounds: int) -> RiskPoint | None:
        """The radius with the least guaranteed risk after so many rounds; None if none is ready.

        Of equal guarantees (none says more than the range of the loss) the first is taken.
        """
        ready = [p for p in self.points if p.rounds is not None and p.rounds <= rounds]
        return min(ready, key=lambda point: point.guarantee.sharp, default=None)


def transfer_factor(to: FloatArray, source: FloatArray) -> float:
    """The smallest μ with xᵀ(to)x ≤ μ xᵀ(source)x for all x; infinite if there is none.

    `to` and `source` are second moments, shape (d, d): a covering of radius r in the metric of
    `source` has radius μr in that of `to`, and no smaller μ does for all domains. A floating-point
    value; a direction counts as not seen if no more than rounding is left of its features.

    Examples
    --------
    >>> transfer_factor(np.diag([1.0, 0.5]), np.diag([1.0, 0.25]))
    2.0
    """
    scale, correlations = standardised(source)
    seen = scale > 0
    if to[~seen].any():
        return np.inf
    moved = (to / np.where(seen, scale, 1.0)[:, None] / np.where(seen, scale, 1.0))[seen][:, seen]
    values, vectors = np.linalg.eigh(correlations[seen][:, seen])
    # What second moments of sums of products may be off by, over the sizes of their features.
    rounding = 64 * len(scale) * np.finfo(np.float64).eps
    hidden = values <= rounding
    unseen = vectors[:, hidden]
    sizes = np.abs(unseen).T @ np.sqrt(np.diag(moved))
    if (((moved @ unseen) * unseen).sum(axis=0) > rounding * sizes**2).any():
        return np.inf
    whitened = vectors[:, ~hidden] / np.sqrt(values[~hidden])
    return float(np.linalg.eigvalsh(whitened.T @ moved @ whitened).max(initial=0.0))


@typed
def risk_curve(
    network: Network,
    regression: QuantisedRegression,
    domain: Domain,
    radii: Sequence[float],
    *,
    delta: float,
    slack: float = 0.0,
    weights: str = "stationary",
    method: str | None = None,
) -> RiskCurve:
    """Radius by radius: the covering, what it takes to learn it, and the risk that is left.

    Parameters
    ----------
    network, regression
        N agents each; θ* of `regression` must lie in the domain.
    domain
        Φ.
    radii
        Positive numbers, in nats.
    delta
        Guarantees hold with probability 1 − δ.
    slack
        c ≥ 0, in units of r; zero asks for Θ* itself, as P1 does.
    weights
        In which average of the agents Θ_r is a covering of radius r: "stationary", the network's
        own, or "uniform", as P1 has it.
    method
        How coverings are built, as for :func:`theory.risk.covering.cover`.

    Raises
    ------
    ValueError
        If θ* is outside the domain, network and regression differ in their agents, an argument
        is out of range, or labels are binned and the loss is no function of the bin.
    """
    delta = as_probability("delta", delta)
    if weights not in _WEIGHTS:
        raise fail("weights", "'stationary' or 'uniform'", repr(weights), "choose one")
    if not (np.isfinite(slack) and slack >= 0):
        raise fail("slack", "a number of at least 0", slack, "use 0 for none")
    if not domain.contains(regression.truth[None], slack=1e-12)[0]:
        raise fail(
            "domain", f"to hold the truth {regression.truth.tolist()}", "one without", "widen it"
        )
    edges = regression.label_edges
    if edges is not None and regression.threshold not in edges:
        # Two laws of the bins may be equal though the loss differs within a bin.
        raise fail(
            "threshold",
            f"one of the ends of the bins, {edges.tolist()}",
            f"{regression.threshold:g}",
            "split the bin there, for a divergence of bins bounds no other loss",
        )
    v = network.stationary_distribution
    if v.size != regression.agents:
        raise fail("network", f"{regression.agents} agents", v.size, "match the regression")
    metric = v if weights == "stationary" else np.full(v.size, 1 / v.size)
    points = []
    for radius in radii:
        covering = cover(
            domain,
            regression.second_moment(metric),
            noise_std=regression.noise_std,
            radius=radius,
            method=method,
        )
        points.append(_point(network, regression, covering, delta=delta, slack=slack))
    return RiskCurve(tuple(points), delta, float(slack))


def _point(
    network: Network,
    regression: QuantisedRegression,
    covering: Covering,
    *,
    delta: float,
    slack: float,
) -> RiskPoint:
    v = network.stationary_distribution
    network_moment = regression.second_moment(v)
    radius = covering.radius * transfer_factor(network_moment, covering.second_moment)
    acceptable: tuple[int, ...] = (0,)
    learnable, rate, exponent = True, np.inf, np.inf
    samples: SampleSizes | None = None
    if covering.size > 1:
        model = regression.model(covering.points)
        learnable = bool(model.optimal_hypotheses)
        reference = model.reference_hypotheses(v)
        acceptable = reference
        if slack > 0:
            near = np.flatnonzero(model.weighted_divergences(v) <= (1 + slack) * radius)
            acceptable = tuple(sorted({*reference, *(int(m) for m in near)}))
        wrong = [m for m in range(covering.size) if m not in acceptable]
        if wrong:
            # Some agent's arg max is not acceptable only if a wrong hypothesis has beaten the best.
            if slack > 0:
                model = regression.model(covering.points[[reference[0], *wrong]])
            rate = learning_rate(network, model).rate
            exponent = error_exponent(network, model).exponent
            samples = sample_sizes(network, model, delta=delta, certify=False)
    united = len(acceptable) == 1 or (slack == 0 and learnable)
    own = covering.radius * _own_factor(regression, covering, v, united=united, learnable=learnable)
    return RiskPoint(
        covering=covering,
        acceptable=acceptable,
        is_globally_learnable=learnable,
        rate=float(rate),
        exponent=float(exponent),
        samples=samples,
        guarantee=risk_bound((1 + slack) * radius, loss_range=(0.0, 1.0)),
        own_guarantee=risk_bound((1 + slack) * own, loss_range=(0.0, 1.0)),
    )


def _own_factor(
    regression: QuantisedRegression,
    covering: Covering,
    v: FloatArray,
    *,
    united: bool,
    learnable: bool,
) -> float:
    """How much larger (1/N) Σ_i D_i(θ̂_i) can be than the covering's radius (docs: proofs).

    With Θ* not empty every agent's estimate minimises its own D_i: only the metric changes. Agents
    that hold one compromise pay for the change from v to the uniform average, agents that may hold
    different hypotheses pay one by one. Binned labels have other divergences than the covering's,
    so that only Σ_j v_j D_j ≥ v_i D_i can be used.
    """
    uniform = regression.second_moment(np.full(v.size, 1 / v.size))
    if united and learnable:
        return transfer_factor(uniform, covering.second_moment)
    to_network = transfer_factor(regression.second_moment(v), covering.second_moment)
    network = regression.second_moment(v)
    if regression.label_edges is not None:
        return to_network * float(1 / v.min() if united else (1 / v).sum()) / v.size
    if united:
        return to_network * transfer_factor(uniform, network)
    each = [transfer_factor(moment, network) for moment in regression.second_moments]
    return to_network * float(np.mean(each))
