"""What the agents of a network are called, who is meant by a name, and where they are drawn.

Wherever an agent is asked for it may be given by its number or by its name. A text is a name
first, then a number: where an agent is called "7", "7" is that agent, and 7 is agent 7.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from theory.showing import brief
from theory.validation import FloatArray, as_float_array, as_integer, fail, meant

# Metadata of dataclass fields that decide no number: fingerprints of work leave them out.
LABEL: Mapping[str, bool] = MappingProxyType({"label": True})
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
# Names that a message lists, and among which it looks for the one that was meant.
_LISTED, _COMPARED = 8, 5000


class Named(Protocol):
    """Anything with agents that may have names, such as a network."""

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """What they are called; None: they go by their numbers."""
        ...


def called(agent: int, names: Sequence[str] | None) -> str:
    """An agent in a message: by its name, or else by its number.

    >>> called(1, ("mast", "roof")), called(1, None)
    ("agent 'roof'", 'agent 1')
    """
    return f"agent {agent}" if names is None else f"agent {brief(names[agent])}"


def agent_numbers(argument: str, given: object, network: Named) -> tuple[int, ...]:
    """Numbers of agents that are given by name or by number.

    Parameters
    ----------
    argument
        What messages call them.
    given
        One agent, or a sequence of them; a text may be several with commas between.
    network
        Whose agents.

    Raises
    ------
    ValueError
        If there is no such agent; the line says who was probably meant.

    Examples
    --------
    >>> from theory import Network
    >>> pair = Network([[0.5, 0.5], [0.5, 0.5]], names=("mast", "roof"))
    >>> agent_numbers("fixed", "roof", pair), agent_numbers("fixed", ["roof", 0], pair)
    ((1,), (1, 0))
    """
    names = network.names or ()
    number = {name: agent for agent, name in enumerate(names)}
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    parts: list[object] = []
    for one in several:
        is_list = isinstance(one, str) and one not in number
        parts += [part.strip() for part in str(one).split(",")] if is_list else [one]
    return tuple(agent_number(argument, agent, number, agents=network.agents) for agent in parts)


def agent_number(argument: str, given: object, number: Mapping[str, int], *, agents: int) -> int:
    """The number of one agent; `number` has those of all names.

    Raises
    ------
    ValueError
        If there is no such agent.
    """
    if isinstance(given, str):
        if given in number:
            return number[given]
        if not _NUMBER.fullmatch(given):
            wanted = "agents' numbers between commas, such as 0,3"
            if number:
                names = [*number][:_LISTED]
                shown = ", ".join([*names, "…"] if len(number) > _LISTED else names)
                wanted = f"an agent ({shown})"
            remedy = "list the agents" if not number else "name one of them"
            known = number if len(number) <= _COMPARED else ()
            raise fail(argument, wanted, brief(given), meant(given, known, otherwise=remedy))
        given = int(given)
    agent = as_integer(argument, given, minimum=0)
    if agent >= agents:
        raise fail(argument, f"agents from 0 to {agents - 1}", agent, "correct the number")
    return agent


def numbered(texts: Iterable[str]) -> tuple[dict[str, int], tuple[str, ...] | None]:
    """Which agent each text is: the first one is agent 0, the next other one agent 1.

    Texts that are the whole numbers 0 to N − 1 are the agents of these numbers, without names.

    >>> numbered(["roof", "mast", "roof"]), numbered(["1", "0"])
    (({'roof': 0, 'mast': 1}, ('roof', 'mast')), ({'1': 1, '0': 0}, None))
    """
    number = {text: agent for agent, text in enumerate(dict.fromkeys(texts))}
    if all(_NUMBER.fullmatch(text) and int(text) < len(number) for text in number):
        return {text: int(text) for text in number}, None
    return number, tuple(number)


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
        twice = next(name for name, times in Counter(texts).items() if times > 1)
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


def numbered_edges(edges: Any, names: tuple[str, ...] | None) -> tuple[Any, tuple[str, ...] | None]:
    """The edges by number, and the names of the agents; what has no texts is left as it is.

    Parameters
    ----------
    names
        Of the agents; None: as in the edges, in the order in which they appear there.

    Raises
    ------
    ValueError
        If an edge has a name that no agent has.
    """
    is_text = isinstance(edges, np.ndarray) and edges.dtype.kind == "U"
    if isinstance(edges, list | tuple):
        pairs = [edge for edge in edges if isinstance(edge, list | tuple)]
        is_text = any(isinstance(end, str) for edge in pairs for end in edge)
        is_text = is_text and len(pairs) == len(edges) and len(set(map(len, pairs))) == 1
    if not is_text:
        return edges, names
    ends = [end for edge in edges for end in edge]
    if names is None:
        number, names = numbered(str(end) for end in ends if isinstance(end, str))
    else:
        number = {name: agent for agent, name in enumerate(names)}
    width, count = len(edges[0]), len(number)
    try:  # most often every end is a name
        found = [number[end] for end in ends]
    except KeyError:
        found = [
            agent_number(f"edges[{k // width}][{k % width}]", end, number, agents=count)
            for k, end in enumerate(ends)
        ]
    return [found[k : k + width] for k in range(0, len(found), width)], names
