"""Networks: weights, stationary distributions, mixing."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.network.graphs import RULES
    from theory.network.mixing import Deviation
    from theory.network.network import Network
    from theory.network.stationary import Stationary
    from theory.network.topologies import TOPOLOGIES
else:
    show_lazily(__name__)

__all__ = ["RULES", "TOPOLOGIES", "Deviation", "Network", "Stationary"]
