"""Decentralised Bayesian learning as the papers state it, in logarithms.

Each round has two steps (P1 section 2, P2 eq. 4 to 6). Agent i observes a datum with likelihood
ℓ_i(θ) and turns its *private* belief ρ_i into a *public* one by Bayes' rule,

    b_i(θ) ∝ ℓ_i(θ) ρ_i(θ),

then pools the public beliefs it hears, geometrically, with the weights of its row of W,

    ρ_i(θ) ∝ exp Σ_j W_ij log b_j(θ).

Its *estimate* is arg max_θ ρ_i(θ). Both steps normalise, here by log-sum-exp, so that beliefs whose
log-ratios reach ±1e5 neither under- nor overflow. Log beliefs have shape (..., N, M): agents, then
hypotheses; leading axes are replicates or rounds.

This is the readable form, and the one that :mod:`exact.learning`, the fast one, is held against.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from theory import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import SUM_TOLERANCE, FloatArray, IntArray, fail, read_only

Weights = FloatArray | csr_array


@dataclass(frozen=True, eq=False)
class Beliefs(Shown):
    """What every agent believed in every round, in logarithms (nats).

    Attributes
    ----------
    public, private
        Shape (T, N, M): log b and log ρ after rounds 1 to T; floating-point values.
    estimates
        Shape (T, N): arg max of the private belief, the first one listed at a tie.
    """

    public: FloatArray
    private: FloatArray
    estimates: IntArray


def normalise(log_beliefs: ArrayLike) -> FloatArray:
    """Log beliefs, shape (..., M), shifted so that the beliefs sum to one over the last axis.

    Examples
    --------
    >>> np.exp(normalise([1e5, 1e5]))
    array([0.5, 0.5])
    """
    values = np.asarray(log_beliefs, dtype=np.float64)
    # The largest one is subtracted first: a constant common to all hypotheses costs no digits.
    # The steps are those of scipy.special.log_softmax, which takes thrice as long on one belief.
    largest = values.max(axis=-1, keepdims=True)
    shifted = values - np.where(np.isfinite(largest), largest, 0.0)
    total = np.exp(shifted).sum(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(total))


def bayes_update(log_private: ArrayLike, log_likelihoods: ArrayLike) -> FloatArray:
    """Public beliefs: the private ones after an observation (P1 eq. 2).

    Parameters
    ----------
    log_private, log_likelihoods
        Shape (..., N, M), or shapes that broadcast to it.

    Raises
    ------
    ValueError
        If a log-likelihood is not finite: a likelihood of zero would rule a hypothesis out for
        good, on every agent, whatever is observed later.

    Examples
    --------
    >>> np.exp(bayes_update(np.log([[0.5, 0.5]]), np.log([[0.9, 0.3]]))).round(4)
    array([[0.75, 0.25]])
    """
    return normalise(np.asarray(log_private) + check_log_likelihoods(log_likelihoods))


def consensus(weights: ArrayLike | csr_array, log_public: ArrayLike) -> FloatArray:
    """Private beliefs: the geometric mean of the public ones an agent hears (P1 eq. 3).

    Parameters
    ----------
    weights
        W of shape (N, N), dense or scipy sparse of any format: non-negative rows that sum to one.
    log_public
        Shape (..., N, M): finite, since a belief of zero would be one for good and for all.

    Raises
    ------
    ValueError
        If `weights` is not such a matrix, or `log_public` not such an array.

    Examples
    --------
    >>> public = np.log([[0.8, 0.2], [0.2, 0.8]])
    >>> np.exp(consensus(np.full((2, 2), 0.5), public)).round(4)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    values = as_finite(
        "log_public",
        log_public,
        zero="a belief of zero",
        remedy="give every agent a positive belief in every hypothesis",
    )
    matrix = as_pooling(weights)
    if matrix.shape[0] != matrix.shape[1]:
        raise fail(
            "weights",
            "a square matrix, shape (N, N)",
            f"shape {matrix.shape}",
            "give every agent one row and one column",
        )
    if values.ndim < 2 or matrix.shape[1] != values.shape[-2] or values.shape[-1] == 0:
        raise fail(
            "log_public",
            f"one row per agent, shape (..., {matrix.shape[1]}, hypotheses)",
            f"shape {values.shape}",
            "give every agent of the network a belief",
        )
    return pooled(matrix, values)


def pooled(matrix: Weights, values: FloatArray) -> FloatArray:
    """:func:`consensus` of what has been checked."""
    if isinstance(matrix, csr_array):
        # A sparse array multiplies matrices only: the leading axes join the hypotheses.
        columns = np.moveaxis(values, -2, 0)
        product = (matrix @ columns.reshape(columns.shape[0], -1)).reshape(columns.shape)
        return normalise(np.moveaxis(product, 0, -2))
    return normalise(matrix @ values)


