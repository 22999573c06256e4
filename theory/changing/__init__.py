"""Networks that change from round to round (docs: mathematics/changing)."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.changing.delays import (
        ON_LOSS,
        AnyNetwork,
        ChangingNetwork,
        DelayedNetwork,
        RandomLinks,
    )
    from theory.changing.markov import MarkovNetwork
    from theory.changing.mean_states import mean_slem
    from theory.changing.mixing import PeriodicNetwork, rotating_star
    from theory.changing.phase import Phase
    from theory.changing.presence import RandomPresence
    from theory.changing.rhythms import Rhythm, clock_waits, measured_rhythm, rhythm_rate
    from theory.changing.stationary import Influence, influence
else:
    show_lazily(__name__)

__all__ = [
    "ON_LOSS",
    "AnyNetwork",
    "ChangingNetwork",
    "DelayedNetwork",
    "Influence",
    "MarkovNetwork",
    "PeriodicNetwork",
    "Phase",
    "RandomLinks",
    "RandomPresence",
    "Rhythm",
    "clock_waits",
    "influence",
    "mean_slem",
    "measured_rhythm",
    "rhythm_rate",
    "rotating_star",
]
