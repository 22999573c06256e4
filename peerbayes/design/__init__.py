"""`peerbayes design`: what a network should be changed to, with a proof of how good that is."""

from peerbayes.design.command import AnyDesign, design
from peerbayes.design.request import OBJECTIVES, DesignRequest

__all__ = ["OBJECTIVES", "AnyDesign", "DesignRequest", "design"]
