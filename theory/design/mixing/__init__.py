"""The fastest reversible mixing for a given stationary distribution."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.design.mixing.bound import MixingBound
    from theory.design.mixing.fastest import FastestMixing, fastest_mixing
    from theory.design.mixing.reweighting import reweighted
else:
    show_lazily(__name__)

__all__ = ["FastestMixing", "MixingBound", "fastest_mixing", "reweighted"]
