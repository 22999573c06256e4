"""The fastest reversible mixing for a given stationary distribution."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.design.mixing.fastest import FastestMixing, MixingBound, fastest_mixing, reweighted
else:
    show_lazily(__name__)

__all__ = ["FastestMixing", "MixingBound", "fastest_mixing", "reweighted"]
