"""What many similar networks would do, at once: K, E and the subdominant modulus of each.

A search over edges looks at thousands of networks that differ in one edge. Their learning rates are
one matrix product. Their error exponents depend on v only through how much weight each kind of
agent has in which portions, so that networks alike in this share one, and the others are found by
Newton's method for all of them together. Their eigenvalues come from batches of symmetric
matrices where W is reversible.

All values are floating-point; those of the library's single-network functions up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.exponent.exponent_tilts import exponents as exponents_of
from theory.design.exponent.log_ratio_table import tabulate
from theory.learning.model import FiniteModel
from theory.validation import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class LearningEffects:
    """K and E of C networks that differ in v.

    Attributes
    ----------
    rate, exponent
        Shape (C,), in nats per round; infinite if nothing is wrong.
    binding
        Shape (C,): the wrong hypothesis that binds the rate, −1 if there is none.
    reference
        Shape (C,): the hypothesis that the network settles on, the first if there are several.
    tilts
        Shape (C, M): the maximising t of each wrong hypothesis' exponent; 0 for the reference.
    wrong
        Shape (C, M): whether a hypothesis is wrong.
    """

    rate: FloatArray
    exponent: FloatArray
    binding: IntArray
    reference: IntArray
    tilts: FloatArray
    wrong: np.ndarray


def learning_effects(model: FiniteModel, influence: FloatArray) -> LearningEffects:
    """K and E for each row v of `influence`, shape (C, N)."""
    count = len(model.hypotheses)
    members = np.eye(len(model.kinds))[model.assignment]
    weights = influence @ members
    wrong = np.ones((len(influence), count), dtype=bool)
    reference = np.zeros(len(influence), dtype=np.int64)
    for row, v in enumerate(influence):
        settled = model.reference_hypotheses(v)
        wrong[row, list(settled)] = False
        reference[row] = settled[0]
    rates = np.full(wrong.shape, np.inf)
    for best in np.unique(reference):
        rows = np.flatnonzero(reference == best)
        rates[rows] = weights[rows] @ model.comparison(int(best)).values
    rates[~wrong] = np.inf
    rate = rates.min(axis=1)
    binding = np.where(np.isfinite(rate), rates.argmin(axis=1), -1)
    alike, representative = _classes(model, influence, wrong)
    tilts, exponents = np.zeros((len(alike), count)), np.full((len(alike), count), np.inf)
    shapes, group = np.unique(wrong[alike], axis=0, return_inverse=True)
    for index, shape in enumerate(shapes):
        rows = np.flatnonzero(group.ravel() == index)
        v, here = influence[alike[rows]], np.arange(len(rows))
        unit = v.max(axis=1)
        best = np.flatnonzero(~shape)
        rays = np.tile(v / unit[:, None], (best.size, 1))
        for theta in np.flatnonzero(shape):
            table = tabulate(model, best, np.full(best.size, theta), share_slots=False)
            found = exponents_of(table, np.repeat(np.arange(best.size), rows.size), rays)
            values = found.values.reshape(best.size, rows.size)
            largest = values.argmax(axis=0)
            exponents[rows, theta] = values[largest, here]
            tilts[rows, theta] = found.tilts.reshape(values.shape)[largest, here] / unit
    return LearningEffects(
        rate=rate,
        exponent=exponents.min(axis=1)[representative],
        binding=binding,
        reference=reference,
        tilts=tilts[representative],
        wrong=wrong,
    )


def subdominant_moduli(weights: FloatArray, *, reversible: bool) -> FloatArray:
    """The slem of each W of a stack, shape (C, N, N): (C,), floating-point estimates.

    As for one network: good to a few roundings where W is reversible, not to be trusted where it
    is far from normal.
    """
    agents = weights.shape[-1]
    if agents == 1:
        return np.zeros(len(weights))
    if reversible:
        symmetric = np.sqrt(weights * weights.transpose(0, 2, 1))
        others = np.linalg.eigvalsh(symmetric)[:, :-1]
        return np.asarray(np.abs(others).max(axis=1))
    values = np.linalg.eigvals(weights)
    moduli = np.abs(values)
    # Exactly one eigenvalue is 1. Others may be as near as 1e-12 and must stay.
    moduli[np.arange(len(weights)), np.abs(values - 1.0).argmin(axis=1)] = 0.0
    return np.asarray(moduli.max(axis=1))


def _classes(
    model: FiniteModel, influence: FloatArray, wrong: np.ndarray
) -> tuple[IntArray, IntArray]:
    """Rows that stand for all with equal weights, kind by kind, and whom each row is stood for by.

    Weights count as equal if they agree to 13 digits: the exponent, Lipschitz in v, then does too.
    """
    scaled = np.round(influence / influence.max(), 13)
    keys = np.empty((len(influence), influence.shape[1] + wrong.shape[1]))
    start = 0
    for kind in np.unique(model.assignment):
        block = np.sort(scaled[:, model.assignment == kind], axis=1)
        keys[:, start : start + block.shape[1]] = block
        start += block.shape[1]
    keys[:, start:] = wrong
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.ravel().astype(np.int64)
