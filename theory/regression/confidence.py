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
from theory.regression.limits import check_bits, influence_of, keeps_prior, together_of, with_digits
from theory.regression.model import RegressionModel
from theory.regression.sight import moment_of
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, read_only


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
    >>> from theory.regression.papers import two_nodes
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
