"""What to change in a network: weights, influence, edges, the placement of data."""

from theory.design.certificate import Certificate
from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph

__all__ = ["Certificate", "Constraints", "DesignGraph"]
