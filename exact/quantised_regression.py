"""Risk measured: run the algorithm on a quantised regression and see what agents settle on.

The theory's curve (:func:`theory.risk_curve`) promises that after n(r) rounds, with probability
1 − δ, the risks of θ* and of the agents' estimates differ by no more than a guarantee. Here the
algorithm runs for that many rounds, many times over, and the realised differences are laid beside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exact.fixed import fixed_task
from exact.run import Run
from exact.statistics import Proportion, proportion
from theory import Network, QuantisedRegression, RiskCurve, RiskPoint
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, read_only


@dataclass(frozen=True, eq=False)
class MeasuredRisk(Shown):
    """What R replicates of n rounds ended with, at one radius.

    Attributes
    ----------
    radius, rounds, replicates, seed
        r in nats, n, R; with the seed of this radius's run.
    network_risk
        Shape (R,): max over agents i of Σ_j v_j |R_j(θ*) − R_j(θ̂_i)|.
    own_risk
        Shape (R,): (1/N) Σ_i |R_i(θ*) − R_i(θ̂_i)|.
    errors
        In how many replicates some agent held a hypothesis that is not acceptable.
    exceeded, own_exceeded
        In how many a risk was above its guarantee (the sharp form).
    """

    radius: float
    rounds: int
    replicates: int
    seed: int
    network_risk: FloatArray
    own_risk: FloatArray
    errors: Proportion
    exceeded: Proportion
    own_exceeded: Proportion


@dataclass(frozen=True, eq=False)
class MeasuredRiskCurve(Shown):
    """A :class:`theory.RiskCurve` and what was measured at each of its points.

    `points` has one entry for each of the curve's, None where it needs more rounds than allowed.
    """

    curve: RiskCurve
    points: tuple[MeasuredRisk | None, ...]


@typed
def measure_risk(
    network: Network,
    regression: QuantisedRegression,
    point: RiskPoint,
    *,
    rounds: int,
    replicates: int,
    seed: int,
) -> MeasuredRisk:
    """Run one covering for `rounds` rounds and measure the risk of what every agent believes.

    An estimate is the arg max of the private belief, the first one among equals; labels and inputs
    are drawn from the regression itself, whatever the covering.

    Raises
    ------
    ValueError
        As for :func:`exact.simulate`.
    """
    replicates = as_integer("replicates", replicates, minimum=1)
    v = network.stationary_distribution
    points = point.covering.points
    if rounds == 0 or len(points) == 1:
        # Nothing to learn from: everybody holds the first acceptable hypothesis.
        estimates = np.full((replicates, v.size), point.acceptable[0])
    else:
        run = Run(
            rounds=rounds, replicates=replicates, seed=seed, record=[rounds], paths=replicates
        )
        paths = fixed_task(network, regression.model(points), run=run).simulate().paths
        estimates = paths[:, 0].argmin(axis=-1)
    gaps = regression.risk_differences(points)
    network_risk = (v @ gaps)[estimates].max(axis=1)
    own_risk = gaps[np.arange(v.size), estimates].mean(axis=1)
    errors = np.isin(estimates, point.acceptable, invert=True).any(axis=1)

    def share(happened: ArrayLike) -> Proportion:
        return proportion(int(np.sum(happened)), replicates, confidence=0.999)

    return MeasuredRisk(
        radius=point.radius,
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        network_risk=read_only(network_risk),
        own_risk=read_only(own_risk),
        errors=share(errors),
        exceeded=share(network_risk > point.guarantee.sharp),
        own_exceeded=share(own_risk > point.own_guarantee.sharp),
    )


@typed
def measured_risk_curve(
    network: Network,
    regression: QuantisedRegression,
    curve: RiskCurve,
    *,
    replicates: int,
    seed: int,
    most_rounds: int,
) -> MeasuredRiskCurve:
    """Run every point of the curve for the rounds it asks for (its Chernoff sample size).

    Radii whose rounds exceed `most_rounds` are left out. Each radius has its own random stream,
    drawn from `seed`.
    """
    seeds = np.random.SeedSequence(seed).generate_state(len(curve.points))
    measured = [
        None
        if point.rounds is None or point.rounds > most_rounds
        else measure_risk(
            network,
            regression,
            point,
            rounds=point.rounds,
            replicates=replicates,
            seed=int(own),
        )
        for point, own in zip(curve.points, seeds, strict=True)
    ]
    return MeasuredRiskCurve(curve, tuple(measured))
