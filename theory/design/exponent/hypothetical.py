"""What a finite agent would observe if a given hypothesis were the truth.

A :class:`theory.FiniteAgent` stores its outcomes o = (x, y) in one row: their probabilities
P(x) f(y|x) under the truth, and log ℓ(y|θ, x). Under hypothesis θ the outcome has probability
P(x) ℓ(y|θ, x). The inputs come one after the other, and for each of them the likelihoods of its
labels sum to one whatever θ is: that tells where one input ends and the next begins. A data set
with one stored label for each input has no such sums, and says nothing of what other labels would
have looked like.
"""

from __future__ import annotations

import numpy as np

from theory.learning.batches import alike, totals, type_counts, type_weights
from theory.learning.finite_agent import FiniteAgent
from theory.validation import FloatArray, fail

# Sums of likelihoods given as decimals: the tolerance of `theory.validation`, and logarithms and
# exponentials in between, a few units in the last place for each label.
_TOLERANCE = 1e-11


def input_probabilities(agent: FiniteAgent, *, name: str = "agent") -> FloatArray:
    """P(x) for each stored outcome (x, y), shape (O,).

    Of an agent of batches: what to multiply its likelihoods by, the number of sequences of a type
    times the probability of their inputs.

    Raises
    ------
    ValueError
        If the likelihoods of successive outcomes do not sum to one under every hypothesis: the
        agent holds a data set, or labels of probability zero were dropped.

    Examples
    --------
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[0.25, 0.75],
    ...     truth=[[0.5, 0.5], [0.5, 0.5]],
    ...     likelihood=[[[0.5, 0.5], [0.5, 0.5]], [[0.2, 0.8], [0.9, 0.1]]],
    ... )
    >>> input_probabilities(coin).tolist()
    [0.25, 0.25, 0.75, 0.75]
    """
    if agent.single is not None:
        shares = input_probabilities(agent.single, name=name)
        claims, group = alike(agent.single.log_likelihoods)
        counts = type_counts(claims.shape[1], agent.batch, rows=len(claims))
        return type_weights(totals(group, shares), counts)
    likelihoods = np.exp(agent.log_likelihoods)
    found = np.empty(agent.probabilities.size)
    start, total = 0, np.zeros(agent.hypotheses)
    for outcome in range(found.size):
        total = total + likelihoods[:, outcome]
        if (total > 1 + _TOLERANCE).any():
            break
        if (total >= 1 - _TOLERANCE).all():
            labels = slice(start, outcome + 1)
            found[labels] = agent.probabilities[labels].sum()
            start, total = outcome + 1, np.zeros(agent.hypotheses)
    if start < found.size:
        raise fail(
            name,
            "likelihoods that sum to one over the labels of each input, under every hypothesis",
            f"outcomes from number {start} on that do not",
            "a data set does not say what it would look like under another truth: give tables "
            "with a positive truth for every label, or name a target",
        )
    return found
