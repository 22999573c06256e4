"""The fastest reversible mixing for a given stationary distribution."""
