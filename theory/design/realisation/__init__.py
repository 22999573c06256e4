"""From influence to weights: a W with any stationary distribution, on any connected graph."""
