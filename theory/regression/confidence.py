"""Whether beliefs are as sure as they should be: reported against true covariance.

In the limit the estimate's covariance is A⁻¹BA⁻¹/n and the belief's A⁻¹/n. Along the functional
cᵀθ their ratio lies between the smallest and the largest of

    κ_j = v_j t_j α_j²/s_j²,

so that with Bayes' own weights (t = 1, s = α) a network is *under*-confident: it reports a variance
between 1/max v_j and 1/min v_j times the true one, N times at uniform v. Its likelihoods are pooled
with weights that sum to one, so that N agents' pairs count as one agent's. Raising agent j's
likelihood to the power s_j²/(α_j² v_j) makes every κ_j one: the belief is then calibrated in every
direction, and asymptotically the one posterior of all pairs (docs: mathematics/regression).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.network import Network
from theory.regression.limits import expansion_of, influence_of
from theory.regression.model import RegressionModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class Calibration(Shown):
    """True over reported variance in the limit: below 1 is under-, above 1 over-confident.

    Floating-point values of asymptotic formulas; one number for all agents' beliefs, since these
    agree in the limit.

    Attributes
    ----------
    ratios
        Shape (r,), increasing: the stationary values over all functionals cᵀθ on the r directions
        that are seen.
    functionals
        Shape (r, d): the c of each ratio, of unit length.
    coordinates
        Shape (d,): the ratio of each coefficient; nan where nobody sees it.
    own
        Shape (N,): the ratio averaged over each agent's own inputs, tr(S_j A⁻¹BA⁻¹)/tr(S_j A⁻¹).
    test
        The same over the test inputs; nan where these ask for what nobody sees.
    weights
        Shape (N,): κ_j, between whose extremes all of these lie if labels follow θ*.
    """

    ratios: FloatArray
    functionals: FloatArray
    coordinates: FloatArray
    own: FloatArray
    test: float
    weights: FloatArray


@typed
def calibration(network: Network | ArrayLike, model: RegressionModel) -> Calibration:
    """How the beliefs' reported covariance compares with the true one.

    Parameters
    ----------
    network
        A network, or one weight per agent (as for `regression_limits`).

    Raises
    ------
    ValueError
        As for `regression_limits`.

    Examples
    --------
    >>> from theory.regression.papers import two_nodes
    >>> case = two_nodes().as_floats()
    >>> calibration(case.network, case.model).coordinates.round(4).tolist()
    [0.7551, 0.8571, 0.1429]
    >>> mended = case.model.tempered(calibrating_tempering(case.network, case.model))
    >>> calibration(case.network, mended).ratios.round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    expansion = expansion_of(network, model)
    U, Z = expansion.split.seen, expansion.split.hidden
    factor = expansion.factor
    half = factor.half(factor.half(expansion.noise).T)
    ratios, vectors = np.linalg.eigh((half + half.T) / 2)
    # A functional c with Uᵀc = Rᵀq, for UᵀAU = RᵀR, and Zᵀc = 0.
    images = (factor.lower @ vectors) / factor.scale[:, None]
    right = np.concatenate([images, np.zeros((Z.shape[1], images.shape[1]))])
    functionals = np.linalg.solve(np.concatenate([U, Z], axis=1).T, right).T
    lengths = np.linalg.norm(functionals, axis=1, keepdims=True)
    kept = np.diag(expansion.reported_limit)
    seen = kept <= 1e-12 * max(float(kept.max(initial=0.0)), 1e-300)
    true, reported = np.diag(expansion.covariance), np.diag(expansion.reported)
    coordinates = np.full(model.dimension, np.nan)
    coordinates[seen] = true[seen] / reported[seen]
    own = np.array(
        [_ratio(k.second_moment, expansion.covariance, expansion.reported) for k in model.kinds]
    )
    S = model.test_second_moment
    asked = np.linalg.norm(expansion.reported_limit @ S)
    hidden = asked > 1e-12 * np.linalg.norm(expansion.reported_limit) * np.linalg.norm(S)
    over = np.array([kind.overweight for kind in model.kinds])[model.assignment]
    return Calibration(
        read_only(ratios),
        read_only(functionals / lengths),
        read_only(coordinates),
        read_only(own[model.assignment]),
        float("nan") if hidden else _ratio(S, expansion.covariance, expansion.reported),
        read_only(influence_of(network, model) * over),
    )


@typed
def calibrating_tempering(network: Network | ArrayLike, model: RegressionModel) -> FloatArray:
    """The power each agent raises its likelihood to so that beliefs are calibrated; shape (N,).

    t_j = s_j²/(α_j² v_j), whatever powers the model has now. Exact in the limit, in every
    direction, for any W, if labels follow θ*; for agents with targets `noise_std` is taken as their
    noise. Use it as ``model.tempered(calibrating_tempering(network, model))``.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """
    v = influence_of(network, model)
    plain = np.array([kind.overweight / kind.tempering for kind in model.kinds])[model.assignment]
    with np.errstate(divide="ignore"):
        return read_only(1 / (plain * v))


def _ratio(test: FloatArray, true: FloatArray, reported: FloatArray) -> float:
    below = float((test * reported).sum())
    return float((test * true).sum()) / below if below > 0 else float("nan")
