"""The kinds of networks that change."""

from __future__ import annotations

from typing import TypeAlias

from theory.changing.delays import DelayedNetwork
from theory.changing.links import RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.periodic import PeriodicNetwork
from theory.changing.presence import RandomPresence

ChangingNetwork: TypeAlias = (
    PeriodicNetwork | MarkovNetwork | RandomLinks | RandomPresence | DelayedNetwork
)
