"""Counts of draws from beliefs, whose logarithms are pooled."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from exact.messages.replicas import pooled
from exact.messages.tally import Tally
from theory.messages import Samples
from theory.network.structure import Weights
from theory.validation import FloatArray


class SampledBeliefs:
    """Agents pool their own log-ratio with what others' samples say.

    Parameters
    ----------
    weights
        W_γ.
    quantiser
        How many draws, and their smoothing.
    """

    def __init__(self, weights: Weights, quantiser: Samples) -> None:
        self._weights, self._quantiser = weights, quantiser
        self._own = np.asarray(weights.diagonal())[:, None, None]

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """The draws begin anew."""
        self._random = np.random.default_rng(stream)

    def pool(self, public: FloatArray, tally: Tally) -> FloatArray:
        """Draw hypotheses from all beliefs, and pool the logarithms of smoothed counts."""
        logs = np.concatenate((np.zeros((*public.shape[:2], 1)), -public), axis=2)
        counts = self._random.multinomial(self._quantiser.draws, softmax(logs, axis=2))
        heard = np.log(counts + float(self._quantiser.smoothing))
        said = heard[:, :, :1] - heard[:, :, 1:]
        tally.message(np.ones(public.shape[:2], dtype=bool))
        tally.numbers(counts[:, :, 1:].astype(np.float64), np.ones(public.shape, dtype=bool))
        tally.error(public - said)
        return np.asarray(pooled(self._weights, said) + self._own * (public - said))
