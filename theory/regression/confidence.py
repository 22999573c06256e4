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

import flint
import numpy as np
from numpy.typing import ArrayLike

from theory.network import Network
from theory.regression.expansion import (
    Directions,
    Expansion,
    cholesky_of,
    double_of,
    doubles_of,
    fractions_of,
    trace,
)
from theory.regression.limits import (
    check_bits,
    errors_of,
    influence_of,
    keeps_prior,
    moment_of,
    pooled_of,
    together_of,
    with_digits,
)
from theory.regression.model import RegressionModel
from theory.regression.predicted import refuse_targets
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, fail, read_only

# Whether beliefs are as sure as they should be ---------------------------------------------------


@dataclass(frozen=True, eq=False)
class Calibration(Shown):
    """True over reported variance in the limit: below 1 is under-, above 1 over-confident.

    Values of asymptotic formulas, rounded once; one number for all agents' beliefs, since these
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
    >>> from theory.regression.rational_model import two_nodes
    >>> case = two_nodes().as_floats()
    >>> calibration(case.network, case.model).coordinates.round(4).tolist()
    [0.7551, 0.8571, 0.1429]
    >>> mended = case.model.tempered(calibrating_tempering(case.network, case.model))
    >>> calibration(case.network, mended).ratios.round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    v = influence_of(network, model)
    return with_digits(lambda: _calibration(v, model))


def _calibration(v: FloatArray, model: RegressionModel) -> Calibration:
    expansion = together_of(v, model)
    # UᵀAU = L Lᵀ: the stationary values are the eigenvalues of L⁻¹ UᵀBU L⁻ᵀ.
    L = cholesky_of(expansion.information)
    left = L.inv() if L.nrows() else L
    image = left * expansion.noise * left.transpose()
    for k in range(L.nrows()):
        check_bits(image[k, k], 1)
    core = doubles_of(image)
    ratios, vectors = np.linalg.eigh((core + core.T) / 2)
    functionals = doubles_of(_functionals(expansion, L * flint.arb_mat(vectors.tolist()))).T
    own = [_ratio(kind.second_moment, moment_of(kind), expansion) for kind in model.kinds]
    S = model.test_second_moment
    hidden = keeps_prior(expansion, S)
    over = np.array([kind.overweight for kind in model.kinds])[model.assignment]
    return Calibration(
        read_only(ratios),
        read_only(functionals / np.linalg.norm(functionals, axis=1, keepdims=True)),
        read_only(
            np.array([np.nan if r is None else double_of(r) for r in expansion.coordinate_ratios()])
        ),
        read_only(np.array(own)[model.assignment]),
        float("nan") if hidden else _ratio(S, fractions_of(S), expansion),
        read_only(v * over),
    )


def _functionals(expansion: Expansion[flint.arb_mat], images: flint.arb_mat) -> flint.arb_mat:
    """The c with Uᵀc = `images` and Zᵀc = 0, as columns."""
    Z = expansion.split.hidden
    U = flint.arb_mat(expansion.split.seen)
    if not Z.ncols():
        return U * images
    # Rows of Z at hidden coordinates are the identity, those at seen ones −R: c there is Rᵀ c.
    hidden = Directions.of(expansion.split.seen.transpose()).hidden
    return (U - flint.arb_mat(hidden * Z.transpose() * expansion.split.seen)) * images


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


def _ratio(moment: FloatArray, exact: flint.fmpq_mat, expansion: Expansion[flint.arb_mat]) -> float:
    """True over reported error of inputs with this second moment; nan where nothing is seen."""
    if not moment.any() or not expansion.split.seen.ncols():
        return float("nan")
    return double_of(trace(exact, expansion.covariance) / trace(exact, expansion.reported))


# The stationary distribution with the least excess error, whatever the test law ------------------


@dataclass(frozen=True, eq=False)
class BestStationary(Shown):
    """The best stationary distribution, and what the present one costs.

    Attributes
    ----------
    distribution
        Shape (N,), positive, sums to one. It is unique up to agents that share no direction with
        the others.
    constant, present_constant
        n times the excess error, in the limit, with the best and with the present v.
    price
        Their quotient, at least 1 up to rounding: how many times more rounds the present v needs.
    """

    distribution: FloatArray
    constant: float
    present_constant: float
    price: float


@typed
def best_stationary_distribution(
    network: Network | ArrayLike, model: RegressionModel
) -> BestStationary:
    """The v that minimises the asymptotic excess error for every test law.

    v_j is proportional to s_j²/(t_j α_j²). Batches play no part: they are in the information, where
    they belong.

    Parameters
    ----------
    network
        The present network, or its weights; it sets the price only.

    Raises
    ------
    ValueError
        If network and model do not fit, agents have targets, or the agents together leave a
        direction unseen that the test law asks for.

    Examples
    --------
    >>> from theory.regression.rational_model import two_nodes
    >>> case = two_nodes().as_floats()
    >>> best = best_stationary_distribution(case.network, case.model)
    >>> best.distribution.tolist(), round(best.constant, 9), round(best.price, 6)
    ([0.5, 0.5], 1.6, 1.102041)
    """
    refuse_targets(model)
    present = influence_of(network, model)
    S = model.test_second_moment
    if with_digits(lambda: keeps_prior(pooled_of(model), S)):
        raise fail(
            "test_second_moment",
            "one that asks only for what some agent sees",
            "one that asks for more",
            "leave the unseen direction out of the test law, or let an agent see it",
        )
    over = np.array([kind.overweight for kind in model.kinds])[model.assignment]
    v = 1 / over
    v = v / v.sum()
    constant, now = with_digits(
        lambda: [errors_of(together_of(u, model), S)[1] for u in (v, present)]
    )
    return BestStationary(read_only(v), constant, now, now / constant if constant else 1.0)
