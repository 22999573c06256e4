"""Networks: weights, stationary distributions, mixing."""

from theory.network.mixing import Deviation
from theory.network.network import Network
from theory.network.stationary import Stationary
from theory.network.topologies import TOPOLOGIES
from theory.network.weights import RULES

__all__ = ["RULES", "TOPOLOGIES", "Deviation", "Network", "Stationary"]
