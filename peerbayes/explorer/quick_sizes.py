"""Sample sizes that take milliseconds: the printed ones, and Hoeffding's where W settles soon."""

from __future__ import annotations

import numpy as np

from peerbayes.explorer.editing.rows import Table
from theory import FiniteModel, LearningRate, Network
from theory.bounds.samples import printed_rounds
from theory.bounds.tails.chernoff import hoeffding_bounds
from theory.bounds.tails.events import ErrorEvents

# Rows of W^k that agree to this end the table of Hoeffding's bound.
_SETTLED = 1e-13
# Rounds of the table, and multiplications in all of them: some milliseconds.
_MOST_ROUNDS = 60
_MOST_WORK = 5e6


def quick_sizes(network: Network, model: FiniteModel, rate: LearningRate, *, delta: float) -> Table:
    """The rungs of `theory.sample_sizes` that cost next to nothing; null stands for the others."""
    printed = printed_rounds(network, model, delta=delta)
    again = printed_rounds(network, model, delta=delta, paper="P2")
    found: Table = {
        "delta": delta,
        "printed": printed.rounds,
        "printed_p2": again.rounds,
        "repaired": None,
        "chernoff": None,
        "certified": None,
    }
    wrong = len(model.hypotheses) - len(rate.reference)
    slem = network.slem
    rounds = np.log(_SETTLED) / np.log(slem) if 0 < slem < 1 else 1.0
    work = rounds * network.agents**2 * (network.agents + 3 * wrong)
    if not wrong or rate.undecided or rounds > _MOST_ROUNDS or work > _MOST_WORK:
        return found
    bounds = [bound for bound in hoeffding_bounds(ErrorEvents(network, model)) if bound is not None]
    sizes = [n for bound in bounds if (n := bound.smallest_rounds(delta)) is not None]
    found["repaired"] = min(sizes, default=None)
    return found
