"""Which agent should hold which data."""

from theory.design.placement.assignment import Placement
from theory.design.placement.place import place
from theory.design.placement.proved import ProvedPlacement, prove_placement

__all__ = ["Placement", "ProvedPlacement", "place", "prove_placement"]
