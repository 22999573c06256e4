"""The fastest reversible mixing for a given stationary distribution."""

from theory.design.mixing.bound import MixingBound
from theory.design.mixing.fastest import FastestMixing, fastest_mixing

__all__ = ["FastestMixing", "MixingBound", "fastest_mixing"]