def as_pooling(weights: ArrayLike | csr_array) -> Weights:
    """A matrix, dense or scipy sparse of any format, as a dense or a CSR array.

    Raises
    ------
    ValueError
        If it is no matrix, or a row is not of non-negative numbers that sum to one.
    """
    matrix: Weights
    if issparse(weights):
        matrix = weights if isinstance(weights, csr_array) else csr_array(weights)
        entries = np.asarray(matrix.data)
    else:
        remedy = "give every row the same number of numbers"
        matrix = entries = as_numbers("weights", weights, remedy)
    if matrix.ndim != 2 or 0 in matrix.shape:
        remedy = "give every agent a row of weights"
        raise fail("weights", "a matrix, shape (N, N)", f"shape {matrix.shape}", remedy)
    if not (entries >= 0).all():
        got = "not a number" if np.isnan(entries).any() else "a negative weight"
        raise fail("weights", "non-negative rows that sum to 1", got, "rescale the rows")
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    # Weights rounded from decimals or quotients: half a unit in the last place each.
    off = ~(np.abs(totals - 1) <= SUM_TOLERANCE + matrix.shape[1] * np.finfo(float).eps)
    if off.any():
        row = int(np.argmax(off))
        got = f"a sum of {totals[row]:.15g} in row {row}"
        raise fail("weights", "non-negative rows that sum to 1", got, "rescale the rows")
    return matrix


def estimates(log_private: ArrayLike) -> IntArray:
    """Each agent's most believed hypothesis, shape (..., N); the first one listed at a tie.

    Examples
    --------
    >>> estimates(np.log([[0.2, 0.8], [0.7, 0.3]]))
    array([1, 0])
    """
    return np.asarray(np.argmax(np.asarray(log_private), axis=-1))


@typed
def learn(
    network: Network, log_likelihoods: ArrayLike, *, log_priors: ArrayLike | None = None
) -> Beliefs:
    """Run the algorithm on given observations, step by step as the papers write it.

    Parameters
    ----------
    network
        N agents.
    log_likelihoods
        Shape (T, N, M): log ℓ_i(y_t | θ, x_t) of what agent i observed in round t, in nats.
    log_priors
        Log of the agents' private beliefs before round 1, shape (N, M) or (M,); uniform if left
        out.

    Returns
    -------
    Beliefs
        Public and private beliefs and estimates after each round (floating-point values).

    Raises
    ------
    ValueError
        If shapes disagree, or a log-likelihood or log prior is not finite.

    Examples
    --------
    >>> pair = Network([[0.5, 0.5], [0.5, 0.5]])
    >>> head = np.log([0.8, 0.4])
    >>> beliefs = learn(pair, [[head, head], [head, head]])
    >>> np.exp(beliefs.private[-1]).round(4)
    array([[0.8, 0.2],
           [0.8, 0.2]])
    """
    table = check_log_likelihoods(log_likelihoods)
    if table.ndim != 3 or table.shape[1] != network.agents or 0 in table.shape:
        raise fail(
            "log_likelihoods",
            f"shape (rounds, {network.agents}, hypotheses) for a network of {network.agents}",
            f"shape {table.shape}",
            "give one row of log-likelihoods per round and agent",
        )
    private = normalise(prior_rows(log_priors, agents=table.shape[1], hypotheses=table.shape[2]))
    public_path = np.empty_like(table)
    private_path = np.empty_like(table)
    for t, observed in enumerate(table):
        public_path[t] = bayes_update(private, observed)
        private = private_path[t] = pooled(network.weights, public_path[t])
    return Beliefs(
        public=read_only(public_path),
        private=read_only(private_path),
        estimates=read_only(estimates(private_path)),
    )


def prior_rows(log_priors: ArrayLike | None, *, agents: int, hypotheses: int) -> FloatArray:
    """Log priors as one row per agent, shape (N, M); zeros (uniform) if None is given."""
    if log_priors is None:
        return np.zeros((agents, hypotheses))
    values = np.asarray(log_priors, dtype=np.float64)
    if values.shape not in ((hypotheses,), (agents, hypotheses)):
        raise fail(
            "log_priors",
            f"shape ({hypotheses},) or ({agents}, {hypotheses})",
            f"shape {values.shape}",
            "give one log prior per hypothesis, for all agents or for each",
        )
    if not np.isfinite(values).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(values))[0]]
        raise fail(
            "log_priors",
            "finite logarithms of positive priors",
            f"{values[tuple(where)]} at {where}",
            "a hypothesis of prior zero is never learnt: give it some mass",
        )
    return np.broadcast_to(values, (agents, hypotheses)).copy()


def check_log_likelihoods(log_likelihoods: ArrayLike) -> FloatArray:
    """The log-likelihoods as floats, all finite.

    Raises
    ------
    ValueError
        Naming the first place where the likelihood is zero, infinite or not a number.
    """
    return as_finite(
        "log_likelihoods",
        log_likelihoods,
        zero="a likelihood of zero",
        remedy="give every hypothesis a positive likelihood for whatever can be observed",
    )


def as_finite(argument: str, values: ArrayLike, *, zero: str, remedy: str) -> FloatArray:
    """Logarithms as floats, all finite.

    Raises
    ------
    ValueError
        Naming the first place with one that is not; `zero` is what log 0 is called.
    """
    array = as_numbers(argument, values, "give every agent one number per hypothesis")
    finite = np.isfinite(array)
    if not finite.all():
        where = [int(i) for i in np.argwhere(~finite)[0]]
        value = float(array[tuple(where)])
        what = f"{zero} (log −inf)" if value == -np.inf else str(value)
        raise fail(argument, "finite numbers", f"{what} at {where}", remedy)
    return array


def as_numbers(argument: str, values: ArrayLike, remedy: str) -> FloatArray:
    """Values as an array of floats; a ``ValueError`` if they are ragged or not numeric."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise fail(
            argument, "a rectangular array of numbers", "ragged or non-numeric values", remedy
        ) from None
