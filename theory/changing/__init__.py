"""Networks that change from round to round (docs: mathematics/changing)."""

from theory.changing.delays import DelayedNetwork
from theory.changing.exponent import ChangingExponent, changing_exponent
from theory.changing.influence import Influence, changing_rate, influence
from theory.changing.kinds import ChangingNetwork
from theory.changing.links import ON_LOSS, RandomLinks
from theory.changing.log_ratio import changing_log_ratio
from theory.changing.markov import MarkovNetwork
from theory.changing.mean_mixing import mean_slem
from theory.changing.periodic import PeriodicNetwork, rotating_star
from theory.changing.phase import Phase
from theory.changing.presence import RandomPresence
from theory.changing.samples import (
    ChangingSampleSizes,
    changing_error_bound,
    changing_sample_sizes,
)

__all__ = [
    "ON_LOSS",
    "ChangingExponent",
    "ChangingNetwork",
    "ChangingSampleSizes",
    "DelayedNetwork",
    "Influence",
    "MarkovNetwork",
    "PeriodicNetwork",
    "Phase",
    "RandomLinks",
    "RandomPresence",
    "changing_error_bound",
    "changing_exponent",
    "changing_log_ratio",
    "changing_rate",
    "changing_sample_sizes",
    "influence",
    "mean_slem",
    "rotating_star",
]
