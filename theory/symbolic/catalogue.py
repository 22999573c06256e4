"""The families with closed forms, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from theory.symbolic.checks import two_agents
from theory.symbolic.formula import Formula
from theory.symbolic.hub import hub_and_ring, wheel
from theory.symbolic.hypercube import hypercube
from theory.symbolic.lattice import complete, grid, path, ring, torus
from theory.symbolic.star import star
from theory.validation import fail, meant

FAMILIES: Mapping[str, Callable[[], Formula]] = MappingProxyType(
    {
        "two-agents": two_agents,
        "star": star,
        "complete": complete,
        "wheel": wheel,
        "hub-and-ring": hub_and_ring,
        "ring": ring,
        "torus": torus,
        "hypercube": hypercube,
        "path": path,
        "grid": grid,
    }
)
"""The builders of all families, by name."""


@cache
def closed_form(name: str) -> Formula:
    """The closed forms of a family, with all its parameters free.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> star = closed_form("star")
    >>> [star.shown(c.stationary) for c in star.classes]
    [N*a/(N*a + N - 1), 1/(N*a + N - 1)]
    """
    if name not in FAMILIES:
        remedy = meant(name.lower(), FAMILIES, otherwise="choose one of these")
        raise fail("topology", f"one of {', '.join(FAMILIES)}", repr(name)[:60], remedy)
    return FAMILIES[name]()
