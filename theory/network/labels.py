"""What the agents of a network are called, and where they are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from theory.showing import brief
from theory.validation import FloatArray, as_float_array, fail

# Metadata of dataclass fields that decide no number: fingerprints of work leave them out.
LABEL: Mapping[str, bool] = MappingProxyType({"label": True})


def as_names(names: Iterable[object] | None, *, agents: int) -> tuple[str, ...] | None:
    """Names of agents as texts, length N, or None.

    Raises
    ------
    ValueError
        If there is not one name for each agent, one is empty, or two agents have the same.
    """
    if names is None:
        return None
    if isinstance(names, str):
        raise fail("names", "a list of names, one an agent", repr(names), "put it in a list")
    texts = tuple(str(name) for name in names)
    if len(texts) != agents:
        raise fail(
            "names", f"one for each of {agents} agents", len(texts), "give every agent one name"
        )
    if "" in texts:
        raise fail("names", "names of at least one letter", "an empty one", "name every agent")
    if len(set(texts)) < agents:
        twice = next(name for k, name in enumerate(texts) if name in texts[:k])
        got = f"{brief(twice)} twice"
        raise fail("names", "distinct names", got, "give each agent its own")
    return texts


def as_layout(layout: Any, *, agents: int) -> FloatArray | None:
    """Positions for drawing, shape (N, 2), or None.

    Raises
    ------
    ValueError
        If there is not one position for each agent.
    """
    if layout is None:
        return None
    positions = as_float_array("layout", layout, ndim=2)
    if positions.shape != (agents, 2):
        raise fail(
            "layout",
            f"two coordinates for each of {agents} agents",
            f"shape {positions.shape}",
            "give one position an agent",
        )
    return positions
