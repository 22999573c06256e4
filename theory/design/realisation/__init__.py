"""From influence to weights: a W with any stationary distribution, on any connected graph."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.design.realisation.weights import realise, realise_exactly
else:
    show_lazily(__name__)

__all__ = ["realise", "realise_exactly"]
