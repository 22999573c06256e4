"""Which agent should hold which data."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.design.placement.local import ProvedPlacement, prove_placement
    from theory.design.placement.place import Placement, place
else:
    show_lazily(__name__)

__all__ = ["Placement", "ProvedPlacement", "place", "prove_placement"]
