"""How sure a prediction is, and which part of the doubt more data would remove."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from empirical.train.mixture import Prediction
from theory.showing import Shown
from theory.validation import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class Uncertainty(Shown):
    """Total uncertainty of predictions, and its two parts: total = aleatoric + epistemic.

    **Classes** (entropies, nats). With p_s the probabilities of the net drawn s-th and p = E_s p_s,

        H(p) = E_s H(p_s) + E_s KL(p_s ‖ p),

    for E_s KL(p_s ‖ p) = E_s Σ_k p_sk log p_sk − Σ_k (E_s p_sk) log p_k = H(p) − E_s H(p_s). The
    second part is the mutual information of label and weights: at least 0, and 0 if and only if
    all drawn nets agree.

    **Numbers and counts** (variances, in squared units of the label). With μ_s and v_s the mean and
    the variance that the s-th net gives, the law of total variance says

        Var y = E_s v_s + Var_s μ_s.

    The first part is what the data cannot remove (noise, as the likelihood has it), the second what
    more data would: it is the drawn nets' disagreement, and vanishes as beliefs narrow. Both are
    estimates from finitely many draws, whose sum is exact for those draws, up to rounding.

    Attributes
    ----------
    total, aleatoric, epistemic
        Shape (N, n) for classes, (N, n, m) for m numbers.
    unit
        ``"nats"``, or ``"squared units of the label"``.
    """

    total: FloatArray
    aleatoric: FloatArray
    epistemic: FloatArray
    unit: str

    def __post_init__(self) -> None:
        for values in (self.total, self.aleatoric, self.epistemic):
            read_only(values)


def uncertainty_of(prediction: Prediction) -> tuple[FloatArray, FloatArray]:
    """One agent's aleatoric and epistemic uncertainty, shape (n,) for classes, else (n, m)."""
    if prediction.entropy_within is None:
        return prediction.within, prediction.between
    p = prediction.mean
    entropy = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
    # Below zero by rounding only.
    return prediction.entropy_within, np.maximum(entropy - prediction.entropy_within, 0.0)


def doubt(prediction: Prediction) -> FloatArray:
    """One number an input, shape (n,), that grows with the total uncertainty."""
    aleatoric, epistemic = uncertainty_of(prediction)
    total = aleatoric + epistemic
    return total if total.ndim == 1 else np.asarray(total.sum(axis=1))
