"""Every figure of the sources by name, in the order of the sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from peerbayes.messages import choose
from peerbayes.sources import others, p1, p2_confidence, p2_stars, regressions
from peerbayes.sources.figure import SourceFigure

_ALL = (
    *regressions.FIGURES, *p1.FIGURES, *p2_stars.FIGURES, *p2_confidence.FIGURES, *others.FIGURES,
)  # fmt: skip
_SOURCES = ("p1", "p2", "slides", "gae")


def _place(figure: SourceFigure) -> tuple[int, bool, str]:
    source, _, number = figure.name.partition("-")
    return _SOURCES.index(source), number.startswith("remark"), number


FIGURES: Mapping[str, SourceFigure] = MappingProxyType(
    {one.name: one for one in sorted(_ALL, key=_place)}
)
"""The figures by name."""


def chosen_figures(names: Sequence[str]) -> tuple[SourceFigure, ...]:
    """The figures of these names, all if none is named.

    Raises
    ------
    ValueError
        If there is none of that name; in one line.

    Examples
    --------
    >>> [figure.source for figure in chosen_figures(["p2-5b"])]
    ['P2 Fig. 5b']
    """
    if not names:
        return tuple(FIGURES.values())
    return tuple(FIGURES[choose("FIGURE", name, FIGURES)] for name in names)
