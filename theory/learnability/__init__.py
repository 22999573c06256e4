"""What no W can fix and who matters: separation, redundancy, the fewest agents, departures."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.learnability.cuts import Cut, network_without
    from theory.learnability.departures import Departures, departures
    from theory.learnability.disputes import Disputes, disputes
    from theory.learnability.learnability import Learnability, learnability
    from theory.learnability.rejection import Rejection, rejection
    from theory.learnability.separation import Separation, separation
    from theory.learnability.sufficient import FewestAgents, fewest_agents
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
