"""What an error of a replica does: to what there is to send, and to beliefs.

With ē the most that any replica is off, what there is to send grows by g + ρ_i ē a round at most, g
what the data bring, and a log-ratio differs from that without compression by at most μ_i ē:

================  ==============================  ==================
replicas          ρ_i                             μ_i
================  ==============================  ==================
shared            2(1 − W_ii) + B²_i              B_i
one a listener    2(1 − W_ii) + 2ωB_i             2ω(2(1 − v_i) + D_i)
================  ==============================  ==================

ω = max_i (1 − W_ii), all of W_γ. (docs: mathematics/rare-messages)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.messages.deviation import replica_deviation
from theory.messages.losing import Acknowledged
from theory.messages.quantiser import Quantiser
from theory.network import Network
from theory.showing import Shown
from theory.validation import FloatArray

# Rounding in sums of a few terms, relative to their size.
_UP = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class Exposure(Shown):
    """Upper bounds, shape (N,), pure numbers: ρ as `feedback`, μ as `moved`."""

    feedback: FloatArray
    moved: FloatArray


def exposure(mixed: Network, quantiser: Quantiser) -> Exposure:
    """What errors do on the network of W_γ.

    Raises
    ------
    ValueError
        If the network has more than 2000 agents.
    """
    leaving = np.asarray(1.0 - mixed.weights.diagonal(), dtype=np.float64)
    first = replica_deviation(mixed).upper
    if not isinstance(quantiser, Acknowledged):
        second = replica_deviation(mixed, order=2).upper
        return Exposure((2 * leaving + second) * _UP, first * _UP)
    most = 2 * float(leaving.max())
    way = 2 * (1 - mixed.stationary_distribution) + mixed.deviation.upper
    return Exposure((2 * leaving + most * first) * _UP, most * way * _UP)
