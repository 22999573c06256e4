"""Pooling of one agent by a rule that liars sway less: the round of :mod:`exact.faults`, alone.

The rules are those of :mod:`theory.robustness.rules`. They act on log-ratios against one
hypothesis, so that what comes out are the log-ratios of a belief (docs: mathematics/faults).
"""

from __future__ import annotations

import numpy as np

from theory.robustness.rules import Average, Clip, Median, Rule
from theory.validation import FloatArray


def pool_by_rule(
    rule: Rule, own: FloatArray, said: FloatArray, weights: FloatArray, own_weight: float
) -> FloatArray:
    """Where an agent moves that hears K others, in floating point.

    Parameters
    ----------
    rule
        How it pools.
    own
        Shape (C,): its own log-ratios.
    said
        Shape (K, C): those of the agents it hears.
    weights, own_weight
        Shape (K,), and W_ii: they sum to one.

    Returns
    -------
    FloatArray
        Shape (C,).

    Examples
    --------
    >>> from theory.robustness import Median, TrimmedMean
    >>> said, thirds = np.array([[1.0], [900.0]]), np.full(2, 1 / 3)
    >>> pool_by_rule(Median(), np.array([0.0]), said, thirds, 1 / 3).tolist()
    [1.0]
    >>> pool_by_rule(TrimmedMean(1), np.array([0.0]), said, thirds, 1 / 3).round(4).tolist()
    [0.3333]
    """
    if isinstance(rule, Median):
        return np.asarray(np.median(np.vstack([own, said]), axis=0))
    gaps = said - own
    if isinstance(rule, Average):
        return np.asarray(own + weights @ gaps)
    if isinstance(rule, Clip):
        return np.asarray(own + weights @ np.clip(gaps, -rule.radius, rule.radius))
    each = np.broadcast_to(weights[:, None], said.shape)
    dropped = (_rank(said, each) < rule.tolerate) & (gaps < 0)
    dropped |= (_rank(-said, each) < rule.tolerate) & (gaps > 0)
    kept = np.where(dropped, 0.0, each)
    move = (kept * np.where(dropped, 0.0, gaps)).sum(axis=0)
    if rule.lost == "renormalise":
        total = own_weight + kept.sum(axis=0)
        np.divide(move, total, out=move, where=total > 0)
    return np.asarray(own + move)


def _rank(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The place of every number in its column, the smallest first; of equal ones the heaviest."""
    order = np.lexsort((-weights, values), axis=0)
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(len(values))[:, None], axis=0)
    return np.asarray(places)
