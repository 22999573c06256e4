"""What no W can fix and who matters: separation, redundancy, the fewest agents, departures."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.learnability.departures import Cut, Departures, departures, network_without
    from theory.learnability.learnability import (
        Disputes,
        FewestAgents,
        Learnability,
        disputes,
        fewest_agents,
        learnability,
    )
    from theory.learnability.separation import Rejection, Separation, rejection, separation
else:
    show_lazily(__name__)

__all__ = [
    "Cut",
    "Departures",
    "Disputes",
    "FewestAgents",
    "Learnability",
    "Rejection",
    "Separation",
    "departures",
    "disputes",
    "fewest_agents",
    "learnability",
    "network_without",
    "rejection",
    "separation",
]
