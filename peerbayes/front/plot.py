"""`pb.plot`: a network, a problem or a result on axes of matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theory.validation import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(thing: Any, ax: Axes | None = None) -> Axes:
    """Draw a network with its stationary distribution, or what a problem or a result draws.

    Parameters
    ----------
    thing
        A `Network` of at most 150 agents, whose areas are proportional to their shares v; or
        anything with a method ``plot``: problems, analyses, simulations, verifications, designs.
    ax
        Axes to draw on; left out: new ones.

    Returns
    -------
    Axes
        What was drawn on.

    Raises
    ------
    ValueError
        If there is nothing to draw, or too much.

    Examples
    --------
    >>> from theory import Network
    >>> plot(Network.from_topology("star", agents=5)).get_title()
    'Network'
    """
    from peerbayes.documents import GraphDocument
    from peerbayes.figures.graph import draw_network
    from theory import Network

    if isinstance(thing, Network):
        return draw_network(GraphDocument.of(thing), ax)
    if isinstance(thing, type) or not hasattr(thing, "plot"):
        wanted = "a Network, a problem, or a result with a plot"
        raise fail("thing", wanted, type(thing).__name__, "draw its parts")
    drawn: Axes = thing.plot(ax)
    return drawn
