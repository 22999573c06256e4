"""From influence to weights: a W with any stationary distribution, on any connected graph."""

from theory.design.realisation.weights import realise, realise_exactly

__all__ = ["realise", "realise_exactly"]
